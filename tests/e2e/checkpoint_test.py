#!/usr/bin/python3
"""Checkpoints go with their jobs: a training that starts again on another server continues from its step there."""

import hashlib
import unittest

from lab import Lab, LabTest, small_disk, until

# A step each 0.05 s. Keeps its steps, and ballast of so many MiB, in its checkpoint folder when it is asked to stop.
TRAINING = """
import os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ["SCHEDULEARN_CHECKPOINT_DIR"])
state = folder / "deep" / "steps"
steps = state.read_text().split() if state.exists() else []
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("on", os.environ["SCHEDULEARN_SERVER_RANK"], "from", len(steps), flush=True)
while len(steps) < int(sys.argv[1]) and not asked:
    time.sleep(0.05)
    steps.append(str(len(steps)))
state.parent.mkdir(parents=True, exist_ok=True)
for part in range(int(sys.argv[2])):
    ballast = folder / f"part-{part}"
    if not ballast.exists():
        ballast.write_bytes(os.urandom(1 << 20))
state.write_text(" ".join(steps))
"""


def digests(folder):
    """Of its files, but for what an agent that was killed has left there to see whether servers share it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".schedulearn-shared-"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class CheckpointTest(LabTest):
    def setUp(self):
        super().setUp()
        self.program = self.lab.folder / "training.py"
        self.program.write_text(TRAINING)
        self.lab.start_another_agent("other", 4)

    def train(self, steps, ballast=0, directory=""):
        command = ["/usr/bin/python3", str(self.program), str(steps), str(ballast)]
        job = self.lab.submit(command, gpus=4, checkpoint={"dir": directory, "grace": "60s"})
        until(lambda: "from 0" in self.lab.output(job))
        return job

    def server_of(self, job):
        return self.lab.job(job)["attempts"][-1]["server"]

    def move(self, job):
        """Drains the server of the job; returns that and where it starts again."""
        source = self.server_of(job)
        self.lab.cli("servers", "drain", source, "--migrate")
        until(lambda: self.lab.job(job)["attempts"][-1]["server"] != source, what="the move")
        self.lab.cli("servers", "undrain", source)
        return source, self.server_of(job)

    def checkpoints(self, server):
        return next((self.lab.folder / ("agent" if server == "lab" else server)).glob("jobs/*/checkpoints"), None)

    def starts(self, job):
        """From which step each attempt went on, as far as they have said so."""
        attempts = range(1, self.lab.job(job)["attempt"] + 1)
        outputs = (self.lab.request("GET", f"/api/v1/jobs/{job}/logs?attempt={attempt}")[2] for attempt in attempts)
        return [int(output.split()[3]) for output in outputs if output.startswith("on ") and output.endswith("\n")]

    def events(self, job, kind):
        return [event["text"] for event in self.lab.get(f"/api/v1/jobs/{job}/events")["items"] if event["kind"] == kind]

    def steps_done(self, job):
        return [int(step) for step in (self.checkpoints(self.server_of(job)) / "deep" / "steps").read_text().split()]

    def test_a_training_goes_on_from_its_step_wherever_it_is_moved_and_moved_back(self):
        job = self.train(120, ballast=8)
        for _ in range(3):
            source, target = self.move(job)
            until(lambda: len(self.starts(job)) == self.lab.job(job)["attempt"], what="the next attempt")
            self.assertEqual(digests(self.checkpoints(source)), digests(self.checkpoints(target)))
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        starts = self.starts(job)
        self.assertEqual(starts, sorted(starts))
        self.assertGreater(starts[1], 0)
        self.assertEqual(self.steps_done(job), list(range(120)))
        self.assertEqual(len(self.events(job, "job.checkpoint_copied")), 3)

    def daemon(self, server):
        return self.lab.agent if server == "lab" else self.lab.more_agents[-1]

    def start(self, server):
        if server == "lab":
            return self.lab.start_agent()
        self.lab.start_another_agent("other", 4)

    def test_it_goes_on_after_any_daemon_was_killed_in_the_middle_of_the_copy(self):
        job = self.train(200, ballast=400)
        for victim in ("target", "source", "controller"):
            source = self.server_of(job)
            target = "other" if source == "lab" else "lab"
            self.lab.cli("servers", "drain", source, "--migrate")
            own = self.lab.folder / ("agent" if target == "lab" else target)
            arriving = until(lambda: next(own.glob("jobs/*/.checkpoints.arriving/part-[5-9]*"), None), what="the first files").parent
            if victim == "controller":
                self.lab.kill(self.lab.controller)
                self.lab.start_controller()
            else:
                server = target if victim == "target" else source
                self.lab.kill(self.daemon(server))
                self.assertTrue(arriving.exists(), "it was killed too late")
                self.start(server)
            until(lambda: self.server_of(job) == target and len(self.starts(job)) == self.lab.job(job)["attempt"], what=f"the attempt after the {victim}")
            self.assertFalse(arriving.exists())
            self.assertEqual(digests(self.checkpoints(source)), digests(self.checkpoints(target)))
            self.lab.cli("servers", "undrain", source)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        starts = self.starts(job)
        self.assertEqual((len(starts), starts), (4, sorted(starts)))
        self.assertEqual(self.steps_done(job), list(range(200)))

    def test_a_checkpoint_folder_that_is_a_link_is_refused_and_the_job_starts_without(self):
        (self.lab.folder / "elsewhere").mkdir()
        (self.lab.folder / "link").symlink_to(self.lab.folder / "elsewhere")
        job = self.train(60, directory=str(self.lab.folder / "link"))
        self.move(job)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertRegex(self.events(job, "job.checkpoint_not_copied")[0], r"its checkpoint on \S+ was not copied: .*/link is a link; name the folder that it leads to")

    def test_a_folder_that_both_servers_see_is_not_copied(self):
        folder = self.lab.folder / "shared"
        job = self.train(60, ballast=2, directory=str(folder))
        self.move(job)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertGreater(self.starts(job)[1], 0)
        self.assertEqual(self.events(job, "job.checkpoint_copied") + self.events(job, "job.checkpoint_not_copied"), [])
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["deep", "part-0", "part-1"])
        self.assertEqual(list(self.lab.folder.glob("*before-job*")) + list(self.lab.folder.glob(".*arriving*")), [])


class FullDestinationTest(unittest.TestCase):
    """The server that a job moves to has no room for its checkpoint."""

    def setUp(self):
        self.lab = Lab(gpus=4)
        self.disk = small_disk(self, self.lab.folder / "small", "64m")
        self.addCleanup(self.lab.__exit__)
        self.lab.__enter__()
        self.lab.start_another_agent("small", 4)

    def test_the_job_starts_elsewhere_and_nothing_stays(self):
        lab = self.lab
        program = lab.folder / "training.py"
        program.write_text(TRAINING)
        job = lab.submit(["/usr/bin/python3", str(program), "60", "100"], gpus=4, checkpoint={"dir": "", "grace": "60s"})
        until(lambda: "from 0" in lab.output(job))
        lab.cli("servers", "drain", "lab", "--migrate")
        until(lambda: lab.get("/api/v1/servers/small")["state"] == "quarantined")
        self.assertRegex(lab.get("/api/v1/servers/small")["quarantine"]["reason"], "the checkpoint needs 100 MiB more, and [0-9]+ MiB are free")
        self.assertEqual(list(self.disk.rglob("*.arriving*")) + list(self.disk.rglob("part-*")), [])
        lab.start_another_agent("third", 4)
        self.assertEqual(lab.finished(job)["state"], "succeeded")
        steps = (next((lab.folder / "third").glob("jobs/*/checkpoints")) / "deep" / "steps").read_text().split()
        self.assertEqual(steps, [str(step) for step in range(60)])
        self.assertIn("100.0 MiB from lab", " ".join(event["text"] for event in lab.get(f"/api/v1/jobs/{job}/events")["items"]))


if __name__ == "__main__":
    unittest.main()
