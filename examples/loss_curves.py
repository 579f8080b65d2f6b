#!/usr/bin/python3
"""Trains ten small models on Fashion-MNIST in twelve settings each and writes how their losses fell: 120 curves in
about a quarter of an hour on one core. They are there to judge predictions of losses on real trainings.

    nice /usr/bin/python3 examples/loss_curves.py tests/fixtures/loss_curves.csv

Columns: model, half, seed, batch, schedule of the learning rate, its start, and the mean training loss of each epoch.
Constants of estimators may be chosen on one half of the curves ("fit"), to be judged on the other ("judge"). The halves
share neither models nor seeds: the models take turns in alphabetical order, and each half has three seeds of its own.
"""

import argparse
import math
import sys
import time
from types import SimpleNamespace

import training  # first: it fixes the number of threads
from fashion_cnn import Convolutional
from fashion_data import FOLDER
from fashion_mlp import Perceptron

import numpy as np
import torch
from torch import nn

BATCHES = {32: 30, 128: 60}  # and how many epochs
SCHEDULES = ("constant", "constant", "cosine")  # of the three seeds


class InNumpy(Perceptron):
    images, rate = 4000, 0.04

    def set_rate(self, rate):
        self._rate = np.float32(rate)


class NarrowPerceptron(InNumpy):
    hidden = 16


class InTorch(Convolutional):
    images, rate = 1000, 0.04

    def __init__(self, options):
        super().__init__(options, training.Alone())

    def set_rate(self, rate):
        for group in self._optimizer.param_groups:
            group["lr"] = rate


class ByAdam(InTorch):
    rate = 0.002

    @staticmethod
    def optimizer(parameters, learning_rate):
        return torch.optim.Adam(parameters, lr=learning_rate)


class BatchNorm(ByAdam):
    @staticmethod
    def network():
        return nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, stride=2), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AvgPool2d(7), nn.Flatten(),
            nn.Linear(32, 10))


class LeNet(InTorch):
    images = 2000

    @staticmethod
    def network():
        return nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))


class Sigmoid(InTorch):
    images = 4000

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.Sigmoid(), nn.Linear(64, 64), nn.Sigmoid(),
                             nn.Linear(64, 10))


class Softmax(InTorch):
    images, rate = 4000, 0.02

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))


class Autoencoder(ByAdam):
    """Learns to draw the pictures again after squeezing them through 16 numbers."""

    images = 2000

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(),
                             nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 784))

    def __init__(self, options):
        super().__init__(options)
        self._kinds, self._loss = self._pictures.flatten(1), nn.MSELoss()


class Rows(nn.Module):
    """Reads a picture row by row."""

    def __init__(self):
        super().__init__()
        self.memory, self.out = nn.LSTM(28, 48, batch_first=True), nn.Linear(48, 10)

    def forward(self, pictures):
        return self.out(self.memory(pictures.squeeze(1))[0][:, -1])


class Lstm(ByAdam):
    images, network = 2000, Rows


class Attention(nn.Module):
    """Attends to the rows of a picture."""

    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Linear(28, 32), nn.Parameter(torch.zeros(28, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.out = nn.Linear(32, 10)

    def forward(self, pictures):
        return self.out(self.layer(self.embed(pictures.squeeze(1)) + self.position).mean(1))


class Transformer(ByAdam):
    images, network = 500, Attention


MODELS = {"autoencoder": Autoencoder, "cnn": InTorch, "cnn-batchnorm": BatchNorm, "lenet": LeNet, "lstm": Lstm,
          "mlp": InNumpy, "mlp-narrow": NarrowPerceptron, "mlp-sigmoid": Sigmoid, "softmax": Softmax,
          "transformer": Transformer}


def settings():
    """Every training: its model, half, seed, batch, schedule and first learning rate."""
    for number, name in enumerate(MODELS):
        half = ("fit", "judge")[number % 2]
        for seed, schedule in zip((1, 2, 3) if half == "fit" else (4, 5, 6), SCHEDULES):
            for batch in BATCHES:
                for part in (1, 4):
                    yield name, half, seed, batch, schedule, MODELS[name].rate / part


def losses(name, seed, batch, schedule, rate):
    """The mean training loss of each epoch."""
    kind, epochs = MODELS[name], BATCHES[batch]
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
    parser.add_argument("--models", default=",".join(MODELS), help="only these")
    options = parser.parse_args()
    chosen = options.models.split(",")
    if unknown := set(chosen) - set(MODELS):
        parser.error(f"no model {unknown.pop()}; there are {', '.join(MODELS)}")
    started = time.process_time()
    with open(options.file, "w", encoding="utf-8") as file:
        print("model,half,seed,batch,schedule,learning_rate,losses", file=file)
        for setting in settings():
            name, half, *rest = setting
            if name not in chosen:
                continue
            values = "|".join(f"{loss:.4g}" for loss in losses(name, *rest))
            print(*setting, values, sep=",", file=file, flush=True)
            print(*setting, f"{time.process_time() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
