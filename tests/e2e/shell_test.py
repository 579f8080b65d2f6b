#!/usr/bin/python3
"""Shells in running jobs, on pseudo-terminals: what is typed and printed, sizes, signals, coming back, ends, bounds."""

import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab import PROGRAM, Lab, LabTest, until
from original_test import WebSocket


class Terminal:
    """A command on a terminal, as a person uses it."""

    def __init__(self, lab, *arguments, columns=90, rows=33):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, "SCHEDULEARN_URL": lab.url, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        self.command = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.said = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.command.kill()
        self.command.wait()
        os.close(self.ours)

    def type(self, text):
        os.write(self.ours, text.encode() if isinstance(text, str) else text)
        return self

    def read(self, wait_s=0.05):
        if select.select([self.ours], [], [], wait_s)[0]:
            try:
                self.said += os.read(self.ours, 1 << 20)
            except OSError:
                return False
        return True

    def expect(self, text, limit_s=30):
        """Waits until it prints this; what was printed up to there is gone through."""
        text = text.encode()
        deadline = time.monotonic() + limit_s
        while text not in self.said:
            if time.monotonic() > deadline or not self.read():
                raise AssertionError(f"{text} was not printed, but: {self.said[-2000:]}")
        before, self.said = self.said.split(text, 1)
        return before.decode(errors="replace")

    def resize(self, columns, rows):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self, limit_s=30):
        deadline = time.monotonic() + limit_s
        while self.command.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"it does not end: {self.said[-2000:]}")
            self.read()
        while self.read(0.01) and select.select([self.ours], [], [], 0)[0]:
            pass
        return self.command.returncode


def processes_with(text):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            pass
    return found


