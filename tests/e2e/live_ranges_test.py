#!/usr/bin/python3
"""How the ranges hold that are shown at submission, on a live queue of real processes; and whether what `why` advises
comes true. By itself it prints the table of docs/benchmarks.md:

    SCHEDULEARN_PROGRAM=build/release/bin/schedulearn tests/e2e/live_ranges_test.py --policy fifo --seed 1
"""

import argparse
import datetime
import json
import math
import random
import statistics
import sys
import time
import unittest

from lab import FINISHED, Lab, LabTest, measured, until

SERVERS = 3
GPUS = 4  # of each server
EARLIER = 150  # jobs before the first one whose ranges count: what runs and how ranges held is learnt from them
JOBS = 200
WITHIN = (0.75, 0.85)  # of the ranges are to hold


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Family:
    """Jobs of one kind: how many GPUs, and how long they run, drawn for each job."""

    def __init__(self, name, gpus, draw, command="sleep {:.3f}", **spec):
        self.name, self.gpus, self.draw, self.command, self.spec = name, gpus, draw, command, spec


def about(median_s, spread):
    return lambda dice: median_s * math.exp(spread * dice.gauss(0, 1))


def either(share, first, second):
    return lambda dice: (first if dice.random() < share else second)(dice)


FAMILIES = (
    Family("evaluate", 1, about(1.2, 0.1)),
    Family("preprocess", 1, about(1.5, 0.4)),
    Family("sweep", 1, either(0.4, about(0.3, 0.1), about(4, 0.3))),  # some runs diverge at once
    Family("resnet", 2, about(3, 0.2)),
    Family("finetune", 2, either(0.7, about(2, 0.2), about(6, 0.2))),
    Family("gan", 3, about(2, 0.5)),
    Family("bert", 4, about(3.5, 0.3)),
    Family("limited", 1, about(2, 0.3), time_limit_s=20, estimate_s=3),
)


def mean_gpu_s():
    dice = random.Random(1)
    return statistics.mean(family.gpus * family.draw(dice) for family in FAMILIES for _ in range(500))


class Experiment:
    """`load`: the GPU-seconds that arrive per second, as a share of the GPUs."""

    def __init__(self, lab, seed, load=1.0):
        self.lab, self.dice, self.load = lab, random.Random(seed), load
        self.shown = []  # (job, target, range)

    def submit(self, number):
        family = self.dice.choice(FAMILIES)
        seconds = max(0.05, family.draw(self.dice))
        body = {
            "command": family.command.format(seconds),
            "workdir": str(self.lab.folder),
            "name": f"{family.name}-{number}",
            "gpus": family.gpus,
            **family.spec,
        }
        status, _, text = self.lab.request("POST", "/api/v1/jobs", body)
        assert status == 201, text
        return json.loads(text)["id"]

    def wait_for_all(self, jobs):
        until(lambda: not self.lab.get("/api/v1/jobs?state=pending,starting,running,stopping&limit=1")["items"], 300, "the end of all jobs")
        ended = {job["id"]: job for job in self.lab.jobs()}
        assert all(ended[job]["state"] == "succeeded" for job in jobs), [ended[job] for job in jobs if ended[job]["state"] != "succeeded"][:3]
        return ended

    def run(self, earlier=EARLIER, jobs=JOBS):
        between_s = mean_gpu_s() / (SERVERS * GPUS * self.load)
        due = time.monotonic()
        submitted = []
        for number in range(earlier + jobs):
            due += self.dice.expovariate(1 / between_s)
            time.sleep(max(0, due - time.monotonic()))  # the load's own pace
            submitted.append(self.submit(number))
            self.note(submitted[-1], number >= earlier)
        return self.judge(self.wait_for_all(submitted))

    def follow_advice(self):
        """All but one GPU of each server is taken for long, small jobs come, and one wants a whole server: what `why` says would help."""
        for _ in range(SERVERS):
            self.lab.submit("sleep 307.5", gpus=GPUS - 1, name="long", time_limit_s=400)
        until(lambda: len(self.lab.get("/api/v1/jobs?state=running")["items"]) >= SERVERS, 60, "the long jobs")
        blocked = self.lab.submit("sleep 3.5", gpus=4, name="bert-9999")
        small = [self.lab.submit("sleep 1.2", gpus=1, name=f"evaluate-{i}") for i in range(20)]
        why = until(lambda: [s for s in self.lab.get(f"/api/v1/jobs/{blocked}/explain")["suggestions"] if s["patch"]], 60, "advice")[0]
        status, _, text = self.lab.request("PATCH", f"/api/v1/jobs/{blocked}", why["patch"])
        assert status == 202, text
        ended = self.lab.finished(blocked)
        assert self.lab.finished(small[-1])["state"] == "succeeded"
        assert len(self.lab.get("/api/v1/jobs?state=running")["items"]) == SERVERS  # without it, it would still wait
        return why, instant(ended["started_at"]), instant(ended["finished_at"])

    def note(self, job, counts):
        """What `submit` prints."""
        shown = self.lab.get(f"/api/v1/jobs/{job}?fresh_ms=2000")
        estimate = shown["estimate"] or {}
        for target in ("start", "finish"):
            if counts and estimate.get(target):
                self.shown.append((job, target, {share: instant(at) for share, at in estimate[target].items()}, time.time()))

    def judge(self, ended):
        rows = {}
        for job, target, shown, at in self.shown:
            actual = instant(ended[job]["started_at" if target == "start" else "finished_at"])
            rows.setdefault(target, []).append((shown["p10"], actual, shown["p90"], shown["p50"], at))
        return rows


