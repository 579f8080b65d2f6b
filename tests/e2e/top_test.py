#!/usr/bin/python3
"""top on a pseudo-terminal: what it shows, what its keys do, and that the terminal is as it was afterwards."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from lab import PROGRAM, LabTest, until


class Terminal:
    def __init__(self, url, *arguments, columns=100, lines=30, kind="xterm-256color", program=("top",), environment=None):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        environment = {**(environment or os.environ), "SCHEDULEARN_URL": url, "LC_ALL": "C.UTF-8", "TERM": kind}
        self.process = subprocess.Popen([PROGRAM, *program, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # so that Ctrl-C reaches what runs on it
        self.said = ""

    def read(self):
        while select.select([self.ours], [], [], 0.02)[0]:
            self.said += os.read(self.ours, 65536).decode(errors="replace")
        return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])", "", self.said)

    def shows(self, text, since=0):
        until(lambda: text in self.read()[since:], limit_s=20, what=f"{text!r} on the screen")
        return self

    def press(self, keys):
        mark = len(self.read())
        os.write(self.ours, keys.encode())
        return mark

    def resize(self, columns, lines):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(28)  # SIGWINCH

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


class TopTest(LabTest):
    def open(self, *arguments, **how):
        terminal = Terminal(self.lab.url, *arguments, **how)
        self.addCleanup(terminal.end)
        return terminal

    def test_shows_what_happens_and_leaves_the_terminal_as_it_was(self):
        job = self.lab.submit("sleep 86.5121", name="first-one", gpus=3)
        terminal = self.open()
        terminal.shows("policy").shows("lab").shows("first-one").shows("GPUs 3/4").shows(f"#{job}")
        self.lab.submit("sleep 86.5122", name="came-later", gpus=2)
        terminal.shows("came-later")
        terminal.press("q")
        self.assertEqual(terminal.process.wait(10), 0)
        self.assertEqual(termios.tcgetattr(terminal.theirs), terminal.before)
        terminal.read()
        self.assertIn("\x1b[?1049l", terminal.said, "it has left the screen")

    def test_it_is_left_at_once_while_the_controller_does_not_answer(self):
        terminal = self.open()
        terminal.shows("q quit")
        self.lab.controller.send_signal(signal.SIGSTOP)
        self.addCleanup(self.lab.controller.send_signal, signal.SIGCONT)
        time.sleep(1.5)  # it asks once a second
        terminal.press("q")
        self.assertEqual(terminal.process.wait(5), 0)

    def test_keys_act_on_the_chosen_job(self):
        first, second = self.lab.submit("sleep 86.5123", name="alpha"), self.lab.submit("echo output-of-beta; sleep 86.5124", name="beta")
        until(lambda: self.lab.job(second)["state"] == "running")
        terminal = self.open()
        terminal.shows("alpha").shows("beta")
        mark = terminal.press("jkl")  # down, up, its output: the newest is first
        terminal.shows("output-of-beta", mark)
        os.write(terminal.ours, b"\x03")  # Ctrl-C ends the output, not top
        terminal.shows("Any key goes back", mark)
        mark = terminal.press("\n")
        terminal.shows("alpha", mark)
        mark = terminal.press("w")
        terminal.shows("Any key goes back", mark)
        terminal.press("\n")
        terminal.press("j")
        mark = terminal.press("c")
        terminal.shows(f"cancel job {first} alpha?", mark)
        terminal.press("n")
        self.assertEqual(self.lab.job(first)["state"], "running")
        terminal.press("c")
        mark = terminal.press("y")
        self.assertEqual(self.lab.finished(first)["state"], "cancelled")
        self.assertEqual(self.lab.job(second)["state"], "running")
        terminal.press("/bet\n")
        mark = terminal.press("\n")  # everything about the one that is left
        terminal.shows("output-of-beta", mark).shows("Any key goes back", mark)
        terminal.press("\n")
        mark = terminal.press(":policy set sjf\n")
        terminal.shows("Any key goes back", mark)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "sjf")
        terminal.press("\n")
        mark = terminal.press("?")
        terminal.shows("its output, live", mark)
        terminal.press("q")
        self.assertEqual(terminal.process.wait(10), 0)

    def test_readonly_changes_nothing(self):
        job = self.lab.submit("sleep 86.5125", name="safe")
        until(lambda: self.lab.job(job)["state"] == "running")
        terminal = self.open("--readonly")
        terminal.shows("safe")
        for key in ("c", "s", "m", ":"):
            mark = terminal.press(key)
            terminal.shows("read only: started with --readonly", mark)
            terminal.press("y\x1b")
            time.sleep(0.2)  # an escape alone is told from a key's code by time
        self.assertEqual(self.lab.job(job)["state"], "running")
        self.assertEqual(terminal.process.poll(), None)

    def test_sizes_and_terminals(self):
        self.lab.submit("sleep 86.5126", name="wide")
        terminal = self.open()
        terminal.shows("wide")
        terminal.resize(60, 20)
        terminal.shows("top needs 80 columns and 24 lines")
        mark = len(terminal.read())
        terminal.resize(120, 40)
        terminal.shows("wide", mark)
        bad = self.open(kind="no-such-terminal")
        self.assertEqual(bad.process.wait(10), 2)
        bad.shows("[no-terminal]")
        piped = self.lab.cli("top", check=False)
        self.assertEqual(piped.returncode, 2)
        self.assertIn("[no-terminal]", piped.stderr)

    def test_a_controller_that_goes_and_comes_back(self):
        self.lab.submit("sleep 86.5127", name="steady")
        terminal = self.open()
        terminal.shows("steady")
        self.lab.kill(self.lab.controller)
        mark = len(terminal.read())
        terminal.shows("controller", mark)
        self.lab.start_controller()
        mark = terminal.press("?")
        terminal.press("?")
        terminal.shows("q quit", mark)


if __name__ == "__main__":
    unittest.main(verbosity=2)
