#!/usr/bin/python3
"""The API and the database of the original Schedulearn, as its programs use them; and removing jobs for good."""

import base64
import json
import os
import socket
import sqlite3
import struct
import subprocess
import unittest
import urllib.request

from lab import LabTest, until


class WebSocket:
    """A client that reads text frames."""

    def __init__(self, port, path, **headers):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(), *(f"{name}: {value}" for name, value in headers.items())]
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        self.reads = self.socket.makefile("rb")
        self.status = int(self.reads.readline().split()[1])
        while self.reads.readline() not in (b"\r\n", b""):
            pass

    def frames(self):
        """The text frames, up to the one that closes."""
        while True:
            head = self.reads.read(2)
            if len(head) < 2:
                raise AssertionError("it was not closed properly")
            kind, size = head[0] & 15, head[1] & 127
            if size > 125:
                size = struct.unpack(">H" if size == 126 else ">Q", self.reads.read(2 if size == 126 else 8))[0]
            text = self.reads.read(size)
            if kind == 8:
                self.reason = text[2:].decode()
                return self.close()
            if kind == 1:
                yield text.decode()

    def close(self):
        self.reads.close()
        self.socket.close()

    def text(self):
        return "".join(self.frames())


class OriginalTest(LabTest):
    def listed(self):
        return [job["id"] for job in self.lab.get("/jobs")]

    def test_a_deleted_job_is_cancelled_and_leaves_the_list_only(self):
        running, done, kept = self.lab.submit("sleep 86.7113"), self.lab.submit("true"), self.lab.submit("true")
        until(lambda: self.lab.job(running)["state"] == "running")
        self.lab.finished(done), self.lab.finished(kept)
        for job in (running, done):
            status, headers, text = self.lab.request("DELETE", f"/jobs/{job}")
            self.assertEqual((status, json.loads(text)), (200, {"message": "Job deleted successfully"}))
            self.assertEqual((headers["Deprecation"], headers["Link"]), ("true", '</api/v1/jobs>; rel="successor-version"'))
        self.assertEqual(self.lab.finished(running)["state"], "cancelled")
        self.assertEqual(self.listed(), [kept])
        self.assertEqual({job["id"] for job in self.lab.jobs()}, {running, done, kept})
        self.assertEqual(self.lab.get(f"/jobs/{done}")["status"], "Completed")
        self.assertEqual(self.lab.request("DELETE", "/jobs/987")[0], 404)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertEqual(self.listed(), [kept], "after a restart")

    def test_output_over_a_websocket_from_the_start_to_the_end(self):
        job = self.lab.submit("echo one; until test -e go; do sleep 0.02; done; echo zwö; printf three")
        until(lambda: self.lab.job(job)["state"] == "running")
        follower = WebSocket(self.lab.port, f"/jobs/{job}/logs")
        self.assertEqual(follower.status, 101)
        frames = follower.frames()
        self.assertEqual(next(frames), "one\n")
        (self.lab.folder / "go").touch()
        self.assertEqual("".join(frames), "zwö\nthree")
        self.lab.finished(job)
        self.assertEqual(WebSocket(self.lab.port, f"/jobs/{job}/logs").text(), "one\nzwö\nthree", "of one that has ended")
        foreign = WebSocket(self.lab.port, f"/jobs/{job}/logs", Origin="http://evil.example")
        self.assertNotEqual(foreign.status, 101)
        foreign.close()
        none = WebSocket(self.lab.port, "/jobs/987/logs")
        self.assertEqual((none.text(), none.reason), ("", "not-found"))

    def test_much_output_and_a_reader_that_goes_disturb_nobody(self):
        job = self.lab.submit("seq 300000")
        self.lab.finished(job)
        gone = WebSocket(self.lab.port, f"/jobs/{job}/logs")
        next(gone.frames())
        gone.close()
        whole = WebSocket(self.lab.port, f"/jobs/{job}/logs").text()
        self.assertEqual(whole, "".join(f"{i}\n" for i in range(1, 300001)))

    def test_signing_in_gives_the_token_to_whoever_has_it(self):
        token = (self.lab.folder / "controller" / "token").read_text().strip()
        body = {"email": "mei@lab.example", "password": token}
        status, headers, text = self.lab.request("POST", "/signin", body)
        self.assertEqual(status, 200, text)
        user = json.loads(text)
        self.assertEqual((user["email"], user["token"]), ("mei@lab.example", token))
        self.assertEqual(user["username"], self.lab.get("/api/v1/whoami")["user"])
        self.assertEqual(self.lab.request("GET", "/jobs", headers={"Authorization": "Bearer " + user["token"]})[0], 200)
        for wrong in ("", "wrong", token[:-1], token + "x"):
            status, _, text = self.lab.request("POST", "/signin", {**body, "password": wrong})
            self.assertEqual((status, json.loads(text)["code"]), (403, "wrong-token"), wrong)
            self.assertNotIn(token, text)
        self.assertEqual(self.lab.request("POST", "/signin", body, {"Origin": "http://evil.example"})[0], 403)
        self.assertEqual(self.lab.request("POST", "/signin", "{")[0], 400)
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        script = f"import urllib.request as u, json; print(u.urlopen(u.Request('{self.lab.url}/signin', data={json.dumps(body).encode()!r}, headers={{'Content-Type': 'application/json'}})).read().decode())"
        said = subprocess.run(["setpriv", "--reuid", "nobody", "--clear-groups", "/usr/bin/python3", "-c", script], capture_output=True, text=True)
        self.assertEqual(json.loads(said.stdout or "{}").get("username"), "nobody", said.stderr)

    def test_documents_and_pages_have_their_old_addresses(self):
        for path, accept, there in (("/docs", "*/*", "/api/docs"), ("/openapi.json", "*/*", "/api/v1/openapi.json"), ("/jobs", "text/html", "/ui/jobs"), ("/dashboard", "text/html", "/ui/submit")):
            with urllib.request.urlopen(urllib.request.Request(self.lab.url + path, headers={"Accept": accept})) as answer:
                self.assertEqual(answer.url, self.lab.url + there)

    def test_its_tables_are_there_to_be_read(self):
        done = self.lab.submit(["python", "train.py"], name="old", framework="pytorch", gpus=2)
        self.lab.finished(done)
        running = self.lab.submit("sleep 86.7114", gpus=3)
        until(lambda: self.lab.job(running)["state"] == "running")
        hidden = self.lab.submit("true", gpus=4)
        self.lab.request("DELETE", f"/jobs/{hidden}")
        self.lab.finished(hidden)
        self.lab.request("PUT", "/algorithm/srtf")
        with sqlite3.connect(f"file:{self.lab.folder}/controller/schedulearn.db?mode=ro", uri=True) as database:
            database.row_factory = sqlite3.Row
            columns = lambda view: {column[0] for column in database.execute(f"SELECT * FROM {view}").description}
            self.assertEqual(columns("schedulearn"), {"configuration", "value"})
            self.assertEqual(columns("server"), {"id", "host_name"})
            self.assertEqual(columns("gpu"), {"id", "identifier", "occupied", "job_id", "server_id"})
            self.assertEqual(columns("job"), set(self.lab.get(f"/jobs/{done}")))
            jobs = {row["id"]: dict(row) for row in database.execute("SELECT * FROM job")}
            self.assertEqual(set(jobs), {done, running})
            rest = self.lab.get(f"/jobs/{done}")
            for key in ("name", "type", "required_gpus", "no_of_migrations", "trained_at", "status", "error", "container_image", "container_name"):
                self.assertEqual(jobs[done][key], rest[key], key)
            self.assertEqual(json.loads(jobs[done]["command"]), rest["command"])
            self.assertEqual(jobs[done]["created_at"], rest["created_at"].replace("T", " ").rstrip("Z"))
            self.assertEqual(jobs[running]["at_gpus"].count(","), 2)
            self.assertEqual(dict(database.execute("SELECT configuration, value FROM schedulearn").fetchall())["algorithm"], "srtf")
            gpus = [dict(row) for row in database.execute("SELECT * FROM gpu ORDER BY identifier")]
            self.assertEqual([gpu["identifier"] for gpu in gpus], ["lab-0", "lab-1", "lab-2", "lab-3"])
            self.assertEqual(sum(gpu["occupied"] for gpu in gpus), 3)
            self.assertEqual({gpu["job_id"] for gpu in gpus}, {running, None})
            self.assertEqual(len({gpu["id"] for gpu in gpus}), 4)
            with self.assertRaises(sqlite3.OperationalError):
                database.execute("DELETE FROM job")


