#!/usr/bin/python3
"""Minutes of trouble for real daemons on three servers of one machine: kill -9 and SIGSTOP of everything, cuts, loss and delay between
hosts. Jobs hold locks while they run, so a second attempt at the same time, or two jobs on one GPU, gives itself away.

    chaos.py --seconds 60 [--seed N] [--netns]

With --netns (root) each server is a network namespace, cut by taking its link down and made lossy with nftables; without, agents reach the
controller through a proxy that delays, stalls and resets. Ends with 0 when nothing was lost and nothing ran twice."""

import argparse
import asyncio
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from lab import FINISHED, PROGRAM, Lab, free_port, until

SERVERS = 3
GPUS = 4
JOB = """#!/bin/bash
# JOB SECONDS CODE: holds a lock of the job and of its GPUs while it runs.
exec 9> "$RUNS/$1.lock"; flock -n 9 || echo "overlap of attempts" >> "$RUNS/$1.wrong"
fd=10
for gpu in ${CUDA_VISIBLE_DEVICES//,/ }; do
  eval "exec $fd> $RUNS/gpu-$SERVER-$gpu.lock"; flock -n $fd || echo "GPU $gpu of $SERVER has two jobs" >> "$RUNS/$1.wrong"
  fd=$((fd + 1))
done
echo "start $SCHEDULEARN_ATTEMPT" >> "$RUNS/$1.log"
sleep "$2"
echo "end $SCHEDULEARN_ATTEMPT $3" >> "$RUNS/$1.log"
exit "$3"
"""


class Proxy:
    """Between one agent and the controller, in a thread of its own."""

    def __init__(self, target):
        self.target, self.delay_s, self.stalled, self.connections = target, 0.0, False, set()
        self.port = free_port()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_until_complete, args=(self.serve(),), daemon=True).start()

    async def serve(self):
        server = await asyncio.start_server(self.connect, "127.0.0.1", self.port)
        await server.serve_forever()

    async def connect(self, reader, writer):
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        self.connections |= {writer, there_writer}
        await asyncio.gather(self.pump(reader, there_writer), self.pump(there_reader, writer))
        self.connections -= {writer, there_writer}

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(65536):
                await asyncio.sleep(self.delay_s)
                while self.stalled:
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    def reset(self):
        def abort():
            for writer in list(self.connections):
                writer.transport.abort()

        self.loop.call_soon_threadsafe(abort)

    def trouble(self, dice):
        kind = dice.choice(["delay", "stall", "reset"])
        if kind == "delay":
            self.delay_s = dice.uniform(0.01, 0.3)
        elif kind == "stall":
            self.stalled = True
        else:
            self.reset()
        return kind

    def heal(self):
        self.delay_s, self.stalled = 0.0, False


