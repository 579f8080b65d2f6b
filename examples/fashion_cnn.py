#!/usr/bin/python3
"""Trains a small convolutional network on Fashion-MNIST with PyTorch, in one process or, started by torchrun, in several."""

import os

import training  # first: it fixes the number of threads
import fashion_data

import torch
import torch.distributed
from torch import nn


class Together:
    """The processes torchrun started for one training (see training.Alone)."""

    def __init__(self):
        if os.environ.get("MASTER_ADDR") in ("127.0.0.1", "localhost"):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all on this machine: stay off its network
        torch.distributed.init_process_group("gloo")
        self.rank = torch.distributed.get_rank()
        self.size = torch.distributed.get_world_size()

    def add(self, *numbers):
        sums = torch.tensor(numbers, dtype=torch.float64)
        torch.distributed.all_reduce(sums)
        return sums.tolist()

    def wait_for_all(self):
        torch.distributed.barrier()


class Convolutional:
    """Two convolutions with pooling, then two layers with dropout between them: 106,000 parameters."""

    def __init__(self, options, world):
        self._seed, self._world = options.seed, world
        self._pictures, self._kinds = self._load(options, "train", options.images)
        test_pictures, test_kinds = self._load(options, "t10k")
        self._test = list(zip(test_pictures[world.rank::world.size].split(500), test_kinds[world.rank::world.size].split(500)))
        torch.manual_seed(options.seed)
        self._network = self.network()
        self._optimizer = self.optimizer(self._network.parameters(), options.learning_rate)
        self._loss = nn.CrossEntropyLoss()
        # What is trained: with several processes, a wrapper that averages their gradients.
        self._trained = nn.parallel.DistributedDataParallel(self._network) if world.size > 1 else self._network

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

    def step(self, indexes, number):
        # Seeded at each step, so that a continued training draws the same dropout as an uninterrupted one.
        torch.manual_seed(hash((self._seed, number, self._world.rank)))
        self._trained.train()
        indexes = torch.from_numpy(indexes)
        loss = self._loss(self._trained(self._pictures[indexes]), self._kinds[indexes])
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return loss.item()

    @torch.no_grad()
    def correct(self):
        self._network.eval()
        right = sum((self._network(pictures).argmax(dim=1) == kinds).sum().item() for pictures, kinds in self._test)
        return right, sum(len(kinds) for _, kinds in self._test)

    def save(self, file, about):
        torch.save({"about": about, "network": self._network.state_dict(), "optimizer": self._optimizer.state_dict()}, file)

    def load(self, path):
        saved = torch.load(path)
        self._network.load_state_dict(saved["network"])
        self._optimizer.load_state_dict(saved["optimizer"])
        return saved["about"]


def main():
    options = training.options("fashion-cnn", __doc__, epochs=4, images=20000, batch=128, learning_rate=0.05)
    torch.use_deterministic_algorithms(True)
    world = Together() if int(os.environ.get("WORLD_SIZE", 1)) > 1 else training.Alone()
    training.train(Convolutional(options, world), options, training.Checkpoint(options, ".pt"), world)


if __name__ == "__main__":
    main()
