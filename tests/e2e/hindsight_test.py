#!/usr/bin/python3
"""Why a job waited at a moment of the past, and what let it start: the real binary, with and without a controller."""

import datetime
import json
import re
import unittest

from lab import LabTest, until


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


class HindsightTest(LabTest):
    def gate(self, name, **spec):
        """A job that ends once the test opens the gate, and runs already."""
        job = self.lab.submit(f'until [ -e "{self.lab.folder / name}" ]; do sleep 0.05; done', name=name, **spec)
        until(lambda: self.lab.job(job)["state"] == "running")
        return job

    def open(self, name):
        (self.lab.folder / name).touch()

    def then(self, job, at):
        return self.lab.get(f"/api/v1/jobs/{job}/explain?at={at}")

    def test_what_kept_a_job_waiting_and_what_let_it_start(self):
        before = now()
        wide, narrow = self.gate("wide", gpus=3), self.gate("narrow", gpus=1)
        first = self.lab.submit("true", gpus=4)
        second = self.lab.submit("true", gpus=1)
        full = now()
        self.open("narrow")
        self.lab.finished(narrow)
        room = now()
        self.open("wide")
        self.lab.finished(second)
        over = now()

        told = self.then(first, full)
        self.assertEqual((told["verdict"], told["policy"], told["evaluated_at"]), ("waited", "fifo", full[:-4] + "Z"))
        self.assertEqual([reason["code"] for reason in told["reasons"]], ["no_free_gpus"])
        self.assertIn("it needed 4 GPUs on one server; 0 were free", told["summary"])
        self.assertEqual(told["servers"][0]["text"], f"4 short; held by jobs {wide} and {narrow}")
        self.assertRegex(told["followed"], f"^it started at .*, when job {wide} had succeeded$")
        told = self.then(second, room)
        self.assertEqual([reason["code"] for reason in told["reasons"]], ["behind_others"])
        self.assertIn(f"which was free; job {first} waited before it (policy fifo)", told["summary"])
        self.assertEqual((told["servers"][0]["free"], told["servers"][0]["fits"], told["queue_length"]), (1, True, 2))
        told = self.then(wide, full)
        self.assertEqual(told["verdict"], "had_started")
        self.assertRegex(told["summary"], f"job {wide} had been running for .* on lab \\(GPUs 0,1,2\\)$")
        self.assertRegex(told["followed"], "^it succeeded at ")
        self.assertRegex(self.then(second, over)["summary"], f"job {second} had ended: succeeded at ")

        for at, note in ((before, "had not been submitted"), ("2999-01-01T00:00:00Z", "yet to come"), ("soon", "not a time")):
            status, _, text = self.lab.request("GET", f"/api/v1/jobs/{first}/explain?at={at}")
            self.assertEqual((status, json.loads(text)["code"]), (422, "bad-time"))
            self.assertIn(note, text)

        told = self.then(first, full)
        self.lab.kill(self.lab.controller)
        text = self.lab.cli("why", first, "--at", full, "--data", self.lab.folder / "controller").stdout
        said = told["summary"] + ".\nThen " + told["followed"] + ".\n"  # with times of today in UTC
        self.assertIn(re.sub(r"(\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d) UTC", r"\2", said), text)
        self.assertIn(f"4 short; held by jobs {wide} and {narrow}", text)

    def test_dependencies_times_holds_and_changes_of_the_policy(self):
        gate = self.gate("gate", gpus=4)
        after = self.lab.submit("true", after=[gate])
        late = self.lab.submit("true", not_before=(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).isoformat())
        held = self.lab.submit("true", hold=True)
        at = now()
        self.assertIn(f"it was to start after job {gate}, which had not ended", self.then(after, at)["summary"])
        self.assertRegex(self.then(late, at)["summary"], "it was to start at .* or later$")
        self.assertEqual(self.then(held, at)["verdict"], "was_held")
        self.assertIn("it was held", self.then(held, at)["summary"])

        self.lab.cli("cancel", gate, "--yes")
        self.lab.finished(gate)
        narrow = self.gate("narrow", gpus=1)
        wide, passing = self.lab.submit("true", gpus=4), self.gate_without_waiting("passing")
        at = now()
        self.lab.cli("policy", "set", "fifo_first_fit", "--yes")
        until(lambda: self.lab.job(passing)["state"] == "running")
        self.assertRegex(self.then(passing, at)["followed"], "when the policy became fifo_first_fit$")
        self.assertEqual(self.then(passing, at)["policy"], "fifo")
        self.assertIn(str(wide), self.then(passing, at)["summary"])
        self.assertIn(str(narrow), self.then(wide, at)["servers"][0]["text"])
        self.assertNotIn("changed later", self.then(wide, at)["summary"])
        self.lab.cli("set", wide, "--gpus", 3)
        self.assertRegex(self.then(wide, at)["summary"], r"It was changed later \(gpus 4 → 3 at [0-9:]+ UTC\); what it needed is taken as it is now$")

    def gate_without_waiting(self, name):
        return self.lab.submit(f'until [ -e "{self.lab.folder / name}" ]; do sleep 0.05; done', name=name)


if __name__ == "__main__":
    unittest.main()
