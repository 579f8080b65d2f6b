#!/usr/bin/python3
"""Policies that are chosen by forecasts on a live cluster: one that follows without deciding (a shadow), and `auto`."""

import contextlib
import datetime
import glob
import json
import sqlite3
import sys
import unittest

from lab import LabTest, until


def bodies(lab):
    """A queue for four GPUs on which short jobs first saves much: a long job runs, another waits before two short ones."""
    run = lab.submit("sleep 3.0417", gpus=4, name="now", estimate_s=4)
    until(lambda: lab.job(run)["state"] == "running")
    long = lab.submit("sleep 6.0417", gpus=4, name="long", estimate_s=6)
    return [run, long, *(lab.submit("sleep 0.3417", gpus=4, name="short", estimate_s=0.4) for _ in range(4))]


class ShadowTest(LabTest):
    def shadow(self):
        return self.lab.get("/api/v1/policy/shadow")

    def latest_kept(self):
        database = sqlite3.connect(f"file:{self.lab.folder}/controller/schedulearn.db?mode=ro", uri=True)
        with contextlib.closing(database):
            (at_us,) = database.execute("SELECT max(at_us) FROM regrets").fetchone()
        return at_us and datetime.datetime.fromtimestamp(at_us / 1e6, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"

    def test_a_shadow_follows_and_its_regret_survives_a_restart(self):
        lab = self.lab
        self.assertIsNone(self.shadow()["name"])
        self.assertIn("No policy follows", lab.cli("policy", "shadow").stdout)
        self.assertIn("sjf follows", lab.cli("policy", "shadow", "sjf").stdout)
        until(lambda: lab.get("/api/v1/events?limit=50")["items"][-1]["kind"] == "policy.shadow", what="the event")
        for job in bodies(lab):
            self.assertEqual(lab.finished(job)["state"], "succeeded")
        found = until(lambda: (self.shadow()["latest"] or {}).get("jobs", 0) >= 5 and self.shadow()["latest"], what="a regret of all jobs")
        # Four short jobs would have ended about six seconds earlier, the long one a second and a half later.
        found = until(lambda: self.shadow()["latest"]["mean_s"] > 2 and self.shadow()["latest"], what="short jobs first would be better")
        self.assertEqual((found["in_force"], found["shadow"]), ("fifo", "sjf"))
        self.assertAlmostEqual(found["in_force_s"] - found["shadow_s"], found["mean_s"], 3)
        self.assertLessEqual(found["p10_s"], found["p90_s"])
        self.assertEqual(lab.get("/api/v1/policy")["name"], "fifo")
        self.assertEqual(lab.get("/api/v1/policy")["shadow"], "sjf")
        self.assertIn("policy fifo, sjf follows", lab.cli("status").stdout)
        self.assertIn("sjf follows without deciding", lab.cli("policy", "ls").stdout)
        self.assertIn("less", lab.cli("policy", "shadow").stdout)
        series = lab.get("/api/v1/policy/shadow/series?limit=50")
        mean = next(line for line in series["series"] if line["name"] == "regret_s")
        self.assertLessEqual(len(mean["values"]), 51)
        self.assertAlmostEqual([value for value in mean["values"] if value is not None][-1], self.shadow()["latest"]["mean_s"], 3)
        picture = lab.folder / "regret.svg"
        self.assertIn("What sjf would have changed", lab.cli("plot", "regret", "--out", str(picture)).stdout)
        self.assertIn("Regret per job", picture.read_text())
        ended = max(job["finished_at"] for job in lab.jobs())
        until(lambda: self.shadow()["latest"]["at"] > ended, what="what was found when nothing else happened any more")
        before = self.shadow()
        until(lambda: self.latest_kept() == before["latest"]["at"], what="nothing else happens, and it is durable")
        lab.kill(lab.controller)
        lab.start_controller()
        after = until(lambda: self.shadow()["latest"] and self.shadow(), what="what was found is back")
        self.assertEqual(after["name"], "sjf")
        self.assertEqual(after["since"], before["since"])
        self.assertGreater(after["total_s"], 0.9 * before["total_s"])
        self.assertIn("No policy follows", lab.cli("policy", "shadow", "--off").stdout)
        lab.kill(lab.controller)
        lab.start_controller()
        self.assertIsNone(self.shadow()["name"])
        self.assertIsNotNone(until(lambda: self.shadow()["latest"]))

    def test_what_cannot_follow_is_refused_and_changes_nothing(self):
        def code(body):
            status, _, answer = self.lab.request("PUT", "/api/v1/policy/shadow", body)
            self.assertIn(status, (400, 404, 422))
            return json.loads(answer)["code"]

        self.assertEqual(code({"name": "fifoo"}), "unknown-policy")
        self.assertEqual(code({"name": "fifo", "parameters": {"knob": 1}}), "unknown-parameter")
        self.assertEqual(code({"name": "mine.py", "source": "x"}), "own-shadow")
        self.assertEqual(code({"nam": "fifo"}), "unknown-key")
        self.assertIsNone(self.shadow()["name"])
        self.assertEqual(self.lab.cli("plot", "regret", check=False).returncode, 2)


class AutoTest(LabTest):
    def auto(self, **parameters):
        given = {"candidates": "fifo,sjf", "every_s": 1, "hold_s": 0, **parameters}
        status, _, text = self.lab.request("PUT", "/api/v1/policy", {"name": "auto", "parameters": given})
        self.assertEqual(status, 200, text)

    def test_the_better_policy_takes_over_and_undo_goes_back_to_what_was_chosen(self):
        lab = self.lab
        self.auto()
        self.assertEqual(lab.get("/api/v1/policy")["acting"], "fifo")
        jobs = bodies(lab)
        until(lambda: lab.get("/api/v1/policy")["acting"] == "sjf", what="sjf acts")
        newest = lab.get("/api/v1/policy/history")["items"][0]
        self.assertEqual((newest["name"], newest["by"], newest["parameters"]["acting"]), ("auto", "auto", "sjf"))
        self.assertRegex(newest["reason"], r"mean time to the end .* with sjf instead of .* with fifo, less in \d+ of \d+ futures")
        event = [event for event in lab.get("/api/v1/events?limit=100")["items"] if event["kind"] == "policy.changed"][-1]
        self.assertEqual((event["actor"]["type"], event["text"]), ("system", newest["reason"]))
        self.assertIn("sjf acts", lab.cli("status").stdout)
        self.assertIn("Acting     sjf", lab.cli("policy", "show").stdout)
        ends = {job: lab.finished(job)["finished_at"] for job in jobs}
        self.assertLess(max(ends[job] for job in jobs[2:]), ends[jobs[1]])  # the short ones went first
        lab.kill(lab.controller)
        lab.start_controller()
        self.assertEqual(lab.get("/api/v1/policy")["acting"], "sjf")
        self.assertEqual(lab.get("/api/v1/policy")["previous"], "fifo")
        lab.cli("policy", "undo")
        self.assertEqual(lab.get("/api/v1/policy")["name"], "fifo")
        self.assertIsNone(lab.get("/api/v1/policy")["acting"])

    def test_nothing_changes_before_the_time_between_changes_is_over(self):
        self.auto()
        jobs = bodies(self.lab)
        until(lambda: self.lab.get("/api/v1/policy")["acting"] == "sjf", what="sjf acts")
        changes = len(self.lab.get("/api/v1/policy/history")["items"])
        self.auto(hold_s=3600, acting="fifo", gain_pct=99)
        for job in jobs:
            self.lab.finished(job)
        self.assertEqual(len(self.lab.get("/api/v1/policy/history")["items"]), changes + 1)
        self.assertEqual(self.lab.get("/api/v1/policy")["acting"], "fifo")

    def test_bad_parameters_are_refused(self):
        def code(**parameters):
            status, _, answer = self.lab.request("PUT", "/api/v1/policy", {"name": "auto", "parameters": parameters})
            self.assertEqual(status, 422)
            return json.loads(answer)["code"]

        self.assertEqual(code(candidates="fifo,fifoo"), "bad-parameter")
        self.assertEqual(code(candidates="fifo,fifo"), "bad-parameter")
        self.assertEqual(code(candidates="auto"), "bad-parameter")
        self.assertEqual(code(objective="speed"), "bad-parameter")
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "fifo")


class RecordedTest(LabTest):
    """A recording with `auto` and a shadow replays to the same decisions, though nothing is forecast then."""

    def test_choices_are_inputs(self):
        folder = self.lab.folder / "recording"
        self.lab.kill(self.lab.controller)
        self.lab.start_controller("--record", str(folder))
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
        self.lab.cli("policy", "shadow", "srtf")
        self.lab.cli("policy", "set", "auto", "--param", "candidates=fifo,sjf", "--param", "every_s=1", "--param", "hold_s=0")
        jobs = bodies(self.lab)
        until(lambda: self.lab.get("/api/v1/policy")["acting"] == "sjf", what="sjf acts")
        for job in jobs:
            self.lab.finished(job)
        self.lab.controller.terminate()
        self.lab.controller.wait()
        replay = self.lab.cli("controller", "replay", glob.glob(str(folder / "*.jsonl"))[0], "--json")
        self.assertEqual(json.loads(replay.stdout)["differences"], 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
