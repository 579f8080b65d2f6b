#!/usr/bin/python3
"""Other versions, other folders, other machines: what is replaced, moved or copied while it is in use."""

import base64
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import socket
import subprocess
import threading
import unittest

from lab import PROGRAM, LabTest, until


class UpgradeTest(LabTest):
    def launcher(self):
        """The program that holds the jobs of the lab's server."""
        folder = str(self.lab.folder / "agent")
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"schedulearn-launcher") and folder.encode() in words[1:2]:
                    return os.readlink(process / "exe")
            except OSError:
                continue
        return None

    def test_a_launcher_that_an_older_version_left_is_replaced_once_nothing_runs(self):
        old = self.lab.folder / "old"
        shutil.copytree(pathlib.Path(PROGRAM).parent, old, ignore=lambda _, names: [name for name in names if not name.startswith("schedulearn") or "bench" in name or "dst" in name])
        ours = self.launcher()
        self.assertTrue(ours.endswith("/schedulearn-launcher"))
        job = self.lab.submit("trap 'exit 0' TERM; echo begun; while true; do sleep 0.1; done")
        until(lambda: "begun" in self.lab.output(job))
        self.lab.kill(self.lab.agent)
        command = [str(old / "schedulearn"), *self.lab.agent.args[1:]]
        self.lab.agent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.lab.get("/api/v1/servers/lab")["state"] == "up")
        self.assertEqual(self.lab.job(job)["state"], "running")
        self.assertEqual(self.launcher(), ours, "it holds a job")
        self.lab.cli("cancel", job)
        self.lab.finished(job)
        until(lambda: self.launcher() == str(old / "schedulearn-launcher"), what="the launcher of that program")
        self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")

    def test_what_a_controller_in_use_holds_is_restored_as_a_whole(self):
        for name in ("one", "two", "three"):
            self.lab.submit("true", name=name, hold=True)
        other = self.lab.folder / "other"
        said = self.lab.cli("db", "restore", "--data", other, self.lab.folder / "controller" / "schedulearn.db", "--confirm", other).stdout
        self.assertIn("3 jobs", said)
        names = {json.loads(line)["name"] for line in self.lab.cli("ls", "--data", other, "--json=name").stdout.splitlines()}
        self.assertEqual(names, {"one", "two", "three"})

    def test_a_restore_without_room_leaves_nothing(self):
        copy, full = self.lab.folder / "copy.db", self.lab.folder / "full"
        self.lab.cli("db", "backup", "--data", self.lab.folder / "controller", copy)
        full.mkdir(mode=0o700)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", full], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("needs a small disk")
        self.addCleanup(subprocess.run, ["umount", full], check=True)
        refused = self.lab.cli("db", "restore", "--data", full, copy, "--confirm", full, check=False)
        self.assertIn("cannot-write", refused.stderr)
        self.assertEqual([path.name for path in full.iterdir() if path.name != "controller.lock"], [])

    def test_an_agent_says_why_a_controller_does_not_understand_it(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=refuse_all, args=(server,), daemon=True).start()
            agent = subprocess.Popen([PROGRAM, "agent", "run", "--join", f"http://127.0.0.1:{server.getsockname()[1]}", "--data", self.lab.folder / "second", "--name", "second", "--simulate", "1"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(agent.stderr.close)
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)
            self.assertTrue(select.select([agent.stderr], [], [], 20)[0], "it says nothing")
            self.assertIn("the controller ends the connection (bad-message)", agent.stderr.readline())

    def test_a_server_whose_controller_has_moved_keeps_its_name_and_token(self):
        data = self.lab.folder / "moved"
        token = json.loads(self.lab.request("POST", "/api/v1/servers", {"name": "gpu7"})[2])["token"]
        (self.lab.folder / "token7").write_text(token + "\n")
        first = self.lab.cli("agent", "join", self.lab.url, "--data", data, "--token-file", self.lab.folder / "token7").stdout
        self.assertIn("Server gpu7 joins", first)
        again = self.lab.cli("agent", "join", self.lab.url.replace("127.0.0.1", "localhost"), "--data", data).stdout
        self.assertIn("Server gpu7 joins http://localhost", again)
        self.assertEqual(json.loads((data / "joined.json").read_text())["token_file"], str(self.lab.folder / "token7"))
        (self.lab.folder / "token7").write_text(token[:-1] + ("a" if token[-1] != "a" else "b") + "\n")
        self.assertNotIn("gpu7", self.lab.cli("agent", "join", self.lab.url, "--data", data).stdout, "another cluster knows neither")


def refuse_all(server):
    """A controller to which every first message is a riddle."""
    while True:
        try:
            connection = server.accept()[0]
        except OSError:
            return
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(4096)
            key = re.search(rb"Sec-WebSocket-Key: (\S+)", head, re.I)[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + base64.b64encode(hashlib.sha1(key).digest()) + b"\r\n\r\n")
            connection.recv(4096)
            reason = b"bad-message"
            connection.sendall(bytes((0x88, len(reason) + 2)) + (1000).to_bytes(2, "big") + reason)
            while (piece := connection.recv(4096)) and b"\x88" not in piece:  # the answer to that, at the latest
                pass


if __name__ == "__main__":
    unittest.main()
