#!/usr/bin/python3
"""examples/elastic/run with short trainings: real ones are stopped, resized and lose a server, and end with the losses they have undisturbed."""

import importlib.util
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAININGS = ("perceptron", "wide-perceptron", "deep-perceptron", "convolutional", "wide-convolutional", "autoencoder")


class ElasticDemonstrationTest(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_all_trainings_reach_their_undisturbed_losses(self):
        done = subprocess.run([ROOT / "examples" / "elastic" / "run", "--small"], capture_output=True, text=True, timeout=500, check=False)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        for training in TRAININGS:
            self.assertRegex(said, rf"\d:\d\d  {training} +starts on \w+ \(\d GPUs?\)")
            self.assertRegex(said, rf"\d:\d\d  {training} +succeeded")
        for line in (r"stops to make room", r"continues on \w+ \(1 GPU\), before on \w+ \(2 GPUs\)", r"policy coach +replaces gandiva",
                     r"policy elastic_fifo +replaces coach", r"is killed", r"\w+ +is down", "All 6 trainings ended with their undisturbed losses"):
            self.assertTrue(re.search(line, said), f"no line with {line}:\n{said}")


if __name__ == "__main__":
    unittest.main()
