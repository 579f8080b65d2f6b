"""The web page when something is against it: a controller that has gone, hostile names and outputs, other origins, a proxy."""

import hashlib
import http.client
import http.server
import re
import sys
import threading
import unittest
import urllib.request

from lab import until
from page import PageTest, reason_to_skip


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


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
