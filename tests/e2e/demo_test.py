#!/usr/bin/python3
"""demo: a cluster that comes, is looked at and goes without a trace."""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from lab import PROGRAM, until
from top_test import Terminal


def processes_in(folder):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if folder.encode() in (process / "cmdline").read_bytes() + (process / "environ").read_bytes() and int(process.name) != os.getpid():
                found.append((process / "cmdline").read_bytes())
        except OSError:
            pass
    return [command for command in found if b"schedulearn" in command or b"bash" in command]


class DemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="schedulearn-demo-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {**os.environ, "TMPDIR": self.folder, "HOME": self.folder, "LC_ALL": "C.UTF-8"}

    def nothing_is_left(self):
        self.assertEqual(os.listdir(self.folder), [])
        until(lambda: not processes_in(self.folder), what="the end of all processes")

    def test_it_runs_to_its_end_and_shows_what_came_of_it(self):
        done = subprocess.run([PROGRAM, "demo"], env=self.environment, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("✓ succeeded"), 8, done.stdout)
        self.assertIn("resnet50", done.stdout)
        self.nothing_is_left()

    def test_it_can_be_interrupted_or_killed(self):
        for number, status, words in ((signal.SIGINT, 130, ()), (signal.SIGINT, 130, ("--simulate", "1x2")), (signal.SIGTERM, 130, ()), (signal.SIGKILL, -9, ())):
            demo = subprocess.Popen([PROGRAM, "demo", *words], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
            self.addCleanup(demo.stdout.close)
            self.assertIn("8 jobs", demo.stdout.readline())
            demo.send_signal(number)
            self.assertEqual(demo.wait(60), status)
            until(lambda: not processes_in(self.folder), what="the end of all processes")
            if number != signal.SIGKILL:
                self.nothing_is_left()

    def test_on_a_terminal_it_is_a_screen(self):
        terminal = Terminal("http://127.0.0.1:9", program=("demo",), environment=self.environment)
        self.addCleanup(terminal.end)
        terminal.shows("resnet50").shows("sim1")
        terminal.press("q")
        self.assertEqual(terminal.process.wait(60), 0)
        self.nothing_is_left()

    def test_ctrl_c_ends_the_screen_and_the_cluster(self):
        terminal = Terminal("http://127.0.0.1:9", program=("demo",), environment=self.environment)
        self.addCleanup(terminal.end)
        terminal.shows("resnet50").press("\x03")
        self.assertEqual(terminal.process.wait(60), 130)
        self.nothing_is_left()

    def test_what_cannot_be_simulated_is_refused(self):
        said = subprocess.run([PROGRAM, "demo", "--simulate", "x"], env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 6)
        self.assertIn("--simulate takes", said.stderr)
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
