#!/usr/bin/python3
"""Policies in Python against a live queue: good ones, bad ones, and what remains when the controller is killed."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from lab import PROGRAM, Lab, LabTest, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "policies"
PATIENT = ("--param", "deadline_ms=5000")  # on a busy machine 50 ms pass by themselves

ORDER = "from schedulearn.policy import *\nimport os, sys\nclass Mine(Policy):\n    def order(self, jobs, cluster):\n        "
DECIDE = "from schedulearn.policy import *\nclass Mine(Policy):\n    def decide(self, snapshot):\n        "
# What goes wrong: (source, what the event must say)
HOSTILE = {
    "exception": (ORDER + "return [1 / 0 for job in jobs]\n", "mine.py:5: in <listcomp>: ZeroDivisionError: division by zero"),
    "endless_loop": (ORDER + "while True: pass\n", "mine.py:5: in order: no decision within 50 ms"),
    "sleep": (ORDER + "import time; time.sleep(100)\n", "mine.py:5: in order: no decision within 50 ms"),
    "abort": (ORDER + "os.abort()\n", "mine.py:5: in order: Python died of signal 6"),
    "exit": (ORDER + "os._exit(7)\n", "mine.py: Python ended with status 7"),
    "sys_exit": (ORDER + "sys.exit(1)\n", "mine.py:5: in order: SystemExit: 1"),
    "memory": (ORDER + "return [bytearray(1 << 40)]\n", "mine.py:5: in order: MemoryError"),
    "recursion": (ORDER + "return self.order(jobs, cluster)\n", "mine.py:5: in order: RecursionError"),
    "garbage": (ORDER + "os.write(3, b'\\xff' * 9); return jobs\n", "its process wrote something that is not an answer"),
    "lies": (ORDER + "os.write(3, b'\\x14\\0\\0\\0{\"order\":[99],\"w\":0}'); return jobs\n", "mine.py: its process"),
    "no_list": (ORDER + "return None\n", "mine.py:4: in order: order() must return a list of jobs, not NoneType"),
    "twice": (ORDER + "return list(jobs) * 2\n", "twice"),
    "unknown_job": (DECIDE + "job = Job(); job._slot = 9999; job.id = 9999; job.gpus = 1; return [start(job)]\n", "mine.py:4: start() has job 9999, which is gone or unknown"),
    "too_many_gpus": (DECIDE + "return [start(job) for job in snapshot.waiting]\n", "mine.py:4: start(): job"),
    "wrong_count": (DECIDE + "return [start(job, 3) for job in snapshot.waiting]\n", "runs on 1 GPUs, not on 3"),
    "starts_running": (DECIDE + "return [start(job) for job in snapshot.running]\n", "is running and does not wait"),
    "preempts_others": (DECIDE + "return [preempt(job) for job in snapshot.running]\n", "cannot be interrupted"),
}


class PythonPolicyTest(LabTest):
    def write(self, source, name="mine.py"):
        path = self.lab.folder / name
        path.write_text(source)
        return path

    def events(self, kind):
        return [event for event in self.lab.get("/api/v1/events?limit=1000")["items"] if event["kind"] == kind]

    def test_whatever_a_policy_does_wrong_the_queue_moves_on_under_the_one_before(self):
        self.lab.cli("policy", "set", "fifo_first_fit", "--param", "skip_limit=7")
        hold = self.lab.submit("sleep 300", gpus=2)
        until(lambda: self.lab.job(hold)["state"] == "running")
        for kind, (source, text) in HOSTILE.items():
            with self.subTest(kind):
                block = self.lab.submit("sleep 300", gpus=2)  # nothing is free: all jobs wait when the policy is asked
                until(lambda: self.lab.job(block)["state"] == "running")
                self.lab.cli("policy", "set", self.write(source))
                jobs = [self.lab.submit("true") for _ in range(8)]
                self.lab.cli("cancel", block)
                until(lambda: self.lab.get("/api/v1/policy")["name"] == "fifo_first_fit", 20, "the last good policy")
                for job in jobs:
                    self.assertEqual(self.lab.finished(job)["state"], "succeeded")
                policy = self.lab.get("/api/v1/policy")
                self.assertEqual((policy["name"], policy["parameters"]["skip_limit"], policy["by"]), ("fifo_first_fit", "7", "schedulearn"))
                self.assertEqual(policy["failure"]["name"], "mine.py")
                self.assertIn(text, policy["failure"]["text"])
                self.assertIn(text, self.events("policy.failed")[-1]["text"])
                self.assertIn(text, self.lab.cli("policy", "show").stdout)
        self.assertEqual(len(self.events("policy.failed")), len(HOSTILE))
        self.assertIn("policy.failed", self.lab.cli("events", "--limit", "500").stdout)

    def test_one_that_only_interrupts_is_replaced_and_its_error_is_told_by_its_code(self):
        source = "from schedulearn.policy import Policy, preempt, start\nclass Restless(Policy):\n    def decide(self, snapshot):\n        self.wake_in(0.02)\n        return [start(job) for job in snapshot.waiting] + [preempt(job) for job in snapshot.running if job.can_preempt]\n"
        self.lab.cli("policy", "set", self.write(source), "--param", "deadline_ms=5000")
        job = self.lab.submit("sleep 300", checkpoint={"dir": "saved"}, gpus=1)
        until(lambda: self.lab.get("/api/v1/policy")["name"] == "fifo", 300, "the policy of a new installation")
        failure = self.lab.get("/api/v1/policy")["failure"]
        self.assertEqual((failure["name"], failure["code"]), ("mine.py", "policy-stands-still"), failure)
        self.assertIn(f"it preempted job {job} 100 times in a row", failure["text"])
        self.assertIn("[policy-stands-still]", self.lab.cli("policy", "show").stdout)
        self.assertIn("interrupts jobs before any of their work is done", self.lab.cli("help", "error", failure["code"]).stdout)
        until(lambda: self.lab.job(job)["state"] == "running", what="the job under the policy that follows")
        self.lab.cli("cancel", job, "--now")

    def test_a_policy_that_cannot_be_read_is_refused_with_its_line_and_the_old_one_stays(self):
        refused = {
            "class Mine(Policy:\n": ("mine.py:1: SyntaxError", "policy-exception"),
            "import nothing_such\n": ("mine.py:1: ModuleNotFoundError", "policy-exception"),
            "x = 1\n": ("mine.py:1: it has no class", "policy-invalid"),
            "from schedulearn.policy import Policy\nclass Mine(Policy):\n    def order(self, jobs):\n        return jobs\n": ("mine.py:3: the method must be order(self, jobs, cluster)", "policy-invalid"),
            "from schedulearn.policy import Policy\nclass Mine(Policy):\n    pass\n": ("mine.py:2: Mine has neither", "policy-invalid"),
            "while True: pass\n": ("reading it takes longer than allowed", "policy-too-slow"),  # on a busy machine before its first line
            "": ("is empty", "policy-empty"),
            "#" * 300_000: ("longer than", "policy-too-large"),
        }
        for source, (text, code) in refused.items():
            with self.subTest(source[:40]):
                done = self.lab.cli("policy", "set", self.write(source), check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr.replace("\n", " "))
                self.assertIn(code, done.stderr)
        self.assertEqual(self.lab.cli("policy", "set", "./not-there.py", check=False).returncode, 3)
        status, _, text = self.lab.request("PUT", "/api/v1/policy", {"name": "../evil.py", "source": "x"})
        self.assertEqual((status, "bad-policy-name" in text), (422, True), text)
        policy = self.lab.get("/api/v1/policy")
        self.assertEqual((policy["name"], policy["failure"], policy["source"]), ("fifo", None, None))
        self.assertEqual(self.lab.get("/api/v1/policy/history")["total"], 1)

    def set_in_background(self, source, name="mine.py"):
        """A `policy set` in progress: the controller has received it and reads the file."""
        before = len(self.processes_of(name))
        path = self.write(source, name)
        environment = {**os.environ, "SCHEDULEARN_URL": self.lab.url, "NO_COLOR": "1"}
        setting = subprocess.Popen([PROGRAM, "policy", "set", path, *PATIENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(setting.communicate)
        until(lambda: len(self.processes_of(name)) > before, what=f"the reading of {name}")
        return setting

    def processes_of(self, name):
        """The processes that run this file for our controller."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if name.encode() in words and parent == self.lab.controller.pid:
                found.append(int(process.name))
        return found

    def test_while_a_file_is_read_jobs_are_submitted_and_started(self):
        slow = "import time; time.sleep(1.5)\n" + ORDER + "return jobs\n"
        endless = "import time\ntime.sleep(1000)\n" + ORDER + "return jobs\n"
        for name, source, said in (("slow.py", slow, ""), ("endless.py", endless, "endless.py:2: reading it takes longer than allowed")):
            with self.subTest(name):
                setting = self.set_in_background(source, name)
                job = self.lab.submit("sleep 300")
                until(lambda: self.lab.job(job)["state"] == "running")
                self.assertIsNone(setting.poll(), "the job was to run before the answer")
                self.assertEqual(self.lab.get("/api/v1/policy")["name"], "fifo")
                _, errors = setting.communicate(timeout=30)
                self.assertIn(said, errors.replace("\n", " "))
                self.assertEqual(setting.returncode, 2 if said else 0, errors)
                if not said:
                    self.assertEqual(self.lab.get("/api/v1/policy")["name"], name)
                    self.assertEqual(len(self.processes_of(name)), 1)
                    self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")
                    self.lab.cli("policy", "set", "fifo")

    def test_two_that_are_read_at_once_come_into_force_in_the_order_asked(self):
        slow = "import time; time.sleep(1)\n" + ORDER + "return jobs\n"
        first = self.set_in_background(slow, "first.py")
        second = subprocess.run([PROGRAM, "policy", "set", self.write(slow, "second.py"), *PATIENT], capture_output=True, text=True, timeout=60, env={**os.environ, "SCHEDULEARN_URL": self.lab.url})
        self.assertEqual((first.wait(30), second.returncode), (0, 0))
        self.assertEqual([row["name"] for row in self.lab.get("/api/v1/policy/history")["items"]], ["second.py", "first.py", "fifo"])
        overtaken = self.set_in_background(slow, "third.py")
        self.lab.cli("policy", "set", "edf")
        self.assertIsNone(overtaken.poll(), "a built-in one waits for nobody")
        _, errors = overtaken.communicate(timeout=30)
        self.assertEqual(overtaken.returncode, 5, errors)
        self.assertIn("policy-overtaken", errors)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "edf")

    def test_one_that_makes_mistakes_now_and_then_stays_in_force(self):
        mistaken = "if getattr(self, 'asked', 0): raise ValueError(len(jobs))\n        self.asked = 1\n        return jobs\n"
        self.lab.cli("policy", "set", self.write(ORDER + mistaken), *PATIENT)
        for _ in range(3):  # the second decision of each process is a fault
            self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "mine.py")
        self.assertIn("policy: mine.py:5: in order: ValueError", (self.lab.folder / "controller.log").read_text())

    def test_it_survives_a_restart_and_undo_brings_it_back(self):
        self.lab.cli("policy", "set", EXAMPLES / "las.py", "--param", "threshold_gpu_s=7", *PATIENT)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        policy = self.lab.get("/api/v1/policy")
        self.assertEqual((policy["name"], policy["parameters"]["threshold_gpu_s"], policy["source"]), ("las.py", "7", (EXAMPLES / "las.py").read_text()))
        self.lab.cli("policy", "set", "srtf")
        self.lab.cli("policy", "undo")
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "las.py")
        self.assertIn("threshold_gpu_s", self.lab.cli("policy", "show").stdout)
        self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "las.py")
        for file in (self.lab.folder / "controller").glob("*.db"):
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)

    def test_a_check_that_is_interrupted_gives_no_verdict(self):
        slow = self.write(ORDER + "print('decides', flush=True); import time; time.sleep(0.05); return sorted(jobs, key=lambda job: job.id)\n", "slow.py")
        with subprocess.Popen([PROGRAM, "policy", "check", slow], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as check:
            self.assertEqual(check.stdout.readline(), "decides\n")
            check.send_signal(signal.SIGINT)
            said = check.stdout.read()
            self.assertEqual((check.wait(60), "keeps the rules" in said, "nothing is known of the others" in said), (130, False, True), said)

    def test_the_same_file_orders_jobs_alike_live_and_in_a_simulation(self):
        widest = "from schedulearn.policy import Policy\nclass Widest(Policy):\n    blocking = True\n    def order(self, jobs, cluster):\n        return sorted(jobs, key=lambda job: (-job.gpus, job.id))\n"
        for path in (EXAMPLES / "fifo.py", self.write(widest, "widest.py")):
            with self.subTest(path.name):
                self.lab.cli("policy", "set", path, *PATIENT)
                hold = self.lab.submit("sleep 300", gpus=4)
                until(lambda: self.lab.job(hold)["state"] == "running")
                widths = [1, 3, 2, 4, 1, 2, 3, 4]
                jobs = [self.lab.submit("true", gpus=width) for width in widths]
                self.lab.cli("cancel", hold)
                live = sorted(range(len(jobs)), key=lambda i: self.lab.finished(jobs[i])["started_at"])
                self.assertEqual(self.lab.get("/api/v1/policy")["name"], path.name)
                simulated = self.simulated_starts(path, widths)
                # Jobs that start together have no order among themselves.
                self.assertEqual([widths[i] for i in live][:1], [widths[i] for i in simulated][:1])
                if path.name == "widest.py":
                    self.assertEqual([widths[i] for i in live], sorted(widths, reverse=True))
                    self.assertEqual([widths[i] for i in simulated], sorted(widths, reverse=True))
                else:
                    self.assertEqual(simulated, list(range(len(widths))))
                    self.assertEqual(live, list(range(len(widths))))

    def test_why_claims_no_place_in_a_line_that_only_the_policy_knows(self):
        self.lab.cli("policy", "set", self.write("from schedulearn.policy import Policy\nclass Mine(Policy):\n    def order(self, jobs, cluster):\n        return [job for job in jobs if job.gpus < 4]\n"), *PATIENT)
        self.lab.cli("submit", "--gpus", 4, "--", "true")
        self.assertIn("a server has room, but mine.py has not started it. Nothing is wrong", self.lab.cli("why", 1).stdout)
        self.assertIn("one of 1 under policy mine.py", self.lab.cli("why", 1).stdout)
        self.lab.cli("policy", "set", "fifo")
        self.lab.cli("wait", 1)
        self.assertEqual(self.lab.cli("why", 1).stdout, "job 1 has ended: succeeded.\n")

    def simulated_starts(self, path, widths):
        trace, out = self.lab.folder / "trace.csv", self.lab.folder / "out.csv"
        rows = ["job_id,submit_time_s,gpus,duration_s", "hold,0,4,100"] + [f"{i},{i + 1},{width},10" for i, width in enumerate(widths)]
        trace.write_text("\n".join(rows) + "\n")
        subprocess.run([PROGRAM, "sim", "run", "--trace", trace, "--servers", "1x4", "--policy", path, "--jobs-out", out], check=True, capture_output=True, timeout=60)
        with open(out, newline="") as file:
            starts = {row["job_id"]: float(row["start_s"]) for row in csv.DictReader(file)}
        return sorted(range(len(widths)), key=lambda i: (starts[str(i)], i))

    def test_what_it_prints_goes_to_the_log_in_measure(self):
        self.lab.cli("policy", "set", self.write(ORDER + "print('seen', len(jobs)); print('x' * 10**6); return jobs\n"), *PATIENT)
        self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")
        log = (self.lab.folder / "controller.log").read_text()
        self.assertIn("seen 1", log)
        self.assertIn("prints no more in this decision", log)
        self.assertLess(len(log), 1_000_000)

    def test_it_runs_with_no_rights_and_dies_with_the_controller(self):
        self.lab.cli("policy", "set", self.write("from schedulearn.policy import *\nimport os\nclass Mine(Policy):\n    def order(self, jobs, cluster):\n        print('user', os.getuid(), 'pid', os.getpid(), 'secrets', [k for k in os.environ if 'SCHED' in k])\n        try:\n            os.fork()\n        except OSError as error:\n            print('no fork')\n        return jobs\n"), *PATIENT)
        self.lab.finished(self.lab.submit("true"))
        log = (self.lab.folder / "controller.log").read_text()
        if os.getuid() == 0:
            self.assertIn("user 65534", log)
            self.assertIn("no fork", log)
        self.assertIn("secrets []", log)
        pid = int(log.split("pid ")[1].split()[0])
        self.assertTrue(pathlib.Path(f"/proc/{pid}").exists())
        self.lab.kill(self.lab.controller)
        until(lambda: not pathlib.Path(f"/proc/{pid}").exists() or " Z " in pathlib.Path(f"/proc/{pid}/stat").read_text(), 5, "the end of its process")


class RecordingTest(unittest.TestCase):
    def test_a_recording_with_a_policy_of_ones_own_plays_the_same(self):
        with Lab() as lab:
            lab.kill(lab.controller)
            records = lab.folder / "records"
            lab.start_controller("--record", str(records))
            until(lambda: any(server["state"] == "up" for server in lab.get("/api/v1/servers")["items"]))
            lab.cli("policy", "set", EXAMPLES / "fifo.py", *PATIENT)
            for width in (3, 2, 1, 4, 1, 2):
                lab.submit("true", gpus=width)
            for job in lab.jobs():
                lab.finished(job["id"])
            (lab.folder / "unread.py").write_text("import nothing_such\n")
            self.assertEqual(lab.cli("policy", "set", lab.folder / "unread.py", check=False).returncode, 2)
            failing = lab.folder / "failing.py"
            failing.write_text(HOSTILE["exception"][0])
            lab.cli("policy", "set", failing)
            lab.finished(lab.submit("true"))
            lab.controller.terminate()
            lab.controller.wait(20)
            played = lab.cli("controller", "replay", next(records.glob("*.jsonl")))
            self.assertIn("differences  0", played.stdout)
            self.assertIn("policies     fifo → fifo.py → failing.py → fifo.py", played.stdout)
            again = lab.folder / "again"  # from its first instant on there is a policy of one's own
            lab.start_controller("--record", str(again))
            lab.finished(lab.submit("true"))
            lab.controller.terminate()
            lab.controller.wait(20)
            played = lab.cli("controller", "replay", next(again.glob("*.jsonl")))
            self.assertIn("policies     fifo.py\ndifferences  0", played.stdout)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    unittest.main(verbosity=2)
