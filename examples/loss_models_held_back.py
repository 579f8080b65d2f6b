"""Small models that loss_curves.py trains on Fashion-MNIST: those by which estimators are judged (loss_models.py)."""

from loss_models import ByAdam, InTorch

import torch
from torch import nn


class Heavy(ByAdam):
    """Two convolutions whose weights decay."""

    images = 500

    @staticmethod
    def network():
        return nn.Sequential(nn.Conv2d(1, 16, 5, stride=3), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                             nn.Flatten(), nn.Linear(288, 10))

    @staticmethod
    def optimizer(parameters, learning_rate):
        return torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.1)


class Separable(ByAdam):
    """Convolutions within a channel and across channels in turn."""

    images = 500

    @staticmethod
    def network():
        return nn.Sequential(nn.Conv2d(1, 16, 4, stride=4), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, groups=16),
                             nn.Conv2d(16, 32, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1, groups=32),
                             nn.Conv2d(32, 32, 1), nn.ReLU(), nn.AvgPool2d(7), nn.Flatten(), nn.Linear(32, 10))


class Leaky(InTorch):
    images, rate = 500, 0.02

    @staticmethod
    def network():
        return nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.LeakyReLU(0.1), nn.Conv2d(8, 16, 3, stride=2),
                             nn.LeakyReLU(0.1), nn.Flatten(), nn.Linear(576, 48), nn.LeakyReLU(0.1), nn.Linear(48, 10))


class RowsInTurn(nn.Module):
    """Reads a picture row by row, without gates."""

    def __init__(self):
        super().__init__()
        self.memory, self.out = nn.RNN(28, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, pictures):
        return self.out(self.memory(pictures.squeeze(1))[0][:, -1])


class Elman(ByAdam):
    images, rate, network = 1000, 0.001, RowsInTurn


def _patches(pictures):
    """Sixteen squares of 7 by 7 of each picture, as rows of 49 numbers."""
    return nn.functional.unfold(pictures, 7, stride=7).transpose(1, 2)


class PatchReader(nn.Module):
    """Reads a picture square by square."""

    def __init__(self):
        super().__init__()
        self.memory, self.out = nn.GRU(49, 32, batch_first=True), nn.Linear(32, 10)

    def forward(self, pictures):
        return self.out(self.memory(_patches(pictures))[0][:, -1])


class PatchGru(ByAdam):
    images, rate, network = 1000, 0.003, PatchReader


class PatchAttention(nn.Module):
    """Attends to the squares of a picture in two layers."""

    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Linear(49, 24), nn.Parameter(torch.zeros(16, 24))
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(24, 2, 48, dropout=0, batch_first=True, norm_first=True)
                                      for _ in range(2)))
        self.out = nn.Linear(24, 10)

    def forward(self, pictures):
        return self.out(self.layers(self.embed(_patches(pictures)) + self.position).mean(1))


class PatchTransformer(ByAdam):
    images, rate, network = 500, 0.001, PatchAttention


class Gate(nn.Module):
    """Passes on a part of its values and replaces the rest."""

    def __init__(self, size):
        super().__init__()
        self.inner, self.gate = nn.Linear(size, size), nn.Linear(size, size)
        nn.init.constant_(self.gate.bias, -1.0)

    def forward(self, values):
        open_part = torch.sigmoid(self.gate(values))
        return open_part * torch.relu(self.inner(values)) + (1 - open_part) * values


class Highway(ByAdam):
    images = 1000

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 32), *(Gate(32) for _ in range(6)), nn.Linear(32, 10))


class LargestOf(nn.Module):
    def __init__(self, inputs, outputs, pieces):
        super().__init__()
        self.pieces, self.inner = pieces, nn.Linear(inputs, outputs * pieces)

    def forward(self, values):
        return self.inner(values).unflatten(1, (-1, self.pieces)).max(2).values


class Maxout(InTorch):
    images, rate = 1000, 0.02

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), LargestOf(784, 32, 3), LargestOf(32, 32, 3), nn.Linear(32, 10))


class Focal(InTorch):
    """Cares little for the pictures that it already knows."""

    images, rate = 1000, 0.03

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 48), nn.ReLU(), nn.Linear(48, 10))

    def __init__(self, options):
        super().__init__(options)
        self._loss = self.focal

    @staticmethod
    def focal(answers, kinds):
        surprise = nn.functional.cross_entropy(answers, kinds, reduction="none")
        return ((1 - torch.exp(-surprise)) ** 2 * surprise).mean()


class Smoothed(InTorch):
    """Is never to be quite certain."""

    images, rate = 1000, 0.02

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 10))

    def __init__(self, options):
        super().__init__(options)
        self._loss = nn.CrossEntropyLoss(label_smoothing=0.1)


class WrongKinds(ByAdam):
    """A fifth of its pictures have a wrong name."""

    images, rate = 1000, 0.001

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 96), nn.ReLU(), nn.Linear(96, 10))

    def __init__(self, options):
        super().__init__(options)
        self._kinds = torch.where(torch.rand(len(self._kinds)) < 0.2, torch.randint(10, self._kinds.shape), self._kinds)


