#!/usr/bin/python3
"""Trains a network of two layers on Fashion-MNIST with NumPy alone: the lightest real job."""

import json

import training  # first: it fixes the number of threads
import fashion_data

import numpy as np

KINDS, MOMENTUM = 10, np.float32(0.9)


class Perceptron:
    """784 pixels -> 128 rectified units -> 10 kinds, cross-entropy, gradient descent with momentum."""

    hidden = 128

    def __init__(self, options):
        self._pictures, self._kinds = self._load(options, "train", options.images)
        self._test_pictures, self._test_kinds = self._load(options, "t10k")
        random = np.random.default_rng(options.seed)
        self._parameters = [self._layer(random, 784, self.hidden), np.zeros(self.hidden, np.float32),
                            self._layer(random, self.hidden, KINDS), np.zeros(KINDS, np.float32)]
        self._velocities = [np.zeros_like(each) for each in self._parameters]
        self._rate = np.float32(options.learning_rate)

    @staticmethod
    def _load(options, part, count=None):
        pictures, kinds = fashion_data.load(part, count, options.data)
        return pictures.reshape(-1, 784), kinds

    @staticmethod
    def _layer(random, inputs, outputs):
        return (random.standard_normal((inputs, outputs)) * (2 / inputs) ** 0.5).astype(np.float32)

    def _forward(self, pictures):
        weights, bias, weights_out, bias_out = self._parameters
        hidden = np.maximum(pictures @ weights + bias, 0)
        return hidden, hidden @ weights_out + bias_out

    def step(self, indexes, _number):
        pictures, kinds = self._pictures[indexes], self._kinds[indexes]
        rows = np.arange(len(kinds))
        hidden, scores = self._forward(pictures)
        scores -= scores.max(axis=1, keepdims=True)
        logarithms = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        loss = -logarithms[rows, kinds].mean()

        error = np.exp(logarithms)
        error[rows, kinds] -= 1
        error /= len(kinds)
        hidden_error = (error @ self._parameters[2].T) * (hidden > 0)
        gradients = [pictures.T @ hidden_error, hidden_error.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
        for parameter, velocity, gradient in zip(self._parameters, self._velocities, gradients):
            velocity *= MOMENTUM
            velocity += gradient
            parameter -= self._rate * velocity
        return float(loss)

    def correct(self):
        _, scores = self._forward(self._test_pictures)
        return int((scores.argmax(axis=1) == self._test_kinds).sum()), len(self._test_kinds)

    def save(self, file, about):
        arrays = {f"parameter{i}": each for i, each in enumerate(self._parameters)}
        arrays |= {f"velocity{i}": each for i, each in enumerate(self._velocities)}
        np.savez(file, about=np.array(json.dumps(about)), **arrays)

    def load(self, path):
        with np.load(path) as arrays:
            self._parameters = [arrays[f"parameter{i}"] for i in range(4)]
            self._velocities = [arrays[f"velocity{i}"] for i in range(4)]
            return json.loads(str(arrays["about"]))


def main():
    options = training.options("fashion-mlp", __doc__, epochs=10, images=60000, batch=128, learning_rate=0.05)
    training.train(Perceptron(options), options, training.Checkpoint(options, ".npz"))


if __name__ == "__main__":
    main()
