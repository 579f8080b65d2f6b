#!/usr/bin/python3
"""Connections that end at every point: a submission is one job however often it is sent, and streams go on where they were."""

import json
import re
import select
import socket
import subprocess
import threading
import unittest

from event_stream_test import Reader
from lab import PROGRAM, LabTest, until


class Dropping:
    """Passes what a client says on to the controller, and drops each submission when it comes first: before the controller
    has it, when it has a part of it, when it has answered, or in the middle of the answer."""

    def __init__(self, port):
        self.to, self.seen, self.dropped = port, set(), 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            if self.to is None:
                client.close()
                return
            with client, socket.create_connection(("127.0.0.1", self.to)) as server:
                self.carry(client, server)

    def carry(self, client, server):
        while True:
            for ready in select.select([client, server], [], [], 60)[0]:
                said = ready.recv(1 << 20)
                if not said:
                    return
                key = re.search(rb"Idempotency-Key: (\S+)", said) if ready is client else None
                if key and key[1] not in self.seen:
                    self.seen.add(key[1])
                    return self.drop(said, client, server)
                (server if ready is client else client).sendall(said)

    def drop(self, said, client, server):
        kind, self.dropped = self.dropped % 4, self.dropped + 1
        if kind == 0:
            return
        server.sendall(said[: len(said) // 2] if kind == 1 else said)
        if kind >= 2:
            answer = server.recv(1 << 20)
            if kind == 3:
                client.sendall(answer[: len(answer) // 2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.to = None
        socket.create_connection(("127.0.0.1", self.port)).close()
        self.thread.join()
        self.socket.close()


class DroppedTest(LabTest):
    def test_a_hundred_submissions_whose_connection_drops_are_a_hundred_jobs(self):
        with Dropping(self.lab.port) as proxy:

            def new_job(verb, *arguments):
                command = [PROGRAM, verb, "--url", f"http://127.0.0.1:{proxy.port}", "-q", *arguments]
                done = subprocess.run(command, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                return int(done.stdout)

            submitted = [new_job("submit", "--name", f"n{number}", "--hold", "--", "true") for number in range(100)]
            self.assertEqual(proxy.dropped, 100)
            self.lab.request("POST", "/api/v1/jobs/1/cancel")
            repeated = [new_job("retry", "1") for _ in range(4)]
            self.assertEqual(proxy.dropped, 104)
        self.assertEqual(submitted + repeated, list(range(1, 105)))
        names = [job["name"] for job in self.lab.get("/api/v1/jobs?limit=1000&sort=id")["items"]]
        self.assertEqual(names, [f"n{number}" for number in range(100)] + ["n0"] * 4)

    def test_the_output_of_a_job_goes_on_after_twenty_reconnects(self):
        job = self.lab.submit("for i in $(seq 300); do echo line $i; sleep 0.02; done")
        until(lambda: self.lab.job(job)["state"] == "running")
        said, last = "", 0
        for number in range(21):
            with Reader(self.lab, path=f"/api/v1/jobs/{job}/logs/stream", headers=f"Last-Event-ID: {last}\r\n") as reader:
                lines = lambda: [message for message in reader.messages() if message[1] is not None]
                is_over = lambda: any(event == "end" for event, _, _ in reader.messages())
                reader.wait(lambda: lines() if number < 20 else is_over(), "more of its output")
                said += "".join(data["x"] + "\n" * data["nl"] for event, _, data in lines() if event == "line")
                last = lines()[-1][1] if lines() else last
        self.assertEqual(said, "".join(f"line {i}\n" for i in range(1, 301)))

    def test_what_an_attempt_writes_while_the_controller_is_away_is_followed_from_its_beginning(self):
        go = self.lab.folder / "go"
        job = self.lab.submit(f"for i in $(seq 9); do echo $SCHEDULEARN_ATTEMPT line $i; done; if test $SCHEDULEARN_ATTEMPT = 1; then until test -e {go}; do sleep 0.05; done; exit 75; fi")
        following = subprocess.Popen([PROGRAM, "--url", self.lab.url, "logs", "-f", str(job)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = [following.stdout.readline() for _ in range(9)]
        self.lab.kill(self.lab.controller)
        go.touch()
        self.lab.start_controller()
        self.lab.finished(job)
        rest, notes = following.communicate(timeout=60)
        self.assertEqual("".join(said) + rest, "".join(f"{attempt} line {i}\n" for attempt in (1, 2) for i in range(1, 10)))
        self.assertIn("--- attempt 2 ---\n", notes)
        _, _, events = self.lab.request("GET", f"/api/v1/jobs/{job}/logs/stream", headers={"Last-Event-ID": f"1-{8 * len('1 line 1 ')}"})
        self.assertEqual([json.loads(line[6:]).get("x") for line in events.splitlines() if line.startswith("data: ")], ["1 line 9", None, *(f"2 line {i}" for i in range(1, 10)), None])

    def test_a_server_that_is_away_for_a_moment_is_waited_for_also_after_the_job_has_gone_on_elsewhere(self):
        self.lab.start_another_agent("other", 1)
        self.lab.cli("servers", "drain", "other")
        go = self.lab.folder / "go"
        job = self.lab.submit(f"for i in $(seq 3); do echo $SCHEDULEARN_ATTEMPT line $i; done; if test $SCHEDULEARN_ATTEMPT = 1; then until test -e {go}; do sleep 0.05; done; exit 75; fi", gpus=1)
        until(lambda: self.lab.job(job)["state"] == "running")
        self.lab.cli("servers", "undrain", "other")
        self.lab.cli("servers", "drain", "lab")
        go.touch()
        self.assertEqual(self.lab.finished(job)["placement"][0]["server"], "other")
        self.lab.kill(self.lab.agent)
        until(lambda: self.lab.request("GET", f"/api/v1/jobs/{job}/logs?attempt=1")[0] == 503)
        with Reader(self.lab, path=f"/api/v1/jobs/{job}/logs/stream", headers="Last-Event-ID: 1-9\r\n") as reader:
            reader.wait(lambda: ": follow" in reader.text, "the answer")
            self.lab.start_agent()
            reader.wait(lambda: any(event == "end" for event, _, _ in reader.messages()), "its end")
            said = [(event, data.get("x")) for event, _, data in reader.messages()]
        self.assertEqual(said, [("away", None), ("line", "1 line 2"), ("line", "1 line 3"), ("attempt", None), *(("line", f"2 line {i}") for i in (1, 2, 3)), ("end", None)])


if __name__ == "__main__":
    unittest.main()
