"""Trainings in PyTorch that can be stopped at any step, moved, and continued by another number of workers.

    import torch
    from schedulearn.pytorch import Training

    training = Training(net, optimizer, schedule, samples=len(data), batch=128, epochs=10)
    loader = torch.utils.data.DataLoader(data, batch_sampler=training.sampler)
    for epoch in training.epochs():                      # those that are left, from 1
        for pictures, kinds in training.steps(loader):   # what is left of this epoch
            optimizer.zero_grad()
            training.loss(cross_entropy(training.model(pictures), kinds)).backward()
            optimizer.step()
        schedule.step()

Started again it continues after the last step of its newest checkpoint, with the losses of a training that was never
stopped: to the last bit with one worker, to rounding with several. A checkpoint is written at the end of each epoch, every
ten minutes within one, and when the scheduler asks the job to stop, which then ends with "start me again".

The batch is that of all workers together, whatever their number; each sees its share of it, and every sample is seen exactly
once an epoch. Workers are the processes that `launch = "torchrun"` or `"ranks"` starts; without a launch there is one.

What cannot be the same again: layers whose result depends on the share of one worker (use SyncBatchNorm in place of BatchNorm)
and random numbers drawn in each worker (dropout) when the number of workers changes; random numbers drawn in the processes of a
DataLoader (`num_workers`); and on a GPU whatever torch.use_deterministic_algorithms() forbids.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import io
import os
import random
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

import schedulearn

__all__ = ["Training", "CheckpointError", "device"]


class CheckpointError(Exception):
    """The training cannot continue from the checkpoints there are."""


def device() -> torch.device:
    """The GPU of this worker, or the processor where there is none."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    mine = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(mine)
    return mine


@dataclasses.dataclass
class _Position:
    """How far a training has come. With the states of model, optimizer and generators it determines all that follows."""

    epoch: int = 0          # epochs finished
    samples: int = 0        # of the epoch that runs, over all workers
    loss_sum: float = 0.0   # over those samples


# What the workers agree on after each step; the most urgent wish of one counts for all.
_GO_ON, _SAVE, _STOP = range(3)


