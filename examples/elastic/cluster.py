"""A Schedulearn of its own for a demonstration: a controller and agents on free loopback ports, all data in one folder."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))

import schedulearn


def program():
    """$SCHEDULEARN_PROGRAM, or what ./run builds; it is built now if it is missing."""
    if given := os.environ.get("SCHEDULEARN_PROGRAM"):
        return given
    built = ROOT / "build" / "run" / "bin" / "schedulearn"
    if not built.exists():
        subprocess.run([ROOT / "tools" / "install", "build", "run"], check=True)
        subprocess.run([ROOT / "tools" / "build", "run"], check=True)
    return str(built)


def until(condition, what, limit_s=60):
    """The first true value of condition()."""
    deadline = time.monotonic() + limit_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {limit_s} s")
        time.sleep(0.05)
    return value


class Cluster:
    def __init__(self):
        self.program = program()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-elastic-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.url = f"http://{address}"
        self.client = schedulearn.Client(self.url)
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("SCHEDULEARN_")}
        self._daemons = {"controller": self._start("controller", "controller", "run", "--listen", address)}
        until(self._answers, "the controller's first answer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()
        self._kill(self._processes(self.folder))
        shutil.rmtree(self.folder, ignore_errors=True)

    def add_server(self, name, gpus):
        self._daemons[name] = self._start(name, "agent", "run", "--join", self.url, "--name", name, "--simulate", str(gpus))
        until(lambda: self.servers().get(name) == "up", f"server {name}")

    def servers(self):
        """State by name."""
        return {server["name"]: server["state"] for server in self.client._json("GET", "/servers")["items"]}

    def kill_server(self, name):
        """SIGKILL for its agent and its launcher, as if the server had lost its power. The launcher's warden ends the jobs."""
        launchers = [(process, command) for process, command in self._processes(self.folder / name) if b"schedulearn-launcher" in command]
        self._daemons[name].kill()
        self._kill(launchers)
        self._daemons.pop(name).wait()
        until(lambda: not self._processes(self.folder / name), f"the end of all processes of {name}")

    def events(self, since):
        return self.client._json("GET", "/events", query={"since": since, "limit": 1000})["items"]

    def cli(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False,
                              env=self._environment | {"SCHEDULEARN_URL": self.url, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})
        if done.returncode != 0:
            raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def _start(self, name, *arguments):
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen([self.program, *arguments, "--data", str(self.folder / name)], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, env=self._environment)

    def _answers(self):
        try:
            return self.client._json("GET", "/cluster")
        except (schedulearn.Unreachable, schedulearn.ApiError):
            return None

    def _processes(self, folder):
        """(number, command) of those whose command or environment names this folder."""
        named = re.compile(re.escape(os.fsencode(folder)) + rb"(?![^/\0:])")
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
                if named.search(command + b"\0" + (process / "environ").read_bytes()) and int(process.name) != os.getpid():
                    found.append((int(process.name), command))
            except OSError:
                pass  # it has ended
        return found

    def _kill(self, processes):
        for process, _ in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass  # it has ended
