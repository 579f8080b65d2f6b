#!/usr/bin/python3
"""The simulator as a researcher uses it: the real program on files, with Ctrl-C and with common mistakes."""

import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from lab import PROGRAM, until

FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "simulators" / "philly-1k.csv.gz"


class ResearchTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=120, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_comparison_becomes_a_table_a_folder_and_pictures(self):
        table = self.run_program("sim", "compare", "--trace", FIXTURE, "--servers", "16x8", "--policies", "fifo,srtf,tiresias", "--out", "results", "--events")
        self.assertIn("lower bound", table)
        run = json.loads((self.folder / "results" / "run.json").read_text())
        self.assertEqual([result["policy"] for result in run["results"]], ["fifo", "srtf", "tiresias"])
        for result in run["results"]:
            with open(self.folder / "results" / result["jobs_file"]) as file:
                jobs = list(csv.DictReader(file))
            self.assertEqual(len(jobs), 1000)
            self.assertAlmostEqual(sum(float(job["jct_s"]) for job in jobs) / 1000, result["avg_jct_s"], places=3)
            self.assertLessEqual(result["avg_jct_bound_s"], result["avg_jct_s"])
        for chart, *more in (["cdf"], ["gantt", "--policy", "srtf"], ["util"], ["bars"]):
            self.run_program("plot", chart, "--run", "results", *more, "--out", f"{chart}.svg")
            self.assertTrue(xml.etree.ElementTree.parse(self.folder / f"{chart}.svg").getroot().tag.endswith("svg"))

    def test_a_policy_in_python_stands_in_the_table_beside_built_in_ones(self):
        mine = FIXTURE.parents[3] / "examples" / "policies" / "las.py"
        table = self.run_program("sim", "compare", "--trace", "poisson:jobs=200,load=1.2,cluster_gpus=16", "--servers", "4x4", "--policies", f"tiresias,{mine}", "--param", "tiresias.thresholds_gpu_s=3600")
        rows = {line.split()[0]: line.split()[1:] for line in table.splitlines() if line.strip()}
        self.assertEqual(rows["tiresias"][1:], rows["las.py"])  # after its parameter

    def test_estimates_are_judged_on_recorded_losses_run_times_and_speeds(self):
        curves = FIXTURE.parents[1] / "loss_curves.csv"
        rows = json.loads(self.run_program("estimates", "losses", curves, "--json"))["items"]
        self.assertEqual({row["title"] for row in rows}, {"Loss of the last epoch", "Epochs left to a target loss"})
        self.assertEqual(rows[0]["questions"], 240)
        text = self.run_program("estimates", "losses", curves, "--half", "all", "--seen", "0.5")
        self.assertIn("after 50 %", text)
        self.assertIn("480", text)
        self.assertIn("median of like jobs", self.run_program("estimates", "run-times", FIXTURE))
        self.assertIn("linear in the GPUs", self.run_program("estimates", "speeds"))
        (self.folder / "mine.csv").write_text("losses\n3|2|0\n")
        self.assertIn("mine.csv, line 2", self.run_program("estimates", "losses", "mine.csv", status=2))

    def test_a_change_is_told_between_runs_of_as_many_jobs(self):
        table = self.run_program("sim", "compare", "--trace", "poisson:load=1.1,cluster_gpus=16", "--servers", "4x4", "--policies", "fifo,srtf", "--jobs", "20,40", "--seeds", "1..5")
        self.assertTrue(table.startswith("20, 40 jobs on 4 servers of 4 GPUs, load "), table)
        changes = table.split("mean JCT against fifo with as many jobs, seed by seed, 5 seeds")[1]
        self.assertEqual([line.split("  ")[2] for line in changes.splitlines()[1:]], ["srtf (20 jobs)", "srtf (40 jobs)"])

    def test_seeds_that_change_nothing_are_no_sample(self):
        table = self.run_program("sim", "compare", "--trace", FIXTURE, "--servers", "16x8", "--policies", "fifo,srtf", "--jobs", "100", "--seeds", "1..3")
        self.assertIn("all seeds give the same", table)
        self.assertNotIn("±", table)
        self.assertNotIn("interval", table)

    def test_ctrl_c_keeps_what_is_finished(self):
        process = subprocess.Popen([PROGRAM, "sim", "compare", "--trace", "poisson:jobs=2000000,load=2", "--servers", "8x8", "--jobs", "100,2000000", "--policies", "fifo,gandiva", "--out", "results"],
                                   cwd=self.folder, stdout=subprocess.PIPE, text=True)
        until(lambda: (self.folder / "results").is_dir() and any((self.folder / "results").glob("fifo-1.jobs.csv")), 60)
        process.send_signal(signal.SIGINT)
        table, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("was interrupted", table)
        run = json.loads((self.folder / "results" / "run.json").read_text())
        self.assertTrue(run["interrupted"])
        self.assertIn("fifo", [result["policy"] for result in run["results"]])

    def test_what_is_wrong_with_a_trace_is_said_with_its_line_and_nothing_is_written(self):
        good = "job_id,submit_time_s,gpus,duration_s\n" + "".join(f"{i},{i},1,5\n" for i in range(100))
        wrong = {"unsorted-is-fine.csv": (good + "late,3,1,5\n", 0, "not in order"),
                 "negative.csv": (good + "x,-1,1,5\n", 2, "line 102"),
                 "nan.csv": (good + "x,200,1,nan\n", 2, "line 102"),
                 "twice.csv": (good + "7,200,1,5\n", 2, "line 102"),
                 "empty.csv": ("", 2, "trace-columns"),
                 "columns.csv": ("job_id,gpus\n1,1\n", 2, "trace-columns"),
                 "wide.csv": (good + "x,200,99,5\n", 0, "1 job wider than the cluster")}
        for name, (text, status, says) in wrong.items():
            (self.folder / name).write_text(text)
            told = self.run_program("sim", "run", "--trace", name, "--servers", "2x4", "--policy", "fifo", "--jobs-out", "jobs.csv", status=status)
            self.assertIn(says, told, name)
            self.assertEqual((self.folder / "jobs.csv").exists(), status == 0, name)
            (self.folder / "jobs.csv").unlink(missing_ok=True)
        (self.folder / "cut.csv.gz").write_bytes(gzip.compress(good.encode())[:-20])
        self.assertIn("trace-damaged", self.run_program("sim", "run", "--trace", "cut.csv.gz", "--servers", "2x4", "--policy", "fifo", status=2))

    def test_traces_and_profiles_are_drawn_before_anything_is_simulated(self):
        self.assertIn("5 jobs of thesis/pytorch-mnist:jobs=5", self.run_program("plot", "arrivals", "thesis/pytorch-mnist:jobs=5", FIXTURE))
        self.run_program("plot", "speedup", "pytorch-mnist", "speedup:1|1.5")
        for kind in ("arrivals", "speedup"):
            self.assertIn("<svg", (self.folder / f"{kind}.svg").read_text())
        rows = {(series, float(x)): float(y) for _, series, x, y, *_ in (line.split(",") for line in (self.folder / "speedup.csv").read_text().splitlines()[1:])}
        self.assertAlmostEqual(rows["pytorch-mnist", 2], 157 / 89, places=6)
        self.assertAlmostEqual(rows["speedup:1|1.5", 2], 1.5)
        self.assertEqual(json.loads(self.run_program("plot", "speedup", "pytorch-mnist", "--json", "--out", "other.svg"))["files"], ["other.svg", "other.csv"])
        self.assertIn("[no-such-file]", self.run_program("plot", "arrivals", "none.csv", status=3))
        self.assertIn("[no-such-file]", self.run_program("plot", "speedup", "./none.json", status=3))

    def test_a_workload_written_as_a_trace_gives_the_same_results(self):
        self.run_program("trace", "gen", "poisson", "jobs=300", "load=1.2", "cluster_gpus=16", "--seed", "7", "--out", "t.csv.gz")
        for name, source in (("made", "poisson:jobs=300,load=1.2,cluster_gpus=16"), ("read", "t.csv.gz")):
            self.run_program("sim", "run", "--trace", source, "--seed", "7", "--servers", "4x4", "--policy", "srtf", "--jobs-out", f"{name}.csv")
        made, read = ((self.folder / f"{name}.csv").read_text().splitlines() for name in ("made", "read"))
        self.assertEqual([line.split(",")[3:9] for line in made], [line.split(",")[3:9] for line in read])

    def test_a_policy_that_takes_over_later_has_parameters(self):
        command = ("sim", "run", "--trace", "poisson:jobs=20", "--servers", "1x2", "--policy", "fifo")
        told = self.run_program(*command, "--switch", "1h=tiresias:promote_knob=8,min_quantum_s=60")
        self.assertIn("fifo, tiresias promote_knob=8 min_quantum_s=60 after 1h", told)
        self.assertIn("--switch TIME=POLICY:NAME=VALUE", self.run_program(*command, "--switch", "1h=tiresias", "--param", "promote_knob=3", status=2))
        self.assertIn("[unknown-parameter]", self.run_program(*command, "--switch", "1h=tiresias:knob=3", status=2))
        for several in ("promote_knob=8,4", "thresholds_gpu_s=3600/7200"):
            self.assertIn("--switch takes one value of each parameter", self.run_program(*command, "--switch", f"1h=tiresias:{several}", status=2))

    def test_the_guide_has_the_numbers_that_reproduce_prints(self):
        text = self.run_program("reproduce", "all", "--out", "reproduced")
        printed = {tuple(re.split(r"\s{2,}", line.strip())) for line in text.splitlines() if re.match(r"  \S", line)}
        guide = (pathlib.Path(__file__).parents[2] / "docs" / "guide" / "reproduce.md").read_text()
        rows = [[cell.strip() for cell in line.split("|")] for line in guide.split("## Numbers")[1].split("## Claims")[0].splitlines() if line.startswith("| `")]
        self.assertGreater(len(rows), 60)
        self.assertEqual([row[2:5] for row in rows if tuple(row[2:5]) not in printed], [])
        claims = [[cell.strip() for cell in line.split("|")] for line in guide.split("## Claims")[1].split("##")[0].splitlines() if line.startswith("| `")]
        self.assertEqual([row[2] for row in claims if f" {row[2]}\n" not in text], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
