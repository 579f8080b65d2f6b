#!/usr/bin/python3
"""A training that was stopped or killed and continued has the losses and the parameters of one that was not, bit for bit."""

import importlib.util
import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
REQUEUE = 75


class Training:
    """One training in a folder of its own, executed as often as necessary."""

    def __init__(self, folder, script, *options):
        self._folder = Path(folder)
        self.command = [PYTHON, HERE / script, *options, "--checkpoints", self._folder / "checkpoints"]
        self.output = ""
        self._metrics = self._folder / "metrics.jsonl"
        self.notice = self._folder / "notice"

    def run(self, job={}, send=None, after_epochs=0):
        """Executes it and gives its exit status. `job` is added to its environment; `send` is the signal it gets once it
        has printed the given number of epochs."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SCHEDULEARN_")}
        environment = clean | {"SCHEDULEARN_METRICS_FILE": str(self._metrics), "SCHEDULEARN_NOTICE_FILE": str(self.notice)}
        environment |= job
        with subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment) as process:
            epochs, self.output = 0, ""
            for line in process.stdout:
                self.output += line
                epochs += line.startswith("epoch ")
                if send and epochs == after_epochs:
                    process.send_signal(send)
                    send = None
        return process.returncode

    def losses(self):
        """The loss of each epoch as reported. An epoch reported twice must have the same loss."""
        losses = {}
        for line in self._metrics.read_text().splitlines():
            entry = json.loads(line)
            if "step" in entry:
                continue
            del entry["time"]
            known = losses.setdefault(entry["epoch"], entry)
            assert known == entry, f"epoch {entry['epoch']} changed: {known} and {entry}"
        return losses

    def checkpoint(self):
        return next((self._folder / "checkpoints").glob("checkpoint.*"))


class Resume(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self._folder = Path(temporary.name)

    def training(self, name, *command):
        (self._folder / name).mkdir()
        return Training(self._folder / name, *command)

    def assert_equal_parameters(self, one, other):
        with np.load(one.checkpoint()) as first, np.load(other.checkpoint()) as second:
            self.assertEqual(sorted(first.files), sorted(second.files))
            for name in first.files:
                self.assertEqual(first[name].tobytes(), second[name].tobytes(), name)

    def check(self, *command, epochs):
        """Compares an uninterrupted training with one that is stopped by a signal and then by force."""
        whole = self.training("whole", *command)
        self.assertEqual(whole.run(), 0, whole.output)
        self.assertEqual(list(whole.losses()), list(range(1, epochs + 1)))

        broken = self.training("broken", *command)
        self.assertEqual(broken.run(send=signal.SIGTERM, after_epochs=1), REQUEUE)
        self.assertEqual(broken.run(send=signal.SIGKILL, after_epochs=1), -signal.SIGKILL)
        self.assertEqual(broken.run(), 0, broken.output)
        self.assertEqual(broken.losses(), whole.losses())
        return whole, broken

    def test_numpy_goes_on_as_if_never_stopped(self):
        whole, broken = self.check("fashion_mlp.py", "--epochs", "8", "--images", "12800", epochs=8)
        self.assert_equal_parameters(whole, broken)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_pytorch_goes_on_as_if_never_stopped(self):
        self.check("fashion_cnn.py", "--epochs", "3", "--images", "1280", epochs=3)

    def test_a_notice_stops_it_after_the_next_step(self):
        training = self.training("one", "fashion_mlp.py", "--epochs", "1", "--images", "1280")
        training.notice.touch()
        self.assertEqual(training.run(), REQUEUE)
        self.assertIn("after step 1/10", training.output)

    def test_a_new_job_does_not_take_an_older_ones_checkpoint(self):
        training = self.training("one", "fashion_mlp.py", "--epochs", "1", "--images", "1280")
        self.assertEqual(training.run(), 0)
        self.assertNotIn("continues", training.output)
        self.assertEqual(training.run({"SCHEDULEARN_JOB_ID": "1", "SCHEDULEARN_RESUME": "0"}), 0)
        self.assertNotIn("continues", training.output)
        self.assertEqual(training.run({"SCHEDULEARN_JOB_ID": "1", "SCHEDULEARN_RESUME": "1"}), 0)
        self.assertIn("continues", training.output)

    def test_a_checkpoint_of_other_settings_is_refused(self):
        training = self.training("one", "fashion_mlp.py", "--epochs", "1", "--images", "1280")
        self.assertEqual(training.run(), 0)
        training.command += ["--seed", "2"]
        self.assertEqual(training.run(), 1)
        self.assertIn("was made with other settings", training.output)

    def test_a_damaged_checkpoint_is_refused_and_fresh_starts_over(self):
        training = self.training("one", "fashion_mlp.py", "--epochs", "1", "--images", "1280")
        self.assertEqual(training.run(), 0)
        training.checkpoint().write_bytes(b"PK\x03\x04 cut off")
        self.assertEqual(training.run(), 1)
        self.assertIn("cannot read", training.output)
        training.command += ["--fresh"]
        self.assertEqual(training.run(), 0)


if __name__ == "__main__":
    unittest.main()