class Triplets(ByAdam):
    """Puts pictures of one kind near each other, and those of others further away."""

    images, rate = 1000, 0.0005

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 12))

    def __init__(self, options):
        super().__init__(options)
        self._loss = self.triplets

    @staticmethod
    def triplets(places, kinds):
        apart = (places[:, None] - places[None]).square().sum(2)
        alike = kinds[:, None] == kinds[None]
        furthest = torch.where(alike, apart, torch.zeros(())).max(1).values
        nearest = torch.where(alike, torch.full((), 1e6), apart).min(1).values
        return nn.functional.softplus(furthest.clamp(max=50) - nearest.clamp(max=50)).mean()


class Centre(ByAdam):
    """Draws the middle of a picture that shows only what is around it."""

    images = 1000

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 48), nn.ReLU(), nn.Linear(48, 144))

    def __init__(self, options):
        super().__init__(options)
        self._kinds = self._pictures[:, :, 8:20, 8:20].flatten(1)
        self._pictures = self._pictures.clone()
        self._pictures[:, :, 8:20, 8:20] = 0
        self._loss = nn.MSELoss()


class NextRow(nn.Module):
    """Foretells each row of a picture from those above it."""

    def __init__(self):
        super().__init__()
        self.memory, self.out = nn.GRU(28, 32, batch_first=True), nn.Linear(32, 28)

    def forward(self, pictures):
        return self.out(self.memory(pictures.squeeze(1)[:, :-1])[0])


class Continuing(ByAdam):
    images, rate, network = 500, 0.003, NextRow

    def __init__(self, options):
        super().__init__(options)
        self._kinds, self._loss = self._pictures.squeeze(1)[:, 1:], nn.MSELoss()


class Brightness(ByAdam):
    """Guesses how bright each quarter of a turned picture is, and is judged by the absolute difference."""

    images, rate = 1000, 0.001

    @staticmethod
    def network():
        return nn.Sequential(nn.Conv2d(1, 8, 5, stride=4), nn.Tanh(), nn.Flatten(), nn.Linear(288, 16), nn.Tanh(),
                             nn.Linear(16, 4))

    def __init__(self, options):
        super().__init__(options)
        self._kinds = nn.functional.avg_pool2d(self._pictures.transpose(2, 3), 14).flatten(1)
        self._loss = nn.L1Loss()


class Waves(nn.Module):
    """Random waves of the picture, which stay as they are, and what is learnt from them."""

    def __init__(self):
        super().__init__()
        self.waves, self.out = nn.Linear(784, 256), nn.Linear(256, 10)
        nn.init.normal_(self.waves.weight, std=0.1)
        nn.init.uniform_(self.waves.bias, 0, 6.2832)
        self.waves.requires_grad_(False)

    def forward(self, pictures):
        return self.out(torch.cos(self.waves(pictures.flatten(1))))


class RandomFeatures(ByAdam):
    images, rate, network = 1000, 0.003, Waves


class Linear(InTorch):
    """Squeezes pictures through 24 numbers by straight lines alone."""

    images, rate = 1000, 0.3

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 24), nn.Linear(24, 784))

    def __init__(self, options):
        super().__init__(options)
        self._kinds, self._loss = self._pictures.flatten(1), nn.MSELoss()


class SparseCode(nn.Module):
    def __init__(self):
        super().__init__()
        self.squeeze, self.draw = nn.Linear(784, 96), nn.Linear(96, 784)

    def forward(self, pictures):
        code = torch.relu(self.squeeze(pictures.flatten(1)))
        return self.draw(code), code.mean()


class Sparse(ByAdam):
    """Squeezes pictures into few numbers that are not zero."""

    images, rate, network = 1000, 0.001, SparseCode

    def __init__(self, options):
        super().__init__(options)
        self._kinds = self._pictures.flatten(1)
        self._loss = lambda answer, pictures: nn.functional.mse_loss(answer[0], pictures) + 0.01 * answer[1]


class Pupil(ByAdam):
    """Learns what another network, with random weights, says of the pictures."""

    images, rate = 1000, 0.002

    @staticmethod
    def network():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.Tanh(), nn.Linear(32, 8))

    def __init__(self, options):
        super().__init__(options)
        teacher = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
        with torch.no_grad():
            self._kinds = 10 * teacher(self._pictures)
        self._loss = nn.MSELoss()


class Dense(nn.Module):
    """Every layer sees what all layers before it have found."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(1 + 8 * at, 8, 3, padding=1) for at in range(4))
        self.out = nn.Linear(33, 10)

    def forward(self, pictures):
        found = nn.functional.avg_pool2d(pictures, 4)
        for layer in self.layers:
            found = torch.cat([found, torch.relu(layer(found))], 1)
        return self.out(found.mean((2, 3)))


class DenseNet(ByAdam):
    images, rate, network = 500, 0.005, Dense


MODELS = {
    "autoencoder-linear": Linear, "autoencoder-sparse": Sparse, "brightness": Brightness, "centre": Centre,
    "cnn-decay": Heavy, "cnn-leaky": Leaky, "cnn-separable": Separable, "densenet": DenseNet, "elman": Elman,
    "focal": Focal, "gru-patches": PatchGru, "highway": Highway, "maxout": Maxout, "mlp-smoothed": Smoothed,
    "next-row": Continuing, "pupil": Pupil, "random-features": RandomFeatures,
    "transformer-patches": PatchTransformer, "triplets": Triplets, "wrong-kinds": WrongKinds}
