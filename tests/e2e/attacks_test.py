#!/usr/bin/python3
"""What a web page, another user of the machine, a stranger on the network and a careless client try against the controller."""

import json
import os
import pathlib
import pwd
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from lab import PROGRAM, Lab, LabTest, until

NOBODY = pwd.getpwnam("nobody")


def resident_mib(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no such process")


def raw_request(port, text, host="127.0.0.1", limit_s=5):
    """The status of the answer to a request written by hand; 0 if the connection was closed without one."""
    with socket.create_connection((host, port), limit_s) as connection:
        connection.sendall(text.encode())
        head = connection.recv(4096)
        return int(head.split()[1]) if head else 0


class WebPageTest(LabTest):
    def submit_with(self, **headers):
        body = json.dumps({"command": "true", "workdir": "/"})
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return raw_request(self.lab.port, f"POST /api/v1/jobs HTTP/1.1\r\n{lines}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")

    def test_a_name_that_begins_like_loopback_is_no_loopback(self):
        port = self.lab.port
        for host in (f"127.evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}", "evil.example", f"[::1].evil:{port}", f"x@127.0.0.1:{port}"):
            self.assertEqual(self.submit_with(Host=host), 403, host)
            self.assertEqual(self.submit_with(Host=host, Origin=f"http://{host}"), 403, host)
        for origin in (f"http://127.evil.example:{port}", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"):
            self.assertEqual(self.submit_with(Host=f"127.0.0.1:{port}", Origin=origin), 403, origin)
        self.assertEqual(self.lab.jobs(), [])
        self.assertEqual(self.submit_with(Host=f"localhost:{port}"), 201)


@unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
class OtherUserTest(LabTest):
    """Another user of the same machine, over loopback."""

    def setUp(self):
        super().setUp()
        token = self.lab.folder / "controller" / "token"
        self.token = token.read_text().strip() if token.exists() else ""

    def as_nobody(self, method, path, body=None, headers=None):
        """(status, text) of a request sent by a process of the user nobody."""
        program = "import http.client, json, sys; m, port, path, body, headers = json.load(sys.stdin); c = http.client.HTTPConnection('127.0.0.1', port, timeout=20); c.request(m, path, body, headers); a = c.getresponse(); print(json.dumps([a.status, a.read().decode()]))"
        given = json.dumps([method, self.lab.port, path, body and json.dumps(body), {"Content-Type": "application/json", **(headers or {})}])
        done = subprocess.run(["/usr/bin/python3", "-c", program], input=given, capture_output=True, text=True, user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=[], timeout=60, cwd="/", check=True)
        return json.loads(done.stdout)

    def with_token(self, **more):
        return {"Authorization": f"Bearer {self.token}", **more}

    def test_without_the_token_nothing_is_done(self):
        for method, path, body in (("POST", "/api/v1/jobs", {"command": "id", "workdir": "/"}), ("POST", "/jobs", {"command": "id"}), ("GET", "/api/v1/jobs", None), ("PUT", "/algorithm/FIFO", None)):
            status, text = self.as_nobody(method, path, body)
            self.assertEqual((status, json.loads(text)["code"]), (401, "token-required"))
        self.assertEqual(self.as_nobody("GET", "/api/v1/jobs", None, {"Authorization": "Bearer guess"})[0], 403)
        self.assertEqual(self.as_nobody("GET", "/healthz")[0], 200)
        self.assertEqual(self.lab.jobs(), [])

    def test_with_the_token_it_is_nobody_and_nobody_else(self):
        status, text = self.as_nobody("POST", "/api/v1/jobs", {"command": "true", "workdir": "/"}, self.with_token())
        self.assertEqual((status, json.loads(text)["user"]), (201, "nobody"))
        for body, headers in (({"command": "true", "user": "root"}, {}), ({"command": "true"}, {"X-Schedulearn-User": "root"})):
            status, text = self.as_nobody("POST", "/api/v1/jobs", body, self.with_token(**headers))
            self.assertEqual((status, json.loads(text)["code"]), (403, "not-your-name"))
        self.assertEqual(len(self.lab.jobs()), 1)

    def test_a_connection_whose_owner_has_gone_is_not_taken_for_root_s(self):
        program = "import socket, sys; c = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); b = b'{\"command\": \"id\", \"workdir\": \"/\"}'; c.sendall(b'POST /api/v1/jobs HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(b) + b)"
        for _ in range(20):
            subprocess.run(["/usr/bin/python3", "-c", program, str(self.lab.port)], user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=[], cwd="/", check=True)
        self.assertEqual(self.lab.jobs(), [])

    def test_the_environment_of_a_job_is_its_owner_s(self):
        job = self.lab.submit("true", env={"WANDB_API_KEY": "hush-4711"})
        self.assertEqual(self.lab.job(job)["spec"]["env"], {"WANDB_API_KEY": "hush-4711"})
        for path in (f"/api/v1/jobs/{job}", "/api/v1/jobs", "/api/v1/queue"):
            status, text = self.as_nobody("GET", path, None, self.with_token())
            self.assertEqual(status, 200)
            self.assertNotIn("hush-4711", text, path)
        _, text = self.as_nobody("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", "env": {"OWN": "mine"}}, self.with_token())
        self.assertEqual(json.loads(text)["spec"]["env"], {"OWN": "mine"})
        own = json.loads(text)["id"]
        self.assertEqual(json.loads(self.as_nobody("GET", f"/api/v1/jobs/{own}", None, self.with_token())[1])["spec"]["env"], {"OWN": "mine"})

    def test_a_move_in_line_changes_no_job_of_others(self):
        self.lab.submit("sleep 4113.5", gpus=4)
        first, second = (self.lab.submit("true", gpus=4) for _ in range(2))
        own = json.loads(self.as_nobody("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", "gpus": 4}, self.with_token())[1])["id"]
        for query in ("?dry_run=true", ""):
            status, text = self.as_nobody("PATCH", f"/api/v1/jobs/{own}{query}", {"before": second}, self.with_token())
            self.assertEqual((status, json.loads(text)["code"]), (403, "not-your-job"), query)
        self.assertEqual([self.lab.job(job)["priority"] for job in (first, second, own)], [0, 0, 0])
        self.assertEqual(self.as_nobody("PATCH", f"/api/v1/jobs/{own}", {"before": first}, self.with_token())[0], 202)
        self.assertEqual([job["id"] for job in self.lab.get("/api/v1/queue")["items"]], [own, first, second])

    def test_a_job_is_changed_and_ended_by_its_owner_only(self):
        job = self.lab.submit("sleep 4112.5", checkpoint={"dir": "c"})
        for method, verb, body in (("POST", "/cancel", {}), ("PATCH", "", {"priority": 9}), ("POST", "/suspend", {}), ("POST", "/resume", {}),
                                   ("POST", "/migrate", {}), ("POST", "/scale", {"gpus": 1}), ("DELETE", "", None)):
            status, text = self.as_nobody(method, f"/api/v1/jobs/{job}{verb}", body, self.with_token())
            self.assertEqual((status, json.loads(text)["code"]), (403, "not-your-job"), verb)
        self.assertEqual(self.as_nobody("DELETE", f"/jobs/{job}", None, self.with_token())[0], 403)
        self.assertEqual((self.lab.job(job)["state"] in ("starting", "running"), self.lab.job(job)["priority"]), (True, 0))
        _, text = self.as_nobody("POST", "/api/v1/jobs", {"command": "sleep 4112.5", "workdir": "/"}, self.with_token())
        self.assertEqual(self.as_nobody("POST", f"/api/v1/jobs/{json.loads(text)['id']}/cancel", {}, self.with_token())[0], 202)
        self.lab.cli("cancel", job, "--yes")

    def test_the_data_folder_keeps_its_secrets(self):
        folder = self.lab.folder / "controller"
        for name in ("token", "controller.sock", "schedulearn.db"):
            self.assertEqual(stat.S_IMODE((folder / name).stat().st_mode), 0o600, name)


