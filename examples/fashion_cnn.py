#!/usr/bin/python3
"""Trains a small convolutional network on Fashion-MNIST with PyTorch, in one process or, started by torchrun, in several.

What schedulearn.pytorch does for it: each process gets its share of each batch, epochs are reported, and the training continues
where it was stopped, on any number of processes.
"""

import time

import training  # first: it fixes the number of threads
import fashion_data

import torch
from torch import nn
from schedulearn.pytorch import Training


class Convolutional:
    """Two convolutions with pooling, then two layers with dropout between them: 106,000 parameters."""

    def __init__(self, options):
        self._pictures, self._kinds = self._load(options, "train", options.images)
        self._test_pictures, self._test_kinds = self._load(options, "t10k")
        torch.manual_seed(options.seed)
        self._network = self.network()
        self._optimizer = self.optimizer(self._network.parameters(), options.learning_rate)
        self._loss = nn.CrossEntropyLoss()

    @staticmethod
    def network():
        return nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Dropout(0.25), nn.Linear(64, 10))

    @staticmethod
    def optimizer(parameters, learning_rate):
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9)

    @staticmethod
    def _load(options, part, count=None):
        pictures, kinds = fashion_data.load(part, count, options.data)
        return torch.from_numpy(pictures).unsqueeze(1), torch.from_numpy(kinds)

    def train(self, options):
        run = Training(self._network, self._optimizer, samples=options.images, batch=options.batch, epochs=options.epochs,
                       seed=options.seed, folder=options.checkpoints, fresh=options.fresh)
        for epoch in run.epochs():
            started = time.monotonic()
            self._network.train()
            for indexes in run.steps():
                self._optimizer.zero_grad()
                run.loss(self._loss(run.model(self._pictures[indexes]), self._kinds[indexes])).backward()
                self._optimizer.step()
            accuracy = self.accuracy(run)
            run.report(accuracy=accuracy)
            if run.rank == 0:
                print(f"epoch {epoch}/{options.epochs}  loss {run.epoch_loss:.4f}  accuracy {accuracy:.4f}  "
                      f"{time.monotonic() - started:.1f} s  workers {run.workers}", flush=True)

    @torch.no_grad()
    def accuracy(self, run):
        self._network.eval()
        mine = slice(run.rank, None, run.workers)
        right = [(self._network(pictures).argmax(dim=1) == kinds).sum().item()
                 for pictures, kinds in zip(self._test_pictures[mine].split(500), self._test_kinds[mine].split(500))]
        return run.total(sum(right)) / len(self._test_kinds)


def main():
    options = training.options("fashion-cnn", __doc__, epochs=4, images=20000, batch=128, learning_rate=0.05)
    torch.use_deterministic_algorithms(True)
    Convolutional(options).train(options)


if __name__ == "__main__":
    main()
