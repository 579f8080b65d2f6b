#!/usr/bin/python3
"""Tests of schedulearn.pytorch: trainings that are stopped, killed, damaged and resized end like undisturbed ones."""

import io
import json
import os
import random
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from pathlib import Path
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import schedulearn

try:
    import numpy
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    from schedulearn import pytorch
except ImportError:
    torch = None

HERE = Path(__file__).resolve().parent
SAMPLES, BATCH, EPOCHS = 22, 4, 3  # the last batch has two samples: fewer than there are workers below
STEPS = EPOCHS * 6


class Noisy:
    """Samples that are disturbed anew each time, by all three kinds of generators."""

    def __init__(self):
        self.inputs = torch.randn(SAMPLES, 5, generator=torch.Generator().manual_seed(3))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        noise = random.random() + numpy.random.rand() + torch.rand(()).item()
        return index, self.inputs[index] * (1 + 0.1 * noise), index % 3


class Plain(Noisy):
    def __getitem__(self, index):
        return index, self.inputs[index], index % 3


class Run:
    """One execution of a small training: what it did step by step, in `losses` and `seen`, and how it ended."""

    def __init__(self, folder, *, data=Noisy, dropout=0.5, loaders=0, stop_after=None, stop_at_end_of=None, on_step=None, **options):
        self.losses, self.seen, self.epoch_losses, self.saved = [], [], [], []
        random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
        self.net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.3, momentum=0.9)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        options = {"samples": SAMPLES, "batch": BATCH, "epochs": EPOCHS, "folder": folder, **options}
        self.training = pytorch.Training(self.net, optimizer, schedule, **options)
        if self.training.continues_from:  # what a script draws while it prepares has no influence
            random.random(), numpy.random.rand(3), torch.rand(7)
        loader = DataLoader(data(), batch_sampler=self.training.sampler, num_workers=loaders)
        self.stopped = False
        with mock.patch.object(schedulearn, "should_checkpoint", lambda: len(self.losses) == stop_after or len(self.epoch_losses) == stop_at_end_of):
            try:
                self._train(loader, optimizer, schedule, on_step or (lambda _: None))
            except SystemExit as ended:
                assert ended.code == 75, ended.code
                self.stopped = True
                self.saved = [path.name for path in Path(folder).glob("epoch-*")] if folder else []
        self.drawn = torch.rand(()).item()

    def _train(self, loader, optimizer, schedule, on_step):
        for epoch in self.training.epochs():
            for indexes, inputs, kinds in self.training.steps(loader):
                optimizer.zero_grad()
                loss = self.training.loss(nn.functional.cross_entropy(self.training.model(inputs), kinds))
                loss.backward()
                optimizer.step()
                self.losses.append(loss.item())
                self.seen.append((epoch, indexes.tolist()))
                on_step(len(self.losses))
            schedule.step()
            self.epoch_losses.append((epoch, self.training.epoch_loss))
            torch.rand(1)  # a validation that draws

    def parameters(self):
        return b"".join(value.numpy().tobytes() for value in self.net.state_dict().values())


@unittest.skipUnless(torch, "PyTorch is not installed")
class PytorchTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "checkpoints"
        self.metrics = Path(temporary.name) / "metrics.jsonl"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SCHEDULEARN_")}
        patches = [mock.patch.dict(os.environ, environment | {"SCHEDULEARN_METRICS_FILE": str(self.metrics)}, clear=True),
                   mock.patch.object(schedulearn, "_caught", {signal.SIGTERM})]  # signals are tested with processes
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        self.stderr = self.enterContext(mock.patch("sys.stderr", new_callable=io.StringIO))
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.addCleanup(torch.set_num_threads, threads)

    def undisturbed(self, **options):
        return Run(self.folder.with_name("undisturbed"), fresh=True, **options)

    def checkpoints(self):
        return sorted(self.folder.glob("epoch-*"))

    def damage(self, path):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


