"""The web page of the real binary, in a real browser, with real jobs."""

import gzip
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import sys
import threading
import unittest
import urllib.request

from browser import CHROMIUM, Browser
from lab import LabTest, until

TOOLS = pathlib.Path(os.environ.get("SCHEDULEARN_PAGE", "build/test/web"))
DOUBLE = os.environ.get("SCHEDULEARN_NVML_DOUBLE", "build/test/nvml_double")  # GPUs with figures, one of them used by others
FIRST_LOAD_MAX = 80_000  # 300,000 are allowed; what only some pages need does not belong into it
COLOURS = r"printf '\033[32mgreen\033[0m plain\n'"
LOSSES = """for i in 1 2 3 4; do echo "{\\"epoch\\": $i, \\"epochs\\": 4, \\"loss\\": 0.$((9 - i))}" >> $SCHEDULEARN_METRICS_FILE; sleep 0.1; done"""
LOOP = COLOURS + "; i=0; while true; do i=$((i+1)); echo tick $i; sleep 0.2; done"


class PageTest(LabTest):
    """Tests that each have their own lab and their own browser."""

    def setUp(self):
        super().setUp()
        self.browser = Browser().__enter__()
        self.addCleanup(self.browser.__exit__)
        self.page = self.browser.page()
        self.page.clock_shows(12)

    def open(self, path=""):
        self.page.open(f"{self.lab.url}/ui/{path}")
        self.page.wait_text("Live")

    def is_clean(self):
        """Nothing left the origin, nothing broke the content rules, no exception."""
        self.browser.pump(0.1)
        foreign = [url for url in self.page.requested if not url.startswith((self.lab.url + "/", "data:")) and url != "about:blank"]
        self.assertEqual(foreign, [])
        self.assertEqual(self.page.complaints, [])


