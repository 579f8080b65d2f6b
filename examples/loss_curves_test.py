#!/usr/bin/python3
"""The recorded loss curves are those that loss_curves.py makes, and nothing leaks from one half of them to the other."""

import csv
import unittest
from pathlib import Path

import loss_curves

RECORDED = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "loss_curves.csv"


def key(row):
    return row["model"], row["half"], int(row["seed"]), int(row["batch"]), row["schedule"], float(row["learning_rate"])


class LossCurvesTest(unittest.TestCase):
    def setUp(self):
        with open(RECORDED, encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file))

    def test_every_setting_is_recorded_once_with_the_loss_of_each_epoch(self):
        self.assertEqual([key(row) for row in self.rows], list(loss_curves.settings()))
        self.assertEqual(len(self.rows), 480)
        for row in self.rows:
            losses = [float(loss) for loss in row["losses"].split("|")]
            self.assertEqual(len(losses), loss_curves.BATCHES[int(row["batch"])])
            self.assertTrue(all(loss > 0 for loss in losses))
            self.assertLess(losses[-1], losses[0])

    def test_the_halves_share_neither_models_nor_seeds(self):
        fit, judge = ([row for row in self.rows if row["half"] == half] for half in ("fit", "judge"))
        self.assertEqual((len(fit), len(judge)), (240, 240))
        for column in ("model", "seed"):
            self.assertFalse({row[column] for row in fit} & {row[column] for row in judge})

    def test_a_training_done_again_has_the_recorded_losses(self):
        for model, seed in (("mlp-narrow", 1), ("mlp-sigmoid", 6), ("lower-half", 10), ("centre", 16)):
            row = next(row for row in self.rows if row["model"] == model and int(row["seed"]) == seed and row["batch"] == "128")
            for again, recorded in zip(loss_curves.losses(*key(row)), row["losses"].split("|")):
                self.assertAlmostEqual(again / float(recorded), 1, delta=0.02)  # another BLAS rounds differently


if __name__ == "__main__":
    unittest.main()
