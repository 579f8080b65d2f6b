"""What the Fashion-MNIST trainings share: their options, and for those without PyTorch the loop, progress, checkpoints and stopping.

A training can be stopped at any step and continued later with the same losses, bit for bit, because everything random
(the order of the pictures) is computed from the seed and the position, and the checkpoint holds all the rest:
the parameters, the optimizer's state, the position and the loss summed so far in the epoch.

The loop trains any object with four methods:

    step(indexes, number) -> loss     learns from these training pictures; `number` counts the steps of the training
    correct() -> (right, all)         how many test pictures it recognizes, and of how many
    save(file, about)                 writes the dictionary `about` and its own state to the open binary file
    load(path) -> about               takes back what save() wrote
"""

import argparse
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy starts its threads: more would change the last bits

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))
try:
    import schedulearn
except ImportError:  # only this folder was copied: it trains, checkpoints and resumes, and reports to nobody
    schedulearn = SimpleNamespace(job=lambda: None, checkpoint_folder=Path, report=lambda **_: None,
                                  catch_stop=lambda: None, should_checkpoint=lambda: False)

# Right now, before the seconds a framework takes to load: a stop in that time must not be lost.
schedulearn.catch_stop()


def options(name, description, **defaults):
    """The command line of the training `name`; defaults for epochs, images, batch and learning_rate."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        epilog="Started again with the same options it continues from its checkpoint. SIGTERM makes it write one and end "
               "with status 75.")
    parser.set_defaults(name=name)
    parser.add_argument("--epochs", type=_positive, default=defaults["epochs"], help="passes over the pictures")
    parser.add_argument("--images", type=_positive, default=defaults["images"], help="training pictures to use, at most 60000")
    parser.add_argument("--batch", type=_positive, default=defaults["batch"],
                        help="pictures a step, of all processes together")
    parser.add_argument("--learning-rate", type=float, default=defaults["learning_rate"], help="size of a step")
    parser.add_argument("--seed", type=int, default=1, help="everything random follows from it")
    parser.add_argument("--data", type=Path, default="/usr/share/datasets/fashion-mnist", help="folder of the pictures")
    parser.add_argument("--checkpoints", type=Path, default=schedulearn.checkpoint_folder(Path("checkpoints") / name),
                        help="folder of the checkpoint")
    parser.add_argument("--fresh", action="store_true", help="ignore the checkpoint there is and start over")
    parsed = parser.parse_args()
    if parsed.images > 60000:
        parser.error("there are only 60000 training pictures")
    # A new job starts from the beginning even if an older job of the same number left a checkpoint.
    job = schedulearn.job()
    parsed.fresh |= job is not None and not job.resuming
    return parsed


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


@dataclass
class Position:
    """How far a training has come. Together with the parameters, it determines everything that follows."""

    epoch: int = 0          # epochs finished
    step: int = 0           # steps finished in the epoch that runs
    loss_sum: float = 0.0   # over those steps
    accuracy: float = 0.0   # after the last finished epoch


class Checkpoint:
    """The single checkpoint of a training in NumPy: written completely or not at all, and tied to the settings it was made with."""

    def __init__(self, options, suffix):
        self.path = options.checkpoints / f"checkpoint{suffix}"
        self._settings = {"training": options.name, "images": options.images, "batch": options.batch,
                          "learning_rate": options.learning_rate, "seed": options.seed}
        self._ignored = options.fresh

    def save(self, model, position):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(self.path.name + ".new")
        with open(unfinished, "wb") as file:
            model.save(file, {"settings": self._settings, "position": asdict(position)})
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, self.path)

    def load(self, model):
        """Restores the model's state and returns the position to continue from; the start if there is no checkpoint."""
        if self._ignored or not self.path.exists():
            return Position()
        try:
            about = model.load(self.path)
        except Exception as error:  # whatever a damaged file makes the framework raise
            sys.exit(f"error: cannot read {self.path}: {error}\n  hint: --fresh starts over")
        if about["settings"] != self._settings:
            sys.exit(f"error: {self.path} was made with other settings: {about['settings']}\n"
                     f"  note: now they are {self._settings}\n  hint: --fresh starts over")
        return Position(**about["position"])


def train(model, options, checkpoint):
    """Trains to the last epoch, or until asked to stop; then it ends the process with the status for "start me again"."""
    steps = options.images // options.batch
    if steps == 0:
        sys.exit(f"error: a batch of {options.batch} does not fit {options.images} pictures")
    position = checkpoint.load(model)
    if position.epoch or position.step:
        print(f"continues after epoch {position.epoch}, step {position.step}, from {checkpoint.path}", flush=True)
    while position.epoch < options.epochs:
        started = time.monotonic()
        _train_epoch(model, options, checkpoint, position, steps)
        right, count = model.correct()
        loss, position.accuracy = position.loss_sum / steps, right / count
        position.epoch, position.step, position.loss_sum = position.epoch + 1, 0, 0.0
        print(f"epoch {position.epoch}/{options.epochs}  loss {loss:.4f}  accuracy {position.accuracy:.4f}  "
              f"{time.monotonic() - started:.1f} s", flush=True)
        schedulearn.report(epoch=position.epoch, epochs=options.epochs, loss=loss, accuracy=position.accuracy)
        checkpoint.save(model, position)
    print(f"done: accuracy {position.accuracy:.4f} after {position.epoch} epochs, model in {checkpoint.path}", flush=True)


def _train_epoch(model, options, checkpoint, position, steps):
    order = np.random.default_rng([options.seed, position.epoch]).permutation(options.images)
    while position.step < steps:
        first = position.step * options.batch
        position.loss_sum += model.step(order[first:first + options.batch], position.epoch * steps + position.step)
        position.step += 1
        schedulearn.report(step=position.epoch * steps + position.step, steps=options.epochs * steps)
        if schedulearn.should_checkpoint():
            checkpoint.save(model, position)
            print(f"stopped in epoch {position.epoch + 1} after step {position.step}/{steps}, "
                  f"checkpoint in {checkpoint.path}", flush=True)
            schedulearn.requeue()
