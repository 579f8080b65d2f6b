#!/usr/bin/python3
"""Trains a network on Fashion-MNIST with a parameter server (PyTorch RPC): a member without a GPU keeps the parameters, any
number of workers compute gradients for it, each at its own pace.

The server hands out the steps of an epoch one by one, so every sample is seen once however many workers there are, and
however often their number changes. It also keeps the optimizer, the position and the checkpoint: a worker knows nothing
that could be lost. Asked to stop, it hands out nothing more, waits for the gradients that are under way, and saves.

    schedulearn submit examples/parameter-server.toml --follow
"""

import os
import threading
import time
from pathlib import Path

os.environ.setdefault("GLOG_minloglevel", "1")  # RPC reports each shutdown otherwise

import training  # first: it fixes the number of threads
import fashion_data
import schedulearn

import torch
from torch import nn
from torch.distributed import rpc


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def order(options, epoch):
    """The order of the samples in this epoch (from 0), the same in every member and every attempt."""
    return torch.randperm(options.images, generator=torch.Generator().manual_seed(1000 * options.seed + epoch))


class Server:
    """Lives in the first member; workers call `exchange` in it."""

    def __init__(self, options):
        torch.manual_seed(options.seed)
        self._options = options
        self._network = network()
        self._optimizer = torch.optim.SGD(self._network.parameters(), lr=options.learning_rate, momentum=0.9)
        self._steps_per_epoch = -(-options.images // options.batch)
        self._next = self._done = 0
        self._losses = []
        self._changed = threading.Condition()
        self._file = Path(options.checkpoints) / "parameter_server.pt"
        self._load()

    def exchange(self, gradients, loss):
        """Takes the gradients of a step, if a worker has any. Returns the next step and the parameters; nothing at the end."""
        with self._changed:
            if gradients is not None:
                self._learn(gradients, loss)
            if self._next == self._steps() or schedulearn.should_checkpoint():
                return None
            self._next += 1
            return self._next - 1, [parameter.detach().clone() for parameter in self._network.parameters()]

    def wait(self):
        """Until all is done, or no step is under way and a stop was asked for. Returns whether all is done."""
        with self._changed:
            while self._done < self._steps() and not (self._done == self._next and schedulearn.should_checkpoint()):
                self._changed.wait(0.1)  # a request to stop wakes nobody
            return self._done == self._steps()

    def save(self):
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        torch.save({"network": self._network.state_dict(), "optimizer": self._optimizer.state_dict(), "done": self._done,
                    "losses": self._losses}, new)
        new.replace(self._file)

    @torch.no_grad()
    def accuracy(self):
        pictures, kinds = fashion_data.load("t10k", None, self._options.data)
        return (self._network(torch.from_numpy(pictures)).argmax(dim=1) == torch.from_numpy(kinds)).float().mean().item()

    def _steps(self):
        return self._options.epochs * self._steps_per_epoch

    def _learn(self, gradients, loss):
        for parameter, gradient in zip(self._network.parameters(), gradients):
            parameter.grad = gradient
        self._optimizer.step()
        self._done += 1
        self._losses.append(loss)
        schedulearn.report(step=self._done, steps=self._steps())
        if self._done % self._steps_per_epoch == 0:
            self._end_epoch(self._done // self._steps_per_epoch)
        self._changed.notify_all()

    def _end_epoch(self, epoch):
        mean, self._losses = sum(self._losses) / len(self._losses), []
        schedulearn.report(epoch=epoch, epochs=self._options.epochs, loss=mean)
        print(f"epoch {epoch}/{self._options.epochs}  loss {mean:.4f}", flush=True)

    def _load(self):
        if self._options.fresh or not self._file.exists():
            return
        state = torch.load(self._file)
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._next = self._done = state["done"]
        self._losses = state["losses"]
        print(f"continues at step {self._done}", flush=True)


server = None  # in the first member


def exchange(gradients=None, loss=None):
    while server is None:  # a worker was quicker
        time.sleep(0.01)
    return server.exchange(gradients, loss)


def work(options):
    """Computes gradients until the server has no more steps. Returns how many it computed."""
    pictures, kinds = map(torch.from_numpy, fashion_data.load("train", options.images, options.data))
    mine, loss_of = network(), nn.CrossEntropyLoss()
    steps_per_epoch = -(-options.images // options.batch)
    steps, known, indexes = 0, -1, None
    told = rpc.rpc_sync("server", exchange)
    while told is not None:
        number, parameters = told
        epoch, step = divmod(number, steps_per_epoch)
        if epoch != known:
            known, indexes = epoch, order(options, epoch)
        chosen = indexes[step * options.batch:(step + 1) * options.batch]
        with torch.no_grad():
            for own, parameter in zip(mine.parameters(), parameters):
                own.copy_(parameter)
        mine.zero_grad()
        loss = loss_of(mine(pictures[chosen]), kinds[chosen])
        loss.backward()
        steps += 1
        told = rpc.rpc_sync("server", exchange, args=([own.grad for own in mine.parameters()], loss.item()))
    return steps


def serve(options):
    """Returns whether the training has come to its end."""
    global server
    server = Server(options)
    is_done = server.wait()
    server.save()
    if is_done:
        print(f"accuracy {server.accuracy():.4f}", flush=True)
    return is_done


def main():
    options = training.options("parameter-server", __doc__.splitlines()[0], epochs=4, images=60000, batch=64, learning_rate=0.02)
    torch.set_num_threads(1)
    role, rank = os.environ["SCHEDULEARN_ROLE"], int(os.environ["RANK"])
    rpc.init_rpc("server" if role == "server" else f"worker-{rank}", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
    if role == "server":
        is_done = serve(options)
    else:
        print(f"worker {rank}: {work(options)} steps", flush=True)
        is_done = not schedulearn.should_checkpoint()
    rpc.shutdown()  # waits for all members
    if not is_done:
        schedulearn.requeue()


if __name__ == "__main__":
    main()
