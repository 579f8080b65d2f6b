#!/usr/bin/python3
"""Shows what each number a policy takes by default is worth: mean completion time with other values, relative to it.

    defaults.py --program build/release/bin/schedulearn --traces FOLDER [--policies tiresias,gandiva] [--jobs 3000]

A default is chosen on the training workloads and judged on the others (docs/guide/policies.md, "Defaults"). FOLDER has
philly_2017.csv.gz, philly_deadlines.csv.gz and nasa_ipsc_1993.csv.gz. Interruptions cost 30 s everywhere.
"""

import argparse
import csv
import gzip
import json
import math
import pathlib
import subprocess
import tempfile

FACTORS = (0.1, 1 / 3, 3, 10)
THRESHOLDS = ("600", "3600", "18000", "60000", "600,3600", "3600,36000", "300,3000,30000", "600,6000,60000", "3600,14400,57600", "300,3000,30000,300000")
WORKLOADS = {  # name: (trace, from which part of its jobs on, servers, whether defaults are chosen on it)
    "philly, early": ("philly_2017.csv.gz", 0.1, "24x8", True),
    "generated": ("poisson:load=0.9", 0, "8x8", True),
    "philly, late": ("philly_2017.csv.gz", 0.7, "40x8", False),
    "deadlines": ("philly_deadlines.csv.gz", 0.3, "128x8", False),
    "nasa": ("nasa_ipsc_1993.csv.gz", 0.5, "16x8", False),
}


def cut(trace, start, jobs, out):
    """`jobs` jobs from that part of the trace on, with what every trace has."""
    with gzip.open(trace, "rt", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["gpus"]) > 0]
    rows = rows[int(start * len(rows)):][:jobs]
    first = float(rows[0]["submit_time_s"])
    with open(out, "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("job_id", "submit_time_s", "gpus", "duration_s"))
        lines.writerows((row["job_id"], float(row["submit_time_s"]) - first, row["gpus"], row["duration_s"]) for row in rows)
    return out


def values_besides(parameter):
    if parameter["type"] == "ascending numbers":
        return THRESHOLDS
    default, values = float(parameter["default"]), []
    for value in (default * factor for factor in FACTORS) if default else (1, 10, 100):
        value = round(value) if parameter["type"] == "integer" else value
        if parameter["min"] <= value <= parameter["max"] and value != default:
            values.append(f"{value:.6g}")
    return values


class Trial:
    def __init__(self, arguments, folder):
        self.program = arguments.program
        self.workloads = {}
        for number, (name, (trace, start, servers, trains)) in enumerate(WORKLOADS.items()):
            source = f"{trace},jobs={arguments.jobs}" if ":" in trace else cut(arguments.traces / trace, start, arguments.jobs, folder / f"{number}.csv")
            self.workloads[name] = (source, servers, trains)

    def mean_jct(self, workload, policy, **parameters):
        trace, servers, _ = self.workloads[workload]
        given = [word for name, value in parameters.items() for word in ("--param", f"{name}={value}")]
        done = subprocess.run([self.program, "sim", "run", "--trace", trace, "--servers", servers, "--policy", policy, *given, "--restart-cost", "30", "--max-gpus", "128", "--min-duration", "1s", "--max-duration", "2d", "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{policy} on {workload}: {done.stderr}")
        result = json.loads(done.stdout)["results"][0]
        return math.nan if result["unfinished"] else result["avg_jct_s"]

    @staticmethod
    def text(ratio):
        return "does not end" if math.isnan(ratio) else f"{ratio:.2f}"

    def rows(self, policy, parameter, usual):
        for value in values_besides(parameter):
            ratios = [self.mean_jct(name, policy, **{parameter["name"]: value}) / usual[name] for name in self.workloads]
            chosen_on = [ratio for ratio, (_, _, trains) in zip(ratios, self.workloads.values()) if trains]
            yield value, ratios, math.exp(sum(map(math.log, chosen_on)) / len(chosen_on))

    def print_policy(self, policy, parameters):
        usual = {name: self.mean_jct(name, policy) for name in self.workloads}
        for parameter in parameters:
            rows = list(self.rows(policy, parameter, usual))
            if all(abs(ratio - 1) < 0.005 for _, ratios, _ in rows for ratio in ratios):
                print(f"| `{policy}` | `{parameter['name']}` = {parameter['default']} | all | " + " | ".join("1" for _ in WORKLOADS) + " |", flush=True)
                continue
            for value, ratios, _ in rows:
                print(f"| `{policy}` | `{parameter['name']}` = {parameter['default']} | {value} | " + " | ".join(map(self.text, ratios)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--traces", required=True, type=pathlib.Path)
    parser.add_argument("--policies", default="")
    parser.add_argument("--jobs", default=3000, type=int)
    arguments = parser.parse_args()
    listed = json.loads(subprocess.run([arguments.program, "policy", "ls", "--json"], capture_output=True, text=True, check=True).stdout)
    wanted = arguments.policies.split(",") if arguments.policies else [policy["name"] for policy in listed["items"]]
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(arguments, pathlib.Path(folder))
        print("| policy | default | instead | " + " | ".join(f"{name}{' (chosen on)' if trains else ''}" for name, (*_, trains) in WORKLOADS.items()) + " |")
        print("|---" * (3 + len(WORKLOADS)) + "|")
        for policy in listed["items"]:
            numbers = [parameter for parameter in policy["parameters"] if parameter["type"] in ("number", "integer", "ascending numbers")]
            if policy["name"] in wanted and numbers:
                trial.print_policy(policy["name"], numbers)


if __name__ == "__main__":
    main()
