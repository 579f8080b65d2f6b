"""A private Schedulearn for a test: daemons on a free loopback port, a data directory, the command line."""

import fcntl
import functools
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import urllib.error
import urllib.request

PROGRAM = os.environ.get("SCHEDULEARN_PROGRAM", "schedulearn")
FINISHED = ("succeeded", "failed", "cancelled")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def has_torch():
    return subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0


def until(condition, limit_s=60, what="the condition"):
    """The first true value of condition(); polls, never sleeps longer than it must."""
    deadline = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true in {limit_s} s")
        time.sleep(0.02)


def small_disk(test, folder, size):
    """A file system of its own for this folder; the test is skipped where that is not allowed."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder], capture_output=True).returncode != 0:
        test.skipTest("needs the right to mount")
    test.addCleanup(subprocess.run, ["umount", "-l", folder])
    return folder


def fill(folder):
    """Leaves no room in it until the file that is returned is removed."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    return filler


def measured(test):
    """A test of figures that a busy machine may spoil: up to three tries, for a fault spoils all of them."""

    @functools.wraps(test)
    def tries(self):
        for _ in range(2):
            try:
                return test(self)
            except AssertionError as spoiled:
                print(f"{test.__name__}, again: {spoiled}", file=sys.stderr)
        return test(self)

    return tries


class Lab:
    def __init__(self, gpus=4, environment=None):
        self.gpus = gpus  # to simulate; 0: those the agent finds
        self.environment = {**os.environ, **(environment or {})}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-test-"))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.controller = self.agent = None
        self.more_agents = []

    def __enter__(self):
        self.start_controller()
        self.start_agent()
        return self

    def __exit__(self, *_):
        for daemon in (*self.more_agents, self.agent, self.controller):
            if daemon and daemon.poll() is None:
                daemon.kill()
                daemon.wait()
        self.kill_launcher(and_jobs=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- daemons ----
    def _daemon(self, name, *arguments):
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen([PROGRAM, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment)

    def start_controller(self, *more):
        self.controller = self._daemon("controller", "controller", "run", "--data", str(self.folder / "controller"), "--listen", f"127.0.0.1:{self.port}", *more)
        until(lambda: self.try_get("/readyz"), what="the controller")

    def start_agent(self, *more):
        self.agent = self._start_agent("lab", "agent", self.gpus, *more)

    def start_another_agent(self, name, gpus, *more):
        self.more_agents.append(self._start_agent(name, name, gpus, *more))

    def _start_agent(self, name, folder, gpus, *more):
        agent = self._daemon(folder, "agent", "run", "--join", self.url, "--data", str(self.folder / folder), "--name", name, *(["--simulate", str(gpus)] if gpus else []), *more)
        until(lambda: any(server["name"] == name and server["state"] in ("up", "draining") for server in (self.try_get("/api/v1/servers") or {"items": []})["items"]), what="the agent")
        return agent

    def kill(self, daemon):
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()

    def processes_of(self, data):
        """The command lines of the processes that name this data directory."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(data) in command:
                found.append(command)
        return found

    def kill_launcher(self, and_jobs=False, of=""):
        """The launchers of this lab, or that of the agent with this data folder."""
        own = str(self.folder / of).encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
                environment = (process / "environ").read_bytes() if and_jobs else b""
            except OSError:
                continue
            if (b"schedulearn-launcher" in command and own in command) or (and_jobs and own in environment):
                try:
                    os.kill(int(process.name), signal.SIGKILL)
                except OSError:
                    pass

    # ---- REST ----
    def request(self, method, path, body=None, headers=None):
        """(status, headers, text). A body that is not a string is sent as JSON."""
        data = body if isinstance(body, (bytes, type(None))) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})} if data is not None else headers or {}
        message = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(message, timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.headers, refused.read().decode()

    def get(self, path):
        status, _, text = self.request("GET", path)
        assert status == 200, f"{path}: {status} {text}"
        return json.loads(text)

    def try_get(self, path):
        try:
            return self.get(path)
        except (OSError, AssertionError, ValueError):
            return None

    def submit(self, command, **spec):
        status, _, text = self.request("POST", "/api/v1/jobs", {"command": command, "workdir": str(self.folder), **spec})
        assert status == 201, text
        return json.loads(text)["id"]

    def job(self, job_id):
        return self.get(f"/api/v1/jobs/{job_id}")

    def jobs(self):
        return self.get("/api/v1/jobs?limit=100000")["items"]

    def finished(self, job_id, limit_s=60):
        def look():
            job = self.try_get(f"/api/v1/jobs/{job_id}")
            return job if job and job["state"] in FINISHED else None

        return until(look, limit_s, f"the end of job {job_id}")

    def output(self, job_id):
        return self.request("GET", f"/api/v1/jobs/{job_id}/logs")[2]

    # ---- command line ----
    def cli(self, *arguments, check=True, cwd=None):
        environment = {**os.environ, "SCHEDULEARN_URL": self.url, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TZ": "UTC"}
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=environment, cwd=cwd, timeout=240)
        if check and done.returncode != 0:
            raise AssertionError(f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done


    def on_terminal(self, columns, *arguments, typed="", status=0, **variables):
        """What the command prints on a terminal of this width, on which somebody has `typed`."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = {**os.environ, "SCHEDULEARN_URL": self.url, "LC_ALL": "C.UTF-8", "TERM": "xterm", **variables}
        with subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=theirs, stderr=theirs, stdin=theirs, env=environment) as command:
            os.close(theirs)
            os.write(ours, typed.encode())
            said = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                said += piece
            assert command.wait(60) == status, said
        os.close(ours)
        return said.decode().replace("\r\n", "\n")


class LabTest(unittest.TestCase):
    """Tests that each have their own lab."""

    def setUp(self):
        self.lab = Lab()
        self.lab.__enter__()
        self.addCleanup(self.lab.__exit__)
