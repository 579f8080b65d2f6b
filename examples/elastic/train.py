#!/usr/bin/python3
"""Six small trainings on Fashion-MNIST in PyTorch that can be stopped, moved and resized: train.py MODEL.

Nothing in them is random but the order of the pictures and the first parameters, so the losses do not depend on the number of
workers. That is what `run` checks.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path += [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "python")]

import schedulearn

schedulearn.catch_stop()  # before the seconds that PyTorch takes to load

import fashion_data
import torch
from schedulearn.pytorch import Training
from torch import nn


def layers(*sizes, between=nn.ReLU):
    made = [nn.Flatten()]
    for inputs, outputs in zip(sizes, sizes[1:]):
        made += [nn.Linear(inputs, outputs), between()]
    return nn.Sequential(*made[:-1])


def convolutions(channels):
    return nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1, stride=2), nn.Tanh(), nn.Conv2d(channels, 2 * channels, 3, padding=1, stride=2), nn.Tanh(),
        nn.Flatten(), nn.Linear(2 * channels * 49, 10))


def sgd(parameters, rate):
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9)


# network, optimizer, learning rate, batch
MODELS = {
    "perceptron": (lambda: layers(784, 512, 10, between=nn.Tanh), sgd, 0.1, 500),
    "wide-perceptron": (lambda: layers(784, 1024, 10, between=nn.Tanh), torch.optim.Adam, 0.0005, 500),
    "deep-perceptron": (lambda: layers(784, 512, 256, 64, 10, between=nn.Tanh), torch.optim.Adam, 0.0005, 500),
    "convolutional": (lambda: convolutions(8), sgd, 0.05, 250),
    "wide-convolutional": (lambda: convolutions(16), sgd, 0.05, 250),
    "autoencoder": (lambda: layers(784, 128, 16, 128, 784, between=nn.Tanh), torch.optim.Adam, 0.001, 500),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--images", type=int, default=10000)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--checkpoints", help="default: the job's folder")
    options = parser.parse_args()
    make, optimizer_of, rate, batch = MODELS[options.model]

    pictures, kinds = map(torch.from_numpy, fashion_data.load("train", options.images))
    pictures = pictures.unsqueeze(1)
    torch.manual_seed(1)
    net = make()
    optimizer = optimizer_of(net.parameters(), rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.epochs)
    if options.model == "autoencoder":
        loss_of, wanted = nn.functional.mse_loss, pictures.flatten(1)
    else:
        loss_of, wanted = nn.functional.cross_entropy, kinds

    training = Training(net, optimizer, schedule, samples=len(pictures), batch=batch, epochs=options.epochs,
                        folder=options.checkpoints, save_every_s=10)
    for epoch in training.epochs():
        for indexes in training.steps():
            optimizer.zero_grad()
            training.loss(loss_of(training.model(pictures[indexes]), wanted[indexes])).backward()
            optimizer.step()
        schedule.step()
        if training.rank == 0:
            print(f"epoch {epoch}/{options.epochs} loss {training.epoch_loss:.9f} workers {training.workers}", flush=True)


if __name__ == "__main__":
    main()
