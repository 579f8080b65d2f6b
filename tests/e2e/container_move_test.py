"""A training in a container goes from a server with Podman to one with Docker."""

import json
import pathlib
import re
import shutil
import unittest

import engines
from lab import Lab, until
from on_an_engine import USER, WITH_USR, run_suite, start_or_skip, until_engines_are_found


class BetweenEnginesTest(unittest.TestCase):
    """A server with Podman and one with Docker."""

    def test_gandiva_moves_a_training_from_one_engine_to_the_other_and_its_losses_stay(self):
        image = WITH_USR
        sockets = {}
        for engine_class in (engines.Podman, engines.Docker):
            engine = start_or_skip(engine_class)
            self.addCleanup(engine.close)
            engine.import_image(image, engines.host_files())
            sockets[engine.name] = str(engine.socket)
        lab = Lab(gpus=4)
        self.addCleanup(lab.__exit__)
        lab.folder.chmod(0o755)
        shared = lab.folder / "shared"
        shared.mkdir()
        for source in (pathlib.Path(__file__).parents[2] / "examples").glob("*.py"):
            shutil.copy(source, shared)
        shared.chmod(0o777)
        allowed = [word for folder in (shared, "/usr", "/etc/alternatives") for word in ("--allow-mount", str(folder))]
        lab.start_controller()
        lab.start_agent("--container-socket", sockets["podman"], *allowed)
        lab.start_another_agent("other", 4, "--container-socket", sockets["docker"], *allowed)
        until_engines_are_found(lab)
        servers = {server["name"]: server["container_engine"].split()[0] for server in lab.get("/api/v1/servers")["items"]}
        self.assertEqual({"lab": "podman", "other": "docker"}, servers)

        def train(**more):  # its checkpoint goes with it from server to server
            keys = {"command": "/usr/bin/python3 fashion_mlp.py --epochs 16", "workdir": str(shared), "time": {"estimate": "1h"}, "checkpoint": {"dir": ""}, **more}
            status, _, text = lab.request("POST", "/api/v1/jobs", keys)
            self.assertEqual(201, status, text)
            return json.loads(text)["id"]

        def output(job):
            return "".join(lab.request("GET", f"/api/v1/jobs/{job}/logs?attempt={attempt}")[2] for attempt in range(1, lab.job(job)["attempt"] + 1))

        plain = train()
        self.assertEqual("succeeded", lab.finished(plain, 240)["state"], output(plain))

        # The first that waits fills the training's server, the second the other beside the one that stays.
        moved = train(image=image, mounts=["/usr", "/etc/alternatives"], user=USER)
        until(lambda: lab.job(moved)["state"] == "running", 60, "the training")
        wait = f"while [ ! -e {shared}/go ]; do sleep 0.05; done"
        waiting = [lab.submit(wait, gpus=3) for _ in range(2)]
        stays = lab.submit(f"while [ ! -e {shared}/end ]; do sleep 0.05; done", gpus=1, preemptible=False, migratable=False)
        until(lambda: lab.job(stays)["state"] == "running")
        began, other = (lab.job(job)["placement"][0]["server"] for job in (moved, stays))
        self.assertNotEqual(began, other)
        until(lambda: "epoch 1/16" in output(moved), 60, "an epoch")
        lab.cli("policy", "set", "gandiva", "--param=restart_cost_s=1", "--param=slice_s=1")
        (shared / "go").touch()
        self.assertEqual(["succeeded"] * 2, [lab.finished(job)["state"] for job in waiting])
        wide = lab.submit("true", gpus=4)
        self.assertEqual("succeeded", lab.finished(wide)["state"])
        until(lambda: lab.job(moved)["attempt"] == 2 and "continues after" in output(moved), 60, "its going on")
        lab.cli("migrate", moved, "--to", began)
        ended = lab.finished(moved, 240)
        (shared / "end").touch()
        self.assertEqual("succeeded", ended["state"], output(moved))
        self.assertEqual([began, other, began], [attempt["server"] for attempt in ended["attempts"]])
        self.assertEqual(2, ended["migrations"])
        self.assertEqual(2, [event["kind"] for event in lab.get(f"/api/v1/jobs/{moved}/events")["items"]].count("job.checkpoint_copied"))
        losses = {job: re.findall(r"^epoch (\d+)/16 +loss ([0-9.]+) +accuracy ([0-9.]+)", output(job), re.M) for job in (plain, moved)}
        self.assertEqual(16, len(losses[plain]))
        self.assertEqual(losses[plain], losses[moved])


if __name__ == "__main__":
    run_suite()
