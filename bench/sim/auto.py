#!/usr/bin/python3
"""What the policy `auto` is worth: on each load, its figure by the objective relative to the best single candidate chosen
afterwards, and to each candidate.

    auto.py --program build/release/bin/schedulearn --traces FOLDER [--load NAME ...]

By deadlines the figure is how many jobs missed theirs. A ratio of two such numbers says something only where both are large, and
the same few jobs are at stake under every policy; so policies are compared job by job: those that only one of the two
missed. `auto` counts as worse than 1.05 x the best where what it missed beyond that is more than chance explains (one-sided
sign test at 5 %; jobs that wait in one queue are not independent, so chance explains rather more than this says).

FOLDER has philly_2017.csv.gz, openb_2023.csv.gz and philly_deadlines.csv.gz. Policies know only what users state and what
has finished (--blind). An interruption costs 30 s. Nothing about these loads is told to `auto` but the objective.
The two whole traces take six minutes and a quarter of an hour; without --load they are left out.
"""

import argparse
import csv
import gzip
import json
import math
import pathlib
import random
import subprocess
import tempfile
import time

CANDIDATES = "srsf,tiresias,fifo_easy"
COMMON = ("--blind", "--restart-cost", "30", "--oversize", "drop")


def changing(path, jobs=3000, seed=1):
    """Half of the jobs all take about an hour: whatever is begun is best ended. The other half are mostly short, and some
    take days: whatever has run for long should make way. Nobody estimates anything."""
    dice = random.Random(seed)
    at, rows = 0.0, []
    for number in range(jobs):
        first = number < jobs / 2
        at += dice.expovariate(1 / 51 if first else 1 / 61)  # somewhat more than the GPUs can do
        length = dice.gauss(3600, 200) if first else dice.choice((120, 180, 240, 300, 300, 300, 600, 600, 900, 40_000))
        rows.append((number + 1, f"{at:.1f}", "equal" if first else "mixed", 1, f"{max(30, length * dice.uniform(0.9, 1.1)):.1f}"))
    with open(path, "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("job_id", "submit_time_s", "user", "gpus", "duration_s"))
        lines.writerows(rows)
    return path


def loads(traces, folder):
    """name: (trace, servers, objective, metric, more flags, parameters of auto)"""
    often = {"every_s": 1_800, "hold_s": 3_600, "ahead_s": 3_600}
    hours = {"every_s": 21_600, "hold_s": 43_200, "ahead_s": 21_600}
    return {
        "philly": (traces / "philly_2017.csv.gz", "80x8", "mean_jct", "avg_jct_s", ("--jobs", "20000"), hours),
        "openb": (traces / "openb_2023.csv.gz", "3x8", "mean_jct", "avg_jct_s", (), hours),
        **{f"deadlines-{servers}": (traces / "philly_deadlines.csv.gz", f"{servers}x8", "deadlines", "missed", ("--jobs", "10000"), hours) for servers in (128, 112, 96)},
        "philly-whole": (traces / "philly_2017.csv.gz", "80x8", "mean_jct", "avg_jct_s", (), hours),
        "deadlines-whole": (traces / "philly_deadlines.csv.gz", "128x8", "deadlines", "missed", (), hours),
        "deadlines-jct": (traces / "philly_deadlines.csv.gz", "128x8", "mean_jct", "avg_jct_s", (), hours),
        "poisson": ("poisson:jobs=2000,load=0.9", "8x8", "mean_jct", "avg_jct_s", (), often),
        "uniform": ("uniform:jobs=1000", "8x8", "mean_jct", "avg_jct_s", (), often),
        "burst": ("burst:jobs=1000", "8x8", "mean_jct", "avg_jct_s", (), often),
        "philly-like": ("philly-like:jobs=2000", "6x8", "mean_jct", "avg_jct_s", (), often),
        "changing": (changing(folder / "changing.csv"), "8x8", "mean_jct", "avg_jct_s", (), often),
    }


def run(program, load, policy, parameters, folder):
    """What is to be small, the jobs that missed their deadline, and how long it took."""
    trace, servers, _, metric, flags, _ = load
    given = [word for name, value in parameters.items() for word in ("--param", f"{name}={value}")]
    begin = time.monotonic()
    jobs_out = folder / "jobs.csv"
    command = [program, "sim", "run", "--trace", str(trace), "--servers", servers, "--policy", policy, *given, *COMMON, *flags, "--metrics", "all", "--json", "--jobs-out", str(jobs_out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{policy}: {done.stderr}")
    took_s = time.monotonic() - begin
    if metric == "missed":
        missed = missed_jobs(trace, jobs_out)
        return len(missed), missed, took_s
    return json.loads(done.stdout)["results"][0][metric], set(), took_s


def missed_jobs(trace, jobs_out):
    with gzip.open(trace, "rt") as file:
        deadlines = {row["job_id"]: float(row["deadline_s"]) for row in csv.DictReader(file) if row["deadline_s"]}
    with open(jobs_out) as file:
        return {row["job_id"] for row in csv.DictReader(file)
                if row["job_id"] in deadlines and not (row["finish_s"] and float(row["finish_s"]) <= deadlines[row["job_id"]])}


def compared(ours, best):
    """The jobs that only one of the two missed, and whether ours are too many."""
    only_ours, only_best = len(ours - best), len(best - ours)
    beyond = only_ours - only_best - 0.05 * len(best)
    is_worse = beyond > 1.645 * math.sqrt(only_ours + only_best)
    return f"missed by it alone {only_ours}, by the best alone {only_best}: {'worse than 1.05' if is_worse else 'not worse than 1.05, or by chance'}"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--program", required=True)
    options.add_argument("--traces", type=pathlib.Path, required=True)
    options.add_argument("--load", nargs="*")
    options.add_argument("--candidates", default=CANDIDATES)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        known = loads(given.traces, folder)
        for name in given.load or [name for name in known if not name.endswith("-whole")]:
            load = known[name]
            singles = {policy: run(given.program, load, policy, {}, folder) for policy in given.candidates.split(",")}
            parameters = {"candidates": given.candidates, "objective": load[2], **load[5]}
            ours, missed, took_s = run(given.program, load, "auto", parameters, folder)
            best, missed_by_best, _ = min(singles.values(), key=lambda single: single[0])
            others = "  ".join(f"{policy} {value:.4g}" for policy, (value, _, _) in singles.items())
            ratio = ours / best if best else math.inf
            print(f"{name:12} auto {ours:.4g}  / best {ratio:.3f}  ({others})  {took_s:.1f} s, singles {sum(s for _, _, s in singles.values()):.1f} s", flush=True)
            if load[2] == "deadlines":
                print(f"{'':12} {compared(missed, missed_by_best)}", flush=True)


if __name__ == "__main__":
    main()
