#!/usr/bin/python3
"""How the cost of each policy grows with the jobs that wait, and what it takes on Philly: tables of docs/benchmarks.md.

    growth.py --program build/release/bin/schedulearn [--policies fifo,srtf] [--philly philly_2017.csv.gz]

Bursts of 1,000 to 16,000 jobs, all at once, on 16 servers of 8 GPUs: jobs of up to one server; with 16 types of GPU that jobs name; and
with gangs of up to 64 GPUs. CPU time of the process, without what a process with one job takes; the sizes take turns, so that
a machine that becomes slower in between does not look like growth. The exponent is the slope of all sizes on logarithmic axes.
`event_loop.py`, FIFO on a pool in 25 lines of Python, runs in between as the yardstick.
"""

import argparse
import json
import math
import os
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SIZES = (1000, 2000, 4000, 8000, 16000)
TYPES = 16
COLUMNS = "job_id,submit_time_s,gpus,duration_s,est_duration_s,gpus_min,gpus_max,priority,user,model,deadline_s,gpu_type"
CUT = ("--servers", "32x8", "--max-gpus", "32", "--min-duration", "1s", "--max-duration", "2d")


def burst(kind, jobs, path):
    """Sizes and lengths as in traces of trainings: most take one GPU, a third is elastic, a third has a deadline."""
    chosen = random.Random(f"{kind}/{jobs}")
    with open(path, "w") as file:
        file.write(COLUMNS + "\n")
        for job in range(jobs):
            gpus = chosen.choices((1, 2, 4, 8), (60, 20, 12, 8))[0]
            if kind == "gangs" and chosen.random() < 0.05:
                gpus = chosen.choice((16, 24, 32, 64))
            length = min(86400, max(60, int(chosen.expovariate(1 / 3600))))
            elastic = chosen.random() < 1 / 3
            least, most = (max(1, gpus // 2), min(8, gpus * 2) if gpus <= 8 else gpus) if elastic else (gpus, gpus)
            deadline = length + int(chosen.uniform(0, 100 * jobs)) if chosen.random() < 1 / 3 else ""
            first = chosen.randrange(TYPES)
            types = f"T{first}" + f"|T{(first + 1) % TYPES}" * (chosen.random() < 0.25) if kind == "types" else ""
            file.write(f"j{job},0,{gpus},{length},{int(length * chosen.choice((1, 1, 2, 5)))},{least},{most},{chosen.randrange(3)},u{chosen.randrange(50)},m{chosen.randrange(20)},{deadline},{types}\n")


def cluster_file(path):
    path.write_text("".join(f'[[servers]]\ncount = 1\ngpus = 8\ngpu_type = "T{n}"\n' for n in range(TYPES)))
    return path


def cpu_seconds(command, limit=None):
    """User and system time; None if it takes longer than `limit`."""
    def limited():
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limited)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if os.WIFSIGNALED(status):
        return None
    if status != 0:
        raise SystemExit(f"{command} ended with {status}: {said.decode()}")
    return used.ru_utime + used.ru_stime


def slope(points):
    """Of the line through (x, y) on logarithmic axes."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    x_mean, y_mean = (statistics.mean(values) for values in zip(*logs))
    return sum((x - x_mean) * (y - y_mean) for x, y in logs) / sum((x - x_mean) ** 2 for x, _ in logs)


class Growth:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.types = cluster_file(folder / "types.toml")

    def command(self, policy, kind, jobs):
        trace = self.folder / f"{kind}-{jobs}.csv"
        if not trace.exists():
            burst(kind, jobs, trace)
        return [self.options.program, "sim", "run", "--trace", trace, "--servers", self.types if kind == "types" else "16x8", "--policy", policy, "--restart-cost", "10",
                "--jobs-out", self.folder / "jobs.csv"]

    def row(self, policy, kind):
        times, start = {size: [] for size in SIZES}, cpu_seconds(self.command(policy, kind, 1))
        for _ in range(self.options.runs):
            for size in SIZES:
                if size > min((s for s, seen in times.items() if None in seen), default=math.inf):
                    continue
                times[size].append(cpu_seconds(self.command(policy, kind, size), self.options.limit))
        best = {size: max(1e-3, min(seen) - start) for size, seen in times.items() if seen and None not in seen}
        exponent = slope(best.items()) if len(best) > 2 else math.inf
        worst = "" if len(best) == len(SIZES) and exponent <= self.options.exponent else " **"
        shown = " | ".join(f"{best[size]:.2f}" if size in best else f"> {self.options.limit}" if times[size] else "" for size in SIZES)
        print(f"| `{policy}` | {kind} | {shown} | {exponent:.2f}{worst} |", flush=True)

    def print_table(self, policies):
        print("| policy | burst | " + " | ".join(f"{size:,}" for size in SIZES) + " | exponent |\n|---|---|" + "---|" * (len(SIZES) + 1))
        for policy in policies:
            for kind in self.options.kinds.split(","):
                self.row(policy, kind)
        print()


def print_philly(options, policies, folder):
    """Ratios within one round, the median of the rounds: to `srtf` and to the Python loop."""
    loop = ["/usr/bin/python3", HERE / "event_loop.py", options.philly, 256, folder / "jobs.csv"]
    def run(policy):
        return cpu_seconds([options.program, "sim", "run", "--trace", options.philly, *CUT, "--policy", policy, "--jobs-out", folder / "jobs.csv"], options.limit)
    print("| Philly, 82,238 jobs | CPU | times `srtf` | times Python |\n|---|---|---|---|")
    for policy in policies:
        rounds = [(cpu_seconds(loop), run("srtf"), run(policy)) for _ in range(options.runs)]
        if any(own is None for _, _, own in rounds):
            print(f"| `{policy}` | > {options.limit} s ** | | |", flush=True)
            continue
        over = statistics.median(own / srtf for _, srtf, own in rounds)
        print(f"| `{policy}` | {statistics.median(own for *_, own in rounds):.2f} s | {over:.1f}{' **' if over > 10 else ''} | {statistics.median(python / own for python, _, own in rounds):.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="schedulearn")
    parser.add_argument("--policies", help="default: all")
    parser.add_argument("--kinds", default="plain,types,gangs")
    parser.add_argument("--philly")
    parser.add_argument("--no-bursts", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=60, help="seconds of CPU for one simulation")
    parser.add_argument("--exponent", type=float, default=1.3, help="what grows faster is marked **")
    options = parser.parse_args()
    listed = json.loads(subprocess.run([options.program, "policy", "ls", "--json"], capture_output=True, text=True, check=True).stdout)
    policies = options.policies.split(",") if options.policies else [policy["name"] for policy in listed["items"]]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, {time.strftime('%Y-%m-%d')}\n")
    with tempfile.TemporaryDirectory() as folder:
        if not options.no_bursts:
            Growth(options, pathlib.Path(folder)).print_table(policies)
        if options.philly:
            print_philly(options, policies, pathlib.Path(folder))


if __name__ == "__main__":
    main()