def held(rows):
    return sum(low <= actual <= high for low, actual, high, *_ in rows) / len(rows)


def describe(rows):
    early = sum(row[1] < row[0] for row in rows)
    late = sum(row[1] > row[2] for row in rows)
    width = statistics.median(row[2] - row[0] for row in rows)
    ahead = statistics.median(row[3] - row[4] for row in rows)
    return f"{len(rows):4} ranges, {held(rows):4.0%} held ({early} early, {late} late), median width {width:.1f} s, {ahead:.1f} s ahead"


def experiment(policy, seed, load, jobs=JOBS, earlier=EARLIER, say=print):
    with Lab(gpus=GPUS) as lab:
        for i in range(1, SERVERS):
            lab.start_another_agent(f"lab{i}", GPUS)
        lab.cli("policy", "set", policy)
        running = Experiment(lab, seed, load)
        rows = running.run(earlier, jobs)
        for target, of in sorted(rows.items()):
            say(f"{policy} seed {seed} load {load:g} {target:6} {describe(of)}")
        everything = [row for of in rows.values() for row in of]
        say(f"{policy} seed {seed} load {load:g} all    {describe(everything)}")
        advice, started, finished = running.follow_advice()
        say(f"advice: {advice['text']}; it started {started - instant(advice['predicted_start']['p50']):+.1f} s and ended {finished - instant(advice['predicted_finish']['p50']):+.1f} s from the middle of its ranges")
        return rows, everything, (advice, started, finished)


class LiveRangesTest(unittest.TestCase):
    @measured
    def test_ranges_shown_at_submission_hold_as_often_as_they_say(self):
        rows, everything, (advice, started, finished) = experiment("fifo_easy", 1, 1.0)
        # A second for the process to start and for the report of it.
        self.assertLessEqual(started, instant(advice["predicted_start"]["p90"]) + 1)
        self.assertLessEqual(finished, instant(advice["predicted_finish"]["p90"]) + 1)
        self.assertLess(finished, instant(advice["finish_as_it_is"]["p10"]))
        self.assertGreaterEqual(len(rows["finish"]), 0.9 * JOBS)
        # 200 ranges of one queue err together: a run, beside other tests, scatters by up to ten points about what many have
        # (docs/benchmarks.md). Ranges that learn nothing hold in 97 %.
        self.assertGreaterEqual(held(everything), WITHIN[0] - 0.1)
        self.assertLessEqual(held(everything), WITHIN[1] + 0.1)
        widths = statistics.median(row[2] - row[0] for row in everything)
        self.assertLess(widths, 15)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--policy", default="fifo")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--load", type=float, default=1.0)
    options.add_argument("--jobs", type=int, default=JOBS)
    options.add_argument("--earlier", type=int, default=EARLIER)
    given = options.parse_args()
    _, everything, _ = experiment(given.policy, given.seed, given.load, given.jobs, given.earlier)
    return 0 if WITHIN[0] <= held(everything) <= WITHIN[1] else 1


if __name__ == "__main__":
    ours = any(argument.startswith(("--policy", "--seed", "--load", "--jobs", "--earlier", "--help")) for argument in sys.argv[1:])
    sys.exit(main()) if ours else unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
