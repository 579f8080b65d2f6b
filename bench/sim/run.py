#!/usr/bin/python3
"""What the simulator costs, as in the tables of docs/benchmarks.md: whole processes, including reading the trace and writing a CSV line per job.

usage: run.py --program build/release/bin/schedulearn [--philly philly_2017.csv.gz] [--runs 3] [--jobs-max 10000000]

Times are medians. `times Python` is the ratio to event_loop.py, FIFO on a pool in 25 lines, on the same trace in the same run: that is what may be compared
between machines.
"""

import argparse
import math
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
POLICIES = ("fifo", "sjf", "srtf", "tiresias")
ONE_THRESHOLD = "thresholds_gpu_s=3600"  # of tiresias: two queues, as in the figures of earlier days


def measure(command, runs):
    """Median wall and CPU seconds, and the largest resident size in MiB."""
    walls, cpus, sizes = [], [], []
    for _ in range(runs):
        begun = time.monotonic()
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{command} ended with {status}")
        walls.append(time.monotonic() - begun)
        cpus.append(used.ru_utime + used.ru_stime)
        sizes.append(used.ru_maxrss / 1024)
    return statistics.median(walls), statistics.median(cpus), max(sizes)


def philly(program, trace, runs, jobs_out):
    yardstick, _, _ = measure(["/usr/bin/python3", HERE / "event_loop.py", trace, 256, jobs_out], runs)
    cut = ["--servers", "32x8", "--max-gpus", 32, "--min-duration", "1s", "--max-duration", "2d"]
    print(f"| Philly, 82,238 jobs | time | CPU | memory | times Python |\n|---|---|---|---|---|\n| event_loop.py, FIFO on a pool | {yardstick:.2f} s | | | 1 |")
    for row in (*POLICIES, f"tiresias {ONE_THRESHOLD}"):
        policy, *parameters = row.split()
        given = [word for parameter in parameters for word in ("--param", parameter)]
        wall, cpu, size = measure([program, "sim", "run", "--trace", trace, *cut, "--policy", policy, *given, "--jobs-out", jobs_out], runs)
        print(f"| `{row}` | {wall:.2f} s | {cpu:.2f} s | {size:.0f} MiB | {yardstick / wall:.1f} |", flush=True)
    wall, cpu, size = measure([program, "sim", "compare", "--trace", trace, *cut, "--policies", ",".join(POLICIES)], runs)
    print(f"| `compare` of the four | {wall:.2f} s | {cpu:.2f} s | {size:.0f} MiB | |\n")


def growth(program, runs, jobs_max, jobs_out):
    print("| generated jobs, `fifo`, 12,500 servers of 8 | time | CPU | memory | a job |\n|---|---|---|---|---|")
    points = []
    jobs = 1000
    while jobs <= jobs_max:
        workload = f"poisson:jobs={jobs},cluster_gpus=100000,load=0.8,durations=exponential"
        wall, cpu, size = measure([program, "sim", "run", "--trace", workload, "--servers", "12500x8", "--policy", "fifo", "--jobs-out", jobs_out], runs if jobs < 1_000_000 else 1)
        points.append((math.log(jobs), math.log(cpu)))
        print(f"| {jobs:,} | {wall:.2f} s | {cpu:.2f} s | {size:.0f} MiB | {1e6 * cpu / jobs:.2f} µs |", flush=True)
        jobs *= 10
    # From 100,000 on: below that, starting the process and joining 12,500 servers take most of the time.
    large = [p for p in points if p[0] >= math.log(99_999)]
    if len(large) > 1:
        exponent = (large[-1][1] - large[0][1]) / (large[-1][0] - large[0][0])
        print(f"\nCPU time grows with jobs to the power of {exponent:.2f} from {math.exp(large[0][0]):,.0f} to {math.exp(large[-1][0]):,.0f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="schedulearn")
    parser.add_argument("--philly")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs-max", type=int, default=10_000_000)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
    with tempfile.TemporaryDirectory() as folder:
        jobs_out = pathlib.Path(folder) / "jobs.csv"
        if options.philly:
            philly(options.program, options.philly, options.runs, jobs_out)
        growth(options.program, options.runs, options.jobs_max, jobs_out)


if __name__ == "__main__":
    main()