class Training:
    """The position of a training and its checkpoints.

    model, states: the model, and everything else with state_dict() and load_state_dict(): the optimizer, the learning-rate
        schedule, a GradScaler. They are loaded here if there is a checkpoint.
    samples, batch: size of the data, and of a batch of all workers together. The last batch of an epoch may be smaller.
    seed: the order of the samples follows from it. Seed PyTorch's generators (torch.manual_seed) before making the model.
    folder: of the checkpoints; default: schedulearn.checkpoint_folder("checkpoints").
    fresh: true to start over; earlier checkpoints are moved to the subfolder `earlier`. By default a job's first attempt
        starts over if the folder is the default one.
    save_every_s: time between checkpoints within an epoch; default: what the job file says ([checkpoint] every), else ten
        minutes.

    Every worker makes one, with the same arguments, from its main thread. Stop signals only ask for a checkpoint from then on.
    If several workers were launched and the script has not connected them, they are connected here.
    """

    model: torch.nn.Module
    """What is to be called in training; with several workers, a wrapper that averages their gradients."""

    rank: int
    workers: int

    continues_from: Path | None
    """The checkpoint that was loaded."""

    epoch_loss: float | None = None
    """The mean loss of the epoch whose steps are over, over all samples and workers; None without calls of loss()."""

    def __init__(self, model: torch.nn.Module, *states: Any, samples: int, batch: int, epochs: int, seed: int = 0,
                 folder: str | os.PathLike[str] | None = None, fresh: bool | None = None, save_every_s: float | None = None):
        if not schedulearn._caught:
            schedulearn.catch_stop()
        self._connect(model)
        if samples < 1 or batch < self.workers:
            raise ValueError(f"a batch of {batch} from {samples} samples does not suffice for {self.workers} workers")
        self.samples, self.batch, self._epochs, self._seed = samples, batch, epochs, seed
        if save_every_s is None:
            save_every_s = float(os.environ.get("SCHEDULEARN_CHECKPOINT_EVERY_S") or 600.0)
        self._save_every_s, self._saved_at = save_every_s, time.monotonic()
        net = model.module if isinstance(model, DistributedDataParallel) else model
        self._states = (net, *states)
        self._devices = sorted({parameter.device.index for parameter in net.parameters() if parameter.is_cuda})
        self._settings = {"samples": samples, "batch": batch, "seed": seed, "states": [type(state).__name__ for state in self._states]}
        self._files = _Files(Path(folder if folder is not None else schedulearn.checkpoint_folder("checkpoints")))
        self._position, self._generators = _Position(), None
        self._reported: dict[str, Any] = {}  # of the last epoch
        self._load(_first_attempt() if fresh is None and folder is None else bool(fresh))
        self._loss: torch.Tensor | None = None
        self._report: dict[str, Any] = {}
        self.model = DistributedDataParallel(net) if self.workers > 1 and model is net else model
        self.sampler = _Sampler(self)

    def epochs(self) -> Iterator[int]:
        """The numbers of the epochs that are left, the first one is 1. Each is reported and saved when its body is through."""
        if self._position.epoch >= self._epochs and self._reported:
            schedulearn.report(**self._reported)  # the server may have been lost with its report of the end
        while self._position.epoch < self._epochs:
            if self._position.samples == 0:
                self._restore_generators()
            self._report = {}
            yield self._position.epoch + 1
            self._position, self._loss = _Position(self._position.epoch + 1), None
            loss = {} if self.epoch_loss is None else {"loss": self.epoch_loss}
            self._reported = {"epoch": self._position.epoch, "epochs": self._epochs, **loss, **self._report}
            schedulearn.report(**self._reported)
            stops = self._agreed() == _STOP
            self._save()
            if stops and self._position.epoch < self._epochs:
                self._requeue()

    def steps(self, batches: Iterable[Any] | None = None) -> Iterator[Any]:
        """What is left of the epoch: the batches of a DataLoader made with `batch_sampler=training.sampler`, or without one
        the lists of indexes themselves. The body is one step of the optimizer."""
        iterator = iter(self.sampler if batches is None else batches)
        self._restore_generators()  # after the iterator, which draws a number when it is made
        position, first_of_epoch = self._position, self._position.epoch * self._batches(self.samples)
        for batch in iterator:
            if position.samples >= self.samples:
                raise ValueError("more batches than training.sampler gives: is it the loader's batch_sampler?")
            yield batch
            position.samples += self._count()
            schedulearn.report(step=first_of_epoch + self._batches(position.samples), steps=self._epochs * self._batches(self.samples))
            wish = self._agreed()
            if wish != _GO_ON:
                self._save()
            if wish == _STOP:
                self._requeue()
        if position.samples < self.samples:
            raise ValueError("fewer batches than training.sampler gives: is it the loader's batch_sampler?")
        loss_sum = self._loss_sum()
        self.epoch_loss = None if loss_sum is None else loss_sum / self.samples

    def loss(self, mean: torch.Tensor) -> torch.Tensor:
        """Counts the mean loss of this worker's share of the batch, and returns what to call backward() on: the same, weighed
        so that the average over the workers is the mean of the batch although shares differ by one sample."""
        count, share = self._count(), self._share()
        if self._loss is None:
            start = self._position.loss_sum if self.rank == 0 else 0.0
            self._loss = torch.tensor(start, dtype=torch.float64, device=mean.device)
        self._loss += mean.detach().double() * share
        weight = share * self.workers / count
        return mean if weight == 1 else mean * weight

    def report(self, **values: Any) -> None:
        """What the scheduler is told of this epoch beside its loss: report(accuracy=0.87)."""
        self._report |= values

    def total(self, number: float) -> float:
        """The sum of this number over the workers, who all call it together: of what each counted on its part of a test, say."""
        return self._together(number, distributed.ReduceOp.SUM)

    # ---- batches ----

    def _batches(self, samples: int) -> int:
        return -(-samples // self.batch)

    def _count(self) -> int:
        """Samples of the batch that is being trained, over all workers."""
        return min(self.batch, self.samples - self._position.samples)

    def _share(self) -> int:
        """Those of this worker."""
        return len(range(self.rank, self._count(), self.workers))

    def _loss_sum(self) -> float | None:
        """Over the samples of this epoch so far; None if loss() was not called. All workers call it together."""
        mine = self._position.loss_sum if self.rank == 0 else 0.0
        if self._loss is not None:
            mine = self._loss.item()
        known = self._loss is not None or self._position.loss_sum != 0
        return self.total(mine) if self._together(known, distributed.ReduceOp.MAX) else None

    # ---- workers ----

    def _connect(self, model: torch.nn.Module) -> None:
        if int(os.environ.get("WORLD_SIZE", 1)) > 1 and not distributed.is_initialized():
            if os.environ.get("MASTER_ADDR") in ("127.0.0.1", "localhost"):
                os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all on this server: its network is not needed
            on_gpus = any(parameter.is_cuda for parameter in model.parameters())
            with _stop_ends_at_once():
                distributed.init_process_group("nccl" if on_gpus else "gloo")
        connected = distributed.is_initialized()
        self.rank, self.workers = (distributed.get_rank(), distributed.get_world_size()) if connected else (0, 1)
        # What the workers agree on is exchanged between processors: it must not wait for the GPUs.
        self._group = distributed.new_group(backend="gloo") if connected and distributed.get_backend() != "gloo" else None

    def _together(self, number: float, operation: Any) -> float:
        if self.workers == 1:
            return number
        tensor = torch.tensor(number, dtype=torch.float64)
        distributed.all_reduce(tensor, operation, group=self._group)
        return tensor.item()

    def _agreed(self) -> int:
        is_due = time.monotonic() - self._saved_at >= self._save_every_s
        mine = _STOP if schedulearn.should_checkpoint() else _SAVE if is_due else _GO_ON
        return int(self._together(mine, distributed.ReduceOp.MAX))

    def _requeue(self) -> None:
        if self.rank == 0:
            place = f"epoch {self._position.epoch + 1} after {self._position.samples} of {self.samples} samples"
            print(f"schedulearn: stops in {place}, to be started again", file=sys.stderr, flush=True)
        schedulearn.requeue()

    # ---- checkpoints ----

    def _save(self) -> None:
        position = dataclasses.replace(self._position, loss_sum=self._loss_sum() or 0.0)
        generators = [_generators_now(self._devices)]
        if self.workers > 1:
            generators = generators * self.workers
            distributed.all_gather_object(generators, generators[0], group=self._group)
        if self.rank == 0:
            states = [state.state_dict() for state in self._states]
            self._files.save(position, {"settings": self._settings, "position": dataclasses.asdict(position),
                                        "states": states, "generators": generators, "reported": self._reported})
        if self.workers > 1:
            distributed.barrier(group=self._group)  # nobody ends before it is on the disk
        self._saved_at = time.monotonic()

    def _load(self, fresh: bool) -> None:
        """Only the first worker needs the folder: it decides for all, and hands on what it has read."""
        found: list[Any] = [None]
        if self.rank == 0:
            try:
                found[0] = self._files.start(fresh)
            except (OSError, CheckpointError) as error:
                found[0] = CheckpointError(str(error))
        if self.workers > 1:
            distributed.broadcast_object_list(found, group=self._group)
        if isinstance(found[0], CheckpointError):
            raise found[0]
        self.continues_from = None
        if found[0] is not None:
            self.continues_from, content = found[0]
            self._restore(_unpacked(content))
        elif self.rank > 0:
            self._generators = self._new_generators()

    def _restore(self, saved: dict[str, Any]) -> None:
        if saved["settings"] != self._settings:
            raise CheckpointError(f"{self.continues_from} was made with other settings: {saved['settings']}, and now they are "
                                  f"{self._settings}; use another folder, or fresh=True to start over")
        for state, values in zip(self._states, saved["states"]):
            state.load_state_dict(values)
        self._position = _Position(**saved["position"])
        self._reported = saved["reported"]
        generators = saved["generators"]
        self._generators = generators[self.rank] if self.rank < len(generators) else self._new_generators()
        if self.rank == 0:
            place = f"epoch {self._position.epoch + 1} after {self._position.samples} of {self.samples} samples"
            print(f"schedulearn: continues in {place}, from {self.continues_from}", file=sys.stderr, flush=True)

    # ---- generators ----

    def _new_generators(self) -> int:
        """The seed of a worker that has no state to continue from: another one for each worker and place."""
        text = f"{self._seed} {self.rank} {self._position.epoch} {self._position.samples}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    def _restore_generators(self) -> None:
        """Once, when training begins: what a script draws while it prepares must not change what follows."""
        wanted, self._generators = self._generators, None
        if isinstance(wanted, int):
            _seed_generators(wanted)
        elif wanted is not None:
            _set_generators(wanted, self._devices)


@contextlib.contextmanager
def _stop_ends_at_once() -> Iterator[None]:
    """Meanwhile a signal to stop ends the process. There is nothing to save yet, and another worker that is waited for may have
    been ended by the same signal, before it could catch it; no handler runs while one waits."""
    for one in schedulearn._caught:
        signal.signal(one, signal.SIG_DFL)
    if schedulearn._stop_requested:
        schedulearn.requeue()
    yield
    for one in schedulearn._caught:
        signal.signal(one, schedulearn._on_stop)


class _Sampler:
    """The batches that are left of the epoch: of each the indexes of this worker's share. For a DataLoader's `batch_sampler`."""

    def __init__(self, training: Training):
        self._training = training

    def __len__(self) -> int:
        return self._training._batches(self._training.samples - self._training._position.samples)

    def __iter__(self) -> Iterator[list[int]]:
        training, position = self._training, self._training._position
        # The position is read once: a DataLoader takes batches long before they are trained.
        order = _order(training.samples, training._seed, position.epoch)
        for first in range(position.samples, training.samples, training.batch):
            batch = order[first:first + training.batch]
            # If the last batch has too few samples for all, the others compute one of it that counts nothing.
            yield batch[training.rank::training.workers].tolist() or batch[:1].tolist()


def _order(samples: int, seed: int, epoch: int) -> torch.Tensor:
    digest = hashlib.sha256(f"{seed} {epoch}".encode()).digest()
    return torch.randperm(samples, generator=torch.Generator().manual_seed(int.from_bytes(digest[:4], "big")))


class _Files:
    """The checkpoints of a folder: the newest and the one before it.

    A file is written beside, made durable, and renamed. Its name says the position and the digest of its content:
    epoch-0002-samples-000001280.0123456789abcdef.pt. Its content is torch.save's, so other programs can read it.
    """

    NAME = re.compile(r"epoch-(\d+)-samples-(\d+)\.([0-9a-f]{16})\.pt")

    def __init__(self, folder: Path):
        self.folder = folder
        self._unfinished = folder / "unfinished.new"
        self._latest: Path | None = None  # read or written: the one to fall back to while the next one is written

    def start(self, fresh: bool) -> tuple[Path, bytes] | None:
        """The newest checkpoint that is undamaged, with its content. Raises CheckpointError if there are only damaged ones."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._unfinished.unlink(missing_ok=True)
        there = self._all()
        if fresh:
            self._set_aside(there)
            return None
        for path in there:
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest().startswith(self.NAME.fullmatch(path.name)[3]):
                self._latest = path
                return path, content
            print(f"schedulearn: {path} is damaged and not used", file=sys.stderr, flush=True)
        if there:
            raise CheckpointError(f"all checkpoints in {self.folder} are damaged; use another folder, or fresh=True to start over")
        return None

    def save(self, position: _Position, content: dict[str, Any]) -> None:
        """A failure costs the training only this checkpoint: the one before stays, and a warning is printed."""
        try:
            path = self._write(position, content)
        except OSError as error:
            print(f"schedulearn: checkpoint not written: {error}", file=sys.stderr, flush=True)
            self._unfinished.unlink(missing_ok=True)
            return
        with contextlib.suppress(OSError):
            for superfluous in set(self._all()) - {path, self._latest}:
                superfluous.unlink()
        self._latest = path

    def _write(self, position: _Position, content: dict[str, Any]) -> Path:
        with open(self._unfinished, "wb") as file:
            digest = _Digest(file)
            torch.save(content, digest)
            digest.flush()
            os.fsync(file.fileno())
        path = self.folder / f"epoch-{position.epoch:04}-samples-{position.samples:09}.{digest.text()}.pt"
        os.replace(self._unfinished, path)
        _make_durable(self.folder)
        return path

    def _all(self) -> list[Path]:
        """Newest first."""
        names = {path: self.NAME.fullmatch(path.name) for path in self.folder.iterdir()}
        return sorted((path for path, name in names.items() if name), reverse=True,
                      key=lambda path: (int(names[path][1]), int(names[path][2]), path.name))

    def _set_aside(self, files: list[Path]) -> None:
        if not files:
            return
        earlier = self.folder / "earlier"
        earlier.mkdir(exist_ok=True)
        for old in earlier.iterdir():
            if self.NAME.fullmatch(old.name):
                old.unlink()
        for path in files:
            path.rename(earlier / path.name)


class _Digest:
    """A file to write to that knows the digest of what was written.

    flush() raises what went wrong until then. write() does not: an exception in the middle of torch.save ends the process.
    """

    def __init__(self, file: io.BufferedWriter):
        self._file, self._digest = file, hashlib.sha256()
        self._error: OSError | None = None

    def write(self, piece: bytes) -> int:
        self._digest.update(piece)
        try:
            if self._error is None:
                self._file.write(piece)
        except OSError as error:
            self._error = error
        return len(piece)

    def flush(self) -> None:
        if self._error is not None:
            raise self._error
        self._file.flush()

    def text(self) -> str:
        return self._digest.hexdigest()[:16]


def _make_durable(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unpacked(content: bytes) -> dict[str, Any]:
    # The states of schedules and of objects of the script's own are not only tensors. The file is the training's own.
    options = {"weights_only": False} if "weights_only" in inspect.signature(torch.load).parameters else {}
    return torch.load(io.BytesIO(content), map_location="cpu", **options)


def _first_attempt() -> bool:
    job = schedulearn.job()
    return job is not None and not job.resuming


def _generators_now(devices: list[int]) -> dict[str, Any]:
    now = {"python": random.getstate(), "torch": torch.get_rng_state(), "cuda": [torch.cuda.get_rng_state(index) for index in devices]}
    if numpy := sys.modules.get("numpy"):
        now["numpy"] = numpy.random.get_state()
    return now


def _set_generators(states: dict[str, Any], devices: list[int]) -> None:
    random.setstate(states["python"])
    torch.set_rng_state(states["torch"])
    for index, state in zip(devices, states["cuda"]):
        torch.cuda.set_rng_state(state, index)
    if (numpy := sys.modules.get("numpy")) and "numpy" in states:
        numpy.random.set_state(states["numpy"])


def _seed_generators(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)  # those of the GPUs too
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
