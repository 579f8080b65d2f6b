#!/usr/bin/python3
"""What all share: how much of it one user can take, and what of it only admins and owners may change."""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import re
import resource
import socket
import tempfile
import unittest

from lab import until
from people_test import PeopleLab
from ports_test import SERVER

CONNECTIONS_MAX = 1000  # of one user, where the controller may have enough files open


class Bounds(PeopleLab):
    def connect(self, secret):
        """A connection that is kept, and has been answered."""
        connection = socket.create_connection(("127.0.0.1", self.lab.port), timeout=20)
        self.addCleanup(connection.close)
        connection.sendall(f"GET /api/v1/whoami HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n\r\n".encode())
        self.assertIn(b" 200 ", connection.recv(4096))
        return connection

    def test_one_user_s_connections_leave_room_for_others(self):
        own = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, own)
        resource.setrlimit(resource.RLIMIT_NOFILE, (own[1], own[1]))
        files = resource.prlimit(self.lab.controller.pid, resource.RLIMIT_NOFILE)[0]
        eve, mei = self.add("eve", "viewer"), self.add("mei")
        other = self.connect(mei)
        first = self.connect(eve)
        for _ in range(min(CONNECTIONS_MAX, files * 3 // 16)):
            self.connect(eve)
        self.assertEqual(first.recv(10), b"", "the one that has waited longest is closed")
        other.sendall(f"GET /api/v1/whoami HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {mei}\r\n\r\n".encode())
        self.assertIn(b'"mei"', other.recv(4096))

    def test_only_admins_have_the_controller_run_a_policy_of_their_own(self):
        wanted = {"policies": [{"name": "mine.py", "source": "from schedulearn.policy import Policy\nclass Mine(Policy):\n    def order(self, jobs, cluster):\n        return list(jobs)\n"}]}
        for address in ("try", "preview"):
            status, answer = self.ask(self.add("eve", name=f"for-{address}"), "POST", f"/api/v1/policy/{address}", wanted)
            self.assertEqual((status, answer["code"]), (403, "role-needed"), answer)
            self.assertIn("sim run", json.dumps(answer))
        status, answer = self.ask(self.add("bella", "admin"), "POST", "/api/v1/policy/try", wanted)
        self.assertEqual(status, 200, answer)

    def test_a_profile_is_replaced_and_removed_by_its_owner_and_admins(self):
        profile = lambda speed: {"schedulearn_profile": 1, "family": "net", "speeds": [{"gpus": 1, "steps_per_s": speed}]}
        mei, eve, bella = self.add("mei"), self.add("eve"), self.add("bella", "admin")
        self.assertEqual(self.ask(mei, "POST", "/api/v1/profiles", profile(10))[0], 200)
        self.assertEqual(self.code(eve, "POST", "/api/v1/profiles", profile(0.001)), "not-yours")
        self.assertEqual(self.code(eve, "DELETE", "/api/v1/profiles/net"), "not-yours")
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertEqual(self.code(eve, "DELETE", "/api/v1/profiles/net"), "not-yours")
        stored = self.lab.get("/api/v1/profiles")["items"][0]
        self.assertEqual((stored["user"], stored["speeds"][0]["steps_per_s"]), ("mei", 10))
        self.assertEqual(self.ask(bella, "POST", "/api/v1/profiles", profile(20))[0], 200)
        self.assertEqual(self.ask(bella, "DELETE", "/api/v1/profiles/net")[0], 200)
        told = [(event["kind"], event["actor"]["name"]) for event in self.lab.get("/api/v1/events?about=profile")["items"]]
        self.assertEqual(told, [("profile.stored", "mei"), ("profile.stored", "bella"), ("profile.removed", "bella")])

    def test_what_a_browser_has_opened_ends_when_its_user_signs_out(self):
        status, headers, text = self.lab.request("POST", "/api/v1/sessions", {}, {"Authorization": f"Bearer {self.add('mei')}"})
        self.assertEqual(status, 201)
        browser = {"Cookie": headers["Set-Cookie"].split(";")[0], "X-Schedulearn-Session": json.loads(text)["key"]}
        (self.lab.folder / "server.py").write_text(SERVER)
        wanted = {"command": "exec /usr/bin/python3 server.py", "workdir": str(self.lab.folder), "ports": {"web": 0}, "gpus": 1}
        job = json.loads(self.lab.request("POST", "/api/v1/jobs", wanted, browser)[2])["id"]
        port = f"/jobs/{job}/proxy/web/"
        until(lambda: self.lab.request("GET", port + "echo")[0] == 200, what="its server")
        cookie = self.lab.request("POST", f"/api/v1/jobs/{job}/ports/web/session", {}, browser)[1]["Set-Cookie"].split(";")[0]
        opened = [self.open("/api/v1/events/stream", browser), self.open(port + "endless", {"Cookie": cookie})]
        self.assertEqual(self.lab.request("DELETE", "/api/v1/sessions", None, browser)[0], 200)
        for answer in opened:
            with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
                while answer.read1(1 << 20):
                    pass

    def open(self, path, headers):
        """An answer without an end."""
        connection = http.client.HTTPConnection("127.0.0.1", self.lab.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.read1(10))
        return answer

    def test_the_command_of_a_job_does_not_reach_the_terminal_of_whoever_asks_why(self):
        job = self.lab.submit(["no-such\x1b]0;title\x07\x1b[31mprogram"], name="hostile")
        self.lab.finished(job)
        for command in (["why", str(job)], ["events", str(job)], ["ls", "--plain"], ["events", "--plain"]):
            said = self.lab.cli(*command).stdout
            self.assertNotIn("\x1b", said, command)
        self.assertIn("^[]0;title^G", self.lab.cli("why", job).stdout)


    def test_daemons_give_back_the_pages_that_only_their_start_needs(self):
        def mapped_kib(daemon):
            return int(re.search(r"RssFile:\s+(\d+)", pathlib.Path(f"/proc/{daemon.pid}/status").read_text())[1])

        before = {daemon: mapped_kib(daemon) for daemon in (self.lab.controller, self.lab.agent)}
        for daemon, kib in before.items():
            until(lambda: mapped_kib(daemon) < 0.8 * kib, what=f"less than 80 % of {kib} KiB")
        self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")


class RestoreByRoot(PeopleLab):
    @unittest.skipUnless(os.geteuid() == 0, "only root restores for another user")
    def test_a_database_that_root_restores_is_the_service_s(self):
        copy, nobody = self.lab.folder / "copy.db", pwd.getpwnam("nobody")
        self.lab.cli("db", "backup", "--data", self.lab.folder / "controller", copy)
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            data = os.path.join(folder, "data")
            os.mkdir(data, 0o700)
            os.chown(data, nobody.pw_uid, nobody.pw_gid)
            os.chmod(folder, 0o755)
            self.lab.cli("db", "restore", "--data", data, copy, "--confirm", data)
            owners = {name: os.stat(os.path.join(data, name)).st_uid for name in os.listdir(data)}
            self.assertEqual(set(owners.values()), {nobody.pw_uid}, owners)


if __name__ == "__main__":
    unittest.main()
