#!/usr/bin/python3
"""Trains forty small models on Fashion-MNIST in twelve settings each and writes how their losses fell: 480 curves in
about half an hour on one core. They are there to judge predictions of losses on real trainings.

    nice /usr/bin/python3 examples/loss_curves.py tests/fixtures/loss_curves.csv

Columns: model, half, seed, batch, schedule of the learning rate, its start, and the mean training loss of each epoch.
Constants of estimators may be chosen on one half of the curves ("fit"), to be judged on the other ("judge"). The halves
share neither models nor seeds. The constants were fixed before anybody looked at the curves of the other half.
"""

import argparse
import math
import sys
import time
from types import SimpleNamespace

import loss_models  # first: it fixes the number of threads
import loss_models_held_back
from fashion_data import FOLDER

import numpy as np

MODELS = {"fit": loss_models.MODELS, "judge": loss_models_held_back.MODELS}
BATCHES = {32: 30, 128: 60}  # and how many epochs
SCHEDULES = ("constant", "constant", "cosine")  # of the three seeds
FIRST_SEEDS = {"fit": 1, "judge": 13}


def settings():
    """Every training: its model, half, seed, batch, schedule and first learning rate."""
    for half, models in MODELS.items():
        for number, (name, kind) in enumerate(models.items()):
            first = FIRST_SEEDS[half] + 6 * (number // 10) + 3 * (number % 2)  # two groups of seeds for ten models in turn
            for seed, schedule in enumerate(SCHEDULES, first):
                for batch in BATCHES:
                    for part in (1, 4):
                        yield name, half, seed, batch, schedule, kind.rate / part


def losses(name, half, seed, batch, schedule, rate):
    """The mean training loss of each epoch."""
    kind, epochs = MODELS[half][name], BATCHES[batch]
    model = kind(SimpleNamespace(images=kind.images, learning_rate=rate, seed=seed, data=FOLDER))
    steps, means = kind.images // batch, []
    for epoch in range(epochs):
        if schedule == "cosine":
            model.set_rate(rate / 2 * (1 + math.cos(math.pi * epoch / epochs)))
        order = np.random.default_rng([seed, epoch]).permutation(kind.images)
        means.append(sum(model.step(order[at * batch:(at + 1) * batch], epoch * steps + at)
                         for at in range(steps)) / steps)
    return means


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the CSV to write")
    known = [name for models in MODELS.values() for name in models]
    parser.add_argument("--models", default=",".join(known), help="only these")
    options = parser.parse_args()
    chosen = options.models.split(",")
    if unknown := set(chosen) - set(known):
        parser.error(f"no model {unknown.pop()}; there are {', '.join(known)}")
    started = time.process_time()
    with open(options.file, "w", encoding="utf-8") as file:
        print("model,half,seed,batch,schedule,learning_rate,losses", file=file)
        for setting in settings():
            if setting[0] not in chosen:
                continue
            values = "|".join(f"{loss:.4g}" for loss in losses(*setting))
            print(*setting, values, sep=",", file=file, flush=True)
            print(*setting, f"{time.process_time() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
