#!/usr/bin/python3
"""Trainings that policies resize and move while they run: no step is lost and none is done twice."""

import unittest

from lab import LabTest, until

# A step each 0.05 s. Says on how many GPUs and from which step it runs, keeps its state when it is asked to stop.
TRAINING = """
import os, pathlib, signal, sys, time
state = pathlib.Path(os.environ["SCHEDULEARN_CHECKPOINT_DIR"]) / "steps"
steps = state.read_text().split() if state.exists() else []
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("on", os.environ["SCHEDULEARN_NUM_GPUS"], "from", len(steps), flush=True)
while len(steps) < int(sys.argv[1]) and not asked:
    time.sleep(0.05)
    steps.append(str(len(steps)))
state.parent.mkdir(parents=True, exist_ok=True)
state.write_text(" ".join(steps))
"""


class ElasticTest(LabTest):
    def setUp(self):
        super().setUp()
        self.program = self.lab.folder / "training.py"
        self.program.write_text(TRAINING)
        # They run for seconds only: without these, no resize would be worth its cost.
        zero = [f"--param={name}=0" for name in ("resize_min_run_s", "resize_min_rem_s", "restart_cost_s")]
        self.lab.cli("policy", "set", "elastic_fifo", *zero)

    def train(self, steps, gpus):
        folder = self.lab.folder / f"state-{steps}"
        return self.lab.submit(["/usr/bin/python3", str(self.program), str(steps)], gpus=gpus, checkpoint={"dir": str(folder)}, time={"estimate": "1h"})

    def steps_done(self, steps):
        return [int(step) for step in (self.lab.folder / f"state-{steps}" / "steps").read_text().split()]

    def lines(self, job):
        attempts = range(1, self.lab.job(job)["attempt"] + 1)
        return [self.lab.request("GET", f"/api/v1/jobs/{job}/logs?attempt={attempt}")[2].strip() for attempt in attempts]

    def test_a_training_shrinks_for_another_and_grows_when_that_has_ended(self):
        long_one = self.train(200, "1..4")
        until(lambda: "on 4 from 0" in self.lab.output(long_one))
        short = self.train(30, "1..4")
        until(lambda: self.lab.job(long_one)["state"] == "running" and self.lab.job(long_one)["attempt"] == 2)
        self.assertIn("resized once", self.lab.cli("show", long_one).stdout)
        self.assertEqual(self.lab.finished(short)["state"], "succeeded")
        ended = self.lab.finished(long_one)
        self.assertEqual((ended["state"], ended["resizes"], ended["preemptions"], ended["attempt"]), ("succeeded", 2, 0, 3))
        self.assertEqual([line.split()[1] for line in self.lines(long_one)], ["4", "2", "4"])
        self.assertEqual(self.steps_done(200), list(range(200)))
        self.assertEqual(self.steps_done(30), list(range(30)))
        changes = [event["to"] for event in self.lab.get(f"/api/v1/jobs/{long_one}/events")["items"] if event["kind"] == "job.state"]
        self.assertEqual(sorted(changes).count("resizing"), 2)

    def test_gandiva_moves_a_training_so_that_one_server_has_room_for_a_wide_one(self):
        self.lab.cli("policy", "set", "fifo")
        self.lab.start_another_agent("other", 4)
        narrow, first, second = (self.train(steps, gpus) for steps, gpus in ((200, 1), (21, 3), (22, 3)))
        also_narrow = self.train(201, 1)
        for job in (narrow, also_narrow):
            until(lambda: "on 1 from 0" in self.lab.output(job))
        for job in (first, second):
            self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertNotEqual(*(self.lab.job(job)["attempts"][0]["server"] for job in (narrow, also_narrow)), "one on each server")
        self.lab.cli("policy", "set", "gandiva", "--param=restart_cost_s=1", "--param=slice_s=1")
        wide = self.train(20, 4)
        self.assertEqual(self.lab.finished(wide)["state"], "succeeded")
        moved = [job for job in map(self.lab.job, (narrow, also_narrow)) if job["migrations"]]
        self.assertEqual(len(moved), 1)
        self.assertEqual(len({attempt["server"] for attempt in moved[0]["attempts"]}), 2)
        for job, steps in ((narrow, 200), (also_narrow, 201)):
            self.assertEqual(self.lab.finished(job)["state"], "succeeded")
            self.assertEqual(self.steps_done(steps), list(range(steps)))

    def test_a_training_leaves_a_server_that_is_drained(self):
        job = self.train(100, 4)
        until(lambda: "on 4 from 0" in self.lab.output(job))
        self.assertIn("[last-server]", self.lab.cli("servers", "drain", "lab", check=False).stderr)
        self.lab.start_another_agent("other", 4)
        said = self.lab.cli("servers", "drain", "lab", "--migrate").stdout
        self.assertRegex(said, r"^Nothing new starts on lab: it is drained by \S+ since [0-9:]+, 1 job is left there\.\n$")
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertEqual([attempt["server"] for attempt in self.lab.job(job)["attempts"]], ["lab", "other"])
        self.assertEqual(self.steps_done(100), list(range(100)))
        listed = self.lab.cli("servers", "ls", check=False).stdout
        self.assertRegex(listed, r"lab +draining .*no job is left there")
        self.lab.cli("servers", "undrain", "lab")
        self.assertEqual(self.lab.cli("servers", "ls").returncode, 0)

    def test_the_controller_and_the_agent_may_die_while_it_is_resized(self):
        long_one = self.train(150, "1..4")
        until(lambda: "on 4 from 0" in self.lab.output(long_one))
        for victim in ("controller", "agent"):
            short = self.train(40 if victim == "agent" else 41, "1..4")
            until(lambda: self.lab.job(long_one)["state"] in ("resizing", "starting"))
            self.lab.kill(getattr(self.lab, victim))
            getattr(self.lab, f"start_{victim}")()
            self.assertEqual(self.lab.finished(short)["state"], "succeeded")
        self.assertEqual(self.lab.finished(long_one)["state"], "succeeded")
        self.assertEqual(self.steps_done(150), list(range(150)))


if __name__ == "__main__":
    unittest.main()
