#!/usr/bin/python3
"""Compares `schedulearn sim` with the oracles, job by job, on random cases (README.md)."""

import argparse
import csv
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import zlib

import cases
import world

PROGRAM = os.environ.get("SCHEDULEARN_PROGRAM", "schedulearn")
HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src"
COLUMNS = ["job_id", "submit_time_s", "gpus", "duration_s", "est_duration_s", "priority", "gpus_min", "gpus_max", "gpu_type", "array", "max_running"]


def usual_seed():
    """Of ./test; without it another one after every change of what is tested, the same one wherever that is tested."""
    if os.environ.get("SCHEDULEARN_SEED"):
        return int(os.environ["SCHEDULEARN_SEED"])
    files = sorted(path for folder in ("policy", "policies", "core", "sim") for path in (SOURCES / folder).rglob("*.*"))
    seed = 0
    for path in files:
        seed = zlib.crc32(path.read_bytes(), seed)
    return seed


def make_case(seed, number):
    case = cases.MAKERS[number % len(cases.MAKERS)](random.Random(f"{seed}/{number}"))
    case.without_gpus = cases.some_without_gpus(random.Random(f"{seed}/{number}/without GPUs"), case)
    return case


def write(case, folder):
    with open(folder / "trace.csv", "w", newline="") as file:
        rows = csv.DictWriter(file, COLUMNS, restval="")
        rows.writeheader()
        for row in case.rows + case.without_gpus:
            seconds = {f"{key}_s": f"{row[key] / 1e6:.6f}" for key in ("submit_time", "duration", "est_duration") if key in row}
            rows.writerow({key: value for key, value in row.items() if f"{key}_s" not in seconds} | seconds)
    kinds = [f"[[servers]]\ngpus = {gpus}\n" + (f'gpu_type = "{kind}"\n' if kind else "") for gpus, kind in case.servers]
    (folder / "cluster.toml").write_text("".join(kinds))


def command_of(case, folder):
    if case.semantics:
        return [PROGRAM, "sim", "run", "--semantics", case.semantics, "--trace", folder / "trace.csv", "--servers", f"{len(case.servers)}x8",
                "--policy", case.policy, "--jobs-out", folder / "jobs.csv"]
    parameters = [word for name, value in case.parameters.items() for word in ("--param", f"{name}={value}")]
    return [PROGRAM, "sim", "run", "--trace", folder / "trace.csv", "--servers", f"pool:{case.servers[0][0]}" if case.is_pool else folder / "cluster.toml",
            "--policy", case.policy, *parameters,
            "--restart-cost", case.restart_s, *(["--blind"] if case.blind else []), *(["--keep-cpu-jobs"] if case.without_gpus else []), "--jobs-out", folder / "jobs.csv"]


def simulated(case, folder):
    """Start, finish (microseconds) and preemptions of every job."""
    write(case, folder)
    (folder / "jobs.csv").unlink(missing_ok=True)
    done = subprocess.run(list(map(str, command_of(case, folder))), capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return {"the program": done.stdout + done.stderr}
    with open(folder / "jobs.csv") as file:
        micros = lambda text: round(float(text) * 1e6) if text else None
        return {job["job_id"]: (micros(job["start_s"]), micros(job["finish_s"]), int(job["preemptions"])) for job in csv.DictReader(file)}


def as_published(case):
    rows = sorted(case.rows, key=lambda row: row["submit_time"])
    jobs = [{"id": row["job_id"], "submitted": row["submit_time"] // cases.SECOND, "left": row["duration"] // cases.SECOND, "gpus": row["gpus"],
             "service": 0, "executed": 0, "queue": 0, "running": False, "preemptions": 0} for row in rows]
    case.oracle.run(jobs, len(case.servers))
    return {job["id"]: (job["started"] * cases.SECOND, job["finished"] * cases.SECOND, job["preemptions"]) for job in jobs}


def expected(case):
    if case.semantics:
        return as_published(case)
    jobs = world.World(case.rows, case.servers, case.restart_s * cases.SECOND).run(case.oracle)
    at_once = {row["job_id"]: (row["submit_time"], row["submit_time"] + row["duration"], 0) for row in case.without_gpus}
    return {job.id: (job.started, job.finished, job.preemptions) for job in jobs} | at_once


def differences(case, folder):
    wanted, found = expected(case), simulated(case, folder)
    return [f"  {job}: {found.get(job)} instead of {wanted.get(job)}" for job in wanted | found if found.get(job) != wanted.get(job)]


def shrink(seed, number, folder):
    """The same case without the jobs that have no part in the difference."""
    def without(kept):
        case = make_case(seed, number)
        case.rows = [row for row in case.rows if row["job_id"] in kept]
        return case
    kept = [row["job_id"] for row in make_case(seed, number).rows]
    for job in list(kept):
        fewer = [other for other in kept if other != job]
        if fewer and differences(without(fewer), folder):
            kept = fewer
    return without(kept), without(kept)


def report(seed, number, found, folder):
    print(f"case {number} ({make_case(seed, number).policy}) differs; start, finish (microseconds) and preemptions of", *found[:10], sep="\n")
    shrunk, again = shrink(seed, number, folder)
    print(f"\n{len(shrunk.rows)} of its jobs suffice:", *differences(shrunk, folder), sep="\n")
    print("\ntrace.csv:", (folder / "trace.csv").read_text(), "cluster.toml:", (folder / "cluster.toml").read_text(), sep="\n")
    print(shlex.join(map(str, command_of(again, pathlib.Path(".")))))
    print(f"\nrepeat: {shlex.join(['env', f'SCHEDULEARN_PROGRAM={PROGRAM}', sys.executable, str(HERE / 'fuzz.py'), '--seed', str(seed), '--only', str(number)])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=usual_seed(), help="default: SCHEDULEARN_SEED, else from the content of the sources")
    parser.add_argument("--cases", type=int, default=1200)
    parser.add_argument("--only", type=int, help="this case alone")
    parser.add_argument("--policy", help="only cases of this policy")
    parser.add_argument("--all", action="store_true", help="continue after the first difference")
    options = parser.parse_args()
    chosen = range(options.cases) if options.only is None else [options.only]
    checked = {}
    with tempfile.TemporaryDirectory(prefix="schedulearn-oracle-") as folder:
        for number in chosen:
            case = make_case(options.seed, number)
            if options.policy not in (None, case.policy):
                continue
            seen = checked.setdefault(" ".join(filter(None, (case.semantics, case.policy))), [0, 0])
            seen[0] += 1
            found = differences(case, pathlib.Path(folder))
            if found:
                seen[1] += 1
                if not options.all:
                    report(options.seed, number, found, pathlib.Path(folder))
                    return 1
    print(f"seed {options.seed}; cases by policy:", ", ".join(f"{policy} {n}" + (f" ({bad} differ)" if bad else "") for policy, (n, bad) in checked.items()))
    return 1 if any(bad for _, bad in checked.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
