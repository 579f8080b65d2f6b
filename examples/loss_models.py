"""Small models that loss_curves.py trains on Fashion-MNIST: those on which estimators may be chosen.

Each is a class with `images`, how many pictures it learns from, `rate`, its learning rate, and step(indexes, number), which learns
from some of them and returns the loss.
"""

import training  # first: it fixes the number of threads
from fashion_cnn import Convolutional
from fashion_mlp import Perceptron

import numpy as np
import torch
from torch import nn


class InNumpy(Perceptron):
    images, rate = 4000, 0.04

    def set_rate(self, rate):
        self._rate = np.float32(rate)


class NarrowPerceptron(InNumpy):
    hidden = 16


class InTorch(Convolutional):
    images, rate = 1000, 0.04

    def __init__(self, options):
        super().__init__(options)
        self._seed = options.seed

    def step(self, indexes, number):
        torch.manual_seed(hash((self._seed, number, 0)))
        self._network.train()
        indexes = torch.from_numpy(indexes)
        loss = self._loss(self._network(self._pictures[indexes]), self._kinds[indexes])
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return loss.item()

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


class DeepPerceptron(ByAdam):
    images, rate = 2000, 0.001

    @staticmethod
    def network():
        layers = [nn.Flatten(), nn.Linear(784, 64), nn.GELU()]
        for _ in range(3):
            layers += [nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU()]
        return nn.Sequential(*layers, nn.Linear(64, 10))


class Dropout(InTorch):
    images, rate = 2000, 0.02

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 64), nn.ReLU(),
                             nn.Dropout(0.5), nn.Linear(64, 10))


class Hinge(InTorch):
    """A linear classifier that wants a margin between the right kind and the others."""

    images, rate = 4000, 0.02

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))

    def __init__(self, options):
        super().__init__(options)
        self._loss = nn.MultiMarginLoss()


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, values):
        return values + self.inner(values)


def _block(channels):
    return Residual(nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(4, channels), nn.ReLU(),
                                  nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(4, channels)))


class ResNet(InTorch):
    images, rate = 500, 0.02

    @staticmethod
    def network():
        return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, stride=2), nn.ReLU(), _block(16), nn.ReLU(), nn.MaxPool2d(2),
                             _block(16), nn.ReLU(), nn.AvgPool2d(7), nn.Flatten(), nn.Linear(16, 10))


class Columns(nn.Module):
    """Reads a picture column by column, in both directions."""

    def __init__(self):
        super().__init__()
        self.memory, self.out = nn.GRU(28, 24, batch_first=True, bidirectional=True), nn.Linear(48, 10)

    def forward(self, pictures):
        return self.out(self.memory(pictures.squeeze(1).transpose(1, 2))[0].mean(1))


class Gru(ByAdam):
    images, network = 1000, Columns


class Turned(nn.Module):
    def forward(self, values):
        return values.transpose(1, 2)


def _mixing(size):
    return nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))


class Mixer(ByAdam):
    """Mixes along rows and along columns in turn."""

    images, rate = 1000, 0.001

    @staticmethod
    def network():
        along_both = [Residual(_mixing(28)), Turned(), Residual(_mixing(28)), Turned()]
        return nn.Sequential(nn.Flatten(1, 2), *along_both, Residual(_mixing(28)), nn.Flatten(), nn.Linear(784, 10))


class Denoiser(ByAdam):
    """Takes noise out of pictures."""

    images = 1000

    @staticmethod
    def network():
        return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1, stride=2),
                             nn.ReLU(), nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ReLU(),
                             nn.ConvTranspose2d(8, 1, 2, stride=2))

    def __init__(self, options):
        super().__init__(options)
        self._kinds, self._loss = self._pictures, nn.MSELoss()
        self._pictures = self._pictures + 0.3 * torch.randn_like(self._pictures)


class LowerHalf(InTorch):
    """Draws the lower half of a picture that shows only its upper half."""

    images, rate = 2000, 0.1

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(392, 64), nn.Tanh(), nn.Linear(64, 392), nn.Sigmoid())

    def __init__(self, options):
        super().__init__(options)
        self._pictures, self._kinds = self._pictures[:, :, :14], self._pictures[:, :, 14:].flatten(1)
        self._loss = nn.MSELoss()


class Rotation(ByAdam):
    """Tells by how many quarters a picture was turned."""

    images, rate = 1000, 0.001

    @staticmethod
    def network():
        return nn.Sequential(nn.Conv2d(1, 8, 5, padding=2, stride=2), nn.SiLU(), nn.Conv2d(8, 16, 3, stride=2), nn.SiLU(),
                             nn.Flatten(), nn.Linear(576, 32), nn.SiLU(), nn.Linear(32, 4))

    def __init__(self, options):
        super().__init__(options)
        self._kinds = torch.arange(len(self._pictures)) % 4
        self._pictures = torch.stack([torch.rot90(picture, int(quarters), (1, 2))
                                      for picture, quarters in zip(self._pictures, self._kinds)])


class Spread(nn.Module):
    """A variational autoencoder: a picture becomes a cloud of eight numbers, and a point of it a picture again."""

    def __init__(self):
        super().__init__()
        self.squeeze = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 16))
        self.draw = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 784))

    def forward(self, pictures):
        middle, log_spread = self.squeeze(pictures).chunk(2, dim=1)
        drawn = self.draw(middle + torch.randn_like(middle) * torch.exp(log_spread / 2))
        return drawn, (middle ** 2 + log_spread.exp() - 1 - log_spread).sum(1).mean() / 2


class Variational(ByAdam):
    images, rate, network = 1000, 0.001, Spread

    def __init__(self, options):
        super().__init__(options)
        self._kinds = self._pictures.flatten(1)
        self._loss = lambda answer, pictures: nn.functional.binary_cross_entropy_with_logits(
            answer[0], pictures) + answer[1] / 784


MODELS = {
    "autoencoder": Autoencoder, "cnn": InTorch, "cnn-batchnorm": BatchNorm, "lenet": LeNet, "lstm": Lstm,
    "mlp": InNumpy, "mlp-narrow": NarrowPerceptron, "mlp-sigmoid": Sigmoid, "softmax": Softmax,
    "transformer": Transformer, "denoiser": Denoiser, "gru": Gru, "hinge": Hinge, "lower-half": LowerHalf,
    "mixer": Mixer, "mlp-deep": DeepPerceptron, "mlp-dropout": Dropout, "resnet": ResNet, "rotation": Rotation,
    "variational": Variational}
