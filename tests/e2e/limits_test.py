"""What jobs ask for is the limit of what they get, as far as the server can see to it; and where it cannot, it says so."""

import os
import pathlib
import re
import signal
import unittest

from lab import Lab, until

HOG = "python3 -c 'x = bytearray(300 << 20); print(\"survived\")'"
V1 = pathlib.Path("/sys/fs/cgroup/memory")


def groups_of(pid):
    return pathlib.Path(f"/proc/{pid}/cgroup").read_text()


class LimitsTest(unittest.TestCase):
    def setUp(self):
        self.lab = Lab(gpus=2)
        self.lab.__enter__()
        self.addCleanup(self.lab.__exit__)
        self.enforces = self.lab.get("/api/v1/servers/lab")["enforces"]

    def need(self, *names):
        missing = set(names) - set(self.enforces)
        if missing:
            self.skipTest(f"not enforced here: {missing}: {self.lab.get('/api/v1/servers/lab')['cannot_enforce']}")

    def groups_left_by(self, job):
        """Other labs on this machine have jobs of the same number."""
        keys = [path.name for path in (self.lab.folder / "agent" / "attempts").glob(f"{job}.*")]
        return [str(path) for key in keys for path in pathlib.Path("/sys/fs/cgroup").glob(f"**/schedulearn-*/{key}")]

    def running(self, job):
        return until(lambda: self.lab.job(job)["state"] == "running" and self.lab.job(job)["placement"][0]["pid"], what=f"job {job}")

    def test_a_job_over_its_memory_fails_and_says_what_it_asked_for_and_had(self):
        self.need("memory")
        job = self.lab.submit(HOG, resources={"memory": "64MiB"})
        other = self.lab.submit(HOG)
        ended = self.lab.finished(job)
        self.assertEqual(("failed", "out_of_memory"), (ended["state"], ended["failure"]["kind"]), ended["failure"])
        self.assertRegex(ended["failure"]["message"], r"^it wanted more memory than the 64 MiB that it asked for; it had up to 6[0-4] MiB$")
        self.assertEqual("succeeded", self.lab.finished(other)["state"], "it asked for nothing")
        message = ended["failure"]["message"]
        for command in ("show", "why"):
            self.assertIn(message, self.lab.cli(command, job).stdout)
        events = self.lab.get(f"/api/v1/jobs/{job}/events")["items"]
        self.assertIn("out_of_memory", [event["text"] for event in events if event["to"] == "failed"])
        until(lambda: not self.groups_left_by(job), what="no group of it")

    def test_out_of_memory_can_be_retried(self):
        self.need("memory")
        job = self.lab.submit(HOG, resources={"memory": "64MiB"}, retry={"max": 1, "on": ["out_of_memory"]})
        self.assertEqual(2, self.lab.finished(job)["attempt"])

    def test_each_rank_of_a_job_counts(self):
        self.need("memory")
        job = self.lab.submit("python3 -c 'x = bytearray(70 << 20); import time; time.sleep(3)'", gpus=2, launch="ranks", resources={"memory": "128MiB"})
        self.assertEqual("out_of_memory", self.lab.finished(job)["failure"]["kind"])

    def test_a_fork_bomb_harms_no_other_job(self):
        self.need("processes")
        bomb = self.lab.submit("b() { b | b & }; b; sleep 311.7", resources={"processes": 64}, gpus=1)
        self.running(bomb)
        self.assertEqual("succeeded", self.lab.finished(self.lab.submit("for i in $(seq 50); do /bin/true; done", gpus=1))["state"])
        self.lab.cli("cancel", bomb)
        self.assertEqual("cancelled", self.lab.finished(bomb)["state"])
        until(lambda: not self.groups_left_by(bomb), what="no group of it")

    def test_pinned_jobs_have_processors_of_their_own(self):
        if os.cpu_count() < 2:
            self.skipTest("one processor")
        jobs = [self.lab.submit("sleep 312.9", gpus=1, resources={"cpus": 1, "pin_cpus": True}) for _ in range(2)]
        sets = []
        for job in jobs:
            pid = self.running(job)
            sets.append(until(lambda: re.search(r"Cpus_allowed_list:\s*(\S+)", pathlib.Path(f"/proc/{pid}/status").read_text())).group(1))
        self.assertEqual(2, len(set(sets)), sets)
        self.assertIn("CPUs of its own", self.lab.cli("show", jobs[0]).stdout)
        self.assertIn("bad-resources", self.lab.request("POST", "/api/v1/jobs", {"command": "true", "resources": {"pin_cpus": True}})[2])
        self.assertIn("bad-resources", self.lab.request("POST", "/api/v1/jobs", {"command": "true", "resources": {"processes": 0}})[2])

    def test_limits_outlive_the_agent_and_the_launcher(self):
        self.need("memory")
        job = self.lab.submit("until [ -e go ]; do sleep 0.05; done; " + HOG, resources={"memory": "64MiB"}, workdir=str(self.lab.folder))
        pid = self.running(job)
        before = groups_of(pid)
        self.lab.kill(self.lab.agent)
        self.lab.start_agent()
        self.assertEqual(before, groups_of(pid))
        (self.lab.folder / "go").touch()
        ended = self.lab.finished(job)
        self.assertEqual("out_of_memory", ended["failure"]["kind"], ended["failure"])
        until(lambda: not self.groups_left_by(job), what="no group of it")

        (self.lab.folder / "go").unlink()
        job = self.lab.submit("sleep 313.1", resources={"memory": "64MiB"})
        pid = self.running(job)
        self.lab.kill_launcher()
        until(lambda: self.lab.cli("cancel", job, check=False).returncode == 0, what="the cancellation")
        self.lab.finished(job)
        until(lambda: not self.groups_left_by(job), what="no group of it")

    def test_a_shell_counts_as_its_job(self):
        self.need("memory", "processes")
        job = self.lab.submit("sleep 313.7", resources={"memory": "256MiB"})
        pid = self.running(job)
        shown = self.lab.cli("shell", str(job), "--", "cat", "/proc/self/cgroup").stdout.replace("\r", "")
        self.assertEqual([line for line in groups_of(pid).splitlines() if "schedulearn" in line], [line for line in shown.splitlines() if "schedulearn" in line])


class WithoutLimitsTest(unittest.TestCase):
    def test_a_server_that_cannot_limit_says_so_once_and_with_each_job(self):
        with Lab(gpus=1, environment={"SCHEDULEARN_CGROUPS": "off"}) as lab:
            server = lab.get("/api/v1/servers/lab")
            self.assertEqual([], server["enforces"])
            self.assertIn("SCHEDULEARN_CGROUPS forbids it", server["cannot_enforce"])
            self.assertIn("no limits on", lab.cli("servers", "ls").stdout)
            job = lab.submit(HOG, resources={"memory": "64MiB", "cpus": 1})
            shown = until(lambda: lab.job(job)["placement"] and lab.cli("show", job).stdout)
            self.assertIn("lab does not enforce memory, cpus", shown)
            self.assertEqual("succeeded", lab.finished(job)["state"])
            lab.kill(lab.agent)
            lab.start_agent()
            noted = lambda: [event for event in lab.get("/api/v1/events?limit=100")["items"] if event["kind"] == "server.limits"]
            self.assertEqual(1, len(until(noted)), noted())
            del lab.environment["SCHEDULEARN_CGROUPS"]
            lab.kill(lab.agent)
            lab.kill_launcher()
            lab.start_agent()
            until(lambda: len(noted()) == 2 or lab.get("/api/v1/servers/lab")["cannot_enforce"], what="the change")


if __name__ == "__main__":
    unittest.main()
