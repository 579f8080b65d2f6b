#!/usr/bin/python3
"""Policies chosen, switched and undone while jobs wait and run, and their effect on jobs that can be stopped."""

import concurrent.futures
import json
import random
import sys
import time
import unittest

from lab import LabTest, until

# One step each 0.05 s; keeps its state when it is asked to stop, and writes what happened to it. As every job with a
# checkpoint it may be asked to stop while it ends, and is started once more then: it must find its work done.
LIVE_WORKER = """
import pathlib, signal, sys, time
log, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
state = log.with_name(log.name + ".state")
kept = state.read_text() if state.exists() else "0"
def tell(word):
    with open(log, "a") as file:
        file.write(word + " ")
def save(*_):
    state.write_text(str(done))
    sys.exit(75)
tell("start")
if kept == "finished":
    sys.exit(0)
done = int(kept)
signal.signal(signal.SIGTERM, save)
while done < steps:
    time.sleep(0.05)
    done += 1
signal.signal(signal.SIGTERM, signal.SIG_IGN)
state.write_text("finished")
tell("end")
"""


class PolicyTest(LabTest):
    def test_switching_while_fifty_jobs_wait_loses_none_and_the_order_follows(self):
        hold = self.lab.submit("sleep 300", gpus=3)
        jobs = [self.lab.submit("true", gpus=2 if i % 2 == 0 else 1) for i in range(50)]
        self.assertEqual({self.lab.job(job)["state"] for job in jobs}, {"pending"})
        changed = self.lab.cli("policy", "set", "fifo_first_fit")
        self.assertIn("fifo_first_fit", changed.stdout)
        for job in jobs[1::2]:  # one GPU each: they pass those that need two
            self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertEqual({self.lab.job(job)["state"] for job in jobs[0::2]}, {"pending"})
        self.lab.cli("policy", "set", "round_robin")
        self.lab.cli("cancel", hold)
        for job in jobs[0::2]:
            self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        starts = [self.lab.job(job)["started_at"] for job in jobs[0::2]]
        self.assertEqual(starts, sorted(starts))

    def test_a_waiting_job_that_is_given_a_higher_priority_passes_the_others(self):
        self.lab.cli("policy", "set", "priority")
        hold = self.lab.submit("sleep 300", gpus=4)
        first, second = (self.lab.submit("true", gpus=4) for _ in range(2))
        said = self.lab.cli("set", second, "--priority", 5, "--gpus", "2..4", "--time-limit", "1h").stdout
        self.assertEqual(said, f"○ pending job {second} true has gpus 2..4, priority 5, time limit 1h from now on\n")
        self.lab.cli("cancel", hold)
        starts = [self.lab.finished(job)["started_at"] for job in (second, first)]
        self.assertEqual(starts, sorted(starts))
        edited = [event for event in self.lab.get(f"/api/v1/jobs/{second}/events")["items"] if event["kind"] == "job.edited"]
        self.assertEqual([event["text"] for event in edited], ["priority 0 → 5, gpus 4 → 2..4, time limit none → 3600 s"])
        held = self.lab.submit("true", hold=True)
        for wrong, code in ((["--priority", "high"], "wrong-type"), (["--gpus", "9"], "gpus-unsatisfiable"), ([], "nothing-to-change")):
            refused = self.lab.cli("set", held, *wrong, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(f"[{code}]", refused.stderr)

    def test_a_job_that_can_checkpoint_is_stopped_for_a_shorter_one_and_goes_on_afterwards(self):
        self.lab.cli("policy", "set", "srtf", "--param", "preempt_margin_s=0", "--param", "min_quantum_s=0")
        long_one = self.lab.submit('trap "echo saved; exit 0" TERM; echo resume $SCHEDULEARN_RESUME; [ $SCHEDULEARN_RESUME = 1 ] || while :; do sleep 0.05; done', gpus=4, time={"estimate": "1h"}, checkpoint={"dir": "state"})
        until(lambda: "resume 0" in self.lab.output(long_one))
        short = self.lab.submit("sleep 0.2", gpus=1, time={"estimate": "1s"})
        self.assertEqual(self.lab.finished(short)["state"], "succeeded")
        ended = self.lab.finished(long_one)
        self.assertEqual((ended["state"], ended["attempt"], ended["preemptions"]), ("succeeded", 2, 1))
        self.assertEqual(self.lab.output(long_one), "resume 1\n")
        self.assertIn("saved", self.lab.request("GET", f"/api/v1/jobs/{long_one}/logs?attempt=1")[2])

    def test_a_shell_line_and_every_rank_may_save_their_state_when_they_are_stopped_for_others(self):
        self.lab.cli("policy", "set", "srtf", "--param", "preempt_margin_s=0", "--param", "min_quantum_s=0")
        saver = self.lab.folder / "saver.py"
        saver.write_text("import os, signal, sys, time\ndef save(*_):\n    time.sleep(0.3)\n    open('saved-' + os.environ.get('RANK', 'x'), 'w')\n    sys.exit(75)\nsignal.signal(signal.SIGUSR1, save)\nsys.stdout.write('ready\\n')\n"
                         "while os.environ['SCHEDULEARN_RESUME'] == '0':\n    time.sleep(0.05)\n")
        for launch, files in (("none", ["saved-x"]), ("ranks", ["saved-0", "saved-1"])):
            long_one = self.lab.submit(f"python3 {saver}; echo after", gpus=2, launch=launch, time={"estimate": "1h"}, checkpoint={"dir": "state", "signal": "USR1"})
            until(lambda: self.lab.output(long_one).count("ready") == len(files))
            short = self.lab.submit("true", gpus=3, time={"estimate": "1s"})
            self.assertEqual(self.lab.finished(short)["state"], "succeeded")
            ended = self.lab.finished(long_one)
            self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 2))
            self.assertEqual([name for name in files if not (self.lab.folder / name).exists()], [])
            self.assertNotIn("after", self.lab.request("GET", f"/api/v1/jobs/{long_one}/logs?attempt=1")[2])

    def test_the_policy_survives_a_restart(self):
        self.lab.cli("policy", "set", "fifo_first_fit", "--param", "skip_limit=7")
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        policy = self.lab.get("/api/v1/policy")
        self.assertEqual((policy["name"], policy["parameters"]["skip_limit"]), ("fifo_first_fit", "7"))

    def test_the_history_tells_who_chose_what_and_undo_goes_back_also_after_a_restart(self):
        self.lab.cli("policy", "set", "fifo_first_fit", "--param", "skip_limit=7")
        status, _, _ = self.lab.request("PUT", "/api/v1/policy", {"name": "SRTF"}, {"X-Schedulearn-User": "mei"})
        self.assertEqual(status, 200)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        policy = self.lab.get("/api/v1/policy")
        self.assertEqual((policy["name"], policy["by"], policy["previous"]), ("srtf", "mei", "fifo_first_fit"))
        self.assertGreater(policy["undo_until"], policy["since"])
        undone = self.lab.cli("policy", "undo")
        self.assertIn("Policy is now fifo_first_fit (was srtf)", undone.stdout)
        self.assertEqual(self.lab.get("/api/v1/policy")["parameters"]["skip_limit"], "7")
        history = self.lab.get("/api/v1/policy/history")
        self.assertEqual([change["name"] for change in history["items"]], ["fifo_first_fit", "srtf", "fifo_first_fit", "fifo"])
        self.assertEqual([change["by"] for change in history["items"]][1:4:2], ["mei", "default"])
        told = self.lab.cli("--plain", "policy", "history").stdout.splitlines()
        self.assertEqual(len(told), 4)
        self.assertIn("skip_limit=7", told[0])

    def test_the_catalogue_needs_no_controller_and_setting_what_is_in_force_says_so(self):
        self.lab.cli("policy", "set", "srtf")
        again = self.lab.cli("policy", "set", "SRTF")
        self.assertIn("Policy srtf already runs with these parameters; nothing has changed.", again.stdout)
        self.lab.cli("policy", "undo")
        history = self.lab.cli("policy", "history").stdout.splitlines()
        self.assertEqual(len(history), 4)
        self.assertIn("undo of srtf", history[1])
        self.assertIn("chosen", history[2])
        self.lab.kill(self.lab.controller)
        listed = self.lab.cli("policy", "ls")
        self.assertIn("tiresias", listed.stdout)
        self.assertIn("no controller answers", listed.stderr)
        self.assertIn("Places on", self.lab.cli("policy", "show", "tiresias").stdout)
        self.assertEqual(self.lab.cli("policy", "show", check=False).returncode, 6)

    def test_undo_without_a_change_says_that_there_is_none(self):
        refused = self.lab.cli("policy", "undo", check=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("nothing-to-undo", refused.stderr)
        self.assertEqual(self.lab.get("/api/v1/policy/history")["total"], 1)

    def test_a_policy_says_which_facts_the_jobs_lack_and_what_it_assumes(self):
        hold = self.lab.submit("sleep 300", gpus=4)
        until(lambda: self.lab.job(hold)["state"] == "running")
        for _ in range(12):
            self.lab.submit("true")
        said = self.lab.cli("policy", "set", "edf").stdout
        self.assertIn("12 of 12 waiting jobs have no deadline: they go last", said)
        self.assertIn("12 of 12 waiting jobs have no deadline: they go last", self.lab.cli("policy", "show").stdout)
        self.assertIn("do not say how much CPU or memory", self.lab.cli("policy", "show", "tetris").stdout)
        self.assertEqual(self.lab.get("/api/v1/policies/sgf")["notes"], [])
        for policy in self.lab.get("/api/v1/policies")["items"]:
            shown = self.lab.cli("policy", "show", policy["name"]).stdout
            for word in ("Good for", "Weak for", "Needs", *(parameter["name"] for parameter in policy["parameters"])):
                self.assertIn(word, shown)

    def test_a_misspelled_policy_or_parameter_gets_the_nearest_name(self):
        for arguments, code, near in ((("edff",), "unknown-policy", "edf"), (("edf", "--param", "late_modes=keep"), "unknown-parameter", "late_mode")):
            refused = self.lab.cli("policy", "set", *arguments, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(code, refused.stderr)
            self.assertIn(f"did you mean {near}?", refused.stderr)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "fifo")

    def test_a_live_queue_is_switched_through_every_policy_and_every_job_ends_once(self):
        worker = self.lab.folder / "worker.py"
        worker.write_text(LIVE_WORKER)
        dice = random.Random(5)
        jobs = []

        def submit():
            kind, steps = dice.choice(["rigid", "elastic", "checkpoint", "wide"]), dice.randint(1, 30)
            spec = {"user": dice.choice(["mei", "ali", "bo"]), "time": {"estimate": f"{1 + steps // 10}s"}, "priority": dice.randint(0, 2)}
            if kind != "rigid":
                spec["checkpoint"] = {"dir": f"state-{len(jobs)}"}
            spec["gpus"] = {"rigid": 1, "elastic": {"min": 1, "max": 4}, "checkpoint": 2, "wide": 4}[kind]
            jobs.append(self.lab.submit(f"exec python3 {worker} {self.lab.folder}/job-{len(jobs)} {steps}", **spec))

        for _ in range(30):
            submit()
        policies = self.lab.get("/api/v1/policies")["items"]
        for policy in policies:
            at_once = {p["name"]: "0" for p in policy["parameters"] if p["name"] in ("min_quantum_s", "preempt_margin_s", "resize_min_run_s", "resize_min_rem_s", "restart_cost_s")}
            status, _, text = self.lab.request("PUT", "/api/v1/policy", {"name": policy["name"], "parameters": at_once})
            self.assertEqual(status, 200, text)
            self.assertEqual(self.lab.get("/api/v1/policy")["name"], policy["name"])
            submit(), submit()
            time.sleep(0.5)
        self.assertTrue(any(job["state"] == "pending" for job in self.lab.jobs()), "else the last policies had nothing to do")
        self.lab.cli("policy", "set", "fifo_first_fit")
        for number, job in enumerate(jobs):
            ended = self.lab.finished(job, 180)
            self.assertEqual(ended["state"], "succeeded", ended)
            told = (self.lab.folder / f"job-{number}").read_text().split()
            self.assertEqual(told.count("end"), 1, (number, told))
            # An attempt may be stopped before its first line.
            self.assertIn(told.count("start"), range(1, ended["attempt"] + 1), (number, told))
        preemptions = sum(self.lab.job(job)["preemptions"] for job in jobs)
        self.assertGreater(preemptions, 3, "else this shows little")
        print(f"{len(jobs)} jobs through {len(policies)} policies, {preemptions} preemptions", file=sys.stderr)

    def test_two_hundred_jobs_under_two_policies_are_decided_the_same_when_played_again(self):
        self.lab.kill(self.lab.controller)
        recordings = self.lab.folder / "recordings"
        self.lab.start_controller("--record", str(recordings))
        dice = random.Random(3)
        jobs = []

        def submit(count):
            for _ in range(count):
                spec = {"checkpoint": {"dir": "state"}} if dice.random() < 0.3 else {}
                jobs.append(self.lab.submit(f"sleep 0.{dice.randint(0, 9)}", gpus=dice.choice([1, 1, 2, 4]), user=dice.choice(["mei", "ali"]), time={"estimate": f"{dice.randint(1, 90)}s"}, **spec))

        submit(120)
        self.lab.cli("policy", "set", "srtf", "--param", "preempt_margin_s=0", "--param", "min_quantum_s=0")
        submit(80)
        for job in jobs[::9]:
            self.lab.request("POST", f"/api/v1/jobs/{job}/cancel")
        self.lab.kill(self.lab.agent)
        self.lab.start_agent()
        for job in jobs:
            self.assertIn(self.lab.finished(job, 180)["state"], ("succeeded", "cancelled"))
        self.lab.controller.terminate()
        self.lab.controller.wait(10)
        (file,) = recordings.glob("recording-*.jsonl")
        self.assertEqual(file.stat().st_mode & 0o077, 0)
        replay = json.loads(self.lab.cli("controller", "replay", str(file), "--json").stdout)
        print(replay, file=sys.stderr)
        self.assertEqual((replay["jobs"], replay["policies"], replay["differences"]), (200, ["fifo", "srtf"], 0))
        self.assertGreater(replay["orders"], 300)

        # A different decision is found: one order names other GPUs than the recording.
        lines = file.read_text().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if '"start_attempt"' in line and '"gpus":[0]' in line)
        lines[at] = lines[at].replace('"gpus":[0]', '"gpus":[3]')
        forged = self.lab.folder / "forged.jsonl"
        forged.write_text("".join(lines))
        told = self.lab.cli("controller", "replay", str(forged), check=False)
        self.assertEqual(told.returncode, 1)
        self.assertIn(f"line {at + 1}", told.stdout)
        self.assertIn("differences  1", told.stdout)
        forged.write_text("".join(lines[:50]) + '{"in":"tu')
        self.assertIn("its end is missing", self.lab.cli("controller", "replay", str(forged), check=False).stdout)
        forged.write_text("".join(lines[:at]))  # what the last input led to had not been written
        cut = self.lab.cli("controller", "replay", str(forged)).stdout
        self.assertIn("differences  0", cut)
        self.assertIn("its end is missing", cut)
        forged.write_text("{}\n")
        self.assertIn("bad-recording", self.lab.cli("controller", "replay", str(forged), check=False).stderr)

    def test_a_switch_takes_effect_at_once_on_ten_thousand_waiting_jobs(self):
        self.lab.submit("sleep 600", gpus=3)
        self.lab.submit("true", gpus=2)  # the head of the line, for which there is no room
        with concurrent.futures.ThreadPoolExecutor(16) as clients:
            last = max(clients.map(lambda i: self.lab.submit("sleep 0.2", user=f"u{i % 7}", time={"estimate": f"{i % 90 + 1}m"}), range(10_000)))
        self.assertEqual(self.lab.get("/api/v1/jobs?state=pending&limit=1")["total"], 10_001)
        begun = time.monotonic()
        self.lab.cli("policy", "set", "fifo_first_fit")
        until(lambda: self.lab.get("/api/v1/jobs?state=running&limit=1")["total"] == 2)
        effect = time.monotonic() - begun
        slowest = (0, "")
        for policy in self.lab.get("/api/v1/policies")["items"]:
            begun = time.monotonic()
            self.assertEqual(self.lab.request("PUT", "/api/v1/policy", {"name": policy["name"]})[0], 200)
            self.lab.job(last)  # answered only after the new policy has decided
            slowest = max(slowest, (time.monotonic() - begun, policy["name"]))
        print(f"10,000 jobs wait: another runs {effect * 1000:.0f} ms after the switch; slowest switch {slowest[0] * 1000:.0f} ms ({slowest[1]})", file=sys.stderr)
        self.assertLess(max(effect, slowest[0]), 5)
        self.assertGreater(self.lab.get("/api/v1/jobs?state=pending&limit=1")["total"], 9_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
