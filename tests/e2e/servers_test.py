#!/usr/bin/python3
"""Servers that fail jobs, and servers that are gone for good."""

import subprocess
import unittest

from lab import Lab, LabTest, until


class FullDiskTest(unittest.TestCase):
    """Three servers with two GPUs each; the disk of one, a file system of its own, is full."""

    def setUp(self):
        self.lab = Lab(gpus=2)
        self.disk = self.lab.folder / "small"
        self.disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", self.disk], capture_output=True).returncode != 0:
            self.skipTest("needs the right to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk])
        self.addCleanup(self.lab.__exit__)
        self.lab.__enter__()
        for name in ("other", "small"):
            self.lab.start_another_agent(name, 2)

    def fill(self):
        with open(self.disk / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass

    def server(self, name):
        return self.lab.get(f"/api/v1/servers/{name}")

    def kinds(self):
        return [event["kind"] for event in self.lab.get("/api/v1/events?limit=1000")["items"]]

    def test_it_fails_no_job_and_takes_part_again_once_there_is_room(self):
        lab = self.lab
        self.fill()
        jobs = [lab.submit("sleep 0.3") for _ in range(40)]
        self.assertEqual([lab.finished(job, 60)["state"] for job in jobs], ["succeeded"] * 40)
        self.assertNotIn("small", [lab.job(job)["placement"][0]["server"] for job in jobs])
        small = self.server("small")
        self.assertEqual(small["state"], "quarantined")
        self.assertIn("No space left on device", small["quarantine"]["reason"])
        self.assertIn("server.quarantined", self.kinds())
        self.assertIn("job.server_fault", self.kinds())
        status = lab.cli("status", check=False)
        self.assertEqual(status.returncode, 1)
        self.assertIn("quarantined until", status.stdout)
        self.assertIn("quarantined", lab.cli("gpus").stdout)

        lab.kill(lab.controller)  # it is not forgotten
        lab.start_controller()
        until(lambda: self.server("small")["state"] == "quarantined")

    def test_its_jobs_say_why_they_wait_and_an_admin_s_word_releases_it(self):
        lab = self.lab
        for agent in lab.more_agents[:1] + [lab.agent]:
            lab.kill(agent)
        until(lambda: self.server("lab")["state"] == self.server("other")["state"] == "down")
        self.fill()
        job = lab.submit("true")
        until(lambda: self.server("small")["state"] == "quarantined")
        why = lab.cli("why", job).stdout
        self.assertIn("small is quarantined until", why)
        self.assertIn("No space left on device", why)
        self.assertEqual(lab.cli("servers", "release", "nowhere", check=False).returncode, 3)
        (self.disk / "filler").unlink()
        lab.cli("servers", "release", "small")
        self.assertEqual(lab.finished(job)["state"], "succeeded")
        self.assertEqual(self.server("small")["state"], "up")
        self.assertEqual(lab.cli("servers", "release", "small", check=False).returncode, 5)


class GoneServerTest(LabTest):
    def test_a_dead_server_is_removed_and_status_is_well_again(self):
        lab = self.lab
        lab.start_another_agent("old", 1)
        job = lab.submit("sleep 300", gpus=1)
        until(lambda: lab.job(job)["state"] == "running")
        self.assertEqual(lab.cli("servers", "rm", "old", check=False).returncode, 5)
        lab.kill(lab.more_agents[0])
        until(lambda: lab.get("/api/v1/servers/old")["state"] == "down")
        self.assertEqual(lab.cli("status", check=False).returncode, 1)
        if lab.job(job)["placement"][0]["server"] == "old":
            self.assertEqual(lab.cli("servers", "rm", "old", check=False).returncode, 5)
            lab.cli("servers", "lost", "old", "--yes")
        lab.cli("servers", "rm", "old")
        self.assertEqual(lab.cli("status").returncode, 0)
        self.assertNotIn("old", lab.cli("gpus").stdout)
        self.assertEqual(lab.request("GET", "/api/v1/servers/old")[0], 404)
        lab.kill(lab.controller)
        lab.start_controller()
        until(lambda: lab.cli("status", check=False).returncode == 0)
        lab.start_another_agent("old", 1)
        self.assertEqual(lab.get("/api/v1/servers/old")["state"], "up")

    def test_lost_looks_at_the_server_before_it_asks(self):
        unknown = self.lab.cli("servers", "lost", "nowhere", check=False)
        self.assertEqual((unknown.returncode, "there is no server nowhere" in unknown.stderr), (3, True), unknown)
        connected = self.lab.cli("servers", "lost", "lab", check=False)
        self.assertEqual((connected.returncode, "is connected" in connected.stderr), (5, True), connected)


class ManyServersTest(LabTest):
    def test_fifty_servers_join_at_once_and_all_of_them_run_jobs(self):
        names = {f"s{number:02}" for number in range(50)}
        for name in sorted(names):
            folder = str(self.lab.folder / name)
            self.lab.more_agents.append(self.lab._daemon(name, "agent", "run", "--join", self.lab.url, "--data", folder, "--name", name, "--simulate", "2"))

        def up():
            return {server["name"] for server in self.lab.get("/api/v1/servers")["items"] if server["state"] == "up"}

        until(lambda: up() >= names)
        self.assertEqual(self.lab.get("/api/v1/cluster")["gpus"]["total"], 2 * 50 + 4)
        array = self.lab.submit("while [ ! -e all ]; do sleep 0.0607; done", gpus=2, array="1-52")
        until(lambda: self.lab.get("/api/v1/cluster")["jobs"].get("running") == 52)
        (self.lab.folder / "all").touch()
        self.assertEqual(self.lab.finished(array)["state"], "succeeded")


if __name__ == "__main__":
    unittest.main()
