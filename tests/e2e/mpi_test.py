#!/usr/bin/python3
"""`launch = "mpi"`: real mpirun of Open MPI, on one server and on two; `launch = "horovod"`: the command line that horovodrun expects."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import unittest

import engines
from lab import PROGRAM, LabTest, has_torch, until

# What every rank knows, and a sum over all of them by MPI.
RANKS = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
assert (world.Get_rank(), world.Get_size()) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
total = world.allreduce(world.Get_rank())
seen = [name for name in os.environ if name.startswith("SCHEDULEARN_MPI_") and name != "SCHEDULEARN_MPI_INTERFACE"]
os.write(1, f"rank {world.Get_rank()} local {os.environ['LOCAL_RANK']} sum {total} of server {os.environ['SCHEDULEARN_SERVER_RANK']}{seen or ''}\\n".encode())
"""

# One step of a training in PyTorch whose gradients are averaged over all ranks, whoever has started them.
TORCH = """
import os, torch, torch.distributed as dist
rank, size = (int(os.environ.get(name, os.environ.get("HOROVOD_" + name.split("_")[-1]))) for name in ("RANK", "WORLD_SIZE"))
dist.init_process_group("gloo", rank=rank, world_size=size)
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
model = torch.nn.parallel.DistributedDataParallel(model)
(model(torch.tensor([[float(rank)]])) * 2).sum().backward()
os.write(1, f"rank {rank} of {size} gradient {model.module.weight.grad.item()}\\n".encode())
dist.destroy_process_group()
"""

# Counts until it is asked to stop, and takes its time over saving: each rank on its own.
SAVING = """
import os, pathlib, signal, sys, time
state = pathlib.Path(sys.argv[1]) / os.environ["RANK"]
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("rank", os.environ["RANK"], "from", state.read_text() if state.exists() else 0, flush=True)
pathlib.Path(sys.argv[1], "up-" + os.environ["RANK"]).touch()
while not asked and not (state.exists() and os.environ["SCHEDULEARN_RESUME"] == "1"):
    time.sleep(0.05)
if asked:
    time.sleep(float(sys.argv[2]) if os.environ["RANK"] == "1" else 0.1)
    state.write_text("saved")
    sys.exit(75)
"""


def has_mpi():
    return shutil.which("mpirun") and subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], capture_output=True).returncode == 0


def ranks_in(output):
    """What the ranks said, without what Open MPI notes about the machine, such as that shared memory may not be read directly."""
    return sorted(line for line in output.splitlines() if line.startswith("rank "))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connected_to(port):
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=20)
    except ConnectionRefusedError:
        return None


