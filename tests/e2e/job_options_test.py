#!/usr/bin/python3
"""What a job file may ask for around its command, and what a user may do to it: set-up, servers by name and label, retries that wait, progress in its output; signals, a stop without grace."""

import datetime
import json
import re
import time
import unittest

from lab import LabTest, until


class JobOptions(LabTest):
    def refused(self, body, path="/api/v1/jobs"):
        status, _, text = self.lab.request("POST", path, body)
        self.assertGreaterEqual(status, 400, text)
        return json.loads(text)

    def events(self, job, kind):
        return [event for event in self.lab.get(f"/api/v1/jobs/{job}/events?since=0")["items"] if event["kind"] == kind]

    # ---- stops and signals ----
    STUBBORN = "trap '' TERM; echo ready; while true; do sleep 0.1; done"

    def test_a_job_that_is_cancelled_now_has_no_time_also_if_it_is_being_stopped(self):
        lab = self.lab
        jobs = [lab.submit(self.STUBBORN) for _ in range(2)]
        for job in jobs:
            until(lambda: "ready" in lab.output(job))
        lab.cli("cancel", jobs[0])
        until(lambda: lab.job(jobs[0])["state"] == "stopping")
        begin = time.monotonic()
        self.assertIn("is being stopped", lab.cli("cancel", jobs[0], "--now", "--reason", "in a hurry").stdout)
        lab.cli("cancel", jobs[1], "--now")
        self.assertEqual([lab.finished(job)["state"] for job in jobs], ["cancelled"] * 2)
        self.assertLess(time.monotonic() - begin, 15, "a stop has 30 s")
        self.assertEqual([event["text"] for event in self.events(jobs[0], "job.cancel_requested")], ["", "at once: in a hurry"])
        self.assertEqual(self.refused({"now": "yes"}, f"/api/v1/jobs/{jobs[0]}/cancel")["code"], "wrong-type")
        self.assertEqual(lab.cli("cancel", jobs[0], "--now", "--signal", "INT", check=False).returncode, 2)

    def test_another_signal_may_ask_a_job_to_end(self):
        job = self.lab.submit("trap 'echo got INT; exit 3' INT; echo ready; while true; do sleep 0.1; done")
        until(lambda: "ready" in self.lab.output(job))
        self.lab.cli("cancel", job, "--signal", "SIGINT")
        self.assertEqual(self.lab.finished(job)["state"], "cancelled")
        self.assertIn("got INT", self.lab.output(job))
        self.assertEqual(self.refused({"signal": "FOO"}, f"/api/v1/jobs/{job}/cancel")["code"], "bad-signal")

    def test_a_signal_reaches_the_job_and_means_nothing_else(self):
        lab = self.lab
        job = lab.submit("trap 'echo got USR1' USR1; echo ready; while true; do sleep 0.1; done")
        until(lambda: "ready" in lab.output(job))
        self.assertIn("gets the signal USR1", lab.cli("signal", job, "SIGUSR1").stdout)
        until(lambda: "got USR1" in lab.output(job))
        self.assertEqual(lab.job(job)["state"], "running")
        self.assertEqual([event["text"] for event in self.events(job, "job.signal_requested")], ["USR1"])
        lab.cli("signal", job, "KILL")
        ended = lab.finished(job)
        self.assertEqual((ended["state"], ended["failure"]["kind"]), ("failed", "signal"))
        self.assertEqual(lab.cli("signal", job, "USR1", check=False).returncode, 5)
        waits = lab.submit("true", hold=True)
        self.assertEqual(self.refused({"signal": "USR1"}, f"/api/v1/jobs/{waits}/signal")["code"], "job-not-running")
        self.assertEqual(self.refused({}, f"/api/v1/jobs/{waits}/signal")["code"], "bad-signal")

    def test_a_line_goes_on_after_a_signal_that_its_command_has_handled(self):
        lab = self.lab
        for signal, handler, rest, state, code in (("USR1", ":", "; echo evaluates", "succeeded", 0), ("TERM", ":", "; echo evaluates; exit 4", "failed", 4),
                                                   ("TERM", "exit 0", "", "succeeded", 0), ("TERM", "exit 3", "; echo evaluates", "failed", 3)):
            go = lab.folder / "go"
            go.unlink(missing_ok=True)
            # The signal ends a sleep, too: without `true` that may be the status of the loop.
            job = lab.submit(f"sh -c 'trap \"{handler}\" {signal}; echo ready; until [ -e go ]; do sleep 0.05; done; true'" + rest)
            after = lab.submit("true", after=[job])
            until(lambda: "ready" in lab.output(job))
            lab.cli("signal", job, signal)
            go.touch()
            ended = lab.finished(job)
            self.assertEqual((ended["state"], ended["exit"]["code"], "evaluates" in lab.output(job)), (state, code, bool(rest) and code != 3), (signal, handler, rest))
            self.assertEqual(lab.finished(after)["state"], state)
        ended = lab.finished(lab.submit("(sleep 0.2; kill -TERM $$) & sleep 1; echo rest; exit 5"))
        self.assertEqual((ended["state"], ended["exit"]["code"], lab.output(ended["id"])), ("failed", 5, "rest\n"))

    # ---- set-up ----
    def test_a_set_up_runs_before_the_command_in_its_shell(self):
        lab = self.lab
        job = lab.submit(["/usr/bin/env"], setup=["cd /tmp", "export FOUND='a b'", "echo set up"])
        self.assertEqual(lab.finished(job)["state"], "succeeded", lab.output(job))
        said = lab.output(job).splitlines()
        self.assertEqual(said[0], "set up")
        self.assertTrue({"FOUND=a b", "PWD=/tmp"} <= set(said), said)
        self.assertFalse([line for line in said if line.startswith("schedulearn_")])
        many = lab.submit("echo rank $RANK $FOUND", launch="ranks", gpus=2, setup="export FOUND=here; echo once")
        self.assertEqual(lab.finished(many)["state"], "succeeded", lab.output(many))
        self.assertEqual(sorted(lab.output(many).splitlines()), ["once", "rank 0 here", "rank 1 here"])

    def test_a_set_up_that_fails_is_the_failure(self):
        lab = self.lab
        for line in "false | true", "exit 7", "(exit 7)":
            job = lab.submit("echo never", setup=["true", line])
            ended = lab.finished(job)
            self.assertEqual((ended["state"], ended["failure"]["kind"]), ("failed", "setup"), line)
            self.assertIn("line 2 of its set-up", ended["failure"]["message"])
            self.assertIn(line, ended["failure"]["message"])
            self.assertNotIn("never", lab.output(job))
        own = lab.finished(lab.submit("exit 7", setup="true"))
        self.assertEqual(own["failure"]["kind"], "exit")
        hostile = lab.finished(lab.submit('mkfifo "${SCHEDULEARN_ERROR_FILE%/error}/tmp/.failed-setup" && exit 7', setup="true"))
        self.assertEqual(hostile["failure"]["kind"], "exit", "its agent does not wait for who writes to a pipe")
        stopped = lab.submit("true", setup="echo ready; sleep 90.0641")
        until(lambda: "ready" in lab.output(stopped))
        lab.cli("cancel", stopped)
        self.assertEqual(lab.finished(stopped)["state"], "cancelled")
        self.assertEqual(self.refused({"command": "true", "setup": [""]})["code"], "bad-setup")

    # ---- where ----
    def test_a_job_runs_on_the_servers_it_names(self):
        lab = self.lab
        lab.start_another_agent("far", 2, "--label", "rack=b", "--label", "gpu=slow")
        self.assertEqual(lab.get("/api/v1/servers/far")["labels"], {"rack": "b", "gpu": "slow"})
        self.assertIn("rack=b", lab.cli("servers", "show", "far").stdout)
        where = lambda *flags: lab.finished(int(lab.cli("submit", "-q", *flags, "--", "true").stdout))["placement"][0]["server"]
        self.assertEqual([where("--on", "far"), where("--on", "rack=b"), where("--not-on", "far"), where("--not-on", "rack=b,gpu5")], ["far", "far", "lab", "lab"])
        refused = self.refused({"command": "true", "resources": {"on": ["rack=c"]}})
        self.assertEqual(refused["code"], "resources-unsatisfiable")
        self.assertIn("name or a label", refused["detail"])
        self.assertEqual(self.refused({"command": "true", "gpus": 3, "resources": {"on": "far"}})["code"], "resources-unsatisfiable")
        self.assertEqual(self.refused({"command": "true", "resources": {"not_on": ["a b"]}})["code"], "bad-servers")
        blocker = lab.submit("sleep 90.0642", gpus=2, resources={"on": ["far"]})
        until(lambda: lab.job(blocker)["state"] == "running")
        waits = lab.submit("true", resources={"on": ["rack=b"]})
        until(lambda: lab.job(waits)["reason"])
        verdicts = {each["server"]: each for each in lab.get(f"/api/v1/jobs/{waits}/explain")["servers"]}
        self.assertEqual((verdicts["lab"]["fits"], verdicts["lab"]["text"]), (False, "the job may run on rack=b"))
        self.assertEqual(lab.job(waits)["state"], "pending", "though lab has four free GPUs")
        self.assertEqual({job["id"] for job in lab.get("/api/v1/jobs?server=far&state=running")["items"]}, {blocker})
        lab.cli("cancel", blocker, "--now")
        self.assertEqual(lab.finished(waits)["placement"][0]["server"], "far")

    def test_a_label_of_a_server_is_a_name_and_a_value(self):
        bad = self.lab.cli("agent", "run", "--join", self.lab.url, "--data", self.lab.folder / "bad", "--label", "rack", check=False)
        self.assertIn("[bad-label]", bad.stderr)

    # ---- retries, progress, what a job finds ----
    def test_a_retry_waits(self):
        lab = self.lab
        job = lab.submit(f"date +%s.%N >> {lab.folder}/starts; exit 1", retry={"max": 1, "on": ["exit"], "backoff": "2s"})
        until(lambda: lab.job(job)["state"] == "held")
        self.assertIn("is tried again at", lab.job(job)["reason"]["text"])
        lab.finished(job)
        first, second = map(float, (lab.folder / "starts").read_text().split())
        self.assertGreaterEqual(second - first, 2)

    def test_progress_is_read_from_the_output(self):
        lab = self.lab
        job = lab.submit(r"for i in 1 2 3; do printf 'epoch %s/3 loss 0.5\r' $i; sleep 0.4; done; echo; sleep 90.0643", progress={"pattern": "epoch {done}/{total}"})
        until(lambda: (lab.job(job)["progress"] or {}).get("step") == 3)
        self.assertEqual(lab.job(job)["progress"]["steps"], 3)
        lab.cli("cancel", job, "--now")

    def test_a_job_finds_its_hosts_and_when_its_time_is_over(self):
        lab = self.lab
        job = lab.submit("cat $SCHEDULEARN_HOSTFILE; echo $SCHEDULEARN_TIME_LIMIT_AT $SCHEDULEARN_CHECKPOINT_EVERY_S", gpus=2, time_limit_s=3600, checkpoint={"every": "5m"})
        lab.finished(job)
        hosts, rest = lab.output(job).splitlines()
        self.assertEqual(hosts, "127.0.0.1 slots=2")
        at, every = rest.split()
        left = datetime.datetime.fromisoformat(at.replace("Z", "+00:00")) - datetime.datetime.now(datetime.timezone.utc)
        self.assertTrue(3500 < left.total_seconds() <= 3600, at)
        self.assertEqual(every, "300")

    # ---- the rest of REST and the command line ----
    def test_jobs_and_events_are_found_by_label_server_and_time(self):
        lab = self.lab
        jobs = [lab.submit("true", labels=labels, name=f"find-{i}") for i, labels in enumerate(({"team": "a"}, {"team": "b", "odd": "x=y"}, {}))]
        for job in jobs:
            lab.finished(job)
        for _ in range(2):  # of memory, then of the database
            ids = lambda query: [job["id"] for job in lab.get(f"/api/v1/jobs?{query}")["items"]]
            self.assertEqual([ids("label=team"), ids("label=team=b"), ids("label=odd=x=y"), ids("label=none"), ids("server=lab"), ids("server=far")], [[jobs[1], jobs[0]], [jobs[1]], [jobs[1]], [], jobs[::-1], []])
            second = lab.job(jobs[1])["created_at"]
            self.assertEqual([ids(f"since={second}"), ids(f"until={second}")], [[jobs[2], jobs[1]], [jobs[0]]])
            self.assertEqual(lab.get("/api/v1/jobs?label=team&limit=1")["total"], 2)
            lab.kill(lab.controller)
            lab.start_controller()
        at = self.events(jobs[1], "job.submitted")[0]["at"]
        self.assertGreaterEqual(min(event["at"] for event in lab.get(f"/api/v1/events?since={at}")["items"]), at)
        self.assertLess(max(event["at"] for event in lab.get(f"/api/v1/events?until={at}&limit=10000")["items"]), at)
        self.assertTrue(all(event["server"] == "lab" for event in lab.get("/api/v1/events?server=lab&since=0")["items"]))
        for query in "since=yesterday", "until=5x", "label=%22", "label==a":
            self.assertEqual(json.loads(lab.request("GET", f"/api/v1/jobs?{query}")[2])["code"], "bad-parameter", query)
        attempts = lab.get(f"/api/v1/jobs/{jobs[0]}/attempts")
        self.assertEqual((attempts["items"], attempts["total"]), (lab.job(jobs[0])["attempts"], 1))

    def test_an_output_is_followed_from_its_last_lines_on(self):
        lab = self.lab
        job = lab.submit("for i in 1 2 3 4; do echo line $i; done; printf 'caf\\351 5\\n'; echo go; touch ready; while [ ! -e go ]; do sleep 0.1; done; echo last")
        until((lab.folder / "ready").exists)
        (lab.folder / "go").touch()
        said = lab.cli("logs", "-f", job, "--tail", "3").stdout
        self.assertTrue(said.endswith("last\n"), said)
        self.assertEqual(lab.finished(job)["state"], "succeeded")
        self.assertEqual(lab.cli("logs", "-f", job, "--tail", "2").stdout, "go\nlast\n")
        self.assertEqual(lab.cli("logs", "-f", job, "--tail", "0").stdout, "")
        self.assertEqual(lab.cli("logs", "-f", job, "--tail", "99").stdout.count("\n"), 7)

    def test_verbose_says_what_is_asked_and_no_secret(self):
        lab = self.lab
        said = lab.cli("ls", "-v").stderr
        self.assertRegex(said, r"(?m)^> GET \S+/api/v1/jobs\?.*\n< 200, [0-9.]+ ms, request \S+$")
        self.assertNotIn("items", said)
        self.assertIn('"items"', lab.cli("ls", "--debug").stderr)
        (lab.folder / "key").write_text("hush-4114")
        self.assertNotIn("hush-4114", lab.cli("secret", "set", "k", "--file", lab.folder / "key", "--debug").stderr)

    def test_a_what_if_looks_as_far_as_it_is_told(self):
        lab = self.lab
        lab.submit("sleep 90.0644", gpus=4, estimate_s=7200)
        for _ in range(3):
            lab.submit("true", gpus=4, estimate_s=7200)
        wanted = {"policies": [{"name": "sjf"}]}
        ask = lambda more: json.loads(lab.request("POST", "/api/v1/policy/try", {**wanted, **more})[2])["policies"][0]
        whole, near = ask({}), ask({"horizon_s": 3600})
        self.assertGreater(whole["makespan_s"], 7200)
        self.assertLessEqual(near["makespan_s"], 3600.001)
        self.assertLess(near["avg_jct_s"], whole["avg_jct_s"])
        self.assertAlmostEqual(near["gpu_allocation_pct"], 100, delta=1)
        self.assertEqual(self.refused({**wanted, "horizon_s": 0}, "/api/v1/policy/try")["code"], "bad-horizon")
        self.assertIn("look 1h 00m ahead", lab.cli("policy", "try", "sjf", "--horizon", "1h").stdout)

    def test_a_server_leaves_once_its_agent_has_ended(self):
        lab = self.lab
        lab.start_another_agent("far", 2)
        self.assertEqual(lab.cli("agent", "leave", "--name", "far", check=False).returncode, 5)
        lab.kill(lab.more_agents[0])
        until(lambda: lab.get("/api/v1/servers/far")["state"] == "down")
        self.assertIn("not part of the cluster", lab.cli("agent", "leave", "--name", "far").stdout)
        self.assertEqual([server["name"] for server in lab.get("/api/v1/servers")["items"]], ["lab"])


if __name__ == "__main__":
    unittest.main()
