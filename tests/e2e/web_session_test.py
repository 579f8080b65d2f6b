"""Signing in to the web page where the controller does not know a browser by the kernel's word: reached under a name that
is not loopback."""

import http.client
import json
import os
import re
import subprocess
import sys
import unittest
import urllib.parse

from browser import Browser
from lab import PROGRAM, Lab, until
from page import reason_to_skip

SECRET = "a secret of this test, long enough"


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.__exit__)
        (self.lab.folder / "token").write_text(SECRET)
        self.start_controller()
        self.job = self.lab.submit("true", name="secret-job")
        self.browser = Browser().__enter__()
        self.addCleanup(self.browser.__exit__)
        self.url = f"http://0.0.0.0:{self.lab.port}"

    def tearDown(self):
        """What a page says who it is with is in none of the addresses that it asks for: those are in histories and logs."""
        pages = self.browser.pages.values()
        secrets = {part for page in pages for secret in page.secrets for part in re.split("[;=] ?", secret) if len(part) >= 20}
        for url in {url for page in pages for url in page.requested}:
            self.assertEqual([secret for secret in secrets if secret in urllib.parse.unquote_plus(url)], [], url)

    def start_controller(self):
        lab = self.lab
        lab.controller = lab._daemon("controller", "controller", "run", "--data", str(lab.folder / "controller"), "--listen", f"0.0.0.0:{lab.port}", "--token-file", str(lab.folder / "token"))
        until(lambda: lab.try_get("/readyz"), what="the controller")

    def signed_in(self, path=""):
        page = self.browser.page()
        page.open(f"{self.url}/ui/{path}")
        page.wait_text("Sign in")
        page.wait_text("A token of your own (slt_…) works too.")
        page.fill("#token", SECRET)
        page.key("Enter")
        page.wait_text("Live")
        return page

    def test_the_token_signs_a_browser_in_for_every_tab_and_over_a_restart(self):
        page = self.browser.page()
        page.open(f"{self.url}/ui/jobs/{self.job}")
        page.wait_text("a request from another machine needs the token")
        self.assertNotIn("secret-job", page.text())
        page.fill("#token", "not the secret of this test")
        page.click("Sign in", kind="button")
        page.wait_text("[wrong-token]")
        page.fill("#token", SECRET)
        page.click("Sign in", kind="button")
        page.wait_text("secret-job")
        page.wait_text("Live")
        self.assertNotIn(SECRET, page.run("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"))
        page.run("document.querySelector('a[href=\"submit\"]').click()")
        page.fill("#command", "true")
        page.wait_text("The controller would accept it.")
        draft = "Object.keys(localStorage).some(key => key.startsWith('schedulearn.draft /ui/'))"
        self.assertTrue(page.run(draft))
        other = self.browser.page()
        other.open(f"{self.url}/ui/jobs")
        other.wait_text("secret-job")
        page.call("Page.bringToFront")
        self.lab.kill(self.lab.controller)
        page.wait_text("Connection lost")
        self.start_controller()
        page.wait_text("Live")
        page.click("Submit", kind="form button")
        page.wait("location.pathname === '/ui/jobs/2'")

        page.run("document.querySelector('a[href=\"settings\"]').click()")
        page.wait_text("having signed in")
        page.click("Sign out")
        page.wait_text("This controller lets in only those it knows")
        self.assertFalse(page.run(draft), "what was typed is not for the next user")
        other.open(f"{self.url}/ui/jobs")
        other.wait_text("This controller lets in only those it knows")

    def test_a_port_of_a_job_opens_in_a_tab_to_who_has_signed_in_and_nothing_else_does(self):
        self.lab.start_agent()
        (self.lab.folder / "index.html").write_text("<title>board</title>the board of the job <img src=one.svg onload=\"document.body.append(' and its picture')\">")
        (self.lab.folder / "one.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
        job = self.lab.submit("/usr/bin/python3 -m http.server $SCHEDULEARN_PORT_WEB --bind 127.0.0.1 & exec /usr/bin/python3 -m http.server $SCHEDULEARN_PORT_MORE --bind 127.0.0.1", ports={"web": 0, "more": 0})
        until(lambda: self.lab.job(job)["state"] == "running" and all(self.lab.request("GET", f"/jobs/{job}/proxy/{port}/")[0] == 200 for port in ("web", "more")), what="its servers")
        stranger = self.browser.page()
        stranger.call("Page.navigate", url=f"{self.url}/jobs/{job}/proxy/web/")
        stranger.wait_text("token-required")
        page = self.signed_in(f"jobs/{job}")
        stranger.call("Page.navigate", url=f"{self.url}/jobs/{job}/proxy/web/")
        stranger.wait_text("token-required")
        page.call("Page.bringToFront")
        page.click("Open web")
        tabs = lambda: [target for target in self.browser.call("Target.getTargets")["targetInfos"] if target["url"] == f"{self.url}/jobs/{job}/proxy/web/" and target["title"] == "board"]
        until(tabs, what="the tab")
        tab = self.browser.page()
        tab.call("Page.navigate", url=f"{self.url}/jobs/{job}/proxy/web/")
        tab.wait_text("and its picture")
        self.assertEqual("", tab.run("document.cookie"))
        for other in (f"jobs/{job}/proxy/more/", "api/v1/jobs"):
            stranger.call("Page.navigate", url=f"{self.url}/{other}")
            stranger.wait_text("token-required")

    def test_a_link_signs_a_browser_in_once(self):
        printed = self.lab.cli("web", "secret-job", "--link").stdout.strip()
        self.assertRegex(printed, rf"^{re.escape(self.lab.url)}/ui/jobs/{self.job}#sign-in=[0-9a-f]{{40}}$")
        path = printed.removeprefix(self.lab.url)
        page = self.browser.page()
        page.open(self.url + path)
        page.wait_text("secret-job")
        self.assertEqual(page.run("location.hash"), "")  # nobody finds it in the history
        self.assertFalse(any("sign-in" in url for url in page.requested[1:]), "the code is in no request's address")
        page.call("Network.clearBrowserCookies")
        page.run("localStorage.clear()")
        second = self.browser.page()
        second.open(self.url + path)
        second.wait_text("This controller lets in only those it knows")
        self.assertNotIn("secret-job", second.text())

    def test_half_of_a_session_opens_nothing_and_no_page_of_another_port_gets_both(self):
        page = self.signed_in("jobs")
        page.wait_text("secret-job")
        cookie = next(each for each in page.call("Network.getAllCookies")["cookies"] if each["name"].startswith("schedulearn_"))
        self.assertTrue(cookie["httpOnly"])
        self.assertEqual((cookie["sameSite"], cookie["path"]), ("Strict", "/api/v1"))
        key = page.run("Object.entries(localStorage).find(([name]) => name.startsWith('schedulearn.session'))[1]")

        def status(method="GET", path="/api/v1/jobs", body=None, **headers):
            connection = http.client.HTTPConnection("127.0.0.1", self.lab.port, timeout=30)
            connection.request(method, path, body, {"Host": f"0.0.0.0:{self.lab.port}", **{name.replace("_", "-"): value for name, value in headers.items()}})
            answer = connection.getresponse().status
            connection.close()
            return answer

        both = {"Cookie": f"{cookie['name']}={cookie['value']}", "X_Schedulearn_Session": key}
        self.assertEqual(status(**both), 200)
        self.assertEqual(status(Cookie=both["Cookie"]), 401)
        self.assertEqual(status(X_Schedulearn_Session=key), 401)
        self.assertEqual(status("POST", body=json.dumps({"command": "true"}), Content_Type="application/json", Cookie=both["Cookie"]), 401)
        self.assertEqual(status(Origin="http://evil.example", **both), 403)
        self.assertEqual(status("POST", "/api/v1/sessions", X_Schedulearn_Code="0" * 40), 403)

    def test_the_output_can_be_downloaded_and_another_browser_signed_in(self):
        self.lab.start_agent()
        self.lab.finished(self.job)
        page = self.signed_in("settings")
        page.click("Sign in another browser")
        link = page.wait("document.querySelector('#sign-in-link')?.innerText")
        self.assertIn("/ui/#sign-in=", link)
        self.lab.get(f"/api/v1/jobs/{self.job}")
        page.run(f"document.querySelector('a[href=\"jobs\"]').click()")
        page.click("secret-job")
        page.wait_text("The job wrote nothing.")
        page.run("window.made = []; URL.createObjectURL = (blob) => { made.push(blob.size); return 'about:blank#'; }; HTMLAnchorElement.prototype.click = () => undefined")
        page.click_at("a[download]")
        page.wait("window.made.length === 1", "the download")

    def test_whoever_needs_a_token_gets_such_a_link_by_itself(self):
        environment = {**os.environ, "SCHEDULEARN_URL": self.lab.url, "SCHEDULEARN_TOKEN_FILE": str(self.lab.folder / "token")}
        printed = subprocess.run([PROGRAM, "web"], capture_output=True, text=True, env=environment, timeout=60).stdout
        self.assertRegex(printed, r"/ui/#sign-in=[0-9a-f]{40}\n$")
        self.assertEqual(self.lab.cli("web").stdout, f"{self.lab.url}/ui/\n")  # known by the kernel's word

    def test_a_token_of_one_s_own_signs_in_with_its_role_and_its_end_is_the_session_s_end(self):
        lab = self.lab
        lab.request("POST", "/api/v1/users", {"name": "mei"})
        page = self.signed_in("settings")
        page.wait_text("Users")
        page.wait_text("has jobs, an admin may do everything")
        page.fill("#token-name", "laptop")
        page.fill("#token-user", "mei")
        page.click("Make", kind="button")
        page.wait_text("It is not shown again")
        secret = page.run("document.getElementById('new-token').textContent")
        self.assertRegex(secret, r"^slt_[0-9a-f]+_[0-9a-f]{40}$")
        self.assertNotIn(secret, page.run("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"))
        page.run("document.querySelector('a[href=\"jobs\"]').click()")
        page.run("document.querySelector('a[href=\"settings\"]').click()")
        page.wait_text("never used")
        self.assertNotIn(secret, page.run("document.documentElement.outerHTML"))
        lab.cli("announce", "gpu3 is down on Friday")
        page.wait_text("gpu3 is down on Friday")

        # A browser without a session and with one have nothing in common but the address: the first one signs out.
        page.wait("document.querySelector('#spoken').innerText.includes('gpu3 is down on Friday')")
        page.click("Sign out")
        page.wait("document.querySelector('#token')")
        self.assertNotIn("gpu3", page.text(), "what was said to one user")
        page.fill("#token", secret)
        page.click("Sign in", kind="button")
        page.wait_text("with the token laptop")
        self.assertNotIn("an admin may do everything", page.text(), "users are for admins")
        page.wait_text("gpu3 is down on Friday")
        page.click("Dismiss")
        page.wait("!document.body.innerText.includes('gpu3 is down')")
        refused = page.run("fetch('/api/v1/policy', {method: 'PUT', headers: {'Content-Type': 'application/json', 'X-Schedulearn-Session': Object.entries(localStorage).find(([key]) => key.startsWith('schedulearn.session'))[1]}, body: '{\"name\": \"srtf\"}'}).then((answer) => answer.json()).then(({code, detail}) => code + ': ' + detail)")
        self.assertEqual(refused, "role-needed: this needs the role admin, and mei has the role user")
        lab.cli("token", "rm", "laptop", "--user", "mei")
        page.wait_text("Sign in")

    def test_whoami(self):
        self.assertRegex(self.lab.cli("whoami").stdout, r"^\S+ \(admin\)\n$")
        self.assertEqual(json.loads(self.lab.cli("whoami", "--json").stdout)["role"], "admin")


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