class RemoveTest(LabTest):
    def test_a_job_that_has_ended_is_removed_for_good(self):
        job, running = self.lab.submit("echo hello"), self.lab.submit("sleep 86.7115")
        self.lab.finished(job)
        until(lambda: self.lab.job(running)["state"] == "running")
        refused = self.lab.cli("rm", running, check=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("[job-not-finished]", refused.stderr)
        self.lab.request("DELETE", f"/jobs/{job}")  # of the original: removing it for good removes that mark too
        self.assertIn(f"job {job} is removed", self.lab.cli("rm", job).stdout)
        status, _, text = self.lab.request("GET", f"/api/v1/jobs/{job}")
        self.assertEqual(json.loads(text)["code"], "job-removed")
        self.assertIn("removed by a user", json.loads(text)["detail"])
        self.assertEqual([one["id"] for one in self.lab.jobs()], [running])
        event = self.lab.get("/api/v1/events")["items"][-1]
        self.assertEqual((event["kind"], event["actor"]["type"]), ("history.removed", "user"))
        self.assertEqual(self.lab.request("DELETE", f"/api/v1/jobs/{job}")[0], 410)
        with sqlite3.connect(f"file:{self.lab.folder}/controller/schedulearn.db?mode=ro", uri=True) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM settings WHERE key LIKE 'hidden_job:%'").fetchone(), (0,))
        self.assertEqual(self.lab.get("/api/v1/cluster")["jobs"]["succeeded"], 0)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertEqual([one["id"] for one in self.lab.jobs()], [running])
        self.assertGreater(self.lab.submit("true"), running, "its number is not used again")

    def test_an_array_goes_with_its_members(self):
        group = json.loads(self.lab.cli("submit", "--array", "0-2", "--json", "--", "true").stdout)["id"]
        self.lab.finished(group)
        other = self.lab.submit("true")
        self.lab.finished(other)
        self.assertIn("with its 3 members", self.lab.cli("rm", group).stdout)
        self.assertEqual([one["id"] for one in self.lab.jobs()], [other])

    def test_others_jobs_stay(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        job = self.lab.submit("true")
        self.lab.finished(job)
        token = (self.lab.folder / "controller" / "token").read_text().strip()
        script = f"import http.client as h; c = h.HTTPConnection('127.0.0.1', {self.lab.port}); c.request('DELETE', '/api/v1/jobs/{job}', headers={{'Authorization': 'Bearer {token}'}}); print(c.getresponse().read().decode())"
        said = subprocess.run(["setpriv", "--reuid", "nobody", "--clear-groups", "/usr/bin/python3", "-c", script], capture_output=True, text=True)
        self.assertEqual(json.loads(said.stdout)["code"], "not-your-job", said.stderr)
        self.assertEqual(self.lab.job(job)["state"], "succeeded")


if __name__ == "__main__":
    unittest.main(verbosity=2)