class ServingTest(LabTest):
    """Without a browser: who gets what."""

    def fetch(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.lab.port, timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def test_the_first_load_is_small_compressed_and_kept(self):
        _, _, index = self.fetch("/ui/", Accept_Encoding="gzip")
        parts = re.findall(rb'(?:src|href)="\./(assets/[^"]+)"', index)
        self.assertGreaterEqual(len(parts), 2)
        total = len(index)
        for part in parts:
            status, headers, bytes_sent = self.fetch("/ui/" + part.decode(), Accept_Encoding="gzip")
            self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
            self.assertIn("immutable", headers["Cache-Control"])
            self.assertEqual(self.fetch("/ui/" + part.decode())[2], gzip.decompress(bytes_sent))
            self.assertEqual(self.fetch("/ui/" + part.decode(), Accept_Encoding="gzip", If_None_Match=headers["ETag"])[0], 304)
            total += len(bytes_sent)
        print(f"first load: {total} bytes", file=sys.stderr)
        self.assertLess(total, FIRST_LOAD_MAX)

    def test_pages_of_others_and_other_names_get_nothing(self):
        self.assertEqual(self.fetch("/ui/", Host="evil.example")[0], 403)
        self.assertEqual(self.fetch("/ui/", Origin="http://evil.example")[0], 403)
        self.assertEqual(self.fetch("/ui/", Sec_Fetch_Site="cross-site")[0], 200)  # a link from elsewhere
        headers = self.fetch("/ui/")[1]
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

    def test_the_page_does_not_open_the_api(self):
        """Its files need no identity; whatever they ask for does."""
        if os.geteuid() != 0:
            self.skipTest("only root may become another user")
        ask = "import urllib.request as r, sys\ntry: print(r.urlopen(sys.argv[1]).status)\nexcept Exception as e: print(e.code)"
        for path, status in (("/ui/", "200"), ("/ui/jobs/1", "200"), ("/api/v1/jobs", "401"), ("/api/v1/events/stream", "401")):
            done = self.lab_process(["/usr/bin/python3", "-c", ask, self.lab.url + path], user=65534)
            self.assertEqual(done.strip(), status, path)

    def lab_process(self, command, user):
        import subprocess

        return subprocess.run(command, capture_output=True, text=True, user=user, group=user, extra_groups=[], cwd="/", timeout=60).stdout

    def test_addresses_of_the_original_lead_to_the_page_for_browsers_only(self):
        self.assertEqual(self.fetch("/")[1]["Location"], "ui/")
        self.assertEqual(self.fetch("/jobs", Accept="text/html,*/*")[1]["Location"], "ui/jobs")
        self.assertEqual(json.loads(self.fetch("/jobs")[2]), [])

    def test_the_command_prints_the_address(self):
        job = self.lab.submit("true", name="named")
        self.assertEqual(self.lab.cli("web").stdout, f"{self.lab.url}/ui/\n")
        self.assertEqual(self.lab.cli("web", "named").stdout, f"{self.lab.url}/ui/jobs/{job}\n")
        self.assertEqual(self.lab.cli("web", "nobody", check=False).returncode, 3)
        self.assertEqual(json.loads(self.lab.cli("web", "--json").stdout), {"url": f"{self.lab.url}/ui/"})
        unknown = self.lab.cli("web", 99, "--link", check=False)
        self.assertEqual((unknown.returncode, unknown.stdout), (3, ""))
        self.assertIn("[job-not-found]", unknown.stderr)
        link = json.loads(self.lab.cli("web", job, "--link", "--json").stdout)
        self.assertEqual(sorted(link), ["code", "expires_at", "fragment", "url"])
        self.assertEqual(link["url"], f"{self.lab.url}/ui/jobs/{job}{link['fragment']}")
        self.assertEqual(self.lab.get("/api/v1/cluster")["url"], self.lab.url)


class JourneyTest(PageTest):
    def test_submit_watch_why_switch_cancel(self):
        page = self.page
        self.open()
        page.wait_text("Nothing of yours runs or waits")
        page.click("Submit a job")
        page.wait_text("What this asks for")
        page.fill("#name", "journey")
        page.fill("#command", LOOP)
        page.fill("#gpus", "99")
        page.wait_text("[gpus-unsatisfiable]")
        self.assertEqual(page.run("document.querySelector('#gpus').getAttribute('aria-invalid')"), "true")
        described = page.run("document.querySelector('#gpus').getAttribute('aria-describedby').split(' ').map(id => document.getElementById(id).innerText).join(' ')")
        self.assertIn("needs 99 GPUs", described)
        page.wait_text("The controller would refuse it")
        self.assertNotIn("This did not work", page.text())
        page.fill("#gpus", "4")
        page.wait_text("The controller would accept it.")
        page.click("Submit", kind="form button")

        page.wait("location.pathname === '/ui/jobs/1'")
        page.wait_text("tick 3")
        self.assertEqual(page.run("[...document.querySelectorAll('.t-fg2')].map(e => e.textContent)[0]"), "green")
        page.wait_text("tick 8")  # it goes on by itself

        self.lab.submit("sleep 600", name="second", gpus=2)
        page.click("Jobs", kind="nav a")
        page.click("second")
        page.wait_text("Why it waits")
        page.wait_text("It will run; nothing is wrong with the request.")
        page.wait_text("2 short")

        page.click("Policy", kind="nav a")
        page.wait_text("Current policy")
        page.click("Switch to Shortest Job First")
        page.wait_text("It can be undone for 10 minutes")
        page.click("Switch", kind="dialog button")
        page.wait("document.querySelector('.name')?.innerText === 'sjf'", "the new policy")
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "sjf")
        page.click("Back to fifo")
        page.click("Go back")
        page.wait("document.querySelector('.name')?.innerText === 'fifo'", "the old policy")

        page.click("Jobs", kind="nav a")
        page.click("journey")
        page.click("Cancel")
        page.wait_text("gets TERM")
        page.click("Cancel the job", kind="dialog button")
        self.assertEqual(self.lab.finished(1)["state"], "cancelled")
        page.wait_text("the job has ended: cancelled")
        page.wait_text("Run again")
        self.is_clean()

    def test_what_users_do_to_jobs_and_servers(self):
        self.lab.start_another_agent("second", 2)
        page = self.page
        job = self.lab.submit("sleep 600", name="held", gpus=3)
        until(lambda: self.lab.job(job)["state"] == "running")
        self.open(f"jobs/{job}")
        for verb in ("Suspend", "Move"):  # the page says why not without asking
            self.assertIn("no checkpoint folder", page.wait(f"[...document.querySelectorAll('button[disabled]')].find(b => b.innerText === '{verb}')?.title"))
        page.click("Resize")
        page.fill("#gpus-wanted", "2")
        page.wait_text("[no-checkpoint]")  # the dry run says so before anything is done
        self.assertTrue(page.run("[...document.querySelectorAll('dialog button')].find(b => b.innerText === 'Resize').disabled"))
        page.click("Not now")
        page.click("Priority")
        page.fill("#priority-wanted", "7")
        page.click("Set priority")
        page.wait_text("priority 7")

        waits = self.lab.submit("sleep 600", name="waits", gpus=4)
        self.open(f"jobs/{waits}")
        page.click("Resize")
        page.fill("#gpus-wanted", "2")
        page.wait_text("What happens:")
        page.click("Resize", kind="dialog button")
        until(lambda: self.lab.job(waits)["state"] == "running", what="the narrower job")
        page.wait_text("running")

        self.open("servers")
        page.wait_text("Last contact")
        page.click("Drain", within="document.querySelectorAll('.card')[0]")
        page.wait_text("1 job on 3 GPUs")
        page.click("Drain", kind="dialog button")
        page.wait_text("Put back into service")
        self.assertIn("draining", [server["state"] for server in self.lab.get("/api/v1/servers")["items"]])
        self.open("servers/lab")
        page.wait("document.querySelector('.tile.free.closed')?.innerText.includes('draining') && document.querySelectorAll('.tile.closed').length === 1", "the GPU that nobody gets")
        self.open("servers")
        page.wait_text("Put back into service")
        page.click("Put back into service")
        page.click("Put it back")
        until(lambda: {server["state"] for server in self.lab.get("/api/v1/servers")["items"]} == {"up"})
        page.wait("!document.body.innerText.includes('Put back into service')")
        self.is_clean()

    def test_the_command_of_each_server_is_told(self):
        lab, page = self.lab, self.page
        lab.start_another_agent("second", 2)
        wide = lab.submit("sleep 600", gpus=6, servers=2, launch="ranks", env={"API_KEY": "not-to-be-told"})
        until(lambda: lab.job(wide)["state"] == "running", what="the job on two servers")
        self.open(f"jobs/{wide}?tab=spec")
        page.wait("document.querySelectorAll('[aria-label^=\"Command on\"]').length === 2", "two commands")
        commands = page.run("[...document.querySelectorAll('[aria-label^=\"Command on\"]')].map(e => e.innerText)")
        for rank, command in enumerate(commands):
            self.assertRegex(command, rf"(?s)^cd \S+ && CUDA_VISIBLE_DEVICES=[\d,]+ .*NNODES=2 NODE_RANK={rank} WORLD_SIZE=6 .*sleep 600'$")
            self.assertNotIn("not-to-be-told", command)
        page.click("JSON")
        page.wait("location.search.includes('form=json')")
        self.assertIn("command", lab.cli("files", wide, "ls", "attempt").stdout)
        self.is_clean()

    def test_measurements_are_drawn_and_told(self):
        job = self.lab.submit(LOSSES)
        self.lab.finished(job)
        until(lambda: len((self.lab.job(job)["telemetry"] or {}).get("loss_by_epoch", [])) == 4, what="the losses")
        page = self.page
        self.open(f"jobs/{job}")
        self.assertFalse(any("line_chart" in url for url in page.requested))  # only where there is something to draw
        page.click("Measurements")
        losses = self.lab.job(job)["telemetry"]["loss_by_epoch"]
        page.wait_text(f"The loss went from {losses[0]:g} to {losses[-1]:g} in 4 epochs.")
        page.wait("document.querySelector('canvas')?.getContext('2d').getImageData(0, 0, 600, 250).data.some(v => v > 0)", "the curve")
        page.click("As a table")
        page.wait_text(f"{losses[2]:.5f}")
        page.wait_text("4 of 4")
        self.is_clean()

    def test_what_is_wrong_with_a_job_that_runs_is_told(self):
        lab, page = self.lab, self.page
        job = lab.submit("sleep 600", name="runs")
        until(lambda: lab.job(job)["state"] == "running")
        reason = {"code": "server_down", "text": "server lab is down"}
        progress = {"done": 3, "total": 10, "unit": "epoch", "loss_is_not_finite": True}
        # As if its server were down, and its loss had been reported as infinite.
        page.intercept(lambda method, address: (200, {**lab.job(job), "reason": reason, "progress": progress, "telemetry": {}}) if address == f"jobs/{job}" else None)
        self.open(f"jobs/{job}")
        page.wait("document.querySelector('.failure')?.innerText === 'server lab is down'", "why nothing is known of it")
        page.wait_text("3 of 10 epochs, 30 %")
        page.wait_text("Its loss is not a finite number.")
        page.wait("document.querySelector('[role=log]').innerText.includes('Its server cannot be reached')", "why there is no output")
        page.click("Measurements")
        page.wait("document.querySelector('[aria-label=Details]').innerText.includes('Its loss is not a finite number.')", "the same beside what was measured")
        self.is_clean()

    def test_a_job_that_is_tried_again_is_not_called_uninterrupted(self):
        job = self.lab.submit("exit 3", gpus=0, retry={"max": 1})
        self.lab.finished(job)
        self.open(f"jobs/{job}?tab=timeline")
        self.page.wait_text("after 1 restart")
        self.assertEqual(self.page.run("[...document.querySelectorAll('.lane .name')].map(e => e.innerText).filter(Boolean)"), ["1. lab", "2. lab"])
        self.is_clean()

    def test_an_output_without_a_whole_line_is_not_awaited(self):
        job = self.lab.submit("printf half; sleep 600")
        until(lambda: self.lab.output(job) == "half", what="the output")
        self.open(f"jobs/{job}")
        self.page.wait("/half|No output yet/.test(document.querySelector('[role=log]')?.innerText)", "the end of reading")
        self.is_clean()

    def test_a_policy_follows_until_it_is_told_not_to(self):
        page = self.page
        self.open("policy")
        page.wait("document.querySelector('#shadow-wanted option[value=sjf]') !== null", "the policies to choose from")
        page.run("(e => { e.value = 'sjf'; e.dispatchEvent(new Event('change', {bubbles: true})) })(document.querySelector('#shadow-wanted'))")
        page.click("Let it follow")
        page.wait_text("Shortest Job First follows since")
        self.assertEqual(self.lab.get("/api/v1/policy/shadow")["name"], "sjf")
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "fifo")
        page.click("Stop following")
        page.wait_text("None. A policy can follow")
        self.assertIsNone(self.lab.get("/api/v1/policy/shadow")["name"])
        self.is_clean()

    def test_what_a_job_has_left_is_found_and_saved(self):
        hostile = "<img src=x onerror=window.hit=1> 100%.txt"
        job = self.lab.submit(f'cd "$SCHEDULEARN_OUTPUT_DIR"; mkdir -p "runs/ä b"; echo weights > "runs/ä b/model.pt"; echo > "{hostile}"', name="leaves")
        self.lab.finished(job)
        page = self.page
        self.open(f"jobs/{job}")
        page.click("Files", kind=".tabs a")
        page.click("output/", kind="td a")
        page.wait_text(hostile)
        page.click("runs/", kind="td a")
        page.click("ä b/", kind="td a")
        page.wait_text("model.pt")
        page.wait_text("8 B")
        saved = page.run("fetch(document.querySelector('td a[download]').href).then(async r => [r.headers.get('content-disposition'), await r.text()])")
        self.assertEqual(saved, ["attachment", "weights\n"])
        self.assertEqual(page.run("document.querySelector('td a[download]').download"), "model.pt")
        page.click("output", kind="nav a")
        page.wait_text(hostile)
        page.run("history.back()")
        page.wait_text("model.pt")
        self.assertIsNone(page.run("window.hit ?? null"))
        self.open(f"jobs/{job}?tab=files&path=..%2F..")
        page.wait_text("[no-such-file]")
        self.is_clean()

    def test_changes_of_state_are_said_to_screen_readers(self):
        lab, page = self.lab, self.page
        shown, other = lab.submit("sleep 600", name="shown", hold=True), lab.submit("exit 3", name="other", hold=True)
        self.open(f"jobs/{shown}")
        page.wait_text("held")
        said = "document.querySelector('#spoken[role=status]').innerText"
        self.assertEqual(page.run(said), "")
        lab.cli("resume", str(shown))
        page.wait(f"{said}.includes('Job {shown} is now running')", "what the page shows, as a sentence")
        lab.cli("resume", str(other))
        page.wait(f"{said}.includes('Job {other} is now failed')", "a failure elsewhere")
        self.assertNotIn(f"Job {other} is now running", page.run(said), "what goes as it should elsewhere is not said")
        page.click("Overview", kind="nav a")
        quiet = lab.submit("true", name="quiet")
        lab.finished(quiet)
        last = lab.finished(lab.submit("exit 4", name="last"))["id"]
        page.wait(f"{said}.includes('Job {last} is now failed')")
        self.assertNotIn(f"Job {quiet} ", page.run(said))
        self.is_clean()

    def test_who_may_only_look_is_told_before(self):
        page = self.page
        job = self.lab.submit("sleep 600", hold=True)
        owner = self.lab.job(job)["user"]
        role_needed = "Your role is {}: this needs the role {}.".format
        for user, role, path, verb, told in (
            (owner, "viewer", f"jobs/{job}", "Cancel", role_needed("viewer", "user")),
            (owner, "user", "servers/lab", "Drain", role_needed("user", "admin")),
            ("mei", "user", f"jobs/{job}", "Cancel", f"It is {owner}'s: only {owner} and admins may do this."),
            (owner, "user", f"jobs/{job}", "Cancel", None),
            ("mei", "admin", f"jobs/{job}", "Cancel", None),
        ):
            page.intercept(lambda method, address: (200, {"user": user, "role": role, "token": None}) if address == "whoami" else None)
            self.open(path)
            page.click(verb)
            if told:
                page.wait_text(told)
            page.wait("document.querySelector('dialog form button')")
            page.wait(f"document.querySelector('dialog form button').disabled === {'true' if told else 'false'}", f"{user}, {role}, {verb}")
        self.is_clean()

    def test_keys_alone(self):
        page = self.page
        job = self.lab.submit("echo hello", name="keyed")
        self.lab.finished(job)
        self.open()
        page.key("g", "j")
        page.wait("location.pathname === '/ui/jobs'")
        page.wait_text("1 job")
        page.key("/")
        page.wait("document.activeElement?.matches('[data-search]')", "the search to have the focus")
        page.key("g", "j", "x")  # text now, not shortcuts
        page.wait_text("No job matches these filters")
        page.wait("location.search === '?q=gjx'")
        page.key("Tab")
        page.click("Clear filters", within="document.querySelector('.empty')")
        page.key("?")
        page.wait("document.querySelector('dialog[open]') !== null")
        page.key("Escape")
        page.wait("document.querySelector('dialog[open]') === null")
        page.key("c")
        page.wait("location.pathname === '/ui/submit'")
        page.run("document.activeElement.blur()")
        page.open(f"{self.lab.url}/ui/jobs")
        page.key("Tab")
        self.assertEqual(page.run("document.activeElement.innerText"), "Skip to the content")
        page.key("Enter")
        page.wait("document.activeElement.id === 'main'", "the content to have the focus")
        self.is_clean()


