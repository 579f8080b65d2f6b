#!/usr/bin/python3
"""Compares `schedulearn sim` on a pool with the oracles of EASY and conservative backfilling, job by job, on the first jobs of a trace.

    archive.py nasa_ipsc_1993.csv.gz --gpus 128 --jobs 1500 --loads 1,2

With load 2 the jobs come in half the time. Each runs for at least a second. Users' estimates are the true times, and those times 1, 2 or 10. Without the file
there is nothing to compare.
"""

import argparse
import csv
import gzip
import pathlib
import random
import sys
import tempfile

import cases
import conservative
import easy
import fuzz


def rows_of(trace, jobs, gpus, load, factors):
    chosen = random.Random(1)
    with gzip.open(trace, "rt", newline="") as file:
        rows = [row for row in csv.DictReader(file) if 0 < int(row["gpus"]) <= gpus][:jobs]
    for row in rows:
        length = max(cases.SECOND, round(float(row["duration_s"]) * cases.SECOND))
        yield {"job_id": row["job_id"], "submit_time": round(float(row["submit_time_s"]) * cases.SECOND / load), "gpus": int(row["gpus"]), "duration": length,
               "est_duration": length * chosen.choice(factors)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("--gpus", type=int, default=128)
    parser.add_argument("--jobs", type=int, default=1500)
    parser.add_argument("--loads", default="1,2")
    options = parser.parse_args()
    if not options.trace.exists():
        print(f"there is no {options.trace}: nothing compared")
        return 0
    bad = 0
    with tempfile.TemporaryDirectory(prefix="schedulearn-oracle-") as folder:
        for load in map(float, options.loads.split(",")):
            for factors in ([1], [1, 2, 10]):
                rows = list(rows_of(options.trace, options.jobs, options.gpus, load, factors))
                for module, policy, more in ((easy, "fifo_easy", {"backfill_depth": 100000}), (conservative, "fifo_conservative", {"depth": 100000})):
                    case = cases.Case(module.Oracle(overrun_grace=60 * cases.SECOND, overrun_factor=1), policy, [(options.gpus, "")], rows, {"overrun_grace_s": 60, "overrun_factor": 1, **more}, blind=True, is_pool=True)
                    found = fuzz.differences(case, pathlib.Path(folder))
                    print(f"{policy}, load {load:g}, estimates x {factors}: {len(rows) - len(found)} of {len(rows)} jobs agree", *found[:5], sep="\n", flush=True)
                    bad += len(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
