#!/usr/bin/python3
"""Jobs that start after others, or not before a time: the real binary, also over restarts of the controller."""

import datetime
import json
import time
import unittest

from lab import LabTest, until

WAIT = 'until [ -e "{}" ]; do sleep 0.05; done'


def soon(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat()


class DependenciesTest(LabTest):
    def gate(self, name, then="true"):
        """A job that ends with `then` once the test opens the gate."""
        return self.lab.submit(f"{WAIT.format(self.lab.folder / name)}; {then}", name=name)

    def open(self, name):
        (self.lab.folder / name).touch()

    def reason(self, job):
        return self.lab.job(job)["reason"]

    def restart(self):
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()

    def test_a_job_starts_when_what_it_follows_has_succeeded_also_after_a_restart(self):
        first, second = self.gate("prepare"), self.gate("fetch")
        until(lambda: all(self.lab.job(job)["state"] == "running" for job in (first, second)))
        train = self.lab.submit("echo trained", after=[first, second])
        eager = self.lab.submit("echo eager", after_any=[first])
        later = self.lab.submit("echo later", after=[train])
        self.assertEqual(self.reason(train)["code"], "dependency")
        self.assertEqual(self.reason(train)["text"], f"it starts when jobs {first} (running) and {second} (running) have succeeded")
        self.restart()
        self.assertEqual(self.reason(train)["code"], "dependency")
        self.open("prepare")
        self.assertEqual(self.lab.finished(eager)["state"], "succeeded")
        self.assertEqual(self.reason(train)["text"], f"it starts when job {second} (running) has succeeded")
        why = self.lab.cli("why", train).stdout
        self.assertIn(f"job {train} waits: it starts when job {second} (running) has succeeded. Nothing is wrong with the request.", why)
        self.open("fetch")
        self.assertEqual(self.lab.finished(later)["state"], "succeeded")
        started = [self.lab.job(job)["started_at"] for job in (train, later)]
        self.assertGreaterEqual(started[0], self.lab.job(second)["finished_at"])
        self.assertGreaterEqual(started[1], self.lab.job(train)["finished_at"])

    def test_if_what_it_follows_fails_it_fails_without_starting(self):
        first = self.gate("prepare", "exit 3")
        train = self.lab.submit("echo trained", after=[first])
        report = self.lab.submit("echo report", after=[train])
        tidy = self.lab.submit("echo tidy", after_any=[train])
        self.open("prepare")
        ended = self.lab.finished(report)
        self.assertEqual((ended["state"], ended["failure"]["kind"], ended["started_at"]), ("failed", "dependency", None))
        self.assertEqual(ended["failure"]["message"], f"it was to start after job {train}, which has failed")
        self.assertEqual(self.lab.finished(tidy)["state"], "succeeded")
        listed = self.lab.cli("ls", "--plain").stdout
        self.assertIn(f"it was to start after job {first}, which has failed", listed)
        self.assertEqual(self.lab.cli("wait", train, check=False).returncode, 125)
        refused = self.lab.cli("retry", train, check=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("[dependency-failed]", refused.stderr)
        self.assertIn("--after", refused.stderr)
        (self.lab.folder / "prepare").unlink()
        again = self.gate("prepare")
        train_again = int(self.lab.cli("retry", train, "--after", again, "-q").stdout)
        self.assertEqual(self.reason(train_again)["code"], "dependency")
        self.open("prepare")
        self.assertEqual(self.lab.finished(train_again)["state"], "succeeded")
        self.lab.cli("rm", again)
        third = int(self.lab.cli("retry", train_again, "-q").stdout)
        self.assertEqual(self.lab.finished(third)["state"], "succeeded", "what has started once does not wait again for what has been removed")
        for after in ("x", "", "1-5000", "0"):
            status, _, text = self.lab.request("POST", f"/api/v1/jobs/{train}/retry?after={after}", {})
            self.assertIn(json.loads(text)["code"], ("bad-parameter", "bad-after", "dependency-not-found"), after)
        self.restart()
        self.assertEqual(self.lab.job(report)["failure"]["kind"], "dependency")

    def test_a_cancelled_job_takes_those_with_it_that_follow(self):
        first = self.gate("prepare")
        train = self.lab.submit("echo trained", after=[first])
        self.lab.cli("cancel", first)
        self.assertEqual(self.lab.finished(train)["failure"]["message"], f"it was to start after job {first}, which has been cancelled")

    def test_bad_names_are_refused_and_change_nothing(self):
        bad = self.lab.submit("exit 1", name="bad")
        good = self.lab.submit("true", name="good")
        self.lab.finished(bad), self.lab.finished(good)
        known = len(self.lab.jobs())
        for after, code, status in [({"after": [99]}, "dependency-not-found", 404), ({"after_any": [99]}, "dependency-not-found", 404), ({"after": [bad]}, "dependency-failed", 409),
                                    ({"after": ["good"]}, "bad-after", 422), ({"after": [0]}, "bad-after", 422), ({"not_before": "21:00"}, "bad-time", 422), ({"not_before": 5}, "wrong-type", 422)]:
            got, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", **after})
            self.assertEqual((got, json.loads(text)["code"]), (status, code), after)
            got, _, text = self.lab.request("POST", "/api/v1/jobs?dry_run=true", {"command": "true", "workdir": "/", **after})
            self.assertEqual((got, json.loads(text)["code"]), (status, code), after)
        self.assertEqual(len(self.lab.jobs()), known)
        after_bad = self.lab.submit("true", after=[good], after_any=[bad])
        self.assertEqual(self.lab.finished(after_bad)["state"], "succeeded")

    def test_jobs_that_only_the_database_knows_can_be_followed(self):
        bad, good = self.lab.submit("exit 1"), self.lab.submit("true")
        self.lab.finished(bad), self.lab.finished(good)
        for _ in range(1010):  # memory keeps a thousand
            last = self.lab.submit("true", hold=True)
            self.lab.request("POST", f"/api/v1/jobs/{last}/cancel", {})
        self.lab.finished(last)
        self.assertEqual(self.lab.finished(self.lab.submit("true", after=[good]))["state"], "succeeded")
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", "after": [bad]})
        self.assertEqual((status, json.loads(text)["code"]), (409, "dependency-failed"))

    def test_the_command_line_knows_names_and_local_times(self):
        first = self.gate("prepare-data")
        until(lambda: self.lab.job(first)["state"] == "running")
        said = self.lab.cli("submit", "--after", "prepare-data", "--name", "train", "--", "true").stdout
        self.assertIn(f"waits: it starts when job {first} (running) has succeeded", said)
        train = self.lab.jobs()[0]["id"]
        self.assertEqual(self.lab.jobs()[0]["spec"]["after"], [first])
        shown = self.lab.cli("show", train).stdout
        self.assertRegex(shown, rf"After +{first}\n")
        unknown = self.lab.cli("submit", "--after", "nobody", "--", "true", check=False)
        self.assertIn("there is no job nobody [job-not-found]", unknown.stderr)
        self.lab.cli("submit", "--not-before", "2h", "--after-any", f"{first},{train}", "--", "true")
        spec = self.lab.jobs()[0]["spec"]
        self.assertEqual(spec["after_any"], [first, train])
        at = datetime.datetime.fromisoformat(spec["not_before"].replace("Z", "+00:00")) - datetime.datetime.now(datetime.timezone.utc)
        self.assertLess(abs(at.total_seconds() - 7200), 60)
        file = self.lab.folder / "job.toml"
        file.write_text('command = "true"\nafter = ["prepare-data", "train"]\n[time]\nnot_before = 2027-01-01T00:00:00Z\n')
        self.lab.cli("submit", file)
        spec = self.lab.jobs()[0]["spec"]
        self.assertEqual((spec["after"], spec["not_before"]), ([first, train], "2027-01-01T00:00:00.000Z"))
        bad = self.lab.cli("submit", "--not-before", "tomorrow", "--", "true", check=False)
        self.assertEqual(bad.returncode, 2)
        self.assertIn("not a time: tomorrow [bad-time]", bad.stderr)
        self.open("prepare-data")

    def test_a_job_waits_for_its_time_and_keeps_nobody_waiting(self):
        begin = time.time()
        late = self.lab.submit("date +%s.%N", gpus=4, not_before=soon(4))
        self.assertEqual(self.reason(late)["code"], "not_before")
        other = self.lab.submit("true", gpus=4)
        self.assertEqual(self.lab.finished(other)["state"], "succeeded")
        self.assertEqual(self.lab.job(late)["state"], "pending")
        self.restart()
        self.lab.finished(late)
        self.assertGreaterEqual(float(self.lab.output(late)) - begin, 3.9)
        self.assertLess(float(self.lab.output(late)) - begin, 9)

    def test_a_forecast_knows_what_a_job_waits_for(self):
        first = self.lab.submit("sleep 600", time={"estimate": "30m"}, gpus=1)
        train = self.lab.submit("sleep 600", time={"estimate": "10m"}, gpus=1, after=[first])
        late = self.lab.submit("sleep 600", time={"estimate": "10m"}, gpus=1, not_before=soon(7200))

        def start(job):
            estimate = self.lab.get(f"/api/v1/jobs/{job}?fresh_ms=2000")["estimate"]
            return estimate and estimate["start"] and estimate["start"]["p10"]

        until(lambda: start(train) and start(late))
        self.assertGreaterEqual(start(train), self.lab.get(f"/api/v1/jobs/{first}?fresh_ms=2000")["estimate"]["finish"]["p10"])
        self.assertGreaterEqual(start(late), soon(7000)[:19])


if __name__ == "__main__":
    unittest.main(verbosity=2)