class ControllerGoneTest(PageTest):
    def test_the_page_says_so_and_recovers_without_losing_a_line(self):
        page = self.page
        job = self.lab.submit("for i in $(seq 1 100000); do echo tick $i; sleep 0.05; done", name="long")
        self.open(f"jobs/{job}")
        page.wait_text("tick 5")
        page.run("window.stays = 1")
        self.lab.kill(self.lab.controller)
        page.wait_text("Connection lost")
        page.wait_text("tick 5")  # what was there stays
        self.lab.start_controller()
        page.wait_text("Live")
        last = int(until(lambda: re.findall(r"tick (\d+)", self.lab.output(job)), what="the agent's return")[-1])
        page.wait(f"[...document.querySelectorAll('.line')].some(e => Number(e.innerText.match(/tick (\\d+)/)?.[1]) > {last})", "newer output")
        page.run("document.querySelector('[role=log]').scrollTop = 0")
        page.wait("document.querySelector('.line .text')?.innerText === 'tick 1'", "the first line")
        shown = page.run("[...document.querySelectorAll('.line .text')].map(e => e.innerText)")
        self.assertEqual(shown, [f"tick {i + 1}" for i in range(len(shown))])
        self.assertEqual(page.run("window.stays"), 1)  # it is still the same document
        self.assertEqual([url for url in page.requested if not url.startswith(self.lab.url + "/") and url != "about:blank"], [])

    def test_old_figures_are_marked_and_none_are_invented(self):
        page = self.page
        self.lab.submit("sleep 600", gpus=3)
        self.open()
        page.wait_text("3 of 4 in use")
        self.lab.kill(self.lab.controller)
        page.wait_text("Connection lost")
        page.run("document.querySelector('a[href=\"servers\"]').click()")
        page.wait_text("No answer")  # nothing was loaded: no empty list
        self.assertNotIn("No server has joined", page.text())
        self.lab.start_controller()
        page.wait_text("Last contact")


