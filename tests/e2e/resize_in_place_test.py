#!/usr/bin/python3
"""Trainings that go over to other GPUs by themselves, in the attempt that they are in."""

import unittest

from lab import LabTest, until

# A step each 0.05 s. Says on how many GPUs and from which step it runs. With "deaf" it never answers.
TRAINING = """
import os, pathlib, sys, time
import schedulearn
schedulearn.catch_stop()
state = pathlib.Path(os.environ["SCHEDULEARN_CHECKPOINT_DIR"]) / "steps"
steps = state.read_text().split() if state.exists() else []
print("on", os.environ["CUDA_VISIBLE_DEVICES"], "from", len(steps), flush=True)
while len(steps) < int(sys.argv[1]) and not schedulearn.should_checkpoint():
    time.sleep(0.05)
    steps.append(str(len(steps)))
    request = schedulearn.resize_request()
    if request and sys.argv[2] == "hears":
        schedulearn.resized()
        print("on", request.visible_devices, "from", len(steps), flush=True)
state.parent.mkdir(parents=True, exist_ok=True)
state.write_text(" ".join(steps))
if len(steps) < int(sys.argv[1]):
    schedulearn.requeue()
"""

TORCH_TRAINING = """
import os, time
import schedulearn
schedulearn.catch_stop()
import torch.distributed as distributed
distributed.init_process_group("gloo")
distributed.barrier()
if distributed.get_rank() == 0:
    print("of", distributed.get_world_size(), "on", os.environ["CUDA_VISIBLE_DEVICES"], "gpus", schedulearn.job().gpus, flush=True)
done = schedulearn.checkpoint_folder("").parent / "done"
while not done.exists():
    time.sleep(0.05)
    if schedulearn.should_checkpoint():
        schedulearn.requeue()
"""


