"""Container engines of a test's own, as its children, with all their folders in one folder; and an image made from this machine's busybox."""

import http.client
import io
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
import unittest
import urllib.parse

from lab import free_port, until

BUSYBOX = "localhost/schedulearn-test-busybox:latest"
HELPERS = (b"containerd", b"docker", b"podman", b"conmon", b"runc")
TOOLS = ("sh", "sleep", "echo", "cat", "true", "false", "id", "ls", "env", "seq", "grep", "dd", "head", "kill", "ps", "pwd", "mkdir", "touch", "yes", "awk", "tr", "stty", "test")
CONTAINERS_CONF = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class Unavailable(Exception):
    """Why the engine cannot be had here."""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("engine", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Engine:
    name = ""
    programs = ()

    def __init__(self, disk_bytes=None):
        """`disk_bytes`: how much room there is for images and containers; unlimited if not given."""
        missing = [program for program in self.programs if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
        if missing:
            raise Unavailable(f"{self.name}: {', '.join(missing)} not installed (tools/install containers)")
        if os.geteuid() != 0:
            raise Unavailable(f"{self.name}: only root can start one for a test")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"schedulearn-{self.name}-"))
        self.socket = self.folder / "sock"
        self.registry_port = free_port()  # a registry there is asked without encryption
        self.process = None
        try:
            (self.folder / "root").mkdir()
            if disk_bytes:
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_bytes}", "tmpfs", self.folder / "root"], check=True)
            self.start()
            self.import_image(BUSYBOX, busybox_files())
            self.try_container()
        except (Unavailable, AssertionError, OSError, subprocess.CalledProcessError) as failed:
            said = (self.folder / "log").read_text(errors="replace")[-2000:] if (self.folder / "log").exists() else ""
            self.close()
            raise Unavailable(f"{self.name} does not work here: {failed}\n{said}") from None

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, env=self.environment())  # conmon writes a file "oom" there
        until(self.answers, 30, self.name)

    def answers(self):
        if self.process.poll() is not None:
            raise Unavailable(f"it ended with {self.process.returncode}")
        try:
            return self.call("GET", "/_ping")[0] == 200
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def call(self, method, path, body=None, headers=None):
        """(status, text) of the engine's own API."""
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def import_image(self, name, files):
        repository, tag = name.rsplit(":", 1)
        path = "/v1.41/images/create?" + urllib.parse.urlencode({"fromSrc": "-", "repo": repository, "tag": tag})
        status, text = self.call("POST", path, files, {"Content-Type": "application/x-tar"})
        assert status == 200 and '"error"' not in text, text

    def try_container(self):
        """Some kernels let an engine start but no container."""
        body = json.dumps({"Image": BUSYBOX, "Cmd": ["/bin/true"], "HostConfig": {"NetworkMode": "host", "Ulimits": [{"Name": "nofile", "Soft": 1024, "Hard": 1024}, {"Name": "nproc", "Soft": 4096, "Hard": 4096}]}})
        status, text = self.call("POST", "/v1.41/containers/create?name=try", body, {"Content-Type": "application/json"})
        assert status == 201, text
        status, text = self.call("POST", "/v1.41/containers/try/start")
        assert status in (200, 204), text
        self.call("POST", "/v1.41/containers/try/wait")
        self.call("DELETE", "/v1.41/containers/try?force=true")

    def containers(self):
        return json.loads(self.call("GET", "/v1.41/containers/json?all=true")[1])

    def remove_containers(self):
        for container in self.containers():
            self.call("DELETE", f"/v1.41/containers/{container['Id']}?force=true")
        left = [container["Names"] for container in self.containers()]
        assert not left, f"{self.name} does not remove {left}"

    def make_empty(self):
        """A test that failed may have left it ended, hung or with containers: the next test is to have none of that."""
        try:
            if self.process.poll() is not None:
                self.start()
            self.remove_containers()
        except (AssertionError, OSError, ValueError):
            self.kill()
            self.start()
            self.remove_containers()

    def close(self):
        try:
            self.remove_containers()
        except (AssertionError, OSError, ValueError):
            pass
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.end_helpers()
        for _ in range(20):  # what is still mounted there goes away a moment after its container
            unmount_below(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(0.1)

    def end_helpers(self):
        """Processes of the engine that outlive it name its folder."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
                if os.path.basename(command.split(b"\0")[0]).startswith(HELPERS) and str(self.folder).encode() in command:
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass


class Podman(Engine):
    name = "podman"
    programs = ("podman", "runc", "conmon", "busybox")
    keeps_containers = True  # when it is killed

    def command(self):
        (self.folder / "containers.conf").write_text(CONTAINERS_CONF)
        (self.folder / "registries.conf").write_text(f'[[registry]]\nlocation = "127.0.0.1:{self.registry_port}"\ninsecure = true\n')
        return ["podman", "--root", self.folder / "root", "--runroot", self.folder / "run", "--tmpdir", self.folder / "tmp", "system", "service", "--time", "0", f"unix://{self.socket}"]

    def environment(self):
        return {**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf"), "CONTAINERS_REGISTRIES_CONF": str(self.folder / "registries.conf"),
                "HOME": str(self.folder), "TMPDIR": str(self.folder / "root")}


class Docker(Engine):
    name = "docker"
    programs = ("dockerd", "containerd", "runc", "busybox")
    keeps_containers = False

    def command(self):
        return [shutil.which("dockerd", path=os.environ["PATH"] + ":/usr/sbin"), "--data-root", self.folder / "root", "--exec-root", self.folder / "run", "-p", self.folder / "pid", "-H", f"unix://{self.socket}", "--iptables=false", "--bridge=none"]

    def environment(self):
        return {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}

    def kill(self):
        super().kill()
        if not self.keeps_containers:
            self.end_helpers()
        for record in ("pid", "run/containerd/containerd.pid", "run/containerd/containerd.sock"):  # it would believe that they still run
            (self.folder / record).unlink(missing_ok=True)


class DockerWithLiveRestore(Docker):
    keeps_containers = True

    def command(self):
        return [*super().command(), "--live-restore"]


def unmount_below(folder):
    mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    for mount in sorted((mount for mount in mounts if mount.startswith(f"{folder}/")), key=len, reverse=True):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)


def tar_of(files, links=(), folders=("tmp", "proc", "sys", "dev", "etc", "run", "var")):
    """A tar with these {path: (bytes, mode)}."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for folder in folders:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for path, (content, mode) in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
        for path, target in links:
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return archive.getvalue()


def busybox_files():
    busybox = shutil.which("busybox")
    probe = subprocess.run([busybox, "true"], check=False)
    assert probe.returncode == 0, "busybox does not run"
    files = {"bin/busybox": (pathlib.Path(busybox).read_bytes(), 0o755), "etc/passwd": (b"root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", 0o644)}
    return tar_of(files, links=[(f"bin/{tool}", "busybox") for tool in TOOLS], folders=("tmp", "bin", "proc", "sys", "dev", "etc", "run", "var"))


def host_files(more=None):
    """An image that has nothing but links into /usr, which is to be mounted from the host: everything that is installed here is there."""
    files = {path.lstrip("/"): (pathlib.Path(path).read_bytes(), 0o644) for path in ("/etc/ld.so.cache", "/etc/nsswitch.conf") if os.path.exists(path)}
    files["etc/passwd"] = (b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", 0o644)
    files["etc/group"] = (b"root:x:0:\nnogroup:x:65534:\n", 0o644)
    files["etc/hosts"] = (b"127.0.0.1 localhost\n", 0o644)
    files.update(more or {})
    links = [(name, f"usr/{name}") for name in ("bin", "sbin", "lib", "lib64") if os.path.exists(f"/usr/{name}")]
    return tar_of(files, links, folders=("tmp", "usr", "proc", "sys", "dev", "etc", "etc/alternatives", "run", "var"))


# Starts N copies as `horovodrun -np N -H HOST:SLOTS COMMAND` does, with Horovod's variables. Debian has no Horovod.
HOROVODRUN = b"""#!/usr/bin/python3
import os, subprocess, sys
assert sys.argv[1] == "-np" and sys.argv[3] == "-H", sys.argv
count, hosts, command = int(sys.argv[2]), sys.argv[4], sys.argv[5:]
assert hosts == f"localhost:{count}", hosts
ranks = [subprocess.Popen(command, env={**os.environ, "HOROVOD_RANK": str(rank), "HOROVOD_LOCAL_RANK": str(rank), "HOROVOD_SIZE": str(count)}) for rank in range(count)]
sys.exit(max(rank.wait() for rank in ranks))
"""

# Softmax regression on each copy's share of the pictures; the gradients are averaged through files in shared memory, as an allreduce would.
PYTORCH_MNIST = b"""
import gzip, os, time
import numpy as np
rank, size = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])
def read(name, skip):
    return np.frombuffer(gzip.open(f"/data/{name}.gz").read(), np.uint8, offset=skip)
pictures = read("t10k-images-idx3-ubyte", 16).reshape(-1, 784)[rank::size] / np.float32(255)
kinds = read("t10k-labels-idx1-ubyte", 8)[rank::size]
weights = np.zeros((784, 10), np.float32)
def averaged(gradient, step):
    path = f"/dev/shm/gradient-{step}-"
    np.save(f"{path}{rank}.new.npy", gradient)
    os.rename(f"{path}{rank}.new.npy", f"{path}{rank}.npy")
    while not all(os.path.exists(f"{path}{other}.npy") for other in range(size)):
        time.sleep(0.001)
    return sum(np.load(f"{path}{other}.npy") for other in range(size)) / size
for step in range(12):
    scores = pictures @ weights
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    loss = -np.log(scores[np.arange(len(kinds)), kinds] + 1e-9).mean()
    print(f"rank {rank} of {size} step {step} loss {loss:.4f}\\n", end="")  # in one write, as the other copy writes there too
    scores[np.arange(len(kinds)), kinds] -= 1
    weights -= 0.05 * averaged(pictures.T @ scores / len(kinds), step)
print(f"rank {rank} weights {np.abs(weights).sum():.4f}\\n", end="")
"""


def horovod_files():
    """An image like the one that the original's README names, from this machine's Python, NumPy and pictures of clothes."""
    numpy = pathlib.Path("/usr/lib/python3/dist-packages/numpy")
    pictures = pathlib.Path("/usr/share/datasets/fashion-mnist")
    if not numpy.exists() or not pictures.exists():
        raise unittest.SkipTest("python3-numpy or dataset-fashion-mnist is not installed (tools/install run)")
    paths = {pathlib.Path(os.path.realpath("/usr/bin/python3"))}
    folders = [numpy, pathlib.Path(f"/usr/lib/{os.path.basename(os.path.realpath('/usr/bin/python3'))}")]
    for folder in folders:
        paths |= {path for path in folder.rglob("*") if path.is_file() and "/test" not in str(path) and "__pycache__" not in str(path)}
    for binary in [path for path in paths if path.suffix == ".so" or path.parent.name == "bin"]:
        said = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        paths |= {pathlib.Path(word) for line in said.splitlines() for word in line.split() if word.startswith("/")}
    files = {str(path).lstrip("/"): (path.read_bytes(), 0o755) for path in paths}
    files = {("usr/" + name if name.startswith(("lib/", "lib64/")) else name): file for name, file in files.items()}
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
        files[f"data/{name}"] = ((pictures / name).read_bytes(), 0o644)
    files["usr/bin/horovodrun"] = (HOROVODRUN, 0o755)
    files["usr/bin/busybox"] = (pathlib.Path(shutil.which("busybox")).read_bytes(), 0o755)
    files["work/pytorch/pytorch_mnist.py"] = (PYTORCH_MNIST, 0o644)
    files["etc/passwd"] = (b"root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", 0o644)
    files["etc/hosts"] = (b"127.0.0.1 localhost\n", 0o644)
    python = os.path.basename(os.path.realpath("/usr/bin/python3"))
    links = [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("usr/bin/sh", "busybox"), ("usr/bin/python3", python), ("usr/bin/python", python), ("pytorch", "work/pytorch")]
    return tar_of(files, links)
