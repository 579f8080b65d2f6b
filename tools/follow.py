#!/usr/bin/python3
"""Follows jobs to their end and sums them up: the live view of ./run.

On a terminal one table is redrawn; elsewhere each change is a line. Epoch, loss and accuracy are read from what the
trainings of examples/ print. Ends with 0 when all jobs succeeded, 1 when not, 6 when the controller does not answer,
124 when it took too long.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass

FINISHED = ("succeeded", "failed", "cancelled")
SIGNS = {"succeeded": "✓", "failed": "✗", "cancelled": "⊘", "running": "●", "suspended": "‖", "pending": "○", "held": "○"}
EPOCH = re.compile(r"^epoch (\d+)/(\d+)  loss (\S+)  accuracy (\S+)", re.MULTILINE)
UNREACHABLE, TOO_LONG = 6, 124
PATIENCE_S = 15  # a controller that restarts is back sooner


class ControllerGone(Exception):
    """The command line could not get an answer."""


@dataclass
class Row:
    """What the view shows of one job."""

    id: int
    name: str
    state: str
    ran_s: float
    epoch: str = ""
    loss: str = ""
    accuracy: str = ""
    failure: str = ""

    @property
    def signed_state(self):
        return f"{SIGNS.get(self.state, '◐')} {self.state}"

    @property
    def progress(self):
        return f"epoch {self.epoch}  loss {self.loss}  accuracy {self.accuracy}" if self.epoch else ""


class Jobs:
    """Reads jobs with the command line program."""

    def __init__(self, program, ids):
        self._program, self._ids = program, ids
        self._answered = time.monotonic()

    def read(self):
        """The current rows; None while the controller does not answer. Raises ControllerGone if that lasts."""
        try:
            rows = [self._row(each) for each in self._ids]
        except ControllerGone:
            if time.monotonic() - self._answered > PATIENCE_S:
                raise
            return None
        self._answered = time.monotonic()
        return rows

    def last_lines(self, job_id, count=15):
        return self._ask("logs", job_id).splitlines()[-count:]

    def _row(self, job_id):
        job = json.loads(self._ask("show", job_id, "--json"))
        row = Row(job_id, job["name"], job["state"], job.get("run_s") or 0.0)
        row.failure = (job.get("failure") or {}).get("message") or ""
        if job.get("started_at"):
            epochs = EPOCH.findall(self._ask("logs", job_id))
            if epochs:
                done, total, row.loss, row.accuracy = epochs[-1]
                row.epoch = f"{done}/{total}"
        return row

    def _ask(self, verb, job_id, *flags):
        answer = subprocess.run([self._program, verb, str(job_id), *flags], capture_output=True, text=True, errors="replace")
        if answer.returncode == UNREACHABLE:
            raise ControllerGone(answer.stderr.strip())
        if answer.returncode != 0:
            sys.exit(f"error: '{self._program} {verb} {job_id}' ended with {answer.returncode}\n{answer.stderr}")
        return answer.stdout


class Table:
    """The view of a terminal: redrawn each time."""

    def __init__(self):
        self._height = 0

    def show(self, elapsed_s, rows):
        lines = [f"    {'JOB':>3}  {'NAME':<18} {'STATE':<12} {'EPOCH':>6} {'LOSS':>8} {'ACCURACY':>9} {'RAN':>6}"]
        lines += [f"    {row.id:>3}  {row.name:<18.18} {row.signed_state:<12} {row.epoch:>6} {row.loss:>8} {row.accuracy:>9} "
                  f"{row.ran_s:>4.0f} s" for row in rows]
        lines += [f"    {elapsed_s:.0f} s"]
        up = f"\033[{self._height}A" if self._height else ""
        sys.stdout.write(up + "".join(f"\033[K{line}\n" for line in lines))
        sys.stdout.flush()
        self._height = len(lines)


class Lines:
    """The view of a file or pipe: one line per change of state and per epoch."""

    def __init__(self):
        self._shown = {}

    def show(self, elapsed_s, rows):
        for row in rows:
            news = (row.state, row.progress)
            if self._shown.get(row.id) != news:
                self._shown[row.id] = news
                print(f"    {elapsed_s:3.0f} s  job {row.id} {row.name}: {row.signed_state}  {row.progress}".rstrip(), flush=True)


def follow(jobs, view, limit_s):
    """The rows once all have ended. Raises TimeoutError after limit_s."""
    started = time.monotonic()
    while True:
        rows = jobs.read()
        elapsed_s = time.monotonic() - started
        if rows:
            view.show(elapsed_s, rows)
            if all(row.state in FINISHED for row in rows):
                return rows
        if elapsed_s > limit_s:
            raise TimeoutError(f"not all jobs have ended after {limit_s:.0f} s")
        time.sleep(0.5)


def print_summary(program, data, jobs, rows):
    print(f"\n    {'JOB':>3}  {'NAME':<18} {'RESULT':<12} {'ACCURACY':>9} {'TOOK':>6}   ITS OUTPUT")
    for row in rows:
        print(f"    {row.id:>3}  {row.name:<18.18} {row.signed_state:<12} {row.accuracy or '-':>9} {row.ran_s:>4.0f} s   "
              f"{program} logs --data {shlex.quote(data)} {row.id}")
    for row in rows:
        if row.state != "succeeded":
            print(f"\n    job {row.id} {row.name} {row.state}: {row.failure or 'no reason given'}. It wrote last:")
            print("".join(f"    | {line}\n" for line in jobs.last_lines(row.id)), end="")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the schedulearn program")
    parser.add_argument("data", help="the data folder of the controller")
    parser.add_argument("jobs", nargs="+", type=int, metavar="ID")
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS", help="give up after this long")
    options = parser.parse_args()
    jobs = Jobs(options.program, options.jobs)
    try:
        rows = follow(jobs, Table() if sys.stdout.isatty() else Lines(), options.limit)
        print_summary(options.program, options.data, jobs, rows)
    except ControllerGone as gone:
        print(f"error: the controller does not answer\n{gone}", file=sys.stderr)
        return UNREACHABLE
    except TimeoutError as late:
        print(f"error: {late}", file=sys.stderr)
        return TOO_LONG
    except KeyboardInterrupt:
        return 130
    return 0 if all(row.state == "succeeded" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