class OneWorkerTest(PytorchTest):
    def test_stopped_after_any_step_it_has_the_losses_and_parameters_of_an_undisturbed_one(self):
        whole = self.undisturbed()
        self.assertEqual(len(whole.losses), STEPS)
        for step in range(1, STEPS + 1):
            with self.subTest(step=step):
                folder = self.folder / str(step)
                first = Run(folder, stop_after=step)
                self.assertTrue(first.stopped)
                second = Run(folder)
                self.assertFalse(second.stopped)
                self.assertEqual(first.losses + second.losses, whole.losses)
                self.assertEqual(second.parameters(), whole.parameters())
                self.assertEqual(first.epoch_losses + second.epoch_losses, whole.epoch_losses)

    def test_stopped_after_every_step_it_comes_to_the_same_end(self):
        whole, losses, runs = self.undisturbed(), [], 0
        while True:
            part = Run(self.folder, stop_after=1)
            losses, runs = losses + part.losses, runs + 1
            if not part.stopped:
                break
        self.assertEqual((runs, losses), (STEPS + 1, whole.losses))
        self.assertEqual(part.parameters(), whole.parameters())

    def test_stopped_while_it_validates_it_continues_with_the_next_epoch(self):
        whole = self.undisturbed()
        first = Run(self.folder, stop_at_end_of=1)
        self.assertEqual((first.stopped, len(first.losses)), (True, 6))
        second = Run(self.folder, stop_at_end_of=2)
        self.assertEqual((second.stopped, first.losses + second.losses), (False, whole.losses))  # it was at its end anyway

    def test_every_sample_is_seen_once_an_epoch_in_an_order_of_its_own(self):
        orders = []
        for epoch in range(1, EPOCHS + 1):
            orders.append([index for at, indexes in self.undisturbed().seen if at == epoch for index in indexes])
            self.assertEqual(sorted(orders[-1]), list(range(SAMPLES)))
        self.assertEqual(len(set(map(tuple, orders))), EPOCHS)
        self.assertNotEqual(Run(self.folder, seed=2).seen, self.undisturbed().seen)

    def test_a_finished_training_does_nothing_more_and_more_epochs_continue_it(self):
        first = Run(self.folder, epochs=2)
        (self.folder / "unfinished.new").write_bytes(b"left by a killed one")
        self.assertEqual(Run(self.folder, epochs=2).losses, [])
        self.assertFalse((self.folder / "unfinished.new").exists())
        last, again = [json.loads(line) | {"time": 0} for line in self.metrics.read_text().splitlines()[-2:]]
        self.assertEqual((again["epoch"], again["loss"]), (2, first.epoch_losses[-1][1]))
        self.assertEqual(again, last, "it may have got lost with its server")
        self.assertEqual(first.losses + Run(self.folder, epochs=3).losses, self.undisturbed().losses)

    def test_progress_is_reported_with_each_step_and_epoch(self):
        run = Run(self.folder, stop_after=8)
        run = Run(self.folder)
        lines = [json.loads(line) for line in self.metrics.read_text().splitlines()]
        self.assertEqual([line["step"] for line in lines if "step" in line], list(range(1, STEPS + 1)))
        self.assertEqual({line["steps"] for line in lines if "step" in line}, {STEPS})
        epochs = [line for line in lines if "epoch" in line]
        self.assertEqual([line["epoch"] for line in epochs], [1, 2, 3])
        self.assertEqual([(line["epoch"], line["loss"]) for line in epochs][1:], run.epoch_losses)
        mean = sum(loss * len(seen) for loss, (_, seen) in zip(run.losses[-6:], run.seen[-6:])) / SAMPLES
        self.assertAlmostEqual(epochs[-1]["loss"], mean, places=6)

    def test_loops_over_indexes_and_other_values_reported(self):
        training = pytorch.Training(nn.Linear(1, 1), samples=5, batch=2, epochs=1, folder=self.folder)
        for _ in training.epochs():
            self.assertEqual(len(training.sampler), 3)
            self.assertEqual([len(indexes) for indexes in training.steps()], [2, 2, 1])
            training.report(accuracy=0.5)
        last = json.loads(self.metrics.read_text().splitlines()[-1])
        self.assertEqual({key: last.get(key) for key in ("epoch", "accuracy", "loss")}, {"epoch": 1, "accuracy": 0.5, "loss": None})

    def test_within_an_epoch_it_saves_at_intervals(self):
        names = []
        Run(self.folder, save_every_s=0, on_step=lambda _: names.append([path.name[:29] for path in self.checkpoints()]))
        self.assertEqual(names[1], ["epoch-0000-samples-000000004."])
        self.assertEqual(names[3], ["epoch-0000-samples-000000008.", "epoch-0000-samples-000000012."])
        self.assertEqual([path.name[:29] for path in self.checkpoints()], ["epoch-0002-samples-000000022.", "epoch-0003-samples-000000000."])

    def test_batches_that_a_loader_fetched_ahead_are_not_counted(self):
        whole = self.undisturbed(data=Plain, loaders=1)
        first = Run(self.folder, data=Plain, loaders=1, stop_after=8)
        second = Run(self.folder, data=Plain, loaders=1)
        self.assertEqual(first.seen + second.seen, whole.seen)
        self.assertEqual(first.losses + second.losses, whole.losses)

    def test_a_loader_with_batches_of_its_own_is_refused(self):
        for batch, text in ((2, "more batches"), (8, "fewer batches")):
            training = pytorch.Training(nn.Linear(1, 1), samples=8, batch=4, epochs=1, folder=self.folder / text)
            with self.assertRaisesRegex(ValueError, text):
                for _ in training.epochs():
                    list(training.steps(DataLoader(list(range(8)), batch_size=batch)))