class Namespace:
    """A host of its own on a bridge of this machine; needs root, ip and nft."""

    bridge = "slchaos"
    network = "10.213.77."

    @classmethod
    def build(cls, count):
        cls.destroy()
        run = lambda line: subprocess.run(line.split(), check=True)
        run(f"ip link add {cls.bridge} type bridge")
        run(f"ip addr add {cls.network}1/24 dev {cls.bridge}")
        run(f"ip link set {cls.bridge} up")
        for i in range(count):
            name = f"{cls.bridge}{i}"
            run(f"ip netns add {name}")
            run(f"ip link add {name} type veth peer name eth0 netns {name}")
            run(f"ip link set {name} master {cls.bridge} up")
            run(f"ip netns exec {name} ip addr add {cls.network}{i + 2}/24 dev eth0")
            run(f"ip netns exec {name} ip link set eth0 up")
            run(f"ip netns exec {name} ip link set lo up")
            run(f"ip netns exec {name} nft add table inet f")
            run(f"ip netns exec {name} nft add chain inet f in {{ type filter hook input priority 0 ; }}")
        return [cls(i) for i in range(count)]

    @classmethod
    def destroy(cls):
        for i in range(SERVERS):
            subprocess.run(["ip", "netns", "del", f"{cls.bridge}{i}"], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", cls.bridge], stderr=subprocess.DEVNULL)

    def __init__(self, number):
        self.name = f"{self.bridge}{number}"

    def trouble(self, dice):
        kind = dice.choice(["cut", "loss"])
        if kind == "cut":
            subprocess.run(["ip", "link", "set", self.name, "down"], check=True)
        else:
            share = dice.randint(10, 60)
            subprocess.run(f"ip netns exec {self.name} nft add rule inet f in numgen random mod 100 < {share} drop".split(), check=True)
        return kind

    def heal(self):
        subprocess.run(["ip", "link", "set", self.name, "up"], check=True)
        subprocess.run(["ip", "netns", "exec", self.name, "nft", "flush", "chain", "inet", "f", "in"], check=True)


class Chaos(Lab):
    def __init__(self, seed, netns):
        super().__init__()
        self.dice = random.Random(seed)
        self.runs = self.folder / "runs"
        self.runs.mkdir()
        (self.folder / "job.sh").write_text(JOB)
        self.netns, self.agents, self.expected, self.accepted = netns, {}, {}, {}
        self.frozen = []
        self.token = self.folder / "token"
        self.token.write_text("a token of this test only\n")
        self.over = threading.Event()

    def __enter__(self):
        self.links = Namespace.build(SERVERS) if self.netns else None
        self.address = Namespace.network + "1" if self.netns else "127.0.0.1"
        self.url = f"http://{self.address}:{self.port}"
        self.start_controller()
        if not self.netns:
            self.links = [Proxy(self.port) for _ in range(SERVERS)]
        for number in range(SERVERS):
            self.start_agent(number)
        until(lambda: self.servers_up() == SERVERS, 60, "all agents")
        return self

    def __exit__(self, *_):
        self.thaw()
        for agent in self.agents.values():
            agent.kill()
            agent.wait()
        self.agent = None
        super().__exit__()
        if self.netns:
            Namespace.destroy()

    # ---- daemons ----
    def start_controller(self):
        self.controller = self._daemon("controller", "controller", "run", "--data", str(self.folder / "controller"), "--listen", f"{self.address}:{self.port}", "--token-file", str(self.token))
        until(lambda: self.try_get("/readyz"), 60, "the controller")

    def start_agent(self, number):
        within = ["ip", "netns", "exec", self.links[number].name] if self.netns else []
        url = self.url if self.netns else f"http://127.0.0.1:{self.links[number].port}"
        command = [*within, PROGRAM, "agent", "run", "--join", url, "--data", str(self.folder / f"agent{number}"), "--name", f"server{number}", "--simulate", str(GPUS), "--token-file", str(self.token)]
        with open(self.folder / f"agent{number}.log", "ab") as log:
            self.agents[number] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def request(self, method, path, body=None, headers=None):
        return super().request(method, path, body, {**(headers or {}), "Authorization": "Bearer " + self.token.read_text().strip()})

    def servers_up(self):
        servers = self.try_get("/api/v1/servers")
        return sum(server["state"] == "up" for server in servers["items"]) if servers else 0

    def launchers(self):
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if command.split(b"\0")[0].endswith(b"schedulearn-launcher") and str(self.folder).encode() in command:
                found.append(int(process.name))
        return found

    def job_processes(self):
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"job.sh" in (process / "cmdline").read_bytes() and str(self.folder).encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    # ---- clients ----
    def submit_all(self):
        number = 0
        while not self.over.is_set():
            number += 1
            code = self.dice.choice([0, 0, 0, 7])
            spec = {
                "command": ["/bin/bash", str(self.folder / "job.sh"), str(number), f"{self.dice.choice([0, 0.05, 0.5, 2, 6]):.2f}", str(code)],
                "workdir": str(self.folder), "env": {"RUNS": str(self.runs)}, "gpus": self.dice.randint(1, GPUS), "on_partition": self.dice.choice(["continue", "stop"]),
            }
            # The server's name is only known where it runs: the shell finds it from its directory.
            spec["command"] = ["/bin/bash", "-c", 'd=${SCHEDULEARN_NOTICE_FILE%/attempts/*}; SERVER=${d##*/} exec "$0" "$@"', *spec["command"]]
            while not self.over.is_set():
                try:
                    status, _, text = self.request("POST", "/api/v1/jobs", spec, {"Idempotency-Key": f"chaos-{number}"})
                except (OSError, http.client.HTTPException):
                    time.sleep(0.05)
                    continue
                if status == 201:
                    self.accepted[number], self.expected[number] = json.loads(text)["id"], code
                    break
                if status not in (409, 503):
                    raise AssertionError(f"{status} {text}")
                time.sleep(0.05)
            time.sleep(self.dice.uniform(0, 0.8))

    # ---- trouble ----
    def freeze(self, pid, seconds):
        os.kill(pid, signal.SIGSTOP)
        self.frozen.append((time.monotonic() + seconds, pid))

    def thaw(self, until_s=float("inf")):
        for item in [item for item in self.frozen if item[0] <= until_s]:
            self.frozen.remove(item)
            try:
                os.kill(item[1], signal.SIGCONT)
            except OSError:
                pass

    def one_trouble(self, freeze_s):
        dice = self.dice
        number = dice.randrange(SERVERS)
        kind = dice.choice(["kill controller", "kill agent", "kill launcher", "kill job", "stop controller", "stop agent", "stop launcher", "link", "link"])
        print(f"{time.monotonic() - self.begin:7.1f}  {kind} {number}", flush=True)
        if kind == "kill controller":
            self.thaw()
            self.kill(self.controller)
            time.sleep(dice.uniform(0, 1))
            self.start_controller()
        elif kind == "kill agent":
            self.thaw()
            self.kill(self.agents[number])
            time.sleep(dice.uniform(0, 2))
            self.start_agent(number)
        elif kind == "kill launcher" and (found := self.launchers()):
            os.kill(dice.choice(found), signal.SIGKILL)
        elif kind == "kill job" and (found := self.job_processes()):
            try:
                os.kill(dice.choice(found), signal.SIGKILL)
            except OSError:
                pass
        elif kind == "stop controller":
            self.freeze(self.controller.pid, dice.uniform(0.2, freeze_s))
        elif kind == "stop agent":
            self.freeze(self.agents[number].pid, dice.uniform(0.2, freeze_s))
        elif kind == "stop launcher" and (found := self.launchers()):
            self.freeze(dice.choice(found), dice.uniform(0.2, min(freeze_s, 4)))
        elif kind == "link":
            self.links[number].trouble(dice)

    def run(self, seconds, freeze_s):
        self.begin = time.monotonic()
        client = threading.Thread(target=self.submit_all)
        client.start()
        while time.monotonic() - self.begin < seconds:
            self.thaw(time.monotonic())
            self.one_trouble(freeze_s)
            time.sleep(self.dice.uniform(0.1, 2))
            if self.dice.random() < 0.4:
                self.links[self.dice.randrange(SERVERS)].heal()
        self.over.set()
        self.thaw()
        for number, link in enumerate(self.links):
            link.heal()
            if self.agents[number].poll() is not None:
                self.start_agent(number)
        client.join()
        return self.verdict()

    def verdict(self):
        print(f"peace; {len(self.accepted)} jobs were accepted", flush=True)
        until(lambda: self.servers_up() == SERVERS, 120, "the return of all servers")
        jobs = {}

        def all_ended():
            nonlocal jobs
            jobs = {job["id"]: job for job in (self.try_get("/api/v1/jobs?limit=100000") or {"items": []})["items"]}
            return len(jobs) >= len(self.accepted) and all(job["state"] in FINISHED for job in jobs.values())

        until(all_ended, 300, "the end of every job")
        wrong = [f"{file.name}: {file.read_text().strip()}" for file in self.runs.glob("*.wrong")]
        counts = {}
        for number, job_id in self.accepted.items():
            job, log = jobs[job_id], self.runs / f"{number}.log"
            lines = log.read_text().splitlines() if log.exists() else []
            ends = [line for line in lines if line.startswith("end")]
            state = job["state"] if job["state"] == "succeeded" else f"failed: {job['failure']['kind']}"
            counts[state] = counts.get(state, 0) + 1
            if job["state"] == "succeeded" and not (ends and self.expected[number] == 0):
                wrong.append(f"job {job_id} succeeded, its log says {lines}")
            if job["state"] == "failed" and job["failure"]["kind"] == "exit" and job["exit"]["code"] != self.expected[number]:
                wrong.append(f"job {job_id} should end with {self.expected[number]}: {job['exit']}")
        if len(set(self.accepted.values())) != len(self.accepted):
            wrong.append("two submissions became one job")
        if self.get("/api/v1/cluster")["gpus"]["allocated"] != 0:
            wrong.append("GPUs are still allocated")
        print(counts)
        for line in wrong:
            print("WRONG", line)
        return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--freeze", type=float, default=10, help="stop daemons for at most so long")
    parser.add_argument("--netns", action="store_true")
    options = parser.parse_args()
    if options.netns and (os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nft")):
        sys.exit("--netns needs root, ip and nft")
    print(f"seed {options.seed}", flush=True)
    with Chaos(options.seed, options.netns) as chaos:
        try:
            good = chaos.run(options.seconds, options.freeze)
        except AssertionError as error:
            print(f"WRONG {error}: {json.dumps(chaos.try_get('/api/v1/servers'))[:2000]}")
            for number in range(SERVERS):
                print(f"agent{number}: exit {chaos.agents[number].poll()}, log:", (chaos.folder / f"agent{number}.log").read_text()[-500:])
            good = False
        if not good:
            shutil.copytree(chaos.folder, "/tmp/schedulearn-chaos-failed", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock"))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
