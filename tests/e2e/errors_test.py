#!/usr/bin/python3
"""Errors by their codes, one way to each: what is refused says so in the same form, and what is refused changes nothing."""

import http.client
import json
import unittest

from lab import LabTest, until


class Refusals(LabTest):
    def rest(self, code, method, path, body=None, headers=None):
        status, _, text = self.lab.request(method, path, body, headers)
        self.assertGreaterEqual(status, 400, text)
        problem = json.loads(text)
        self.assertEqual((problem["code"], bool(problem["detail"])), (code, True), text)
        return problem

    def command(self, code, *words, cwd=None):
        done = self.lab.cli(*words, check=False, cwd=cwd)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"[{code}]", done.stderr)

    def test_what_requests_may_not_hold(self):
        lab = self.lab
        self.rest("bad-announcement", "POST", "/api/v1/announcements", {"text": "two\nlines"})
        self.rest("no-announcement", "DELETE", "/api/v1/announcements/99")
        self.rest("bad-expiry", "POST", "/api/v1/tokens", {"name": "x", "expires_in_s": 0})
        self.rest("bad-role", "POST", "/api/v1/users", {"name": "x", "role": "king"})
        self.rest("media-type", "POST", "/api/v1/users", '{"name": "x"}', {"Content-Type": "text/plain"})
        job = {"command": "true", "hold": True}
        self.rest("bad-idempotency-key", "POST", "/api/v1/jobs", job, {"Idempotency-Key": "k" * 201})
        self.assertEqual(lab.request("POST", "/api/v1/jobs", job, {"Idempotency-Key": "k"})[0], 201)
        self.rest("idempotency-key-reused", "POST", "/api/v1/jobs", {**job, "gpus": 2}, {"Idempotency-Key": "k"})
        self.rest("header-too-large", "GET", "/api/v1/jobs", headers={"X-Long": "x" * 100_000})
        self.assertEqual(len(lab.jobs()), 1)
        self.assertEqual(lab.get("/api/v1/users")["items"], [])

    def test_what_a_job_cannot_bear_as_it_is(self):
        lab = self.lab
        job = lab.submit("trap '' TERM; echo ready; while true; do sleep 0.1; done", checkpoint={"dir": "saved"})
        until(lambda: "ready" in lab.output(job))
        lab.start_another_agent("far", 2)
        lab.request("POST", "/api/v1/servers/far/drain")
        self.rest("server-not-up", "POST", f"/api/v1/jobs/{job}/migrate", {"to": "far"})
        self.rest("range-not-satisfiable", "GET", f"/api/v1/jobs/{job}/logs", headers={"Range": "bytes=1000-"})
        lab.cli("cancel", job)
        self.rest("job-cancelled", "POST", f"/api/v1/jobs/{job}/suspend", {})
        lab.cli("cancel", job, "--now")

    def test_how_much_one_user_may_have(self):
        lab = self.lab
        for code, most, path, body in (("too-many-tokens", 100, "/api/v1/tokens", lambda i: {"name": f"t{i}"}), ("too-many-announcements", 100, "/api/v1/announcements", lambda i: {"text": f"n{i}"})):
            answers = [lab.request("POST", path, body(i)) for i in range(most + 1)]
            refused = [json.loads(text)["code"] for status, _, text in answers if status >= 400]
            self.assertEqual(set(refused), {code})
            self.assertGreater(len(answers), len(refused))

    def test_who_floods_the_controller_is_told_to_wait_and_others_are_answered(self):
        lab = self.lab
        lab.request("POST", "/api/v1/users", {"name": "mei"})
        secret = json.loads(lab.request("POST", "/api/v1/tokens", {"name": "t", "user": "mei"})[2])["token"]
        connection = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=30)
        self.addCleanup(connection.close)

        def ask():
            connection.request("GET", "/api/v1/whoami", headers={"Authorization": f"Bearer {secret}"})
            answer = connection.getresponse()
            return answer, answer.read()

        for _ in range(20_000):
            answer, text = ask()
            if answer.status != 200:
                break
        self.assertEqual((answer.status, json.loads(text)["code"], answer.headers["Retry-After"]), (429, "too-many-requests", "1"))
        self.assertEqual(lab.get("/api/v1/whoami")["role"], "admin")
        until(lambda: ask()[0].status == 200)

    def test_what_the_command_line_does_not_take(self):
        lab = self.lab
        (lab.folder / "train.py").write_text("print(1)\n")
        self.command("not-a-job-file", "submit", "train.py", cwd=lab.folder)
        self.command("not-a-job-file", "submit", "controller", cwd=lab.folder)
        self.command("quoted-command", "submit", "--", "python train.py")
        self.command("unknown-command", "frobnicate")
        self.command("unknown-flag", "ls", "--frobnicate")
        for _ in range(2):
            lab.submit("true", hold=True, name="twice")
        self.command("ambiguous-name", "show", "twice")
        self.command("one-job", "files", "1,2")
        self.assertEqual(len(lab.jobs()), 2)

    def test_what_a_controller_cannot_listen_on_or_trust(self):
        lab = self.lab
        data = ["--data", lab.folder / "other"]
        self.command("bad-listen", "controller", "run", *data, "--listen", "nonsense")
        self.command("port-in-use", "controller", "run", *data, "--listen", f"127.0.0.1:{lab.port}")
        (lab.folder / "short").write_text("short\n")
        self.command("bad-token-file", "controller", "run", *data, "--token-file", lab.folder / "short")

    def test_what_a_simulation_cannot_read(self):
        lab = self.lab
        (lab.folder / "cluster.toml").write_text("frobnicate = 1\n")
        (lab.folder / "trace.csv").write_text("job_id,submit_time_s,gpus,duration_s\n1,0,1,10\n")
        self.command("bad-cluster", "sim", "compare", "--trace", lab.folder / "trace.csv", "--servers", lab.folder / "cluster.toml", "--policies", "fifo")


if __name__ == "__main__":
    unittest.main()
