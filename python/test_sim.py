#!/usr/bin/python3
"""Tests of schedulearn.sim and of the examples that use it, with the real program (SCHEDULEARN_PROGRAM)."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import schedulearn.sim

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLICIES = ROOT / "examples" / "policies"


class SimTest(unittest.TestCase):
    def run_small(self, policies, **options):
        results = schedulearn.sim.run(trace="poisson:jobs=60", servers="2x8", policies=policies, **options)
        self.addCleanup(results.close)
        return results

    def test_one_row_a_simulation_with_numbers(self):
        results = self.run_small(["fifo", "tiresias"], seeds="1..2", parameters={"tiresias.promote_knob": [2, 3]})
        self.assertEqual([(row["policy"], row["seed"], row.get("promote_knob")) for row in results.rows],
                         [("fifo", 1, None), ("fifo", 2, None), ("tiresias", 1, 2), ("tiresias", 2, 2), ("tiresias", 1, 3), ("tiresias", 2, 3)])
        self.assertTrue(all(isinstance(row["avg_jct_s"], float) for row in results.rows))

    def test_a_parameter_that_is_a_list_takes_lists(self):
        results = self.run_small("tiresias", parameters={"thresholds_gpu_s": [[3600], [3250, 7200]]})
        self.assertEqual([row["thresholds_gpu_s"] for row in results.rows], [3600, "3250,7200"])
        results = self.run_small("tiresias", parameters={"thresholds_gpu_s": [3250, 7200]})
        self.assertEqual([row["thresholds_gpu_s"] for row in results.rows], ["3250,7200"])

    def test_a_file_decides_as_the_built_in_one_job_for_job(self):
        results = self.run_small(["fifo", str(POLICIES / "fifo.py")])
        one, other = results.jobs("fifo"), results.jobs("fifo.py")
        self.assertEqual(len(one), 60)
        self.assertEqual([{**job, "policy": ""} for job in one], [{**job, "policy": ""} for job in other])

    def test_jobs_and_events_are_rows_that_pandas_reads(self):
        results = self.run_small("fifo", events=True, max_gpus=4)
        job = results.jobs()[0]
        self.assertEqual((job["job_id"], type(job["start_s"]), job["user"]), ("2", float, ""))  # the first is wider
        self.assertIn("start", {event["event"] for event in results.events()})

    def test_what_is_refused_becomes_an_exception_with_code_and_hint(self):
        with self.assertRaises(schedulearn.sim.SimulationError) as caught:
            self.run_small("fifoo")
        self.assertEqual((caught.exception.code, caught.exception.message), ("unknown-policy", "there is no policy fifoo"))
        self.assertIn("did you mean fifo?", caught.exception.hints)
        with self.assertRaises(schedulearn.sim.SimulationError) as caught:
            schedulearn.sim.run(trace="./no-such.csv", servers="2x8", policies="fifo")
        self.assertEqual(caught.exception.code, "no-such-file")

    def test_a_policy_that_fails_is_an_exception_with_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bad.py"
            path.write_text("from schedulearn.policy import Policy\nclass Bad(Policy):\n    def order(self, jobs, cluster):\n        return jobs[0]\n")
            with self.assertRaises(schedulearn.sim.SimulationError) as caught:
                self.run_small(str(path))
        self.assertIn("bad.py:3: in order: order() must return a list of jobs, not Job", caught.exception.message)

    def test_results_stay_in_a_folder_that_was_given(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_small("fifo", out=folder).close()
            self.assertTrue((pathlib.Path(folder) / "run.json").exists())

    def test_the_example_runs_without_pandas(self):
        done = subprocess.run([sys.executable, "-S", ROOT / "examples" / "sim_from_python.py"], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("las.py", done.stdout)


class CheckTest(unittest.TestCase):
    def check(self, file):
        return subprocess.run([os.environ["SCHEDULEARN_PROGRAM"], "policy", "check", str(file)], capture_output=True, text=True, timeout=100)

    def test_policies_that_resize_are_checked_too(self):
        self.assertEqual(self.check("elastic_srtf").returncode, 0)

    def test_the_examples_keep_the_rules(self):
        for file in sorted(POLICIES.glob("*.py")):
            done = self.check(file)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("keeps the rules on 20 workloads", done.stdout)
            self.assertIn("1000 waiting jobs and 100 servers", done.stdout)

    def test_a_broken_rule_is_told_with_the_command_that_shows_it(self):
        head = "from schedulearn.policy import Policy\nclass Mine(Policy):\n"
        broken = {
            head + "    def order(self, jobs, cluster):\n        return [job for job in jobs if job.id != 7]\n": "every job ends",
            head + "    work_conserving = True\n    blocking = True\n    def order(self, jobs, cluster):\n        return jobs\n": "no GPU idles",
            head + "    def order(self, jobs, cluster):\n        import os\n        return sorted(jobs, key=lambda job: os.urandom(8))\n": "the same seed gives the same schedule",
            head + "    def order(self, jobs, cluster):\n        return jobs * 2\n": "mine.py:3: in order: order() has job",
            head + "    def order(self, jobs, cluster):\n        return sorted(jobs, key=lambda job: job.estimate_s)\n": "--blind --policy",
        }
        for source, rule in broken.items():
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "mine.py"
                file.write_text(source)
                done = self.check(file)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(rule, done.stdout)
            self.assertIn("schedulearn sim run --trace poisson:", done.stdout)

    def test_state_that_a_restart_loses_is_noted(self):
        source = ("from schedulearn.policy import Policy\nclass Mine(Policy):\n    def __init__(self):\n        self.asked = 0\n"
                  "    def order(self, jobs, cluster):\n        self.asked += 1\n        return sorted(jobs, key=lambda job: job.id * self.asked % 7)\n")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.py"
            file.write_text(source)
            done = self.check(file)
        self.assertIn("it keeps something that a restart loses", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