class ResizeInPlaceTest(LabTest):
    def train(self, steps, gpus, hears="hears", **more):
        program = self.lab.folder / "training.py"
        program.write_text(TRAINING)
        checkpoint = {"dir": str(self.lab.folder / f"state-{steps}"), **more}
        return self.lab.submit(["/usr/bin/python3", str(program), str(steps), hears], gpus=gpus, resize="in_place", checkpoint=checkpoint, time={"estimate": "1h"})

    def steps_done(self, steps):
        return [int(step) for step in (self.lab.folder / f"state-{steps}" / "steps").read_text().split()]

    def runs_on(self, job, gpus):
        shown = self.lab.job(job)
        return shown["state"] == "running" and shown["placement"][0]["gpus"] == [f"lab-{gpu}" for gpu in gpus]

    def test_a_training_shrinks_for_another_and_grows_when_that_has_ended(self):
        zero = [f"--param={name}=0" for name in ("resize_min_run_s", "resize_min_rem_s", "restart_cost_s")]
        self.lab.cli("policy", "set", "elastic_fifo", *zero)
        long_one = self.train(300, "1..4")
        until(lambda: "on 0,1,2,3 from 0" in self.lab.output(long_one))
        short = self.train(30, "1..4")
        self.assertEqual(self.lab.finished(short)["state"], "succeeded")
        ended = self.lab.finished(long_one)
        self.assertEqual((ended["state"], ended["resizes"], ended["preemptions"], ended["attempt"]), ("succeeded", 2, 0, 1))
        self.assertEqual([line.split()[1] for line in self.lab.output(long_one).splitlines()], ["0,1,2,3", "0,1", "0,1,2,3"])
        self.assertEqual(self.steps_done(300), list(range(300)))
        self.assertEqual(self.steps_done(30), list(range(30)))

    def test_its_user_may_do_so_and_is_told_what_happens(self):
        job = self.train(5003, 1)
        until(lambda: "from 0" in self.lab.output(job))
        said = self.lab.cli("scale", job, 3, "--dry-run").stdout
        self.assertIn("is asked to go over to 3 GPUs by itself (lab:0,1,2)", said)
        self.lab.cli("scale", job, 3)
        until(lambda: self.runs_on(job, [0, 1, 2]))
        self.lab.cli("scale", job, 2)
        until(lambda: self.runs_on(job, [0, 1]))
        self.assertEqual(self.lab.job(job)["attempt"], 1)
        self.assertIn("resized 2 times", self.lab.cli("show", job).stdout)

    def test_one_that_does_not_answer_stops_at_a_checkpoint_and_starts_again(self):
        job = self.train(5004, 1, "deaf", grace="1s")
        until(lambda: "from 0" in self.lab.output(job))
        self.lab.cli("scale", job, 2)
        self.assertIn("is asked to go over to 2 GPUs of lab by itself", self.lab.cli("why", job).stdout)
        until(lambda: self.runs_on(job, [0, 1]))
        shown = self.lab.job(job)
        self.assertEqual((shown["attempt"], shown["resizes"]), (2, 1))

    def test_the_daemons_may_die_while_it_is_asked(self):
        job = self.train(5005, "1..4", "deaf", grace="60s")
        until(lambda: "from 0" in self.lab.output(job))
        self.lab.cli("scale", job, 2)
        folder = until(lambda: next(self.lab.folder.glob(f"agent/attempts/{job}.1.*/resize"), None)).parent
        self.lab.kill(self.lab.agent)
        (folder / "resize").rename(folder / "resize.done")  # answered while no agent looks
        self.lab.start_agent()
        until(lambda: self.runs_on(job, [0, 1]))
        self.assertEqual(self.lab.job(job)["attempt"], 1)
        self.lab.kill(self.lab.agent)
        self.lab.start_agent()
        until(lambda: self.lab.get("/api/v1/servers/lab")["state"] == "up")
        self.assertTrue(self.runs_on(job, [0, 1]), "the next agent knows which GPUs it has")
        self.lab.cli("scale", job, 3)
        until(lambda: (folder / "resize").exists())
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        until(lambda: self.lab.job(job)["attempt"] == 2 and self.lab.job(job)["state"] == "running")

    def test_a_recording_of_it_plays_the_same(self):
        self.lab.kill(self.lab.controller)
        records = self.lab.folder / "records"
        self.lab.start_controller("--record", str(records))
        until(lambda: any(server["state"] == "up" for server in self.lab.get("/api/v1/servers")["items"]))
        job, deaf = self.train(5006, 1), self.train(5007, 1, "deaf", grace="1s")
        until(lambda: "from 0" in self.lab.output(job) and "from 0" in self.lab.output(deaf))
        for gpus in (2, 1):
            self.lab.cli("scale", job, gpus)
            until(lambda: self.lab.job(job)["state"] == "running")
        self.lab.cli("scale", deaf, 3)
        until(lambda: self.lab.job(deaf)["attempt"] == 2 and self.lab.job(deaf)["state"] == "running")
        self.lab.controller.terminate()
        self.lab.controller.wait(20)
        self.assertIn("differences  0", self.lab.cli("controller", "replay", next(records.glob("*.jsonl"))).stdout)

    def test_torchrun_starts_as_many_trainings_as_there_are_gpus_then(self):
        program = self.lab.folder / "training.py"
        program.write_text(TORCH_TRAINING)
        job = self.lab.submit(f"/usr/bin/python3 {program}", gpus=1, launch="torchrun", resize="in_place", checkpoint={"dir": "checkpoints"})
        until(lambda: "of 1 on 0 gpus 1" in self.lab.output(job))
        for gpus, devices in ((3, "0,1,2"), (2, "0,1")):
            self.lab.cli("scale", job, gpus)
            until(lambda: f"of {gpus} on {devices} gpus {gpus}" in self.lab.output(job))
            until(lambda: self.runs_on(job, list(range(gpus))))
        self.assertEqual(self.lab.job(job)["attempt"], 1)
        folder = self.lab.folder / "checkpoints"
        folder.mkdir(parents=True)
        (folder / "done").touch()
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")

    def test_what_cannot_be_resized_in_place_is_refused(self):
        for more, said in (({}, "[checkpoint] dir"), ({"launch": "ranks", "checkpoint": {"dir": "c"}}, "torchrun"), ({"servers": 2, "gpus": 2, "checkpoint": {"dir": "c"}}, "one server")):
            status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "resize": "in_place", **more})
            self.assertEqual(status, 422)
            self.assertIn("bad-resize", text)
            self.assertIn(said, text)
        refused = self.lab.cli("submit", "--resize", "inplace", "--", "true", check=False)
        self.assertIn("in_place", refused.stderr)


if __name__ == "__main__":
    unittest.main()