class ShellTest(LabTest):
    def running(self, command="exec sleep 87.7131", env=None, **spec):
        """A running job whose shells read no start-up file of this machine's user, which may wait for anything."""
        job = self.lab.submit(command, env={"HOME": str(self.lab.folder), **(env or {})}, **spec)
        until(lambda: self.lab.job(job)["state"] == "running")
        return job

    def shell(self, job, *more, **size):
        return Terminal(self.lab, "shell", job, *more, **size)

    def memory_kib(self, daemon):
        return int(next(line for line in pathlib.Path(f"/proc/{daemon}/status").read_text().splitlines() if line.startswith("VmRSS")).split()[1])

    def test_it_is_in_the_place_of_the_job(self):
        job = self.running(gpus=2, env={"OF_THE_JOB": "yes", "SHELL": "/bin/bash"})
        with self.shell(job) as shell:
            shell.expect("in shell 1 of job")
            shell.type("echo is $OF_THE_JOB $SCHEDULEARN_JOB_ID $CUDA_VISIBLE_DEVICES $PWD; cat /proc/$$/cgroup | grep -c schedulearn; stty size; tty\n")
            shell.expect(f"is yes {job} 0,1 {self.lab.folder}")
            self.assertNotIn("0\r\n", shell.expect("33 90"))
            shell.expect("/dev/pts/")
            shell.resize(120, 40)
            until(lambda: "40 120" in (shell.type("stty size\n"), time.sleep(0.1), shell.read(), shell.said.decode())[-1])
            shell.type("exit 7\n")
            self.assertEqual(shell.end(), 7)
        self.assertEqual(self.lab.job(job)["state"], "running")

    def test_signals_and_exit_codes_pass(self):
        job = self.running()
        with self.shell(job, "--", "/bin/bash", "--norc", "-i") as shell:
            shell.type("sleep 87.7132\n")
            until(lambda: processes_with("sleep\x0087.7132"))
            shell.type("\x03")
            shell.type("echo ended with $?\n")
            shell.expect("ended with 130\r\n")
            shell.expect("# ")
            shell.type("\x04")
            self.assertEqual(shell.end(), 0)
        with self.shell(job, "--", "no-such-program") as shell:
            self.assertEqual(shell.end(), 127)
        with self.shell(job, "--", "/bin/sh", "-c", "kill -9 $$") as shell:
            self.assertEqual(shell.end(), 137)
        for _ in range(5):
            self.assertTrue(self.lab.cli("shell", job, "--", "seq", "1", "30000").stdout.endswith("29999\n30000\n"), "its last words")
        done = subprocess.run([PROGRAM, "shell", str(job), "--", "sh", "-c", "read line; echo got $line; exit 3"], input=b"a word\n", capture_output=True,
                              env={**os.environ, "SCHEDULEARN_URL": self.lab.url}, timeout=60)
        self.assertEqual((done.returncode, b"got a word" in done.stdout), (3, True), done)

    def test_it_lives_on_without_a_client(self):
        job = self.running()
        with self.shell(job) as shell:
            shell.expect("in shell 1")
            shell.type("X=kept; echo rea''dy\n").expect("ready")
            shell.type("\x1d\x1d")
            self.assertEqual(shell.end(), 0)
            self.assertIn(b"runs on", shell.said)
        with self.shell(job) as shell:  # and is found again
            shell.expect("ready")
            shell.type("echo $X-$X\n").expect("kept-kept")
            shell.command.kill()
            shell.command.wait()
        with self.shell(job, "--new") as other, self.shell(job) as shell:
            other.expect("in shell 2")
            shell.type("echo $X+$X\n").expect("kept+kept")
            with self.shell(job, "--attach", "1") as third:  # takes it over
                third.type("echo $X/$X\n").expect("kept/kept")
                self.assertEqual(shell.end(), 5)
                self.assertIn(b"somebody else is connected", shell.said)
                self.lab.kill(self.lab.agent)  # the way to it breaks
                self.lab.start_agent()
                third.expect("connected again", 60)
                third.type("echo $X=$X\n").expect("kept=kept", 60)
                self.lab.kill(self.lab.controller)
                third.expect("trying again (Ctrl-C leaves)")
                self.lab.start_controller()
                third.expect("connected again", 60)
                third.type("echo $X#$X\n").expect("kept#kept", 60)
        unknown = self.lab.cli("shell", job, "--attach", "9", check=False)
        self.assertEqual((unknown.returncode, "[no-such-shell]" in unknown.stderr), (5, True), unknown.stderr)

    def test_it_ends_with_the_attempt(self):
        job = self.running("sleep 3; exit 0")
        with self.shell(job) as shell:
            shell.type("setsid env -i sleep 87.7133 & nohup sleep 87.7134 & echo sta''rted\n").expect("started")
            until(lambda: processes_with("sleep\x0087.7133") and processes_with("sleep\x0087.7134"))
            shell.expect("has ended, and its shells with it", 60)
            self.assertNotIn(b"connection is lost", shell.said)
            self.assertEqual(shell.end(), 5)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertEqual(processes_with("sleep\x0087.7133") + processes_with("sleep\x0087.7134"), [])
        self.assertEqual(self.lab.processes_of(self.lab.folder / "agent" / "terminals"), [])
        until(lambda: not list((self.lab.folder / "agent" / "terminals").iterdir()))
        cancelled = self.running()
        with self.shell(cancelled) as shell:
            shell.expect("in shell 1")
            self.lab.cli("cancel", cancelled)
            self.assertEqual(shell.end(60), 5)
        self.assertEqual(self.lab.finished(cancelled)["state"], "cancelled")
        kinds = [event["kind"] for event in self.lab.get("/api/v1/events?limit=1000")["items"]]
        self.assertFalse([kind for kind in kinds if "stranger" in kind or "foreign" in kind], kinds)

    def test_what_is_piped_in_ends_it(self):
        job = self.running()
        environment = {**os.environ, "SCHEDULEARN_URL": self.lab.url}
        for typed, shown in (("", ""), ("echo from std''in\n", "from stdin"), ("sleep 1\necho la''ter\nexit 3\n", "later")):
            done = subprocess.run([PROGRAM, "shell", str(job), "--new"], input=typed, capture_output=True, text=True, env=environment, timeout=30)
            self.assertEqual((done.returncode, shown in done.stdout), (3 if "exit" in typed else 0, True), (typed, done))

    def test_a_launcher_that_dies_takes_nothing_with_it(self):
        job = self.running(env={"OF_THE_JOB": "yes"})
        with self.shell(job) as shell:
            shell.type("echo o$OF_THE_JOB\n").expect("oyes")
            self.lab.kill_launcher()
            shell.type("echo p$OF_THE_JOB\n").expect("pyes")
            until(lambda: self.lab.processes_of("schedulearn-launcher") and self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
            with self.shell(job, "--new") as other:  # by the next launcher, of an adopted job
                other.type("echo q$OF_THE_JOB\n").expect("qyes", 60)

    def test_a_gigabyte_passes_and_is_kept_nowhere(self):
        job = self.running("exec sleep 900")
        begin = time.monotonic()
        with self.shell(job, "--", "sh", "-c", "stty -opost; head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo all") as shell:
            count = 0
            while shell.command.poll() is None:
                try:
                    piece = os.read(shell.ours, 1 << 20) if select.select([shell.ours], [], [], 0.2)[0] else b""
                except OSError:
                    break
                count += piece.count(b"x")
            print(f"1 GB in {time.monotonic() - begin:.1f} s", file=sys.stderr)
            self.assertEqual(shell.end(), 0)
            count += shell.said.count(b"x")
        self.assertGreaterEqual(count, 1_000_000_000)
        for daemon in (self.lab.controller, self.lab.agent):
            self.assertLess(self.memory_kib(daemon.pid), 200_000)

    def test_a_reader_that_never_reads_stops_the_shell(self):
        job = self.running()
        before = self.memory_kib(self.lab.controller.pid), self.memory_kib(self.lab.agent.pid)
        clients = [WebSocket(self.lab.port, f"/api/v1/jobs/{job}/shell?argument=yes&argument={number}") for number in range(4)]
        self.assertEqual([client.status for client in clients], [101] * 4)
        terminal = until(lambda: processes_with("schedulearn-terminal\x00" + str(self.lab.folder)))[0]
        written = lambda: int(pathlib.Path(f"/proc/{processes_with('yes' + chr(0) + '0')[0]}/io").read_text().split("wchar: ")[1].split()[0])
        until(lambda: processes_with("yes\x000"))
        last = [-1]
        def stands():
            seen = written()
            time.sleep(0.5)
            return seen == written() and seen > 0
        until(stands, what="the shell to wait for its reader")
        self.assertLess(self.memory_kib(terminal), 60_000)
        for old, daemon in zip(before, (self.lab.controller, self.lab.agent)):
            self.assertLess(self.memory_kib(daemon.pid) - old, 20_000)
        self.assertEqual(self.lab.request("GET", "/api/v1/jobs")[0], 200)
        for client in clients:
            client.close()

    def test_only_so_many_and_only_so_long(self):
        self.lab.kill(self.lab.agent)
        self.lab.start_agent("--shell-keep", "2s")
        job = self.running()
        shells = [self.shell(job, "--new") for _ in range(8)]
        for number, shell in enumerate(shells):
            shell.expect("in shell")
        done = self.lab.cli("shell", job, "--new", check=False)
        self.assertEqual((done.returncode, "too-many-shells" in done.stderr), (5, True), done.stderr)
        for shell in shells:
            shell.__exit__()
        until(lambda: not self.lab.processes_of(self.lab.folder / "agent" / "terminals"), what="the end of shells that nobody came back to")
        with self.shell(job) as shell:
            shell.expect("in shell 1")

    def test_hostile_input_changes_nothing(self):
        job = self.running()
        with self.shell(job) as shell:
            shell.expect("in shell 1")
            stray = WebSocket(self.lab.port, f"/api/v1/jobs/{job}/shell?session=1&term=%00%0a;rm&columns=-1&rows=999999999")
            self.assertEqual(stray.status, 101)
            mask = b"\0\0\0\0"
            for text in (b"{", b'{"type":"resize","columns":"x"}', b'{"type":"resize","columns":-5,"rows":99999999999999}', b'{"type":7}', b"[]", b"\xff\xfe"):
                stray.socket.sendall(bytes((0x81, 0x80 | len(text))) + mask + text)
            stray.socket.close()
            for bad in (b"GET /shell HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + os.urandom(200)):
                client = socket.create_connection(("127.0.0.1", self.lab.port))
                client.sendall(bad)
                client.close()
        with self.shell(job) as shell:
            shell.type("echo st''ill\n").expect("still")
        for path, status, code in ((f"/api/v1/jobs/{job}/shell", 422, "method-not-allowed"), ("/api/v1/jobs/77/shell", 422, "method-not-allowed"),
                                   ("/jobs/77/proxy/web/", 404, "job-not-found")):
            answer = self.lab.request("GET", path)
            self.assertEqual((answer[0], json.loads(answer[2])["code"]), (status, code), path)
        self.assertEqual(self.lab.request("GET", "/api/v1/agent/channels/0123")[0], 404)
        self.assertEqual(WebSocket(self.lab.port, f"/api/v1/jobs/{job}/shell", Origin="http://evil.example").status, 403)
        self.assertEqual(WebSocket(self.lab.port, "/api/v1/jobs/77/shell").status, 404)
        done = self.lab.cli("shell", self.lab.submit("true", hold=True), check=False)
        self.assertEqual((done.returncode, "job-not-running" in done.stderr), (5, True), done.stderr)


class OthersTest(unittest.TestCase):
    def test_only_its_user_and_admins_get_in(self):
        with Lab() as lab:
            token = (lab.folder / "controller" / "token").read_text().strip()
            job = lab.submit("exec sleep 87.7135", ports={"web": 0})
            until(lambda: lab.job(job)["state"] == "running")
            script = f"""if True:
                import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
                from original_test import WebSocket
                bearer = {{"Authorization": "Bearer {token}"}}
                print(WebSocket({lab.port}, "/api/v1/jobs/{job}/shell").status, WebSocket({lab.port}, "/api/v1/jobs/{job}/shell", **bearer).status,
                      WebSocket({lab.port}, "/jobs/{job}/proxy/web/", **bearer).status, WebSocket({lab.port}, "/api/v1/agent/channels/0", **bearer).status)
            """
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stdout.split(), ["401", "403", "403", "403"], done.stderr)


class PtyTest(LabTest):
    """run --pty: the job's terminal is the caller's."""

    def run_at(self, *command, **size):
        return Terminal(self.lab, "run", "--pty", "-C", self.lab.folder, "--", *command, **size)

    def job_of(self, terminal):
        return int(terminal.expect("; Ctrl-]").rsplit("job ", 1)[1])

    def test_it_is_a_job_at_this_terminal_with_its_size_and_exit_code(self):
        with self.run_at("/bin/bash", "-c", "trap 'stty size' WINCH; tty; stty size; echo id $SCHEDULEARN_JOB_ID on [$CUDA_VISIBLE_DEVICES] $TERM; until read -t 0.1 line; do :; done; echo got $line; exit 7", columns=91, rows=34) as terminal:
            job = self.job_of(terminal)
            terminal.expect("/dev/pts/")
            terminal.expect("34 91")
            terminal.expect(f"id {job} on [0] xterm-256color")
            terminal.resize(70, 20)
            terminal.expect("20 70")
            terminal.type("a word\r")
            terminal.expect("got a word")
            self.assertEqual(7, terminal.end())
        self.assertEqual((7, "failed"), (self.lab.finished(job)["exit"]["code"], self.lab.job(job)["state"]))
        self.assertIn("got a word\r\n", self.lab.output(job), "its output is kept like that of other jobs")

    def test_a_command_that_ends_at_once_has_shown_everything(self):
        for _ in range(5):
            with self.run_at("/bin/bash", "-c", "echo one; seq 1 5000; echo last words; exit 3") as terminal:
                terminal.expect("last words")
                self.assertEqual(3, terminal.end())

    def test_ctrl_c_interrupts_the_program_and_not_the_job(self):
        with self.run_at("/bin/bash", "--norc") as terminal:
            self.job_of(terminal)
            terminal.type("PS1='ready> '\r")
            terminal.expect("ready> ")
            terminal.type("sleep 317.31\r")
            until(lambda: processes_with("317.31"))
            terminal.type("\x03")
            terminal.expect("ready> ")
            terminal.type("exit 4\r")
            self.assertEqual(4, terminal.end())

    def test_who_leaves_can_come_back_and_a_job_ends_for_whoever_is_connected(self):
        with self.run_at("/bin/bash", "-c", "echo begun; read line; echo $line here; read line; exit 5") as terminal:
            job = self.job_of(terminal)
            terminal.expect("begun")
            terminal.type("\x1d\x1d")
            terminal.expect(f"schedulearn shell {job}")
            self.assertEqual(0, terminal.end())
        self.assertEqual("running", self.lab.job(job)["state"])
        self.lab.kill(self.lab.agent)
        self.lab.start_agent()
        with Terminal(self.lab, "shell", job) as terminal:
            terminal.expect("begun")
            terminal.type("still\r")
            terminal.expect("still here")
            terminal.type("\r")
            self.assertEqual(5, terminal.end())
        self.assertEqual(5, self.lab.finished(job)["exit"]["code"])

    def test_a_signal_of_a_stop_reaches_the_program(self):
        with self.run_at("/bin/bash", "-c", "trap 'echo saved; exit 9' TERM; echo begun; while :; do sleep 0.05; done") as terminal:
            job = self.job_of(terminal)
            terminal.expect("begun")
            self.lab.cli("cancel", job)
            terminal.expect("saved")
            terminal.end()
        self.assertEqual("cancelled", self.lab.finished(job)["state"])

    def test_without_a_client_it_begins_after_a_while_and_input_may_come_from_a_file(self):
        job = self.lab.submit("tty; echo alone", pty=True)
        self.assertEqual("succeeded", self.lab.finished(job)["state"])
        self.assertIn("alone", self.lab.output(job))
        piped = subprocess.run([PROGRAM, "run", "--pty", "--", "/bin/bash", "-c", "read line; echo got $line"], input="a line\n", capture_output=True, text=True, timeout=120, env={**os.environ, "SCHEDULEARN_URL": self.lab.url})
        self.assertIn("got a line", piped.stdout)

    def test_what_cannot_have_a_terminal_is_refused_and_a_missing_command_named(self):
        for more in ({"launch": "ranks"}, {"array": "0-2"}, {"servers": 2, "gpus": 2}):
            self.assertIn("bad-pty", self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", "pty": True, **more})[2], more)
        with self.run_at("pyton", "x") as terminal:
            terminal.end()
            self.assertIn(b"no such command: pyton", terminal.said)


if __name__ == "__main__":
    unittest.main()
