#!/usr/bin/python3
"""What users do to their jobs while they wait or run: suspend, resume, migrate, scale, retry. Nothing of a training is lost or repeated."""

import json
import time
import unittest

from lab import LabTest, until

# Counts for ever in a process of its own session and says each number once.
COUNTER = "exec setsid --wait bash -c 'for ((i = 0; ; ++i)); do echo $i; sleep 0.05; done'"

# A step each 0.05 s; keeps its state when it is asked to stop.
TRAINING = """
import os, pathlib, signal, sys, time
state = pathlib.Path(os.environ["SCHEDULEARN_CHECKPOINT_DIR"]) / "steps"
steps = int(state.read_text()) if state.exists() else 0
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("on", os.environ["SCHEDULEARN_NUM_GPUS"], "from", steps, flush=True)
while steps < int(sys.argv[1]) and not asked:
    time.sleep(0.05)
    steps += 1
state.parent.mkdir(parents=True, exist_ok=True)
state.write_text(str(steps))
"""


class InterventionsTest(LabTest):
    def counted(self, job):
        until(lambda: self.lab.request("GET", f"/api/v1/jobs/{job}/logs")[0] == 200)  # not while its agent is away
        return [int(line) for line in self.lab.output(job).split()]

    def state(self, job):
        return self.lab.job(job)["state"]

    def freezable(self):
        job = self.lab.submit(COUNTER, gpus=4, freeze=True)
        until(lambda: len(self.counted(job)) > 3)
        return job

    def stands_still(self, job):
        until(lambda: self.state(job) == "suspended")
        before = self.counted(job)
        time.sleep(0.5)  # it would count to ten
        return before == self.counted(job)

    def goes_on(self, job):
        before = len(self.counted(job))
        until(lambda: len(self.counted(job)) > before + 3)
        counted = self.counted(job)
        return counted == list(range(len(counted)))

    def train(self, steps, gpus=2):
        program = self.lab.folder / "training.py"
        program.write_text(TRAINING)
        job = self.lab.submit(["/usr/bin/python3", str(program), str(steps)], gpus=gpus, checkpoint={"dir": str(self.lab.folder / "state")})
        until(lambda: "on" in self.lab.output(job))
        return job

    def test_a_frozen_job_gives_up_its_gpus_and_goes_on_where_it_stood(self):
        job = self.freezable()
        told = self.lab.cli("suspend", job, "--dry-run").stdout
        self.assertIn("is frozen where it runs and is held until: schedulearn resume", told)
        self.assertEqual(self.state(job), "running")
        self.lab.cli("suspend", job)
        self.assertTrue(self.stands_still(job))
        other = self.lab.submit("true", gpus=4)
        self.assertEqual(self.lab.finished(other)["state"], "succeeded")
        self.assertIn("It waits until it is resumed.", self.lab.cli("why", job).stdout)
        self.lab.cli("resume", job)
        self.assertTrue(self.goes_on(job))
        self.assertEqual(self.lab.job(job)["attempt"], 1)
        self.lab.cli("suspend", job)
        self.assertTrue(self.stands_still(job))
        self.lab.cli("cancel", job)
        self.assertEqual(self.lab.finished(job)["state"], "cancelled")

    def test_whatever_dies_it_stands_still(self):
        job = self.freezable()
        self.lab.cli("suspend", job)
        until(lambda: self.state(job) == "suspended")
        for victim in ("controller", "agent"):
            self.lab.kill(getattr(self.lab, victim))
            getattr(self.lab, f"start_{victim}")()
            until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
            self.assertTrue(self.stands_still(job), victim)
        self.lab.kill_launcher()
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
        self.assertTrue(self.stands_still(job), "launcher")
        self.lab.cli("resume", job)
        self.assertTrue(self.goes_on(job))

    def test_a_training_waits_for_its_user_and_continues(self):
        job = self.train(60)
        self.lab.cli("suspend", job)
        until(lambda: self.state(job) == "held")
        self.assertIn("[job-held]", self.lab.cli("suspend", job, check=False).stderr)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
        self.assertEqual(self.state(job), "held")
        self.lab.cli("resume", job)
        ended = self.lab.finished(job)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 2))
        self.assertNotIn("from 0", self.lab.output(job))
        self.assertIn("[job-finished]", self.lab.cli("resume", job, check=False).stderr)

    def test_a_training_is_moved_and_resized(self):
        job = self.train(150)
        self.assertIn("[no-room]", self.lab.cli("migrate", job, check=False).stderr)
        self.assertIn("[gpus-unsatisfiable]", self.lab.cli("scale", job, 5, check=False).stderr)
        self.lab.start_another_agent("other", 4)
        self.assertEqual(self.lab.cli("migrate", job, "--to", "other", "--dry-run").stdout,
                         f"dry run: job {job} python3 stops at a checkpoint, then continues on 2 GPUs (other:0,1)\n".replace("python3", self.lab.job(job)["name"]))
        self.lab.cli("migrate", job, "--to", "other")
        until(lambda: self.lab.job(job)["attempt"] == 2 and self.state(job) == "running")
        said = json.loads(self.lab.cli("scale", job, 4, "--json").stdout)
        self.assertEqual(said["effect"]["text"], "stops at a checkpoint, then continues on 4 GPUs (other:0,1,2,3)")
        ended = self.lab.finished(job)
        self.assertEqual((ended["state"], ended["migrations"], ended["resizes"]), ("succeeded", 1, 1))
        where = [(attempt["server"], len(attempt["gpus"])) for attempt in ended["attempts"]]
        self.assertEqual(where, [("lab", 2), ("other", 2), ("other", 4)])

    def test_what_an_interruption_cost_is_measured_and_simulated(self):
        program = self.lab.folder / "reporting.py"
        program.write_text(TRAINING.replace("    steps += 1\n", "    steps += 1\n    schedulearn.report(step=steps)\n").replace("import os,", "import schedulearn, os,"))
        spec = {"gpus": 1, "checkpoint": {"dir": str(self.lab.folder / "state")}, "training": {"family": "counting"}}
        job = self.lab.submit(["/usr/bin/python3", str(program), "100000"], **spec)
        until(lambda: (self.lab.job(job)["telemetry"] or {}).get("start_up_s"), what="its first steps")
        self.lab.cli("suspend", job)
        until(lambda: self.state(job) == "held")
        self.lab.cli("resume", job)
        until(lambda: any(event["kind"] == "job.continued" for event in self.lab.get(f"/api/v1/jobs/{job}/events")["items"]), what="its next step")
        self.assertIn("to stop", self.lab.cli("show", job).stdout)
        measured = self.lab.folder / "measured.json"
        self.assertIn("counting", self.lab.cli("profile", "costs", "--out", measured).stdout)
        costs = json.loads(measured.read_text())["families"][0]
        self.assertEqual((costs["family"], costs["stops"], costs["starts"]), ("counting", 1, 1))
        self.assertLess(costs["stop_s"] + costs["start_s"], 20)
        costs.update(stop_s=7, start_s=20, repeated_s=1)
        measured.write_text(json.dumps({"schedulearn_costs": 1, "families": [costs]}))
        trace = self.lab.folder / "trace.csv"
        trace.write_text("job_id,submit_time_s,duration_s,gpus,model\na,0,100,1,counting\nb,10,10,1,other\n")
        row = lambda *more: json.loads(self.lab.cli("sim", "run", "--trace", trace, "--servers", "1x1", "--policy", "srtf", "--param", "min_quantum_s=0", "--param", "preempt_margin_s=0", *more, "--json").stdout)
        plain, with_costs = [result["results"][0]["makespan_s"] for result in (row(), row("--costs", measured))]
        self.assertEqual((plain, with_costs), (110, 138))  # 7 s to stop, 21 s to go on

    def test_jobs_are_renamed_labelled_held_and_put_first(self):
        self.lab.submit("sleep 1000", gpus=4)
        jobs = [self.lab.submit("true", gpus=4) for _ in range(3)]
        self.assertIn("has the name third try, label project=vision, label lr=0.1 from now on",
                      self.lab.cli("set", jobs[2], "--name", "third try", "--label", "project=vision", "--label", "lr=0.1").stdout)
        self.lab.cli("set", jobs[2], "--label", "lr=")
        self.assertEqual((self.lab.job(jobs[2])["name"], self.lab.job(jobs[2])["labels"]), ("third try", {"project": "vision"}))
        self.assertIn("is first in line", self.lab.cli("set", jobs[2], "--first").stdout)
        self.assertIn("is held from now on", self.lab.cli("set", jobs[0], "--hold").stdout)
        self.lab.cli("cancel", "1")
        self.assertEqual([self.lab.finished(job)["state"] for job in jobs[1:]], ["succeeded"] * 2)
        self.assertLess(self.lab.job(jobs[2])["started_at"], self.lab.job(jobs[1])["started_at"])
        self.assertEqual(self.state(jobs[0]), "held")
        self.lab.cli("set", jobs[0], "--release")
        self.assertEqual(self.lab.finished(jobs[0])["state"], "succeeded")
        self.assertIn("[bad-label]", self.lab.cli("set", jobs[0], "--label", "x", check=False).stderr)

    def test_what_a_job_cannot_bear_is_refused(self):
        job = self.lab.submit("sleep 60", gpus=1)
        until(lambda: self.state(job) == "running")
        for words, code in ((("suspend",), "cannot-suspend"), (("resume",), "job-not-held"), (("migrate",), "no-checkpoint"), (("scale",), "no-checkpoint"), (("retry",), "job-not-finished")):
            more = ("2",) if words == ("scale",) else ()
            refused = self.lab.cli(*words, job, *more, check=False)
            self.assertIn(f"[{code}]", refused.stderr)
            self.assertEqual(self.state(job), "running")
        self.lab.cli("cancel", job)
        self.lab.finished(job)
        again = self.lab.cli("retry", job).stdout
        self.assertIn(f"job {job + 1} sleep: job {job} again\n", again)
        until(lambda: self.state(job + 1) == "running")


if __name__ == "__main__":
    unittest.main()