class NumbersTest(LabTest):
    def test_numbers_that_no_machine_has_end_no_controller(self):
        huge = 10 ** 19
        for body in ({"after": [huge]}, {"after_any": [huge]}, {"matrix": {"a": [huge]}}):
            self.lab.request("POST", "/api/v1/jobs?dry_run=true", {"command": "true", "workdir": "/", **body})
        deep = ".".join("a" * 20_000) + " = 1"
        self.lab.request("POST", "/api/v1/jobs?dry_run=true", deep, {"Content-Type": "application/toml"})
        self.assertEqual(self.lab.request("GET", "/healthz")[0], 200)


class DataFolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-test-"))

    def refused(self, folder):
        """Neither role accepts the folder, and neither changes it."""
        mode, listing = folder.stat().st_mode, sorted(folder.iterdir())
        for role in (["controller", "run", "--listen", "127.0.0.1:0"], ["agent", "run", "--join", "http://127.0.0.1:1"], ["up", "--listen", "127.0.0.1:0"]):
            done = subprocess.run([PROGRAM, *role, "--data", str(folder)], capture_output=True, text=True, timeout=30)
            self.assertIn("data-directory-unsafe", done.stderr)
            self.assertIn("hint: ", done.stderr)
        self.assertEqual((folder.stat().st_mode, sorted(folder.iterdir())), (mode, listing))

    def test_a_folder_where_others_may_write_is_refused_and_left_as_it_is(self):
        self.folder.chmod(0o1777)
        self.refused(self.folder)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give a folder away")
    def test_a_folder_of_another_user_is_refused_and_left_as_it_is(self):
        os.chown(self.folder, NOBODY.pw_uid, NOBODY.pw_gid)
        self.refused(self.folder)

    def test_a_folder_of_ours_keeps_its_mode(self):
        self.folder.chmod(0o755)
        daemon = subprocess.Popen([PROGRAM, "controller", "run", "--data", str(self.folder), "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.assertIn("listens", daemon.stdout.readline())
        daemon.stdout.close()
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o755)


class UnixSocketTest(LabTest):
    def test_the_command_line_finds_its_controller_without_an_address(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SCHEDULEARN_")}
        environment["SCHEDULEARN_DATA"] = str(self.lab.folder / "controller")
        done = subprocess.run([PROGRAM, "status"], capture_output=True, text=True, env=environment, timeout=30, check=True)
        self.assertIn(str(self.lab.folder / "controller" / "controller.sock"), done.stdout)
        done = subprocess.run([PROGRAM, "run", "--", "sh", "-c", "echo by socket; exit 3"], capture_output=True, text=True, env=environment, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (3, "by socket\n"))


class BeyondLoopbackTest(unittest.TestCase):
    """A controller that listens everywhere, and strangers on the network (here: on another address of this machine)."""

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.__exit__)
        token = self.lab.folder / "token"
        token.write_text("a-token-of-some-length\n")
        self.lab.controller = self.lab._daemon("controller", "controller", "run", "--data", str(self.lab.folder / "controller"), "--listen", f"0.0.0.0:{self.lab.port}", "--token-file", str(token))
        until(lambda: self.lab.try_get("/readyz"), what="the controller")
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(probe.close)
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            self.skipTest("this machine has no other address than loopback")
        self.address = probe.getsockname()[0]

    def ask(self, path="/api/v1/jobs", more=""):
        return raw_request(self.lab.port, f"GET {path} HTTP/1.1\r\nHost: {self.address}:{self.lab.port}\r\n{more}\r\n", self.address)

    def test_only_the_token_lets_in(self):
        self.assertEqual(self.ask(), 401)
        self.assertEqual(self.ask(more="Authorization: Bearer wrong\r\n"), 403)
        self.assertEqual(self.ask(more="Authorization: Bearer a-token-of-some-length\r\n"), 200)

    def test_bodies_of_strangers_are_not_read(self):
        before = resident_mib(self.lab.controller)
        connections = []
        for _ in range(400):
            connection = socket.create_connection((self.address, self.lab.port), 5)
            connection.sendall(f"POST /api/v1/jobs HTTP/1.1\r\nHost: {self.address}\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n".encode())
            self.assertIn(b" 401 ", connection.recv(4096))  # before a byte of the body
            connections.append(connection)
        for connection in connections:
            try:
                connection.sendall(b"x" * 1_000_000)
            except OSError:
                pass
        self.assertLess(resident_mib(self.lab.controller) - before, 40)
        for connection in connections:
            connection.close()

    def test_silent_connections_lock_nobody_out_and_are_closed(self):
        silent = [socket.create_connection((self.address, self.lab.port), 5) for _ in range(2_500)]
        begin = time.monotonic()
        self.assertEqual(self.ask(more="Authorization: Bearer a-token-of-some-length\r\n"), 200)
        self.assertLess(time.monotonic() - begin, 1)
        silent[0].settimeout(5)
        self.assertEqual(silent[0].recv(1), b"")  # the oldest made room
        silent[-1].settimeout(20)
        self.assertEqual(silent[-1].recv(1), b"")  # the others had their time
        for connection in silent:
            connection.close()


class SlowReaderTest(LabTest):
    def big_output(self, bytes_of_it, line=99):
        """A finished job with that much output in lines of `line` characters, the last of them 'the end'."""
        job = self.lab.submit(f"yes {'x' * line} | head -c {bytes_of_it}; echo; echo one; echo two; echo the end", output_limit="2GiB")
        self.assertEqual(self.lab.finished(job, 60)["state"], "succeeded")
        return job

    def open(self, path):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", self.lab.port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return connection

    def test_a_hundred_readers_that_do_not_read_cost_little(self):
        job = self.big_output(200_000_000)
        for i in range(1_000):
            self.lab.submit("true", hold=True, name="n" * 100)
        before = resident_mib(self.lab.controller)
        readers = [self.open(path) for path in (f"/api/v1/jobs/{job}/logs", f"/api/v1/jobs/{job}/logs/stream", "/api/v1/jobs?limit=100000", "/jobs") for _ in range(25)]
        deadline, most = time.monotonic() + 5, 0
        while time.monotonic() < deadline:
            most = max(most, resident_mib(self.lab.controller))
            time.sleep(0.05)
        print(f"100 slow readers: {most - before:.1f} MiB", file=sys.stderr)
        self.assertLess(most - before, 50)
        for reader in readers:
            reader.close()

    def test_a_follower_that_does_not_read_is_told_why_it_was_closed(self):
        job = self.big_output(60_000_000)
        reader = self.open(f"/api/v1/jobs/{job}/logs/stream")
        time.sleep(33)  # longer than the controller's patience
        text = b""
        while piece := reader.recv(1 << 20):
            text += piece
            if text.endswith(b"0\r\n\r\n"):
                break
        reader.close()
        self.assertIn(b"event: closed", text[-1_000:])
        self.assertIn(b"took nothing", text[-1_000:])

    def test_the_end_of_a_long_output_is_read_from_its_end(self):
        job = self.big_output(600_000_000)
        before = resident_mib(self.lab.controller), resident_mib(self.lab.agent)
        times = []
        for _ in range(5):
            begin = time.monotonic()
            status, _, text = self.lab.request("GET", f"/api/v1/jobs/{job}/logs?tail=3")
            times.append(time.monotonic() - begin)
            self.assertEqual((status, text), (200, "one\ntwo\nthe end\n"))
        grown = resident_mib(self.lab.controller) - before[0], resident_mib(self.lab.agent) - before[1]
        print(f"tail of 600 MB: {min(times) * 1e3:.1f} ms, {grown[0]:.1f} MiB in the controller, {grown[1]:.1f} in the agent", file=sys.stderr)
        self.assertLess(min(times), 0.05)
        self.assertLess(max(grown), 5)
        self.assertEqual(self.lab.cli("logs", "--tail", 3, job).stdout, "one\ntwo\nthe end\n")

    def test_a_tail_is_as_many_lines_whatever_they_look_like(self):
        for command, lines, expected in (("printf 'a\\nb\\nc'", 2, "b\nc"), ("printf 'a\\nb\\n'", 1, "b\n"), ("printf '\\n\\n'", 1, "\n"), ("printf 'a\\nb\\n'", 9, "a\nb\n"), ("printf ''", 3, ""), ("printf 'a\\n'", 0, "")):
            job = self.lab.submit(command)
            self.lab.finished(job)
            self.assertEqual(self.lab.cli("logs", "--tail", lines, job).stdout, expected, command)
        job = self.lab.submit("for i in 1 2 3 4; do head -c 300000 /dev/zero | tr '\\0' $i; echo; done")
        self.lab.finished(job)
        self.assertEqual(self.lab.cli("logs", "--tail", 3, job).stdout, "".join(str(i) * 300_000 + "\n" for i in (2, 3, 4)))


class BadInputTest(LabTest):
    def test_parameters_that_do_not_exist_or_make_no_sense_are_refused(self):
        job = self.lab.submit("echo hi")
        self.lab.finished(job)
        for path in ("/api/v1/jobs?sate=pending", "/api/v1/cluster?x=1", f"/api/v1/jobs/{job}/logs?tial=3", "/jobs?limit=1", "/api/v1/events?job=1"):
            status, _, text = self.lab.request("GET", path)
            self.assertEqual((status, json.loads(text)["code"]), (422, "unknown-parameter"), path)
        self.assertIn("did you mean state?", self.lab.request("GET", "/api/v1/jobs?sate=pending")[2])
        for path in (f"/api/v1/jobs/{job}/logs?tail=-3", f"/api/v1/jobs/{job}/logs?offset=x", f"/api/v1/jobs/{job}/logs?attempt=0", f"/api/v1/jobs/{job}/logs?tail_bytes=1&limit={2**63 - 1}", f"/api/v1/jobs/{job}/logs/stream?offset=-1", "/api/v1/jobs?limit=1e3", "/api/v1/jobs?limit=1&limit=2", "/api/v1/jobs?before=-1"):
            status, _, text = self.lab.request("GET", path)
            self.assertEqual((status, json.loads(text)["code"]), (422, "bad-parameter"), path)

    def test_every_route_says_what_it_is(self):
        routes = self.lab.get("/api/v1")["items"]
        self.assertIn({"method": "POST", "path": "/api/v1/jobs/{id}/resume", "summary": "put a held job back in the queue", "role": "user", "parameters": ["dry_run"]}, routes)
        guide = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "rest.md").read_text()
        for route in routes:
            self.assertTrue(route["summary"])
            self.assertIn(route["path"].removeprefix("/api/v1") or "`GET /api/v1`", guide)

    def test_long_lists_are_whole_in_any_cut(self):
        for i in range(450):
            self.lab.submit("true", hold=True, name=f"job-{i % 3}")
        every = [job["id"] for job in self.lab.jobs()]
        self.assertEqual(every, list(range(450, 0, -1)))
        self.assertEqual([row["id"] for row in self.lab.get("/jobs")], every)
        for query, expected in (("", every), ("&q=job-1", [i for i in every if i % 3 == 2]), ("&state=running", [])):
            for limit in (1_000, 150, 100, 7):
                found, cursor = [], ""
                while cursor is not None and len(found) < 500:
                    page = self.lab.get(f"/api/v1/jobs?limit={limit}{query}{cursor}")
                    self.assertEqual(page["total"], len(expected))
                    self.assertLessEqual(len(page["items"]), limit)
                    found += [job["id"] for job in page["items"]]
                    cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
                self.assertEqual(found, expected, f"{query} {limit}")

    def test_a_held_job_can_be_released(self):
        held = int(self.lab.cli("submit", "--hold", "-q", "--", "true").stdout)
        self.assertEqual(self.lab.job(held)["state"], "held")
        self.assertIn("is no longer held", self.lab.cli("release", held).stdout)  # resume, by its older name
        self.assertEqual(self.lab.finished(held)["state"], "succeeded")
        refused = self.lab.cli("release", held, check=False)
        self.assertEqual((refused.returncode, "job-finished" in refused.stderr), (5, True))

    def test_messages_of_the_command_line_are_ours(self):
        for arguments, words in ((("logs", "--tail", "-3", "1"), "takes a number of lines, not -3"), (("sett", "1"), "there is no command sett"), (("submit", "--gpu-type", "3090", "--", "true"), "resources-unsatisfiable")):
            done = self.lab.cli(*arguments, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)

    def test_one_bad_row_does_not_keep_the_controller_from_starting(self):
        bad, good = self.lab.submit("true", hold=True), self.lab.submit("true", hold=True)
        self.lab.kill(self.lab.controller)
        with sqlite3.connect(self.lab.folder / "controller" / "schedulearn.db") as database:
            database.execute("UPDATE jobs SET spec_json = '{\"labels\":{}, broken' WHERE id = ?", (bad,))
        self.lab.start_controller()
        self.assertEqual((self.lab.job(bad)["state"], self.lab.job(bad)["failure"]["kind"]), ("failed", "database"))
        self.assertEqual({job["id"]: job["state"] for job in self.lab.jobs()}, {bad: "failed", good: "held"})
        until(lambda: "job.set_aside" in {event["kind"] for event in self.lab.get("/api/v1/events")["items"]}, what="the event in the database")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    unittest.main(verbosity=2)
