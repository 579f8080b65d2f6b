#!/usr/bin/python3
"""Experiments on a live cluster: a command that sleeps must give the known figures, simulated and real."""

import csv
import json
import unittest

from lab import LabTest, measured

SLEEP = "sleep 1"  # however many GPUs it has
DIVIDED = 'sleep $(awk "BEGIN { print 2 / $SCHEDULEARN_NUM_GPUS }")'


class ReproduceRealTest(LabTest):
    def real(self, experiment, command, *more, gpus="1"):
        (self.lab.folder / "small.toml").write_text(f"name = 'small'\ncommand = '''{command}'''\ngpus = '{gpus}'\n")
        return self.lab.cli("reproduce", experiment, "--real", self.lab.folder / "small.toml", "--out", self.lab.folder / "out", *more, check=False)

    def rows(self, experiment, command, *more, gpus="1"):
        """The rows of real.csv, keyed by all but their last three columns: (simulated, real)."""
        done = self.real(experiment, command, *more, gpus=gpus)
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.lab.folder / "out" / experiment
        self.assertIn("</svg>", (folder / "real.svg").read_text())
        with open(folder / "real.csv") as file:
            table = list(csv.reader(file))[1:]
        for row in table:
            self.assertRegex(done.stdout, r"\s+".join(row[:-3]) + r"\s")
        return {tuple(row[:-3]): (float(row[-3]), float(row[-2])) for row in table}

    def near(self, figures, value, within=0.4):
        for figure in figures:
            self.assertAlmostEqual(figure, value, delta=within)

    @measured
    def test_a_sleep_has_speedup_one_and_one_that_divides_its_time_as_many_as_gpus(self):
        self.near(self.rows("schedulearn-speedup", SLEEP, gpus="1..2")["small", "2", "speedup"], 1)
        divided = self.rows("schedulearn-speedup", DIVIDED, gpus="1..2")
        self.assertEqual(len(divided), 4)
        self.near(divided["small", "1", "duration_s"], 2)
        self.near(divided["small", "2", "speedup"], 2)

    @measured
    def test_the_speedup_on_more_gpus_is_predicted_from_one_and_two(self):
        divided = self.rows("schedulearn-scalability", DIVIDED, gpus="1..4")
        self.assertEqual(list(divided), [("small", "3", "speedup"), ("small", "4", "speedup")])
        self.near(divided["small", "4", "speedup"], 4, 1)

    @measured
    def test_jobs_in_the_system_are_counted(self):
        waves = self.rows("schedulearn-submission", SLEEP, "--jobs", "2,6")
        self.assertEqual(waves["fifo", "2", "most_at_once"], (2, 2))
        self.assertEqual(waves["fifo", "6", "most_at_once"], (6, 6))  # all are there before the first ends
        self.near(waves["fifo", "6", "last_end_s"], 2.07)  # four GPUs: the second round begins at 1 s

    @measured
    def test_turnaround_under_three_policies_and_the_policy_is_put_back(self):
        self.lab.cli("policy", "set", "sjf")
        times = self.rows("schedulearn-turnaround", DIVIDED, "--jobs", "1,6", gpus="1..4")
        policies = ("fifo", "round_robin", "elastic_fifo")
        self.assertEqual(list(times), [(policy, jobs, figure) for policy in policies for jobs in ("1", "6") for figure in ("makespan_s", "turnaround_s")])
        self.near(times["fifo", "1", "turnaround_s"], 2)
        self.near(times["elastic_fifo", "1", "turnaround_s"], 0.5)  # alone it gets all four GPUs
        self.near(times["fifo", "6", "makespan_s"], 4.1)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "sjf")

    @measured
    def test_three_trainings_on_two_gpus_each(self):
        times = self.rows("schedulearn-resnet", SLEEP, gpus="2")
        for policy in ("fifo", "round_robin"):
            self.near(times[policy, "turnaround_s"], 1)
            self.near(times[policy, "makespan_s"], 1 + 2 * 120 / 216)

    @measured
    def test_fifo_fills_one_server_after_the_other_and_round_robin_both(self):
        if not self.lab.more_agents:
            self.lab.start_another_agent("second", 4)
        held = self.rows("schedulearn-utilization", "sleep 3")
        for at in (0, 1):  # simulated, real
            self.assertGreater(held["fifo", "lab", "held_pct"][at], held["fifo", "second", "held_pct"][at] + 30)
            self.assertLess(abs(held["round_robin", "lab", "held_pct"][at] - held["round_robin", "second", "held_pct"][at]), 30)
        for simulated, real in held.values():
            self.assertLess(abs(simulated - real), 15)

    def test_a_training_that_fails_or_a_busy_cluster_is_an_error_and_the_policy_is_put_back(self):
        self.lab.cli("policy", "set", "sjf")
        failed = self.real("schedulearn-turnaround", "exit 3")
        self.assertIn("job-failed", failed.stderr)
        self.lab.submit("sleep 300")
        busy = self.real("schedulearn-turnaround", "true")
        self.assertEqual(busy.returncode, 5)
        self.assertIn("cluster-busy", busy.stderr)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "sjf")

    def test_a_policy_in_python_is_put_back_too(self):
        mine = self.lab.folder / "mine.py"
        mine.write_text("from schedulearn.policy import Policy\nclass Mine(Policy):\n    def order(self, jobs, cluster):\n        return jobs\n")
        self.lab.cli("policy", "set", mine)
        self.rows("schedulearn-submission", "true", "--jobs", "1")
        policy = self.lab.get("/api/v1/policy")
        self.assertEqual((policy["name"], policy["source"]), ("mine.py", mine.read_text()))

    def test_what_does_not_serve_is_refused_with_what_does(self):
        for experiment, more, gpus, code in (("philly", (), "1", "bad-flag"), ("schedulearn-submision", (), "1", "did you mean schedulearn-submission?"), ("schedulearn-resnet", ("--seeds", "3"), "1", "cannot be used together with"),
                                             ("schedulearn-speedup", ("--jobs", "5"), "1..2", "bad-flag"),
                                             ("schedulearn-speedup", (), "1", "bad-job"), ("schedulearn-scalability", (), "1..2", "bad-job")):
            refused = self.real(experiment, SLEEP, *more, gpus=gpus)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(code, refused.stderr)
            self.assertIn("hint", refused.stderr)
        self.assertEqual(self.lab.jobs(), [])

    def test_as_json(self):
        shown = self.real("schedulearn-resnet", "true", "--json", "-q", gpus="2")
        rows = json.loads(shown.stdout)["rows"]
        self.assertEqual([(row["policy"], row["figure"]) for row in rows], [(policy, figure) for policy in ("fifo", "round_robin") for figure in ("makespan_s", "turnaround_s")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
