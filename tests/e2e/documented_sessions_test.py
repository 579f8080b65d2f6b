#!/usr/bin/python3
"""Runs every `$ schedulearn …` of README.md and docs/guide as it stands there, and compares what it prints.

Numbers and times may differ, and so may the widths of columns; a line `…` stands for the rest. A document is one
session: its commands run in their order, in one folder.
"""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

from lab import PROGRAM, LabTest, free_port, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = ROOT.parent / "shared" / "traces"

NOT_HERE = {  # the beginning of a command: why it cannot be run here, and which test shows what it prints
    "schedulearn servers": "several machines and a full disk: servers_test.py",
    "schedulearn agent run --join http://lab:5000": "GPUs of two types: e2e_test.py GpuTest",
    "schedulearn events": "a policy that does not answer: python_policy_test.py",
}


def commands_of(document):
    """[(command, lines that it prints)]."""
    found = []
    for block in re.findall(r"(?:^    \$ .*\n(?:(?:    .*)?\n)*)", document.read_text(), re.MULTILINE):
        for line in block.rstrip("\n").split("\n"):
            if line.startswith("    $ "):
                found.append((line[6:], []))
            else:
                found[-1][1].append(line[4:])
    return [(command, lines) for command, lines in found if command.startswith(("schedulearn ", "alias "))]


def masked(lines):
    """Without what may differ: numbers, the length of times and of bars, blanks, empty lines."""
    text = []
    for line in lines:
        line = line.replace(socket.gethostname(), "vm").replace("/tmp/lab", "DATA")
        line = re.sub(r"\d[\d,]*(\.\d+)?", "0", line)
        line = re.sub(r"\b0 ?(ms|s|m|h|d)\b( 0 ?(ms|s|m|h)\b)*", "TIME", line)
        line = re.sub(r"#+", "#", line)
        text.append(" ".join(line.split()))
    return [line for line in text if line]


class DocumentedSessionsTest(LabTest):
    def setUp(self):
        super().setUp()
        self.folder = self.lab.folder / "session"
        self.folder.mkdir()
        for name in ("examples", "tests"):
            (self.folder / name).symlink_to(ROOT / name)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "SCHEDULEARN_URL": self.lab.url, "SCHEDULEARN_TOKEN_FILE": ""}

    def run_command(self, command):
        script = f'schedulearn() {{ "{PROGRAM}" "$@"; }}; {command}'
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400)
        return done.stdout.replace(str(self.folder), ".").split("\n")

    def run_document(self, name):
        for command, lines in commands_of(ROOT / name):
            if any(command.startswith(start) for start in NOT_HERE) or command.startswith("alias "):
                continue
            trace = next((word for word in command.split() if word.startswith("philly")), None)
            if trace and not (self.folder / trace).exists():
                print(f"not run, there is no {trace}: {command}")
                continue
            with self.subTest(document=name, command=command):
                said = self.start_up(command) if " up " in command else self.run_command(command)
                self.compare(masked(said), masked(lines), "\n".join(said))

    def compare(self, said, documented, whole):
        if documented and documented[-1] == "…":
            documented.pop()
            said = said[: len(documented)]
        if documented:  # else nothing is claimed
            self.assertEqual(said, documented, whole)

    def start_up(self, command):
        """The session's own Schedulearn, at another address and in another folder."""
        data, address = self.lab.folder / "up", f"127.0.0.1:{free_port()}"
        self.environment["SCHEDULEARN_URL"] = f"http://{address}"
        with open(self.lab.folder / "up.log", "wb") as log:
            daemon = subprocess.Popen([PROGRAM, "up", "--data", data, "--listen", address], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        said = until(lambda: (self.lab.folder / "up.log").read_text())
        until(lambda: "up" in "".join(self.run_command("schedulearn servers ls --plain")).split(), what="its server")
        return said.replace(str(data), "/tmp/lab").split("\n")

    def test_readme(self):
        self.bring_philly()
        self.run_document("README.md")

    def test_guides(self):
        self.bring_philly()
        mine = re.search(r"```python\n(.*?)```", (ROOT / "docs/guide/python-policies.md").read_text(), re.DOTALL)[1]
        (self.folder / "mine.py").write_text(mine)
        (self.folder / "log.swf").write_text("; a log of two jobs\n" + "1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 -1 1 -1 -1 -1\n" + "2 5 -1 -1 4 -1 -1 4 60 -1 1 1 1 -1 1 -1 -1 -1\n")
        for guide in sorted((ROOT / "docs" / "guide").glob("*.md")):
            self.run_document(guide.relative_to(ROOT))

    def bring_philly(self):
        for trace in TRACES.rglob("philly_2017.csv.gz"):
            shutil.copy(trace, self.folder)


if __name__ == "__main__":
    unittest.main()
