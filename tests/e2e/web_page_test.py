"""The web page of the real binary, in a real browser, with real jobs."""

import gzip
import http.client
import json
import os
import re
import sys
import unittest

from lab import LabTest, until
from page import LOOP, LOSSES, PageTest, reason_to_skip

FIRST_LOAD_MAX = 80_000  # 300,000 are allowed; what only some pages need does not belong into it


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


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
