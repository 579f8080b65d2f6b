"""GET /api/v1/events/stream: what happens, as it happens, with nothing lost or doubled however often a reader comes back."""

import json
import os
import signal
import socket
import subprocess
import unittest

from lab import PROGRAM, LabTest, until


class Reader:
    """Reads the stream over a socket of its own."""

    def __init__(self, lab, query="", headers="", path="/api/v1/events/stream"):
        self.socket = socket.create_connection(("127.0.0.1", lab.port), timeout=30)
        self.socket.sendall(f"GET {path}{query} HTTP/1.1\r\nHost: 127.0.0.1:{lab.port}\r\n{headers}\r\n".encode())
        self.text = self.body = ""
        until(lambda: self.more() and "\r\n\r\n" in self.text, what="the head of the stream")
        self.head = self.text.split("\r\n\r\n")[0]

    def more(self):
        self.text += self.socket.recv(65536).decode("latin-1")  # a character is a byte: chunks are counted in bytes
        return True

    def messages(self):
        """[(event, id or None, data)]; frames of chunks and comments are left out."""
        chunks, rest = "", self.text.split("\r\n\r\n", 1)[1]
        while "\r\n" in rest:
            size, rest = rest.split("\r\n", 1)
            count = int(size, 16)
            if len(rest) < count + 2:
                break
            chunks, rest = chunks + rest[:count], rest[count + 2:]
        found = []
        for text in chunks.split("\n\n")[:-1]:
            if text.startswith(":"):
                continue
            fields = dict(line.split(": ", 1) for line in text.split("\n"))
            number = fields.get("id")  # of output it is "ATTEMPT-OFFSET"
            found.append((fields["event"], int(number) if number and number.isdigit() else number, json.loads(fields["data"].encode("latin-1"))))
        return found

    def events(self):
        return [data for event, _, data in self.messages() if event == "event"]

    def wait(self, condition, what):
        until(lambda: condition() or (self.more() and False), what=what)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class EventStreamTest(LabTest):
    def test_everything_that_happens_arrives_once_and_in_order(self):
        with Reader(self.lab) as early, Reader(self.lab) as second:
            first = self.lab.submit("true")
            self.lab.finished(first)
            for reader in (early, second):
                reader.wait(lambda: any(event["to"] == "succeeded" for event in reader.events()), "the end of the job")
            stored = self.lab.get("/api/v1/events?since=0&limit=1000")["items"]
            begin = early.messages()[0]
            self.assertEqual(begin[0], "begin")
            self.assertEqual(early.events(), [event for event in stored if event["seq"] > begin[1]])
            self.assertEqual([data["seq"] for data in second.events()], [data["seq"] for data in early.events()])
            self.assertIn("text/event-stream", early.head)

    def test_a_reader_that_comes_back_loses_and_repeats_nothing(self):
        seen, last = [], 0
        for _ in range(20):
            self.lab.submit("true")
            with Reader(self.lab, headers=f"Last-Event-ID: {last}\r\n") as reader:
                newest = self.lab.get("/api/v1/events?limit=1")["items"][-1]["seq"]
                reader.wait(lambda: reader.events() and reader.events()[-1]["seq"] >= newest, "what it missed")
                seen += reader.events()
                last = seen[-1]["seq"]
        self.assertEqual([event["seq"] for event in seen], list(range(1, last + 1)))

    def test_events_continue_after_the_controller_was_killed(self):
        with Reader(self.lab, "?since=0") as reader:
            self.lab.finished(self.lab.submit("true"))
            reader.wait(lambda: any(event["to"] == "succeeded" for event in reader.events()), "the end of the job")
            last = reader.events()[-1]["seq"]
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        with Reader(self.lab, headers=f"Last-Event-ID: {last}\r\n") as reader:
            self.lab.submit("true")
            reader.wait(lambda: any(event["kind"] == "job.submitted" for event in reader.events()), "the next job")
            self.assertEqual(reader.events()[0]["seq"], last + 1)

    def test_a_number_from_the_future_begins_anew(self):
        with Reader(self.lab, "?since=999999") as reader:
            reader.wait(reader.messages, "the first message")
            event, number, _ = reader.messages()[0]
            self.assertEqual(event, "reset")
            self.assertLess(number, 999999)
            self.lab.submit("true")
            reader.wait(reader.events, "an event")

    def test_a_quiet_cluster_still_speaks(self):
        with Reader(self.lab) as reader:
            reader.wait(lambda: any(event == "sample" for event, _, _ in reader.messages()), "a sample")

    def test_bad_numbers_are_refused(self):
        for query in ("?since=x", "?since=-1", "?since=1.5", "?sinc=1"):
            status, _, text = self.lab.request("GET", "/api/v1/events/stream" + query)
            self.assertEqual(status, 422, text)

    def test_a_reader_that_reads_nothing_harms_nobody(self):
        readers = [Reader(self.lab, "?since=0") for _ in range(30)]
        self.addCleanup(lambda: [reader.socket.close() for reader in readers])
        jobs = [self.lab.submit("true") for _ in range(50)]
        for job in jobs:
            self.lab.finished(job)
        readers[0].wait(lambda: sum(event["to"] == "succeeded" for event in readers[0].events()) == 50, "all ends")

    # ---- the command line ----
    def follow(self, *words):
        command = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, env={**os.environ, "SCHEDULEARN_URL": self.lab.url})
        self.addCleanup(command.communicate)
        self.addCleanup(command.kill)
        return command

    def test_the_command_line_follows_events_through_a_restart(self):
        lab = self.lab
        first = lab.submit("true")
        command = self.follow("events", "-f", "--json", "--about", "job", "--limit", 1)
        seen = []

        def sees_end_of(job):
            while not (seen and seen[-1]["job_id"] == job and seen[-1]["to"] == "succeeded"):
                seen.append(json.loads(command.stdout.readline()))

        sees_end_of(first)
        lab.kill(lab.controller)
        lab.start_controller()
        sees_end_of(lab.submit("true"))
        numbers = [event["seq"] for event in seen]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual({event["kind"].partition(".")[0] for event in seen}, {"job"})
        command.send_signal(signal.SIGINT)
        self.assertEqual(command.wait(30), 130)

    def test_a_progress_bar_is_shown_while_it_moves(self):
        job = self.lab.submit("i=0; while true; do i=$((i + 1)); printf '\\r%d é' $i; sleep 0.02; done")
        command = self.follow("logs", "-f", job)
        text = b""
        while text.count(b"\r") < 100:  # it never ends a line
            text += os.read(command.stdout.fileno(), 65536)
        shown = [f"{i} é" for i in range(1, 100)]
        self.assertEqual(text.decode().split("\r")[1:100], shown)
        with Reader(self.lab, path=f"/api/v1/jobs/{job}/logs/stream") as reader:
            reader.wait(lambda: sum(event == "line" for event, _, _ in reader.messages()) >= 2, "parts of the line")
            parts = [data for event, _, data in reader.messages() if event == "line"]
            self.assertEqual("".join(part["x"] for part in parts).split("\r")[1:100], shown)
            self.assertFalse(any(part["nl"] for part in parts))
        self.lab.cli("signal", job, "KILL")


if __name__ == "__main__":
    unittest.main(verbosity=2)
