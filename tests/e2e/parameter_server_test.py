#!/usr/bin/python3
"""A real training with a parameter server: roles of a gang that meet by PyTorch RPC, stopped in the middle."""

import pathlib
import re
import unittest

from lab import LabTest, has_torch, until

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipUnless(has_torch() and pathlib.Path("/usr/share/datasets/fashion-mnist").exists(), "python3-torch or the pictures are not installed")
class ParameterServerTest(LabTest):
    def test_it_learns_every_sample_once_an_epoch_and_goes_on_where_it_was_stopped(self):
        images, batch, epochs = 2000, 64, 40
        job = self.lab.cli("submit", ROOT / "examples" / "parameter-server.toml", "-q", "--set",
                           f"command=/usr/bin/python3 parameter_server.py --images {images} --epochs {epochs}", "--checkpoint-dir", self.lab.folder / "state").stdout.strip()
        until(lambda: "epoch 3/" in self.lab.output(job), limit_s=90, what="three epochs")
        self.lab.cli("suspend", job)
        until(lambda: self.lab.job(job)["state"] == "held", limit_s=60)
        first = self.lab.output(job)
        self.lab.cli("resume", job)
        ended = self.lab.finished(job, limit_s=180)
        text = first + self.lab.output(job)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 2), text)
        self.assertEqual(re.findall(r"epoch (\d+)/", text), [str(epoch) for epoch in range(1, epochs + 1)])
        steps = sum(int(count) for count in re.findall(r"worker \d: (\d+) steps", text))
        self.assertEqual(steps, epochs * -(-images // batch))
        losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", text)]
        self.assertLess(losses[-1], 0.6 * losses[0])
        self.assertIn("continues at step", text)


if __name__ == "__main__":
    unittest.main()