class HostileTest(PageTest):
    name = "<img src=x onerror=window.hit=1>"
    output = r"""printf '<script>window.hit=1</script><b>bold</b>\n\033]0;title\007\033]8;;http://evil.example\033\\link\033]8;;\033\\\n\033[2J\033[1;1Hgone\n\033]52;c;cm0=\007kept \xe2\x80\xaereversed\n\xff\xfe\x00bytes\n\033[31'; printf 'mred\n'; head -c 300000 /dev/zero | tr '\0' 'x'; echo; echo end-of-it; sleep 600"""

    def test_names_and_output_are_text(self):
        page = self.page
        job = self.lab.submit(self.output, name=self.name)
        self.open(f"jobs/{job}")
        page.wait_text("end-of-it")
        page.run("document.querySelector('[role=log]').scrollTop = 0")
        page.wait_text("<script>window.hit=1</script><b>bold</b>")
        text = page.text()
        self.assertIn(self.name, text)
        self.assertIn("gone", text)
        self.assertNotIn("\u202e", text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(page.run("document.querySelectorAll('.line .text :is(a, img, script, b)').length"), 0)
        self.assertEqual(page.run("document.title.includes('title')"), False)
        for path in ("", "jobs", "jobs?tab=queue", f"jobs/{job}?tab=timeline", f"jobs/{job}?tab=spec", f"submit?from={job}", "events"):
            self.open(path)
            page.wait("!document.querySelector('.skeleton')")
        page.open(f"{self.lab.url}/ui/jobs?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.hit%3D1%3E")
        page.wait_text("1 job match")
        self.assertIsNone(page.run("window.hit ?? null"))
        self.is_clean()

    def test_a_name_turns_nothing_and_reads_as_no_other(self):
        page = self.page
        job = self.lab.submit("sleep 600", name="evil\u202egnp", hold=True)
        for path in (f"jobs/{job}", "jobs", ""):
            self.open(path)
            page.wait_text(r"evil\u202Egnp")
            self.assertNotIn("\u202e", page.text() + page.run("document.title"))
        page.click("Open or do")
        page.call("Input.insertText", text="evil")
        page.wait_text(rf"Job {job} evil\u202Egnp, held, by")
        self.is_clean()

    def test_a_diff_is_text_and_opened_by_the_keyboard(self):
        page, lab = self.page, self.lab
        lines = b"".join(b"+line %d\n" % i for i in range(1500))
        diff = (b'diff --git "a/<img src=x onerror=window.hit=1>" "b/<img src=x onerror=window.hit=1>"\nnew file mode 100644\n--- /dev/null\n+++ "b/<img src=x onerror=window.hit=1>"\n@@ -0,0 +1,2 @@\n'
                b"+<script>window.hit=1</script>\xff\n+\x1b[31mred \xe2\x80\xae\n"
                b"diff --git a/long b/long\n--- a/long\n+++ b/long\n@@ -1 +1,1500 @@\n-gone\n" + lines + b"diff --git a/torn b/torn\n@@ -1,9 +1,9 @@\n-half a li")
        stored = {}
        for name, data in (("id", b"code"), ("diff", diff)):
            stored[name] = hashlib.sha256(data).hexdigest()
            lab.request("PUT", f"/api/v1/snapshots/{stored[name]}", data)
        job = lab.submit("true", hold=True, snapshot={"kind": "git", "commit": "3f9c2e1", "dirty_files": 4, "changed": ["long", "left-out\x1b"], **stored})
        headers = urllib.request.urlopen(f"{lab.url}/api/v1/jobs/{job}/diff").headers
        self.assertEqual((headers["Content-Type"], headers["X-Content-Type-Options"]), ("text/plain; charset=utf-8", "nosniff"))
        self.open(f"jobs/{job}?tab=spec")
        page.wait_text("3 files, 1,502 lines added, 2 removed.")
        page.wait_text("It ends in the middle.")
        page.wait_text("Changed too: left-out\u241b")
        self.assertEqual(page.run("document.querySelectorAll('details table').length"), 0, "so many lines are opened on demand")
        page.run("document.querySelector('details summary').focus()")
        page.key("Enter")
        page.wait_text("<script>window.hit=1</script>\ufffd")
        self.assertIn("\u241b[31mred <202e>", page.text())
        self.assertEqual(page.run("[...document.querySelectorAll('details table')].map(e => e.getAttribute('aria-label'))"), ["What changed in <img src=x onerror=window.hit=1>"])
        page.click("Open all")
        page.wait("document.querySelectorAll('details table').length === 3")
        self.assertEqual(page.run("document.querySelectorAll('details')[1].querySelectorAll('tbody tr').length"), 1000)
        page.click("Show all 1,502 lines")
        page.wait("document.querySelectorAll('details')[1].querySelectorAll('tbody tr').length === 1502")
        self.assertEqual(page.run("[...document.querySelectorAll('details')[1].querySelectorAll('tbody tr')].at(-1).innerText.split('\\t').map(each => each.trim())"), ["", "1500", "+", "line 1499"])
        lab.request("PATCH", f"/api/v1/jobs/{job}", {"priority": 7})
        page.wait_text("priority 7")
        self.assertEqual(page.run("document.querySelectorAll('details table').length"), 3, "open as they were")
        page.click("Close all")
        page.wait("document.querySelectorAll('details table').length === 0")
        self.assertIsNone(page.run("window.hit ?? null"))
        (lab.folder / "controller" / "snapshots" / f"{stored['diff']}.tar").unlink()
        self.open(f"jobs/{job}?tab=spec")
        page.wait_text("[snapshot-missing]")
        self.is_clean()

    def test_output_is_never_a_page(self):
        job = self.lab.submit("echo '<script>parent.hit=1</script>'")
        self.lab.finished(job)
        headers = urllib.request.urlopen(f"{self.lab.url}/api/v1/jobs/{job}/logs").headers
        self.assertTrue(headers["Content-Type"].startswith("text/plain"))
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

    def test_another_origin_cannot_act_or_frame(self):
        class Evil(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<main>evil</main>")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        page = self.page
        page.open(f"http://127.0.0.1:{server.server_port}/")
        for kind in ("application/json", "text/plain"):
            failed = page.run(f"fetch('{self.lab.url}/api/v1/jobs', {{method: 'POST', mode: '{'cors' if kind.startswith('a') else 'no-cors'}', headers: {{'Content-Type': '{kind}'}}, body: '{{\"command\":\"true\"}}'}}).then(r => r.status, () => 'failed')")
            self.assertIn(failed, ("failed", 0))
        framed = page.run(f"""new Promise(done => {{ const f = document.createElement('iframe'); f.src = '{self.lab.url}/ui/'; f.onload = () => done(f.contentDocument === null); document.body.append(f); }})""")
        self.assertTrue(framed)
        self.assertEqual(self.lab.jobs(), [])


class PrefixTest(PageTest):
    """Behind a proxy that serves it below /tools/lab/."""

    def setUp(self):
        super().setUp()
        port, self.gone = self.lab.port, re.compile("^$")
        test = self

        class Proxy(http.server.BaseHTTPRequestHandler):
            def forward(self):
                if not self.path.startswith("/tools/lab/"):
                    return self.send_error(404)
                if self.path.endswith("/ui/policy"):  # the new page
                    test.gone = re.compile("^$")
                if test.gone.search(self.path):
                    return self.send_error(404)
                length = int(self.headers.get("Content-Length") or 0)
                connection = http.client.HTTPConnection("127.0.0.1", port)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
                connection.request(self.command, self.path[len("/tools/lab"):], self.rfile.read(length) if length else None, headers)
                answer = connection.getresponse()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                try:
                    while piece := answer.read1(65536):
                        self.wfile.write(piece)
                        self.wfile.flush()
                except (OSError, http.client.HTTPException):  # one of the two has gone
                    pass
                connection.close()
                self.close_connection = True

            do_GET = do_HEAD = do_POST = do_PUT = forward

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}/tools/lab/"

    def test_the_page_works_below_a_prefix(self):
        job = self.lab.submit("echo through the proxy", name="prefixed")
        page = self.page
        page.open(f"{self.url}ui/jobs/{job}")
        page.wait_text("through the proxy")
        page.click("Servers", kind="nav a")
        page.wait_text("Last contact")
        self.assertEqual(page.run("location.pathname"), "/tools/lab/ui/servers")
        page.click("Submit", kind="nav a")
        page.fill("#command", "true")
        page.wait_text("The controller would accept it.")
        page.click("Submit", kind="form button")
        page.wait_text("succeeded")
        outside = [url for url in page.requested if not url.startswith((self.url, "data:")) and url != "about:blank"]  # as data comes the browser's own picture of a calendar
        self.assertEqual(outside, [])

    def opens_policy_without_its_script(self):
        """In a tab that could not fetch it ahead, and whose next address is not yet asked for."""
        self.gone = re.compile("/assets/Policy-")
        self.page.open(f"{self.url}ui/")
        self.page.wait_text("Live")
        self.page.run("window.isOld = true")

    def test_a_part_that_cannot_be_fetched_says_so_and_comes_with_retry(self):
        page = self.page
        self.opens_policy_without_its_script()
        page.click("Policy", kind="nav a")
        page.wait_text("this part of the page could not be fetched")
        self.gone = re.compile("^$")
        page.click("Retry")
        page.wait_text("Current policy")
        self.assertTrue(page.run("window.isOld"))

    def test_a_tab_of_a_page_that_was_replaced_begins_anew(self):
        page = self.page
        self.opens_policy_without_its_script()
        self.gone = re.compile("/assets/")
        page.click("Policy", kind="nav a")
        page.wait_text("Current policy")
        self.assertEqual(page.run("[window.isOld ?? null, location.pathname]"), [None, "/tools/lab/ui/policy"])


def reason_to_skip():
    if b"The web page is not in this build" in (TOOLS / "page.pack").read_bytes():
        return "the page is not in this build"
    needs_browser = not all(argument.startswith("ServingTest") for argument in sys.argv[1:]) or len(sys.argv) == 1
    return "there is no chromium: tools/install test" if needs_browser and not CHROMIUM else None


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