class CheckpointTest(PytorchTest):
    def test_the_job_file_says_how_often_to_save(self):
        with mock.patch.dict(os.environ, {"SCHEDULEARN_CHECKPOINT_EVERY_S": "12.5"}):
            self.assertEqual(Run(self.folder).training._save_every_s, 12.5)
        self.assertEqual(Run(self.folder.with_name("none")).training._save_every_s, 600)

    def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(self):
        whole = self.undisturbed()
        damages = {"one bit": self.damage, "cut off": lambda path: os.truncate(path, path.stat().st_size - 9),
                   "empty": lambda path: os.truncate(path, 0), "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size))}
        for name, damage in damages.items():
            with self.subTest(name):
                self.folder = self.folder.with_name(name)
                Run(self.folder, stop_after=10, save_every_s=0)
                before, newest = self.checkpoints()
                damage(newest)
                continued = Run(self.folder)
                self.assertEqual(continued.training.continues_from, before)
                self.assertEqual(whole.losses[-len(continued.losses):], continued.losses)
                self.assertEqual(len(continued.losses), STEPS - 9)
                self.assertEqual(continued.parameters(), whole.parameters())
                self.assertFalse(newest.exists())
                self.assertIn(f"{newest} is damaged", self.stderr.getvalue())

    def test_only_damaged_checkpoints_are_an_error_and_fresh_starts_over(self):
        Run(self.folder, stop_after=10, save_every_s=0)
        for path in self.checkpoints():
            self.damage(path)
        with self.assertRaisesRegex(pytorch.CheckpointError, "all checkpoints in .* are damaged; use another folder, or fresh=True"):
            Run(self.folder)
        self.assertEqual(len(self.checkpoints()), 2)
        self.assertEqual(Run(self.folder, fresh=True).losses, self.undisturbed().losses)
        self.assertEqual(len(list((self.folder / "earlier").iterdir())), 2)

    def test_one_of_other_settings_is_refused(self):
        Run(self.folder, stop_after=3)
        for setting in ({"batch": 2}, {"seed": 7}, {"samples": 20}):
            with self.assertRaisesRegex(pytorch.CheckpointError, "was made with other settings: .*'batch': 4.* and now"):
                Run(self.folder, **setting)

    def test_a_new_job_does_not_take_an_older_ones_checkpoint(self):
        job = {"SCHEDULEARN_JOB_ID": "5", "SCHEDULEARN_CHECKPOINT_DIR": str(self.folder.parent), "SCHEDULEARN_RESUME": "0"}
        own = self.folder.parent / "job-5"
        with mock.patch.dict(os.environ, job):
            self.assertEqual(len(Run(None, stop_after=3).losses), 3)
            self.assertIsNone(Run(None, stop_after=4).training.continues_from)
            self.assertEqual([path.name[:29] for path in own.glob("earlier/*")], ["epoch-0000-samples-000000012."])
            self.assertIsNotNone(Run(own, stop_after=1).training.continues_from)  # a folder of one's own is meant
            os.environ["SCHEDULEARN_RESUME"] = "1"
            self.assertIsNotNone(Run(None, stop_after=1).training.continues_from)

    def test_a_kill_at_any_moment_of_saving_costs_at_most_that_checkpoint(self):
        whole = self.undisturbed()
        for moment in ("begin", "middle", "before fsync", "before rename", "after rename", "before the older one is removed"):
            for save in (3, 7, 9) if "older" in moment else (1, 2, 7, 9):  # the seventh is that of the first epoch's end
                with self.subTest(moment=moment, save=save):
                    self.folder = self.folder.with_name(f"{moment} {save}")
                    self.assertEqual(in_a_process(lambda: killed_while_saving(self.folder, moment, save)), -signal.SIGKILL)
                    continued = Run(self.folder, save_every_s=0)
                    saved = save if moment in ("after rename", "before the older one is removed") else save - 1
                    self.assertEqual(len(continued.losses), STEPS - (saved if saved < 7 else saved - 1))
                    self.assertEqual(continued.losses, whole.losses[-len(continued.losses):])
                    self.assertEqual(continued.parameters(), whole.parameters())
                    self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_a_full_disk_costs_a_checkpoint_and_not_the_training(self):
        Run(self.folder, stop_after=4)
        before = self.checkpoints()

        def on_a_full_disk():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            self.assertEqual(len(Run(self.folder).losses), STEPS - 4)
            self.assertEqual(self.stderr.getvalue().count("checkpoint not written"), EPOCHS)

        self.assertEqual(in_a_process(on_a_full_disk), 0)
        self.assertEqual(list(self.folder.iterdir()), before)
        self.assertEqual(Run(self.folder).parameters(), self.undisturbed().parameters())

    def test_a_checkpoint_is_durable_before_it_has_its_name(self):
        calls = []
        record = lambda name, function: mock.patch.object(os, name, lambda *arguments: (calls.append(name), function(*arguments))[1])
        with record("fsync", os.fsync), record("replace", os.replace):
            Run(self.folder, stop_after=1)
        self.assertEqual(calls, ["fsync", "replace", "fsync"])


class WorkersTest(PytorchTest):
    def together(self, workers, folder, stop_after=None, **options):
        """What each of the workers saw and how it ended."""
        port = free_port()
        readers, processes = [], []
        for rank in range(workers):
            reader, writer = os.pipe()
            environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(workers), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            # The last worker alone is asked to stop: all stop after the same step.
            asked = stop_after if rank == workers - 1 else None

            def work():
                os.environ.update(environment)
                run = Run(folder, stop_after=asked, **options)
                with os.fdopen(writer, "w") as file:
                    json.dump({"seen": run.seen, "epoch_losses": run.epoch_losses, "stopped": run.stopped, "parameters": run.parameters().hex(), "drawn": run.drawn, "saved": run.saved}, file)

            processes.append(fork(work))
            os.close(writer)
            readers.append(os.fdopen(reader))
        results = []
        for reader in readers:
            with reader:
                results.append(reader.read())
        self.assertEqual([wait(process) for process in processes], [0] * workers, self.stderr.getvalue())
        return [json.loads(result) for result in results]

    def resized(self, **options):
        """A training on 1, 2, 4, 3 and 1 workers, five steps on each: what was seen of each batch, the losses of epochs, the parameters."""
        batches, losses = [], []
        for workers, stop in ((1, 4), (2, 4), (4, 4), (3, 2), (1, None)):
            ended = self.together(workers, self.folder, stop, data=Plain, dropout=0.0, **options)
            self.assertEqual([one["stopped"] for one in ended], [stop is not None] * workers)
            self.assertEqual(len({one["parameters"] for one in ended}), 1, "all workers have the same parameters")
            self.assertEqual([one["epoch_losses"] for one in ended], [ended[0]["epoch_losses"]] * workers)
            batches += [[one["seen"][step] for one in ended] for step in range(len(ended[0]["seen"]))]
            losses += ended[0]["epoch_losses"]
        return batches, losses, torch.frombuffer(bytearray.fromhex(ended[0]["parameters"]), dtype=torch.float32)

    def test_on_1_2_4_3_and_1_workers_losses_and_parameters_are_those_of_one(self):
        whole = self.undisturbed(data=Plain, dropout=0.0)
        batches, losses, parameters = self.resized()
        self.assertEqual(len(batches), STEPS)
        for (epoch, expected), shares in zip(whole.seen, batches):
            # A worker beyond the number of samples computes one of them once more, which counts nothing.
            counted = [index for _, share in shares[:len(expected)] for index in share]
            self.assertEqual(({at for at, _ in shares}, sorted(counted)), ({epoch}, sorted(expected)))
        self.assertEqual([epoch for epoch, _ in losses], [1, 2, 3])
        for (_, loss), (_, expected) in zip(losses, whole.epoch_losses):
            self.assertAlmostEqual(loss, expected, delta=1e-5)
        difference = (parameters - torch.frombuffer(bytearray(whole.parameters()), dtype=torch.float32)).abs().max().item()
        self.assertLess(difference, 1e-5)

    def test_workers_draw_numbers_of_their_own_and_continue_with_them(self):
        whole = self.together(2, self.folder / "whole")
        self.together(2, self.folder / "parts", 9)
        parts = self.together(2, self.folder / "parts")
        for rank in (0, 1):
            self.assertEqual((parts[rank]["parameters"], parts[rank]["drawn"]), (whole[rank]["parameters"], whole[rank]["drawn"]))
        Run(self.folder / "grown", stop_after=4)
        for ended in (whole, self.together(2, self.folder / "grown")):
            self.assertNotEqual(ended[0]["drawn"], ended[1]["drawn"])

    def test_no_worker_ends_before_the_checkpoint_is_written(self):
        def late(files, position, content, write=pytorch._Files._write):
            time.sleep(0.3)  # long enough for the other worker to end before, if it did not wait
            return write(files, position, content)

        with mock.patch.object(pytorch._Files, "_write", late):
            for ended in self.together(2, self.folder, 3):
                self.assertEqual(len(ended["saved"]), 1)

    def test_numbers_are_added_up(self):
        self.assertEqual(pytorch.Training(nn.Linear(1, 1), samples=1, batch=1, epochs=1, folder=self.folder).total(0.5), 0.5)
        with mock.patch.object(Run, "parameters", lambda run: numpy.float64(run.training.total(run.training.rank + 1))):
            self.assertEqual([one["parameters"] for one in self.together(2, self.folder / "two", 1)], [(3.0).hex()] * 2)

    def test_only_the_first_worker_needs_the_folder(self):
        self.together(2, self.folder, 4)
        own = self.folder.with_name("nothing here")
        with mock.patch.object(pytorch._Files, "start", lambda files, fresh, start=pytorch._Files.start: start(files, fresh) if os.environ["RANK"] == "0" else 1 / 0):
            ended = self.together(2, self.folder)
        self.assertEqual([len(one["seen"]) for one in ended], [STEPS - 4] * 2)
        self.assertFalse(own.exists())

    def test_an_error_of_the_first_worker_is_that_of_all(self):
        Run(self.folder, stop_after=3)
        for path in self.checkpoints():
            self.damage(path)

        with mock.patch.object(Run, "__init__", refused):
            self.assertEqual([one["epoch_losses"] for one in self.together(2, self.folder)], [True, True])


    def first_of_two(self):
        """The first of two workers, a process, and the port at which it waits for the second, which never comes."""
        port = free_port()

        def work():
            os.environ.update({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
            try:
                schedulearn.catch_stop()
                while not (self.folder.parent / "go").exists():
                    time.sleep(0.01)
                Run(self.folder)
            except SystemExit as ended:
                os._exit(ended.code)

        return fork(work), port

    def test_asked_to_stop_while_it_waits_for_another_worker_it_ends(self):
        first, port = self.first_of_two()
        (self.folder.parent / "go").touch()
        until_it_listens(port)
        os.kill(first, signal.SIGTERM)
        self.assertEqual(wait(first, 30), -signal.SIGTERM)

    def test_asked_to_stop_before_it_waits_for_another_worker_it_asks_to_be_started_again(self):
        first, _ = self.first_of_two()
        until_it_catches(first, signal.SIGTERM)
        os.kill(first, signal.SIGTERM)
        (self.folder.parent / "go").touch()
        self.assertEqual(wait(first, 30), schedulearn.REQUEUE)


class ScriptTest(PytorchTest):
    def test_the_training_of_the_readme_is_stopped_by_a_signal_and_continues(self):
        readme = (HERE / "README.md").read_text(encoding="utf-8")
        script = re.search(r"## Trainings in PyTorch\n.*?```python\n(.*?)```", readme, re.DOTALL)[1]
        (self.folder.parent / "train.py").write_text(script)
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}

        def run(folder, stop):
            folder.mkdir()
            lines, status = [], 75
            while status == 75:
                with subprocess.Popen([sys.executable, "../train.py"], cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as training:
                    for line in training.stdout:
                        lines.append(line)
                        if stop:
                            training.send_signal(signal.SIGTERM)
                            stop = False
                    said = training.stderr.read()
                status = training.returncode
            self.assertEqual(status, 0, said)
            return lines, said

        whole, _ = run(self.folder.parent / "whole", stop=False)
        parts, said = run(self.folder.parent / "parts", stop=True)
        self.assertEqual(len(whole), 5)
        self.assertEqual(parts, whole)
        self.assertRegex(said, r"schedulearn: continues in epoch \d after \d+ of 20000 samples, from checkpoints/epoch-")


def refused(run, folder, **_):
    """In place of Run.__init__: a training that must not begin."""
    run.seen, run.stopped, run.epoch_losses, run.drawn, run.saved, run.parameters = [], False, False, 0, [], lambda: b""
    try:
        pytorch.Training(nn.Linear(1, 1), samples=8, batch=4, epochs=1, folder=folder)
    except pytorch.CheckpointError:
        run.epoch_losses = True


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until_it_listens(port):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.01)


def until_it_catches(process, one):
    def caught():
        return int(re.search(r"SigCgt:\t(\w+)", Path(f"/proc/{process}/status").read_text())[1], 16)

    while not caught() >> (one - 1) & 1:
        time.sleep(0.01)


def fork(work):
    """A process with PyTorch loaded already, which ends with 0 if work() does."""
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
    return process


def wait(process, limit_s=None):
    """How it ended, if need be by SIGKILL after this time."""
    if limit_s is not None:
        pidfd = os.pidfd_open(process)
        ended = select.select([pidfd], [], [], limit_s)[0]
        os.close(pidfd)
        if not ended:
            os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def in_a_process(work):
    return wait(fork(work))


def killed_while_saving(folder, moment, save):
    """Trains, saving after each step, until the given moment of the given checkpoint."""
    die = lambda: os.kill(os.getpid(), signal.SIGKILL)
    saves, write = [], pytorch._Digest.write

    def dying(name, function, at_moment, before=True):
        def call(*arguments, **named):
            if before and moment == at_moment and len(saves) == save:
                die()
            result = function(*arguments, **named)
            if not before and moment == at_moment and len(saves) == save:
                die()
            return result
        return mock.patch.object(name[0], name[1], call)

    def begin(files, position, content, function=pytorch._Files._write):
        saves.append(position)
        return function(files, position, content)

    def half_written(file, piece):
        if len(saves) == save and moment == "begin":
            die()
        if len(saves) == save and moment == "middle" and len(piece) > 100:
            write(file, piece[:len(piece) // 2])
            file.flush()
            die()
        return write(file, piece)

    with mock.patch.object(pytorch._Files, "_write", begin), mock.patch.object(pytorch._Digest, "write", half_written), \
            dying((os, "fsync"), os.fsync, "before fsync"), dying((os, "replace"), os.replace, "before rename"), \
            dying((os, "replace"), os.replace, "after rename", before=False), dying((Path, "unlink"), Path.unlink, "before the older one is removed"):
        Run(folder, save_every_s=0)


if __name__ == "__main__":
    unittest.main()
