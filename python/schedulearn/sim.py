"""Simulations from Python: a thin wrapper on `schedulearn sim compare`. Standard library only.

    import schedulearn.sim

    results = schedulearn.sim.run(trace="poisson:jobs=1000", servers="4x8", policies=["fifo", "tiresias", "./mine.py"])
    for row in results.rows:
        print(row["policy"], row["avg_jct_s"])
    results.jobs("fifo")                     # one dictionary per job; pandas.DataFrame(...) reads it

Everything is as on the command line: `schedulearn sim compare --help`, docs/guide/simulator.md.
"""

from __future__ import annotations

import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

__all__ = ["run", "Results", "SimulationError"]

Value = Union[str, int, float, bool]


NAMES = ("job_id", "user")  # columns that stay text, whatever they look like


class SimulationError(Exception):
    """The simulator's error: a stable `code`, the message, notes and hints."""

    def __init__(self, text: str, status: int) -> None:
        self.status = status
        lines = [line.strip() for line in text.strip().splitlines()]
        first = lines[0] if lines else f"schedulearn ended with status {status}"
        first = first.removeprefix("error: ")
        self.code = first[first.rfind("[") + 1:-1] if first.endswith("]") else "unknown"
        self.message = first[:first.rfind(" [")] if first.endswith("]") else first
        self.notes = [line.removeprefix("note: ") for line in lines[1:] if line.startswith("note: ")]
        self.hints = [line.removeprefix("hint: ") for line in lines[1:] if line.startswith("hint: ")]
        super().__init__("\n  ".join([f"{self.message} [{self.code}]", *lines[1:]]))


class Results:
    """The results. They own a temporary folder unless you gave one; close() or `with` removes it."""

    def __init__(self, document: Dict[str, Any], folder: pathlib.Path, temporary: Optional[tempfile.TemporaryDirectory]) -> None:
        self.document = document  #: see docs/formats/results.md
        self.folder = folder
        self._temporary = temporary
        self._results = document["results"]
        #: One dictionary per simulation: policy, seed, its parameters and every number.
        self.rows = [_flat(result) for result in self._results]

    def jobs(self, policy: Optional[str] = None, seed: Optional[int] = None) -> List[Dict[str, Optional[Value]]]:
        """Every job of the simulations of this policy and seed (default: all), one dictionary each."""
        return self._read("jobs_file", policy, seed)

    def events(self, policy: Optional[str] = None, seed: Optional[int] = None) -> List[Dict[str, Optional[Value]]]:
        """Every start, stop and end. Only after run(..., events=True)."""
        return self._read("events_file", policy, seed)

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, which: str, policy: Optional[str], seed: Optional[int]) -> List[Dict[str, Optional[Value]]]:
        rows: List[Dict[str, Optional[Value]]] = []
        for result in self._results:
            if policy not in (None, result["policy"]) or seed not in (None, result["seed"]) or not result.get(which):
                continue
            with open(self.folder / result[which], newline="") as file:
                lines = (line for line in file if not line.startswith("#"))
                for row in csv.DictReader(lines):
                    rows.append({"policy": result["policy"], "seed": result["seed"], **{key: text if key in NAMES else _value(text) for key, text in row.items()}})
        return rows


def run(
    trace: Union[str, os.PathLike],
    servers: Union[str, os.PathLike],
    policies: Union[str, Sequence[str]],
    *,
    seeds: Union[str, int] = 1,
    parameters: Optional[Mapping[str, Union[Value, Sequence[Value]]]] = None,
    out: Optional[Union[str, os.PathLike]] = None,
    events: bool = False,
    program: Optional[str] = None,
    **options: Union[Value, Sequence[Value]],
) -> Results:
    """Runs every policy on the trace, on all cores, and waits for the end.

    `policies` are names of built-in ones and files ("./mine.py"); `parameters` as --param, "tiresias.promote_knob" or
    "knob", several values make several simulations: [2, 4], or [[3600], [3250, 7200]] if a value is itself a list; `options` are all other flags with `_` for `-`: jobs="100,200",
    max_gpus=8, restart_cost=30, blind=True. Raises SimulationError.
    """
    temporary = tempfile.TemporaryDirectory(prefix="schedulearn-sim-") if out is None else None
    folder = pathlib.Path(temporary.name if temporary else out)
    names = [policies] if isinstance(policies, str) else list(policies)
    command = [_program(program), "sim", "compare", "--json", "--trace", str(trace), "--servers", str(servers),
               "--policies", ",".join(names), "--seeds", str(seeds), "--out", str(folder)]
    for name, value in (parameters or {}).items():
        several_lists = isinstance(value, (list, tuple)) and any(isinstance(one, (list, tuple)) for one in value)
        command += ["--param", f"{name}={'/'.join(map(_text, value)) if several_lists else _text(value)}"]
    if events:
        command.append("--events")
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            command.append(flag)
        elif value is not False:
            command += [flag, _text(value)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        if temporary:
            temporary.cleanup()
        raise SimulationError(done.stderr, done.returncode)
    return Results(json.loads(done.stdout), folder, temporary)


def _program(given: Optional[str]) -> str:
    found = given or os.environ.get("SCHEDULEARN_PROGRAM") or shutil.which("schedulearn")
    if not found:
        raise SimulationError("error: there is no program schedulearn on PATH [no-program]\nhint: SCHEDULEARN_PROGRAM=build/release/bin/schedulearn", 127)
    return found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    return str(value)


def _value(text: Optional[str]) -> Optional[Value]:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _flat(result: Dict[str, Any]) -> Dict[str, Any]:
    row = {key: value for key, value in result.items() if not isinstance(value, dict)}
    for key, value in result.items():
        if isinstance(value, dict):
            row.update({inner: _value(text) if isinstance(text, str) else text for inner, text in value.items()})
    return row
