#!/usr/bin/python3
"""Servers that fail jobs, and servers that are gone for good."""

import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import unittest

from lab import PROGRAM, Lab, LabTest, until


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


class JoinTest(LabTest):
    def test_a_server_joins_once_and_its_agent_runs_from_then_on(self):
        lab, data = self.lab, self.lab.folder / "joined"
        refused = lab.cli("agent", "run", "--data", data, "--simulate", 1, check=False)
        self.assertEqual((refused.returncode, "[not-joined]" in refused.stderr), (3, True), refused.stderr)
        self.assertIn(f"schedulearn agent join URL --data {data}", refused.stderr)
        said = lab.cli("agent", "join", lab.url.removeprefix("http://") + "/", "--data", data, "--name", "new").stdout
        self.assertIn(f"schedulearn agent run --data {data}", said)
        self.assertEqual(json.loads((data / "joined.json").read_text()), {"url": lab.url, "name": "new", "token_file": ""})
        self.assertEqual([each.name for each in data.iterdir()], ["joined.json"], "no token is needed here, and none is kept")
        agent = lab._daemon("new", "agent", "run", "--data", str(data), "--simulate", "1")
        lab.more_agents.append(agent)
        until(lambda: (lab.try_get("/api/v1/servers/new") or {}).get("state") == "up")
        self.assertEqual(lab.cli("agent", "leave", "--data", data, check=False).returncode, 5, "its agent runs")
        self.assertTrue((data / "joined.json").exists())
        lab.kill(agent)
        until(lambda: lab.get("/api/v1/servers/new")["state"] == "down")
        lab.cli("agent", "leave", "--data", data)
        self.assertEqual(lab.request("GET", "/api/v1/servers/new")[0], 404)
        self.assertFalse((data / "joined.json").exists())
        self.assertEqual(lab.cli("agent", "leave", "--data", data, check=False).returncode, 3)

    def test_only_admins_add_servers_and_what_they_type_is_kept_for_the_agent(self):
        lab = self.lab
        lab.request("POST", "/api/v1/users", {"name": "mei"})
        new_token = lambda **of: json.loads(lab.request("POST", "/api/v1/tokens", {"name": "t", **of})[2])["token"]
        (lab.folder / "mei").write_text(new_token(user="mei") + "\n")
        refused = lab.cli("agent", "join", lab.url, "--data", lab.folder / "no", "--token-file", lab.folder / "mei", check=False)
        self.assertEqual((refused.returncode, "[admins-only]" in refused.stderr), (4, True), refused.stderr)
        self.assertEqual(lab.cli("agent", "join", "http://127.0.0.1:9", "--data", lab.folder / "no", check=False).returncode, 6)
        self.assertFalse((lab.folder / "no").exists())
        if os.getuid() != 0:
            self.skipTest("only root can be another user")
        other = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-test-"))
        self.addCleanup(shutil.rmtree, other)
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(other, nobody, -1)
        secret = new_token()
        join = lambda said: subprocess.run([PROGRAM, "agent", "join", lab.url, "--data", other / "data", "--name", "theirs"], input=said, capture_output=True, text=True, user=nobody, env={**os.environ, "HOME": str(other)}, timeout=60)
        wrong = join("nonsense\n")
        self.assertEqual((wrong.returncode, (other / "data").exists()), (4, False), wrong.stderr)
        done = join(secret + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = other / "data" / "controller-token"
        self.assertEqual((kept.read_text(), kept.stat().st_mode & 0o777), (secret + "\n", 0o600))
        self.assertNotIn(secret, done.stdout + done.stderr + (other / "data" / "joined.json").read_text())


class ChosenFromListsTest(LabTest):
    def test_servers_gpus_and_the_queue_are_listed_in_part(self):
        lab = self.lab
        lab.start_another_agent("far", 2, "--label", "rack=a")
        job = lab.submit("sleep 90.0643", gpus=1, resources={"on": ["far"]})
        until(lambda: lab.job(job)["state"] == "running")
        waits = lab.submit("true", gpus=2, resources={"on": ["far"]})
        lab.request("POST", "/api/v1/servers/lab/drain")
        names = lambda query: [server["name"] for server in lab.get(f"/api/v1/servers?{query}")["items"]]
        self.assertEqual(names("state=up"), ["far"])
        self.assertEqual((names("label=rack"), names("label=rack=a"), names("label=rack=b"), names("label=rack=a&state=down")), (["far"], ["far"], [], []))
        gpus = lambda query: [gpu["identifier"] for gpu in lab.get(f"/api/v1/gpus?{query}")["items"]]
        self.assertEqual((gpus("server=far"), gpus("condition=allocated"), gpus("server=none")), (["far-0", "far-1"], ["far-0"], []))
        self.assertEqual(lab.get("/api/v1/gpus?server=far&condition=free")["total"], 1)
        user = lab.get("/api/v1/whoami")["user"]
        self.assertIn(waits, [each["id"] for each in lab.get(f"/api/v1/queue?user={user}")["items"]])
        self.assertEqual(lab.get("/api/v1/queue?user=somebody")["total"], 0)
        for path, hint in (("servers?state=upp", "did you mean up?"), ("gpus?condition=fre", "did you mean free?"), ("servers?label==", None)):
            status, _, text = lab.request("GET", f"/api/v1/{path}")
            self.assertEqual((status, json.loads(text)["code"]), (422, "bad-parameter"), path)
            self.assertIn(hint or "", "".join(each["text"] for each in json.loads(text)["hints"]))


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
            self.assertEqual(lab.cli("servers", "rm", "old", "--confirm", "old", check=False).returncode, 5)
            lab.cli("servers", "lost", "old", "--yes")
        unsure = lab.cli("servers", "rm", "old", "--yes", "--confirm", "odl", check=False)
        self.assertEqual((unsure.returncode, "[confirmation-needed]" in unsure.stderr), (2, True), unsure.stderr)
        self.assertIn("--confirm old", unsure.stderr)
        lab.cli("servers", "rm", "old", "--confirm", "old")
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
