#!/usr/bin/python3
"""Errors by their codes, one way to each: what is refused says so in the same form, and what is refused changes nothing."""

import http.client
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import unittest

from lab import PROGRAM, LabTest, until


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
        self.rest("body-too-large", "POST", "/api/v1/jobs", "x" * (2 << 20))
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

    def test_what_a_command_means_by_nothing(self):
        """Each of these was once taken for something else, or for nothing that was wrong."""
        self.command("job-not-found", "ls", "--group", "99999")
        self.command("job-not-found", "cancel", "-y", "900-910")
        self.command("bad-matrix", "submit", "--hold", "--matrix", "lr=1,2", "--matrix", "lr=3", "--", "true", "{lr}")
        self.command("bad-matrix", "submit", "--hold", "--matrix", "lr=", "--", "true", "{lr}")
        said = self.lab.cli("submit", "--hold", "--estimate", "300000d", "--", "true", check=False).stderr
        self.assertIn("the estimate is too long [bad-time]", said)
        self.assertEqual(self.lab.jobs(), [])

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
        with (lab.folder / "endless.toml").open("wb") as file:
            file.truncate(1 << 40)
        self.command("not-a-job-file", "submit", "endless.toml", cwd=lab.folder)
        self.command("quoted-command", "submit", "--", "python train.py")
        self.command("unknown-command", "frobnicate")
        self.command("unknown-flag", "ls", "--frobnicate")
        for flag in ("--stderr", "--stdout"):
            self.assertIn('2> "$SCHEDULEARN_OUTPUT_DIR/stderr.txt"', lab.cli("logs", "1", flag, check=False).stderr)
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

        (lab.folder / "long").write_text("long enough to be one\n")
        self.command("address-unavailable", "controller", "run", *data, "--listen", "203.0.113.1:5000", "--token-file", lab.folder / "long")

    def test_a_program_without_its_launcher(self):
        lab = self.lab
        alone = lab.folder / "alone"
        alone.mkdir()
        program = shutil.copy(PROGRAM, alone)
        for code, words in (("launcher-missing", ("agent", "run", "--join", lab.url, "--data", lab.folder / "other", "--simulate", "1")), ("demo-failed", ("demo",))):
            done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"[{code}]", done.stderr)

    def test_a_server_without_the_program_that_serves_shells(self):
        lab = self.lab
        alone = lab.folder / "alone"
        alone.mkdir()
        for name in ("schedulearn", "schedulearn-launcher"):
            shutil.copy(pathlib.Path(PROGRAM).parent / name, alone)
        agent = subprocess.Popen([alone / "schedulearn", "agent", "run", "--join", lab.url, "--data", lab.folder / "far", "--name", "far", "--simulate", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lab.more_agents.append(agent)
        until(lambda: (lab.try_get("/api/v1/servers/far") or {}).get("state") == "up")
        job = lab.submit("sleep 90.0644", resources={"on": ["far"]})
        until(lambda: lab.job(job)["state"] == "running")
        self.command("shell-failed", "shell", job)
        lab.cli("cancel", job, "--now")
        lab.finished(job)

    def test_what_cannot_be_written_or_is_gone(self):
        lab = self.lab
        self.command("not-writable", "init", "/proc/job.toml")
        done = subprocess.run([PROGRAM, "login", lab.url, "--name", "a/b"], input="secret\n", capture_output=True, text=True, env={**os.environ, "XDG_CONFIG_HOME": str(lab.folder / "config")})
        self.assertIn("[bad-context]", done.stderr)
        (lab.folder / "controller" / "snapshots").write_text("no folder")
        self.rest("snapshot-not-stored", "PUT", "/api/v1/snapshots/" + "0" * 64 + "?offset=0&size=3", "abc", {"Content-Type": "application/x-tar"})
        job = lab.submit("echo done")
        lab.finished(job)
        lab.kill(lab.controller)
        self.command("output-not-found", "logs", "--data", lab.folder / "controller", job)

    def test_code_that_git_cannot_list(self):
        folder = self.lab.folder / "code"
        folder.mkdir()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        (folder / ".git" / "config").write_text("no configuration\n")
        self.command("snapshot-failed", "submit", "--snapshot", "git", "--", "true", cwd=folder)
        without = subprocess.run([PROGRAM, "submit", "--url", self.lab.url, "--snapshot", "git", "--", "true"], capture_output=True, text=True, cwd=folder, env={**os.environ, "PATH": "/proc"})
        self.assertIn("[snapshot-needs-git]", without.stderr)
        self.assertEqual(self.lab.jobs(), [])

    def test_a_link_signs_in_once(self):
        status, _, text = self.lab.request("POST", "/api/v1/sessions/link", {})
        self.assertEqual(status, 201, text)
        code = json.loads(text)["fragment"].removeprefix("#sign-in=")
        self.assertEqual(self.lab.request("POST", "/api/v1/sessions", {}, {"X-Schedulearn-Code": code})[0], 201)
        self.rest("code-used", "POST", "/api/v1/sessions", {}, {"X-Schedulearn-Code": code})

    def test_a_simulation_is_removed_by_whoever_made_it(self):
        lab = self.lab
        lab.request("POST", "/api/v1/users", {"name": "mei"})
        secret = json.loads(lab.request("POST", "/api/v1/tokens", {"name": "t", "user": "mei"})[2])["token"]
        status, _, text = lab.request("POST", "/api/v1/simulations", {"trace": {"workload": "poisson", "parameters": {"jobs": 5}}, "policies": [{"name": "fifo"}]})
        self.assertEqual(status, 202, text)
        one = f"/api/v1/simulations/{json.loads(text)['id']}"
        self.rest("not-yours", "DELETE", one, headers={"Authorization": f"Bearer {secret}"})
        self.assertEqual(lab.request("DELETE", one)[0], 200)

    def test_what_is_no_http(self):
        with socket.create_connection(("127.0.0.1", self.lab.port)) as other:
            other.sendall(b"HELO \x01there\r\n\r\n")
            other.settimeout(30)
            answer = b""
            while piece := other.recv(65536):
                answer += piece
        self.assertTrue(answer.startswith(b"HTTP/1.1 400"), answer)
        self.assertIn(b'"code":"bad-request"', answer)

    def test_as_many_may_follow_the_events_as_there_is_room_for(self):
        followers = []
        self.addCleanup(lambda: [each.close() for each in followers])
        for _ in range(1_001):
            followers.append(socket.create_connection(("127.0.0.1", self.lab.port)))
            followers[-1].sendall(b"GET /api/v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            followers[-1].settimeout(30)
            head = followers[-1].recv(4096)
            if b" 200 " not in head.split(b"\r\n")[0]:
                break
        self.assertEqual(len(followers), 1_001)
        self.assertIn(b"too-many-streams", head)
        followers.pop(0).close()
        until(self.follows)

    def follows(self):
        with socket.create_connection(("127.0.0.1", self.lab.port)) as one:
            one.sendall(b"GET /api/v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            one.settimeout(30)
            return b" 200 " in one.recv(4096).split(b"\r\n")[0]

    def test_a_file_of_which_only_a_part_arrives(self):
        class Half(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                wants_facts = "look=true" in self.path
                body = json.dumps({"id": 1, "items": [{"id": 1}], "path": "a.bin", "kind": "file", "bytes": 100}).encode() if wants_facts or "files" not in self.path else b"only this"
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Half)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.command("file-cut", "files", "1", "get", "a.bin", "-o", ".", "--url", f"http://127.0.0.1:{server.server_port}", cwd=self.lab.folder)
        self.assertFalse((self.lab.folder / "a.bin").exists())

    def test_python_that_cannot_be_started(self):
        policy = pathlib.Path(__file__).parents[2] / "examples" / "policies" / "fifo.py"
        said = [subprocess.run(["sh", "-c", f"ulimit -n {most}; exec {PROGRAM} policy check {policy}"], capture_output=True, text=True, timeout=60).stderr for most in range(4, 12)]
        self.assertTrue(any("[no-process]" in each for each in said), said)

    def test_what_a_simulation_cannot_read(self):
        lab = self.lab
        wide = lab.folder / "wide.csv"
        wide.write_text("job_id,submit_time_s,gpus,duration_s\n1,0,4,10\n")
        self.command("trace-oversize", "trace", "info", wide, "--max-gpus", 2, "--oversize", "fail")
        self.command("empty-trace", "estimates", "ranges", wide, "--servers", "1x1")
        (lab.folder / "long.csv").write_text("job_id,submit_time_s,gpus,duration_s\n" + "".join(f"{i},0,1,99999999999\n" for i in range(100)))
        self.command("trace-too-long", "sim", "run", "--trace", lab.folder / "long.csv", "--servers", "1x4", "--policy", "fifo")
        with open(lab.folder / "huge.csv", "wb") as huge:
            huge.truncate((2 << 30) + 1)
        self.command("trace-too-large", "trace", "info", lab.folder / "huge.csv")
        (lab.folder / "a.json").write_text(json.dumps({"schedulearn_profile": 1, "family": "a", "origin": "", "speeds": [{"gpus": 1, "steps_per_s": 1}]}))
        shutil.copy(lab.folder / "a.json", lab.folder / "b.json")
        self.command("duplicate-profile", "sim", "run", "--trace", wide, "--servers", "1x4", "--policy", "fifo", "--profiles", lab.folder / "a.json", "--profiles", lab.folder / "b.json")
        self.command("unknown-profile", "plot", "speedup", "pytorch-mnits")
        (lab.folder / "cluster.toml").write_text("frobnicate = 1\n")
        (lab.folder / "trace.csv").write_text("job_id,submit_time_s,gpus,duration_s\n1,0,1,10\n")
        self.command("bad-cluster", "sim", "compare", "--trace", lab.folder / "trace.csv", "--servers", lab.folder / "cluster.toml", "--policies", "fifo")


if __name__ == "__main__":
    unittest.main()
