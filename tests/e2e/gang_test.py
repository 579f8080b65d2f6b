#!/usr/bin/python3
"""Jobs on several servers, with real processes: all servers of a job or none."""

import unittest

from lab import LabTest, has_torch, until

# Adds up the ranks over all processes, then trains a line: every process computes on its share of each batch.
TRAINING = """
import os, torch, torch.distributed as distributed
distributed.init_process_group("gloo")
rank, world = distributed.get_rank(), distributed.get_world_size()
total = torch.tensor([float(rank)])
distributed.all_reduce(total)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(7)
for step in range(20):
    x = torch.randn(16, 4, generator=generator)[rank::world]
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
os.write(1, f"rank {rank} of {world} local {os.environ['LOCAL_RANK']} sum {int(total)}\\n".encode())  # in one piece
"""

# Counts steps into its checkpoint on the first server; the others only follow.
COUNTING = """
import os, pathlib, signal, sys, time
first = os.environ["SCHEDULEARN_SERVER_RANK"] == "0"
state = pathlib.Path(os.environ["SCHEDULEARN_CHECKPOINT_DIR"]) / "steps"
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
steps = int(state.read_text()) if first and state.exists() else 0
print("from", steps, flush=True)
until = time.monotonic() + 60
while not asked and time.monotonic() < until and steps < int(sys.argv[1]):
    time.sleep(0.05)
    steps += 1
    if first:
        state.parent.mkdir(parents=True, exist_ok=True)
        new = state.with_name("new")
        new.write_text(str(steps))
        new.replace(state)
"""


class GangTest(LabTest):
    def setUp(self):
        super().setUp()
        self.lab.start_another_agent("b", 4)

    def output(self, job, rank):
        return self.lab.request("GET", f"/api/v1/jobs/{job}/logs?rank={rank}")[2]

    def events(self, job, kind):
        return [event for event in self.lab.get(f"/api/v1/jobs/{job}/events")["items"] if event["kind"] == kind]

    def state_of(self, name):
        return next(server["state"] for server in self.lab.get("/api/v1/servers")["items"] if server["name"] == name)

    def test_ranks_know_each_other_and_each_server_has_its_output(self):
        job = self.lab.submit("echo rank $RANK of $WORLD_SIZE, server $NODE_RANK of $NNODES", gpus=6, servers=2, launch="ranks")
        ended = self.lab.finished(job)
        self.assertEqual(ended["state"], "succeeded")
        lines = [sorted(self.output(job, rank).splitlines()) for rank in (0, 1)]
        self.assertEqual(lines[0], [f"rank {rank} of 6, server 0 of 2" for rank in range(4)])
        self.assertEqual(lines[1], [f"rank {rank} of 6, server 1 of 2" for rank in (4, 5)])
        self.assertEqual([attempt["server"] for attempt in ended["attempts"]], ["lab", "b"])
        self.assertIn("lab:0-3 b:0-1", self.lab.cli("ls").stdout)
        refused = self.lab.cli("logs", "--rank", "2", job, check=False)
        self.assertIn("attempt 1 of job 1 has 2 servers, numbered from 0", refused.stderr)
        self.assertIn("no-such-rank", refused.stderr)

    @unittest.skipUnless(has_torch(), "python3-torch is not installed")
    def test_torchrun_trains_over_two_servers(self):
        script = self.lab.folder / "train.py"
        script.write_text(TRAINING)
        job = self.lab.submit(f"/usr/bin/python3 {script}", gpus=5, servers=2, launch="torchrun")
        ended = self.lab.finished(job, limit_s=120)
        text = self.output(job, 0) + self.output(job, 1)
        self.assertEqual(ended["state"], "succeeded", text)
        told = sorted(line for line in text.splitlines() if line.startswith("rank"))
        self.assertEqual(told, [f"rank {rank} of 5 local {rank % 4} sum 10" for rank in range(5)])

    def test_the_first_failure_ends_the_others_and_is_the_job_s(self):
        job = self.lab.submit('if [ $NODE_RANK = 1 ]; then exit 3; fi; echo $$; sleep 117.3319', gpus=8, servers=2)
        ended = self.lab.finished(job, limit_s=30)
        self.assertEqual((ended["state"], ended["exit"]["code"], ended["failure"]["message"]), ("failed", 3, "on b: exit code 3"))
        self.assertIn("rank 1 of attempt 1: exit code 3; the others are stopped", self.events(job, "job.part_ended")[0]["text"])
        until(lambda: not self.lab.processes_of("sleep\x00117.3319"), what="the end of the other part")

    def test_a_server_that_cannot_start_its_part_starts_none(self):
        folder = self.lab.folder / "only-here"
        folder.mkdir()
        jobs = self.lab.folder / "b" / "jobs"
        jobs.rmdir()
        jobs.write_text("a file, where a folder should be")
        job = self.lab.submit(f"touch {folder}/ran-$NODE_RANK", gpus=8, servers=2)
        until(lambda: self.state_of("b") == "quarantined", what="the refusal of b")
        self.assertEqual(list(folder.iterdir()), [])
        jobs.unlink()
        jobs.mkdir()
        self.lab.cli("servers", "release", "b")
        self.assertEqual(self.lab.finished(job, limit_s=90)["state"], "succeeded")
        self.assertEqual({path.name for path in folder.iterdir()}, {"ran-0", "ran-1"})

    def test_a_job_that_loses_a_server_goes_on_elsewhere_from_its_checkpoint(self):
        script = self.lab.folder / "count.py"
        script.write_text(COUNTING)
        steps = self.lab.folder / "state" / "steps"
        job = self.lab.submit(["/usr/bin/python3", str(script), "400"], gpus=8, servers=2, checkpoint={"dir": str(steps.parent)})
        until(lambda: steps.exists() and int(steps.read_text()) > 5, what="its first steps")
        self.lab.start_another_agent("c", 4)
        self.lab.kill(self.lab.more_agents[0])
        self.lab.kill_launcher(and_jobs=True, of="b")
        until(lambda: self.state_of("b") == "down")
        before = int(steps.read_text())
        self.lab.cli("servers", "lost", "b", "--yes")
        until(lambda: self.lab.job(job)["attempt"] == 2 and self.lab.job(job)["state"] == "running", limit_s=60, what="its second attempt")
        self.assertEqual([part["server"] for part in self.lab.job(job)["placement"]], ["lab", "c"])
        until(lambda: "from" in self.output(job, 0))
        self.assertGreaterEqual(int(self.output(job, 0).split()[1]), before)

    def test_a_controller_that_was_killed_finds_all_parts_again(self):
        job = self.lab.submit("sleep 3; echo done", gpus=8, servers=2)
        until(lambda: self.lab.job(job)["state"] == "running")
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        ended = self.lab.finished(job)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1))
        self.assertEqual([self.output(job, rank) for rank in (0, 1)], ["done\n", "done\n"])

    def test_what_cannot_be(self):
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", "gpus": 2, "servers": 3})
        self.assertEqual(status, 422)
        self.assertIn("2 GPUs cannot be on 3 servers", text)
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", "gpus": 9, "servers": 3})
        self.assertIn("gpus-unsatisfiable", text)


if __name__ == "__main__":
    unittest.main()
