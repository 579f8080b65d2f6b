#!/usr/bin/python3
"""Simulations on the controller: what users ask for, what they get, and that nothing they ask for harms the controller."""

import csv
import io
import json
import os
import pathlib
import unittest
import xml.etree.ElementTree

from lab import LabTest, until

TRACE = "job_id,submit_time_s,gpus,duration_s\n" + "".join(f"{i},{i * 10},{1 + i % 3},{60 + i * 7 % 50}\n" for i in range(40))
POISSON = {"workload": "poisson", "parameters": {"jobs": 100, "load": 1.1, "cluster_gpus": 16}}


class SimulationsTest(LabTest):
    def ask(self, expect=202, **body):
        status, _, answer = self.lab.request("POST", "/api/v1/simulations", {"policies": [{"name": "fifo"}], "servers": "4x4", **body})
        self.assertEqual(status, expect, answer)
        return json.loads(answer)

    def ended(self, made):
        def look():
            found = self.lab.get(f"/api/v1/simulations/{made['id']}")
            return found if found["state"] in ("succeeded", "failed") else None
        return until(look, 60, "the end of a simulation")

    def chart(self, made, kind, **query):
        return self.lab.get(f"/api/v1/simulations/{made['id']}/charts/{kind}?" + "&".join(f"{key}={value}" for key, value in query.items()))

    def test_a_comparison_has_figures_charts_and_the_command_that_repeats_it(self):
        made = self.ask(trace=POISSON, policies=[{"name": "fifo"}, {"name": "srtf"}, {"name": "tiresias", "parameters": {"promote_knob": [2, 8]}}], seeds=2)
        done = self.ended(made)
        self.assertEqual(done["state"], "succeeded", done["failure"])
        self.assertEqual([(result["policy"], result["parameters"], result["seed"]) for result in done["results"]],
                         [("fifo", {}, 1), ("fifo", {}, 2), ("srtf", {}, 1), ("srtf", {}, 2), *(("tiresias", {"promote_knob": knob}, seed) for knob in ("2", "8") for seed in (1, 2))])
        by_policy = {result["policy"]: result for result in done["results"] if result["seed"] == 1}
        self.assertLess(by_policy["srtf"]["avg_jct_s"], by_policy["fifo"]["avg_jct_s"])
        # The command line finds the same.
        words = done["command"].split()
        self.assertEqual(words[0], "schedulearn")
        again = json.loads(self.lab.cli(*words[1:], "--json").stdout)
        for ours, theirs in zip(done["results"], again["results"], strict=True):
            self.assertAlmostEqual(ours["avg_jct_s"], theirs["avg_jct_s"], places=3)
        address = f"/api/v1/simulations/{made['id']}"
        self.assertEqual(self.lab.get(f"{address}/results")["items"], done["results"])
        for at, result in enumerate(done["results"]):
            jobs = self.lab.get(f"{address}/jobs?result={at}")
            self.assertEqual((jobs["total"], len(jobs["items"]), jobs["next_cursor"]), (result["jobs"], result["jobs"], None))
            self.assertAlmostEqual(sum(job["jct_s"] for job in jobs["items"]) / result["jobs"], result["avg_jct_s"], places=1)
            self.assertEqual([job["submit_s"] for job in jobs["items"]], sorted(job["submit_s"] for job in jobs["items"]))
            self.assertTrue(all(job["submit_s"] <= job["start_s"] < job["finish_s"] for job in jobs["items"]))
        pages = [self.lab.get(f"{address}/jobs?result=0&limit=7")]
        while pages[-1]["next_cursor"]:
            pages.append(self.lab.get(f"{address}/jobs?result=0&limit=7&cursor={pages[-1]['next_cursor']}"))
        self.assertEqual([job for page in pages for job in page["items"]], self.lab.get(f"{address}/jobs?result=0")["items"])
        for query, code in (("", "bad-parameter"), ("?result=99", "bad-parameter"), ("?result=8", "bad-parameter")):
            status, _, text = self.lab.request("GET", f"{address}/jobs{query}")
            self.assertEqual((status, json.loads(text)["code"]), (422, code), query)
        (self.lab.folder / "controller" / address.removeprefix("/api/v1/") / "results" / "run.json").unlink()
        self.assertEqual(json.loads(self.lab.request("GET", f"{address}/jobs?result=0")[2])["code"], "no-files")

    def test_charts_of_a_comparison(self):
        made = self.ask(trace=POISSON, policies=[{"name": "fifo"}, {"name": "srtf"}, {"name": "tiresias", "parameters": {"promote_knob": [2, 8]}}], seeds=2)
        self.ended(made)
        for kind, query in (("cdf", {}), ("cdf", {"metric": "wait"}), ("bars", {"metric": "p95_jct_s"}), ("util", {}), ("queue", {}), ("gantt", {"result": 3}), ("gantt", {"result": 5, "theme": "dark", "width_mm": 90})):
            chart = self.chart(made, kind, **query)
            self.assertTrue(xml.etree.ElementTree.fromstring(chart["svg"]).tag.endswith("svg"))
            self.assertTrue(chart["summary"] and chart["title"], kind)
            self.assertGreater(len(list(csv.reader(io.StringIO(chart["csv"])))), 2, kind)
        panels = {row["panel"] for row in csv.DictReader(io.StringIO(self.chart(made, "util", by="server")["csv"]))}
        self.assertEqual(len(panels), 4, panels)
        for kind, by in (("util", "rack"), ("queue", "server")):
            status, _, text = self.lab.request("GET", f"/api/v1/simulations/{made['id']}/charts/{kind}?by={by}")
            self.assertEqual((status, json.loads(text)["code"]), (422, "bad-parameter"), kind)

    def test_figures_over_the_number_of_jobs(self):
        done = self.ended(self.ask(trace=POISSON, policies=[{"name": "fifo"}, {"name": "srtf"}], seeds=2, job_counts=[20, 50, 100]))
        self.assertEqual(done["job_counts"], [20, 50, 100])
        self.assertEqual([(result["policy"], result["seed"], result["jobs"]) for result in done["results"]],
                         [(policy, seed, jobs) for policy in ("fifo", "srtf") for jobs in (20, 50, 100) for seed in (1, 2)])
        self.assertIn("--jobs 20,50,100", done["command"])
        rows = list(csv.DictReader(io.StringIO(self.chart(done, "lines", metric="avg_jct_s")["csv"])))
        self.assertEqual(sorted((row["series"], float(row["x"])) for row in rows), [(policy, jobs) for policy in ("fifo", "srtf") for jobs in (20, 50, 100)])
        mean = sum(result["avg_jct_s"] for result in done["results"] if (result["policy"], result["jobs"]) == ("srtf", 100)) / 2
        self.assertAlmostEqual(float(next(row["y"] for row in rows if (row["series"], float(row["x"])) == ("srtf", 100))), mean, delta=0.01 * mean)
        self.assertIn("100 jobs", self.chart(done, "gantt", result=[result["jobs"] for result in done["results"]].index(100))["caption"])
        self.assertEqual({row["series"] for row in csv.DictReader(io.StringIO(self.chart(done, "cdf")["csv"]))}, {"fifo", "srtf"})
        for wrong in ([20], [50, 20], [20, 20], [0, 5], []):
            self.assertEqual(self.ask(expect=422, trace=POISSON, job_counts=wrong)["code"], "bad-parameter", wrong)
        self.assertEqual(self.ask(expect=422, trace=POISSON, jobs=5, job_counts=[5, 6])["code"], "bad-parameter")
        self.assertEqual(self.ask(expect=422, trace=POISSON, job_counts=list(range(1, 60)))["code"], "simulation-too-large")

    def test_figures_over_the_load(self):
        done = self.ended(self.ask(trace={"csv": TRACE}, policies=[{"name": "fifo"}, {"name": "srtf"}], loads=[0.25, 0.9, 2]))
        self.assertEqual((done["state"], done["loads"], done["job_counts"]), ("succeeded", [0.25, 0.9, 2], []), done["failure"])
        self.assertEqual([(result["policy"], result["load"]) for result in done["results"]], [(policy, load) for policy in ("fifo", "srtf") for load in (0.25, 0.9, 2)])
        waits = [result["avg_wait_s"] for result in done["results"] if result["policy"] == "fifo"]
        self.assertTrue(waits[0] <= waits[1] < waits[2], waits)
        self.assertIn("--load 0.25,0.9,2", done["command"])
        rows = list(csv.DictReader(io.StringIO(self.chart(done, "lines", metric="avg_wait_s")["csv"])))
        self.assertEqual(sorted((row["series"], float(row["x"])) for row in rows), [(policy, load) for policy in ("fifo", "srtf") for load in (0.25, 0.9, 2)])
        self.assertAlmostEqual(float(next(row["y"] for row in rows if (row["series"], float(row["x"])) == ("fifo", 2))), waits[2], delta=0.01 * waits[2] + 0.1)
        self.assertEqual({row["series"] for row in csv.DictReader(io.StringIO(self.chart(done, "cdf")["csv"]))}, {"fifo", "srtf"}, "those at the highest load")
        self.assertTrue(self.chart(done, "gantt", result=1)["summary"])
        self.assertEqual(self.ended(self.ask(trace={"csv": TRACE}, loads=[0.5]))["results"][0]["load"], 0.5)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertEqual(self.lab.get(f"/api/v1/simulations/{done['id']}")["loads"], [0.25, 0.9, 2])
        for wrong in ([], [0.9, 0.5], [0.5, 0.5], [0, 1], [1, 101]):
            self.assertEqual(self.ask(expect=422, trace=POISSON, loads=wrong)["code"], "bad-parameter", wrong)
        self.assertEqual(self.ask(expect=422, trace=POISSON, loads=[1, 2], job_counts=[5, 6])["code"], "bad-parameter")
        at_once = TRACE.splitlines()[0] + "\na,0,1,60\nb,0,1,60\n"
        self.assertEqual(self.ask(expect=422, trace={"csv": at_once}, loads=[0.5, 1])["code"], "bad-parameter")
        self.assertEqual(self.ask(expect=422, trace=POISSON, loads=[i / 10 for i in range(1, 60)])["code"], "simulation-too-large")

    def of_the_past(self, jobs):
        """A simulation of so many: a job has ended a little before it can be read as one of the past."""
        wanted = {"trace": {"history_days": 2}, "policies": [{"name": "fifo"}]}

        def ask():
            made = json.loads(self.lab.request("POST", "/api/v1/simulations", wanted)[2])
            return made if made.get("jobs") == jobs else None

        return until(ask, 20, f"a past of {jobs} jobs")

    def test_a_trace_of_ones_own_and_the_clusters_own_past(self):
        done = self.ended(self.ask(trace={"csv": TRACE}, policies=[{"name": "sjf"}]))
        self.assertEqual((done["jobs"], done["gpus"], done["results"][0]["jobs"]), (40, 16, 40))
        self.assertEqual(self.ask(expect=422, trace={"history_days": 2})["code"], "trace-empty")
        jobs = [self.lab.submit("sleep 0.31", gpus=n) for n in (1, 2)]
        for job in jobs:
            self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        done = self.ended(self.of_the_past(len(jobs)))
        self.assertEqual((done["jobs"], done["gpus"]), (2, 4))  # on the servers that are here
        self.assertAlmostEqual(done["results"][0]["avg_jct_s"], 0.35, delta=0.3)

    def test_arrays_of_the_past_stay_arrays_and_what_came_after_them_comes_after_them(self):
        lab = self.lab
        first = lab.submit("sleep 0.31")
        array = lab.submit("sleep 0.32", array="3-6", max_running=2, after=[first])
        last = lab.submit("sleep 0.33", gpus=2, after=[array], after_any=[first])
        self.assertEqual(lab.finished(last)["state"], "succeeded")
        done = self.ended(self.of_the_past(6))
        rows = list(csv.DictReader(io.StringIO((lab.folder / "controller" / "simulations" / str(done["id"]) / "trace.csv").read_text())))
        self.assertEqual([(row["array"], row["max_running"], row["after"]) for row in rows], [("", "", "")] + [(str(array), "2", str(first))] * 4 + [("", "", f"{array}|{first}")])
        jobs = {row["job_id"]: row for row in lab.get(f"/api/v1/simulations/{done['id']}/jobs")["items"]}
        times = [(jobs[row["job_id"]]["start_s"], jobs[row["job_id"]]["finish_s"]) for row in rows]
        self.assertGreaterEqual(min(start for start, _ in times[1:5]), times[0][1])
        self.assertGreaterEqual(times[3][0], min(finish for _, finish in times[1:3]), "two at a time")
        self.assertGreaterEqual(times[5][0], max(finish for _, finish in times[:5]))

    def test_what_is_wrong_is_said_and_changes_nothing(self):
        for expected, body in (
                ("unknown-workload", {"trace": {"workload": "poison"}}), ("bad-trace", {"trace": {}}), ("bad-trace", {"trace": {"csv": TRACE, "history_days": 1}}),
                ("bad-servers", {"trace": POISSON, "servers": "/etc/hosts"}), ("bad-servers", {"trace": POISSON, "servers": "4x400"}), ("bad-servers", {"trace": POISSON, "servers": ""}),
                ("trace-columns", {"trace": {"csv": "a,b\n1,2\n"}}), ("trace-row", {"trace": {"csv": TRACE + "x,1,y,2\n"}}), ("trace-empty", {"trace": {"csv": TRACE.splitlines()[0] + "\n"}}),
                ("bad-policies", {"trace": POISSON, "policies": []}), ("bad-policies", {"trace": POISSON, "policies": [{"name": name} for name in ("fifo", "sjf", "srtf", "sgf", "edf")]}),
                ("bad-policies", {"trace": POISSON, "policies": [{"name": "fifo"}, {"name": "FIFO"}]}), ("unknown-parameter", {"trace": POISSON, "policies": [{"name": "fifo", "parameters": {"x": 1}}]}),
                ("bad-parameter", {"trace": {"workload": "poisson", "parameters": {"jobs": "5,load=2"}}}), ("bad-parameter", {"trace": POISSON, "seeds": 11}), ("bad-parameter", {"trace": POISSON, "jobs": 0}),
                ("unknown-parameter", {"trace": {"workload": "poisson", "parameters": {"jebs": 5}}}), ("simulation-too-large", {"trace": {"workload": "poisson", "parameters": {"jobs": 300000}}, "seeds": 10}),
                ("unknown-key", {"trace": POISSON, "sedes": 1})):
            answer = self.ask(expect=422, **body)
            self.assertEqual(answer["code"], expected, answer)
            self.assertTrue(answer["hints"], answer)
        # One that would need all memory ends alone.
        answer = self.ask(expect=422, trace={"workload": "poisson", "parameters": {"jobs": 50000000}})
        self.assertEqual(answer["code"], "simulation-limit", answer)
        self.assertEqual(self.ask(expect=404, trace=POISSON, policies=[{"name": "./mine.py"}])["code"], "unknown-policy")
        self.assertEqual(self.lab.get("/api/v1/simulations")["items"], [])
        folder = self.lab.folder / "controller" / "simulations"
        until(lambda: not folder.exists() or not any(folder.iterdir()), 20, "nothing to be left")

    def test_a_long_one_is_stopped_with_its_process_and_never_delays_the_controller(self):
        # An order of magnitude more work than the others: it is still at it when it is removed.
        made = self.ask(trace={"workload": "poisson", "parameters": {"jobs": 200000, "load": 1.5}}, servers="64x8", policies=[{"name": "gandiva"}])
        other = self.ask(trace={"csv": TRACE})
        until(lambda: self.lab.get(f"/api/v1/simulations/{made['id']}")["state"] == "running", 20)
        self.assertEqual(self.lab.get(f"/api/v1/simulations/{other['id']}")["state"], "queued")
        children = until(self.children, 20)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, children[0]), 19)
        self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")
        self.assertEqual(self.lab.request("DELETE", f"/api/v1/simulations/{made['id']}")[0], 200)
        until(lambda: not pathlib.Path(f"/proc/{children[0]}").exists(), 20, "its process to be gone")
        self.assertEqual(self.ended(other)["state"], "succeeded")

    def children(self):
        return [int(child) for task in pathlib.Path(f"/proc/{self.lab.controller.pid}/task").iterdir() for child in (task / "children").read_text().split()]

    def test_one_goes_with_the_controller_and_runs_again_with_the_next(self):
        made = self.ask(trace={"workload": "poisson", "parameters": {"jobs": 20000, "load": 1.2}}, servers="16x8", policies=[{"name": "srtf"}, {"name": "tiresias"}, {"name": "gandiva"}])
        child = until(self.children, 20)[0]
        self.lab.kill(self.lab.controller)
        until(lambda: not pathlib.Path(f"/proc/{child}").exists(), 20, "its process to be gone")
        self.lab.start_controller()
        self.assertEqual(self.ended(made)["state"], "succeeded")


if __name__ == "__main__":
    unittest.main(verbosity=2)