@unittest.skipUnless(has_mpi(), "openmpi-bin or python3-mpi4py is not installed")
class MpiTest(LabTest):
    def script(self, text):
        path = self.lab.folder / "rank.py"
        path.write_text(text)
        return f"/usr/bin/python3 {path}"

    def output(self, job, rank=0):
        return self.lab.request("GET", f"/api/v1/jobs/{job}/logs?rank={rank}")[2]

    def nothing_is_left(self):
        until(lambda: not self.lab.processes_of("mpirun") and not self.lab.processes_of("orted\x00"), what="the end of mpirun and orted")

    def test_ranks_on_one_server_compute_together(self):
        job = self.lab.submit(self.script(RANKS), gpus=3, launch="mpi")
        ended = self.lab.finished(job, limit_s=60)
        self.assertEqual(ended["state"], "succeeded", self.output(job))
        self.assertEqual(ranks_in(self.output(job)), [f"rank {rank} local {rank} sum 3 of server 0" for rank in range(3)])

    def test_ranks_on_two_servers_compute_together_and_each_server_has_its_output(self):
        self.lab.start_another_agent("b", 4)
        job = self.lab.submit(self.script(RANKS), gpus=6, servers=2, launch="mpi")
        ended = self.lab.finished(job, limit_s=60)
        outputs = [self.output(job, rank) for rank in (0, 1)]
        self.assertEqual(ended["state"], "succeeded", "\n".join(outputs))
        self.assertEqual(ranks_in(outputs[0]), [f"rank {rank} local {rank} sum 15 of server 0" for rank in range(4)])
        self.assertEqual(ranks_in(outputs[1]), [f"rank {rank} local {rank - 4} sum 15 of server 1" for rank in (4, 5)])
        self.nothing_is_left()

    def test_the_exit_code_of_a_rank_on_another_server_is_the_job_s(self):
        self.lab.start_another_agent("b", 4)
        job = self.lab.submit('if [ $RANK = 5 ]; then echo here; exit 7; fi; sleep 1237', gpus=6, servers=2, launch="mpi")
        ended = self.lab.finished(job, limit_s=60)
        self.assertEqual((ended["state"], ended["exit"]["code"]), ("failed", 7), self.output(job))
        self.assertEqual(self.output(job, 1).splitlines()[0], "here")
        until(lambda: not self.lab.processes_of("sleep\x001237"), what="the end of the other ranks")
        self.nothing_is_left()

    def test_every_rank_may_save_before_it_stops_and_the_job_goes_on(self):
        self.lab.start_another_agent("b", 2)
        state = self.lab.folder / "state"
        state.mkdir()
        job = self.lab.submit(f"{self.script(SAVING)} {state} 12", gpus=6, servers=2, launch="mpi", checkpoint={"dir": str(state)})  # 12 s: longer than mpirun waits
        until(lambda: len(list(state.glob("up-*"))) == 6, limit_s=60, what="all ranks")
        self.lab.cli("suspend", str(job))
        until(lambda: self.lab.job(job)["state"] == "held", limit_s=60)
        self.assertEqual(sorted(path.name for path in state.glob("[0-9]")), [str(rank) for rank in range(6)])
        self.nothing_is_left()
        self.lab.cli("resume", str(job))
        ended = self.lab.finished(job, limit_s=60)
        self.assertEqual(ended["state"], "succeeded", self.output(job))
        self.assertIn("from saved", self.output(job))

    def test_processes_that_were_stopped_from_outside_have_not_succeeded(self):
        state = self.lab.folder / "state"
        state.mkdir()
        job = self.lab.submit(f"{self.script(SAVING)} {state} 1", gpus=2, launch="mpi", checkpoint={"dir": str(state)})
        until(lambda: len(list(state.glob("up-*"))) == 2, limit_s=60, what="all ranks")
        os.killpg(self.lab.job(job)["placement"][0]["pid"], signal.SIGTERM)  # as when the machine shuts down
        ended = self.lab.finished(job, limit_s=60)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 2), self.output(job))

    def test_who_does_not_know_the_secret_starts_nothing(self):
        launcher = pathlib.Path(PROGRAM).with_name("schedulearn-launcher")
        port = free_port()
        environment = {**os.environ, "SCHEDULEARN_MPI_SECRET": "right", "SCHEDULEARN_TMP_DIR": str(self.lab.folder)}
        server = subprocess.Popen([launcher, "mpi", "serve", str(port)], env=environment)
        self.addCleanup(server.kill)
        made = self.lab.folder / "made"

        def ask(secret):
            with until(lambda: connected_to(port)) as connection:
                connection.sendall(f"{secret}\ntouch {made}; exit 3\n".encode())
                return connection.makefile().read()

        for wrong in ("wrong", "", "righ", "rightt", "x" * 10_000):
            try:
                self.assertEqual(ask(wrong), "")
            except ConnectionResetError:
                pass
        self.assertFalse(made.exists())
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        begun = time.monotonic()
        self.assertEqual(ask("right"), "3\n")
        self.assertLess(time.monotonic() - begun, 5, "who says nothing delays nobody")
        for connection in silent:
            connection.close()
        self.assertTrue(made.exists())
        self.assertEqual(server.wait(10), 0)

    def test_a_caller_who_says_nothing_delays_no_request_to_stop(self):
        launcher = pathlib.Path(PROGRAM).with_name("schedulearn-launcher")
        environment = {**os.environ, "SCHEDULEARN_MPI_SECRET": "right", "SCHEDULEARN_TMP_DIR": str(self.lab.folder)}
        port = free_port()
        server = subprocess.Popen([launcher, "mpi", "serve", str(port)], env=environment)
        self.addCleanup(server.kill)
        with until(lambda: connected_to(port)) as silent:
            silent.sendall(b"rig")
            server.terminate()
            self.assertEqual(server.wait(5), 128 + signal.SIGTERM)

    @unittest.skipUnless(has_torch(), "python3-torch is not installed")
    def test_pytorch_averages_gradients_over_two_servers(self):
        self.lab.start_another_agent("b", 4)
        job = self.lab.submit(self.script(TORCH), gpus=6, servers=2, launch="mpi")
        ended = self.lab.finished(job, limit_s=120)
        outputs = [self.output(job, rank) for rank in (0, 1)]
        self.assertEqual(ended["state"], "succeeded", "\n".join(outputs))
        self.assertEqual([f"rank {rank} of 6 gradient 5.0" for rank in range(6)], ranks_in("\n".join(outputs)))

    def test_without_mpirun_the_job_says_so(self):
        job = self.lab.submit("true", gpus=1, launch="mpi", env={"PATH": "/nonexistent"})
        ended = self.lab.finished(job)
        self.assertEqual((ended["state"], ended["failure"]["kind"]), ("failed", "setup"))
        self.assertIn("no such command: mpirun", ended["failure"]["message"])

    def test_what_cannot_be(self):
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "mpirun -np 2 ./a", "workdir": "/", "launch": "mpi"})
        self.assertEqual(status, 422)
        self.assertIn("leave it and its flags out of the command", text)


