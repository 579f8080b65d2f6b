#!/usr/bin/python3
"""When jobs are expected to start and end, on a live cluster: what is shown, what it rests on, and how it held."""

import datetime
import glob
import json
import sys
import time
import unittest

from lab import LabTest, until


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class ForecastTest(LabTest):
    def estimate(self, job):
        return self.lab.get(f"/api/v1/jobs/{job}?fresh_ms=5000")["estimate"]

    def learn(self, name="train", seconds=0.3, runs=4):
        for _ in range(runs):
            self.lab.finished(self.lab.submit(f"sleep {seconds}", gpus=4, name=name))

    def test_nothing_known_is_said_with_what_would_give_an_estimate(self):
        job = self.lab.submit("sleep 300", gpus=4)
        behind = self.lab.submit("true", gpus=4, time_limit_s=60)
        shown = self.estimate(job)
        self.assertIsNone(shown["finish"])
        self.assertIn("--estimate", shown["text"])
        shown = self.estimate(behind)
        self.assertIsNone(shown["start"])
        self.assertIn(f"job {job}", shown["text"])
        self.assertIn("no estimate yet", self.lab.cli("why", str(behind)).stdout)

    def test_finished_runs_give_ranges_everywhere(self):
        self.learn()
        runs = self.lab.submit("sleep 0.3 && sleep 20", gpus=4, name="train", time_limit_s=8)
        waits = self.lab.submit("sleep 0.3", gpus=4, name="train-7")
        until(lambda: self.lab.job(runs)["state"] == "running")
        shown = self.estimate(waits)
        start, finish = shown["start"], shown["finish"]
        self.assertEqual(sorted(start, key=lambda k: instant(start[k])), ["p10", "p50", "p90"])
        self.assertLessEqual(instant(start["p50"]), instant(finish["p50"]))
        self.assertIn("history:", shown["basis"][0])
        self.assertIn("finished run", shown["basis_text"])
        listed = {job["id"]: job for job in self.lab.get("/api/v1/jobs")["items"]}
        self.assertIsNotNone(listed[waits]["estimate"]["start"])
        self.assertIsNone(listed[runs]["estimate"]["start"])
        self.assertIsNotNone(listed[runs]["estimate"]["finish"])
        self.assertIn("starts ~", self.lab.cli("ls").stdout)
        self.assertIn("Expected", self.lab.cli("show", str(waits)).stdout)
        why = self.lab.cli("why", str(waits)).stdout
        self.assertIn("Expected", why)
        self.assertIn(f"job {runs} frees 4 about", why)
        submitted = self.lab.cli("submit", "--gpus", "4", "--name", "train-8", "--", "sh", "-c", "sleep 0.3").stdout
        self.assertIn("finished run", submitted)

    def test_a_dry_run_says_when_it_would_start_and_end(self):
        def asked(**spec):
            status, _, text = self.lab.request("POST", "/api/v1/jobs?dry_run=true", {"command": "sleep 0.3", **spec})
            self.assertEqual(status, 200, text)
            return json.loads(text)["estimate"]

        self.learn()
        self.learn(name="sleep", runs=1)
        self.assertIn("history:", asked(gpus=4)["basis"][0], "it would be called sleep")
        shown = asked(gpus=4, name="train")
        self.assertLess(instant(shown["start"]["p90"]) - time.time(), 5)
        self.assertEqual(shown["server"], "lab")
        self.assertIn("history:", shown["basis"][0])
        runs = self.lab.submit("sleep 100", gpus=3, time_limit_s=100, name="long")
        until(lambda: self.lab.job(runs)["state"] == "running")
        shown = asked(gpus=4, name="train")
        self.assertGreater(instant(shown["start"]["p50"]) - time.time(), 2, "once the other one has ended")
        self.assertLess(instant(shown["start"]["p50"]), instant(shown["finish"]["p50"]))
        job = self.lab.submit("sleep 0.3", gpus=4, name="train")
        told = self.estimate(job)
        self.assertAlmostEqual(instant(told["start"]["p90"]), instant(shown["start"]["p90"]), delta=60)  # as was said
        after = asked(gpus=1, after=[job], name="train")
        self.assertGreaterEqual(instant(after["start"]["p50"]), instant(told["start"]["p10"]))
        self.assertIsNone(asked(gpus=1, array="0-3"))
        self.assertEqual(len(self.lab.jobs()), 5 + 2, "nothing was submitted")

    def test_what_was_shown_is_judged_and_survives_a_restart(self):
        self.learn()
        jobs = [self.lab.submit("sleep 0.3", gpus=4, name="train") for _ in range(8)]
        self.estimate(jobs[-1])
        for job in jobs:
            self.lab.finished(job)

        def judged():
            self.lab.submit("true", gpus=1, name="other")
            return sum(row["ranges"] for row in self.lab.get("/api/v1/estimates")["items"]) >= 8

        until(judged, what="judged ranges")
        before = self.lab.get("/api/v1/estimates")
        self.assertTrue(all(row["policy"] == "fifo" for row in before["items"]))
        self.assertTrue(all(row["held"] + row["early"] + row["late"] == row["ranges"] for row in before["items"]))
        self.assertIn("ranges held", self.lab.cli("estimates").stdout)
        until(lambda: not any(job["state"] in ("pending", "running", "starting") for job in self.lab.jobs()))
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        until(lambda: sum(row["ranges"] for row in self.lab.get("/api/v1/estimates")["items"]) >= 8, what="the record is back")

    def test_why_suggests_only_what_was_tried_and_helps(self):
        self.learn(seconds=0.3)
        hold = self.lab.submit("sleep 300", gpus=2, time_limit_s=300)
        job = self.lab.submit("sleep 0.3", gpus=4, name="train")
        self.estimate(job)
        found = until(lambda: self.lab.get(f"/api/v1/jobs/{job}/explain")["suggestions"], what="a suggestion")
        self.assertEqual(found[0]["patch"], {"gpus": 2})
        self.assertLess(instant(found[0]["predicted_start"]["p90"]) - time.time(), 5)
        self.assertIn(f"schedulearn set {job} --gpus 2", self.lab.cli("why", str(job)).stdout)
        self.lab.cli("set", str(job), "--gpus", "2")
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")  # as was said, long before the other one ends
        self.assertEqual(self.lab.job(hold)["state"], "running")

    def test_why_suggests_two_servers_to_a_training_that_can_be_on_two(self):
        self.lab.start_another_agent("b", 4)
        until(lambda: len(self.lab.get("/api/v1/servers")["items"]) == 2)
        for name in ("first", "second"):
            self.lab.submit("sleep 300", gpus=3, name=name, time_limit_s=300)
        job = self.lab.submit("echo $RANK", gpus=2, name="pair", launch="ranks", time_limit_s=60)
        plain = self.lab.submit("true", gpus=2, name="plain", time_limit_s=60)
        self.estimate(plain)
        answer = until(lambda: self.explained(job, {"servers": 2}), what="a suggestion of two servers")
        found = [each for each in answer["suggestions"] if each["patch"] == {"servers": 2}][0]
        self.assertIn("on up to 2 servers it starts now and ends about", found["text"])
        self.assertIsNone(self.explained(plain, {"servers": 2}), "its command would run twice")
        self.assertIn(f"schedulearn set {job} --servers 2", self.lab.cli("why", job).stdout)
        said = self.lab.cli("set", job, "--servers", 2).stdout
        self.assertIn("its GPUs may be on 2 servers", said)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")  # as was said
        self.assertEqual(len(self.lab.job(job)["placement"]), 2)

    def test_why_of_an_array_suggests_what_lets_its_last_member_end_sooner(self):
        for _ in range(4):
            self.lab.finished(self.lab.submit("sleep 0.3", gpus=1, name="train"))
        group = self.lab.submit("sleep 0.3", array="0-59", max_running=1, gpus=1, name="train")
        answer = until(lambda: self.explained(group, {"max_running": 2}), what="a suggestion for the array")
        self.assertIn("(max_running)", answer["summary"])
        found = [each for each in answer["suggestions"] if each["patch"] == {"max_running": 2}][0]
        self.assertIsNone(found["predicted_start"])
        self.assertIn("with 2 of its members at once its last member ends about", found["text"])
        self.assertLess(instant(found["predicted_finish"]["p50"]), instant(found["finish_as_it_is"]["p50"]) - 5)
        why = self.lab.cli("why", str(group)).stdout
        self.assertIn("To end sooner", why)
        self.assertIn(f"schedulearn set {group} --max-running 2", why)
        self.lab.cli("set", str(group), "--max-running", "2")
        until(lambda: self.lab.job(group)["members"]["running"] == 2, what="two members at once")
        self.assertEqual(self.lab.finished(group)["state"], "succeeded")
        self.assertLess(time.time(), instant(found["finish_as_it_is"]["p50"]))  # as was said

    def explained(self, job, patch):
        answer = self.lab.get(f"/api/v1/jobs/{job}/explain")
        return answer if any(each["patch"] == patch for each in answer["suggestions"]) else None

    def test_policies_are_tried_without_any_effect(self):
        self.learn()
        self.lab.submit("sleep 300", gpus=4, time_limit_s=300)
        long = self.lab.submit("sleep 100", gpus=4, estimate_s=1000)
        short = self.lab.submit("sleep 0.3", gpus=4, name="train", estimate_s=10)
        tried = json.loads(self.lab.cli("policy", "try", "sjf", "fifo_easy", "--json").stdout)
        self.assertEqual([row["name"] for row in tried["policies"]], ["fifo", "sjf", "fifo_easy"])
        self.assertTrue(tried["policies"][0]["in_force"])
        self.assertLess(tried["policies"][1]["avg_jct_s"], tried["policies"][0]["avg_jct_s"])
        ends = {row["job_id"]: {e["policy"]: e["finish"] for e in row["expected"]} for row in tried["jobs"]}
        self.assertLess(instant(ends[short]["sjf"]), instant(ends[short]["fifo"]))
        self.assertLess(instant(ends[long]["fifo"]), instant(ends[long]["sjf"]))
        self.assertEqual({row["job_id"]: row["name"] for row in tried["jobs"]}[short], "train")
        self.assertEqual([row["preemptions"] for row in tried["policies"]], [0, 0, 0])
        self.assertEqual([row["name"] for row in json.loads(self.lab.cli("policy", "try", "fifo", "sjf", "--json").stdout)["policies"]], ["fifo", "sjf"], "fifo is in force")
        self.assertIn("MEAN WAIT", self.lab.cli("policy", "try", "sjf").stdout)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "fifo")
        self.assertEqual(len(self.lab.get("/api/v1/policy/history")["items"]), 1)

    def test_a_policy_can_be_tried_right_before_the_switch(self):
        self.lab.submit("sleep 300", gpus=4, time_limit_s=300)
        refused = self.lab.cli("policy", "set", "sjf", "--try", check=False)
        self.assertIn("confirmation-needed", refused.stderr)
        self.assertIn("MEAN WAIT", refused.stdout)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "fifo")
        self.assertIn("bad-flag", self.lab.cli("policy", "set", "sjf", "--try", "--json", check=False).stderr)
        done = self.lab.cli("policy", "set", "sjf", "--try", "--yes").stdout
        self.assertLess(done.index("MEAN WAIT"), done.index("Policy is now sjf"))

    def test_how_many_gpus_will_be_held_is_a_series_and_a_picture(self):
        self.lab.submit("sleep 5000", gpus=1, estimate_s=4 * 3600)
        self.lab.submit("sleep 5000", gpus=2, time_limit_s=1800)
        last = self.lab.submit("sleep 5000", gpus=2, time_limit_s=1800)
        self.estimate(last)
        status, _, text = self.lab.request("GET", "/api/v1/cluster/forecast?hours=2")
        self.assertEqual(status, 200, text)
        series = json.loads(text)
        self.assertEqual(series["step_s"], 900)
        self.assertEqual(instant(series["to"]) - instant(series["from"]), 7200)
        lines = {line["labels"].get("quantile") or line["labels"]["server"]: line["values"] for line in series["series"]}
        self.assertEqual(set(lines), {"0.1", "0.5", "0.9", "lab"})
        self.assertEqual(lines["0.5"][:2], [3, 3])
        self.assertLessEqual(lines["0.9"][-1], 1, "within an hour both with a limit have ended")
        for low, middle, high in zip(lines["0.1"], lines["0.5"], lines["0.9"]):
            self.assertLessEqual(low, middle)
            self.assertLessEqual(middle, high)
        self.assertEqual(len(self.lab.get("/api/v1/cluster/forecast")["series"][0]["values"]), 97)
        picture = self.lab.folder / "ahead.svg"
        self.assertIn("Of 4 GPUs, jobs hold 3 now", self.lab.cli("plot", "ahead", "--out", str(picture)).stdout)
        self.assertIn("GPUs that jobs will hold", picture.read_text())
        self.assertEqual(self.lab.request("GET", "/api/v1/cluster/forecast?hours=25")[0], 422)

    def test_jobs_come_as_they_came(self):
        for _ in range(3):
            self.lab.finished(self.lab.submit("sleep 0.3", gpus=4, name="train"))
        self.lab.submit("sleep 30", gpus=4, name="train", time_limit_s=30)
        without = json.loads(self.lab.cli("policy", "try", "sjf", "--json").stdout)
        coming = json.loads(self.lab.cli("policy", "try", "sjf", "--with-arrivals", "--json").stdout)
        self.assertEqual((without["arrivals"], coming["arrivals"]), (0, 4))
        self.assertEqual(coming["policies"][0]["jobs"], without["policies"][0]["jobs"] + 4)
        self.assertLess(coming["policies"][0]["makespan_s"], 300)  # they come again at once, not in a day
        self.assertEqual(len(coming["jobs"]), len(without["jobs"]))
        self.assertIn("yet to come", self.lab.cli("policy", "try", "sjf", "--with-arrivals").stdout)

    def test_bad_trials_are_refused(self):
        def code(body):
            status, _, answer = self.lab.request("POST", "/api/v1/policy/try", body)
            self.assertIn(status, (400, 404, 422))
            return json.loads(answer)["code"]

        self.assertEqual(code({"policies": []}), "bad-policies")
        self.assertEqual(code({"policies": [{"name": "fifo"}] * 5}), "bad-policies")
        self.assertEqual(code({"policies": [{"name": "fifoo"}]}), "unknown-policy")
        self.assertEqual(code({"policies": [{"name": "mine", "source": "this is no Python"}]}), "policy-exception")
        self.assertEqual(code({"polices": []}), "unknown-key")
        self.assertEqual(code({}), "bad-policies")


class RecordedTest(LabTest):
    """A recording of a run with forecasts replays without them to the same decisions."""

    def test_forecasts_change_no_decision(self):
        folder = self.lab.folder / "recording"
        self.lab.kill(self.lab.controller)
        self.lab.start_controller("--record", str(folder))
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
        for policy in ("fifo", "fifo_easy", "srtf"):
            self.lab.cli("policy", "set", policy)
            jobs = [self.lab.submit("sleep 0.2", gpus=1 + i % 4, name="train", time_limit_s=30) for i in range(10)]
            self.lab.get(f"/api/v1/jobs/{jobs[-1]}?fresh_ms=3000")
            self.lab.cli("why", str(jobs[-1]))
            self.lab.cli("policy", "try", "sjf")
            for job in jobs:
                self.lab.finished(job)
        self.assertGreater(self.lab.get("/api/v1/estimates")["draws"], 0)
        self.lab.controller.terminate()
        self.lab.controller.wait()
        replay = self.lab.cli("controller", "replay", glob.glob(str(folder / "*.jsonl"))[0], "--json")
        self.assertEqual(json.loads(replay.stdout)["differences"], 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