class HorovodTest(LabTest):
    def with_horovodrun(self):
        program = self.lab.folder / "horovodrun"
        program.write_bytes(engines.HOROVODRUN)
        program.chmod(0o755)
        return {"PATH": f"{self.lab.folder}:/usr/bin:/bin"}

    @unittest.skipUnless(has_torch(), "python3-torch is not installed")
    def test_pytorch_averages_gradients(self):
        (self.lab.folder / "rank.py").write_text(TORCH)
        job = self.lab.submit(f"/usr/bin/python3 {self.lab.folder}/rank.py", gpus=3, launch="horovod", env=self.with_horovodrun())
        ended = self.lab.finished(job, limit_s=120)
        self.assertEqual(ended["state"], "succeeded", self.lab.output(job))
        self.assertEqual([f"rank {rank} of 3 gradient 2.0" for rank in range(3)], ranks_in(self.lab.output(job)))

    def test_ranks_have_the_job_s_gpus_and_the_worst_exit_code_is_the_job_s(self):
        job = self.lab.submit("sh -c 'echo rank $HOROVOD_RANK of $HOROVOD_SIZE on $CUDA_VISIBLE_DEVICES; exit $((3 * HOROVOD_RANK))'", gpus=2, launch="horovod", env=self.with_horovodrun())
        ended = self.lab.finished(job)
        self.assertEqual(("failed", 3), (ended["state"], ended["exit"]["code"]), self.lab.output(job))
        self.assertEqual([f"rank {rank} of 2 on 0,1" for rank in range(2)], sorted(self.lab.output(job).splitlines()))

    def test_without_horovodrun_the_job_says_so(self):
        ended = self.lab.finished(self.lab.submit("true", gpus=1, launch="horovod", env={"PATH": "/nonexistent"}))
        self.assertEqual(("failed", "setup"), (ended["state"], ended["failure"]["kind"]))
        self.assertIn("no such command: horovodrun", ended["failure"]["message"])


if __name__ == "__main__":
    unittest.main()
