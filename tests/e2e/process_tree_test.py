"""All processes of a job end with it, whoever dies and however they try to escape; and no other process is ever ended."""

import contextlib
import os
import pathlib
import signal
import subprocess
import unittest

from lab import Lab, until

HIDE = "env -i setsid /bin/bash -c"  # no mark in the environment, no session of the job


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class ProcessTreeTest(unittest.TestCase):
    cgroups = None  # the best there are

    def setUp(self):
        self.lab = Lab(gpus=2, environment={"SCHEDULEARN_CGROUPS": self.cgroups} if self.cgroups else None)
        self.lab.__enter__()
        self.addCleanup(self.lab.__exit__)

    def pid_of(self, name):
        path = self.lab.folder / name
        try:
            return int(until(lambda: path.exists() and path.read_text().strip(), what=name))
        except AssertionError as missing:
            raise AssertionError(f"{missing}; {self.lab.jobs()}") from None

    def launcher(self):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if command[0].endswith(b"schedulearn-launcher") and str(self.lab.folder / "agent").encode() in command:
                return int(process.name)
        raise AssertionError("no launcher")

    def kill_launcher(self):
        launcher = self.launcher()
        os.kill(launcher, signal.SIGKILL)
        until(lambda: not is_alive(launcher))

    def test_a_process_that_detached_itself_ends_with_its_job_and_only_then_are_the_gpus_free(self):
        for end in ("sleep 300", "true"):
            for name, line in (("a", "setsid sleep 300 & echo $! > {}"), ("b", HIDE + " 'sleep 300 & echo $! > {}' &")):
                path = self.lab.folder / f"{name}-{end[:4]}"
                job = self.lab.submit(f"trap - TERM\n{line.format(path)}\nuntil [ -s {path} ]; do sleep 0.01; done; {end}", gpus=2)
                pid = self.pid_of(path.name)
                if end != "true":
                    until(lambda: self.lab.job(job)["state"] == "running")
                    self.lab.cli("cancel", job)
                self.assertEqual(self.lab.finished(job)["state"], "succeeded" if end == "true" else "cancelled")
                self.assertFalse(is_alive(pid), (name, end))

    def test_what_a_fenced_job_has_started_dies_with_its_launcher(self):
        job = self.lab.submit("bash -c 'sleep 300 & echo $! > child; wait' & wait", on_partition="stop")
        pid = self.pid_of("child")
        until(lambda: self.lab.job(job)["state"] == "running")
        self.lab.kill(self.lab.agent)
        self.kill_launcher()
        until(lambda: not is_alive(pid), limit_s=5, what="the child's end")

    def test_what_a_fenced_job_has_started_ends_with_its_lease_when_agent_and_launcher_stand_still(self):
        job = self.lab.submit("bash -c 'sleep 300 & echo $! > child; wait' & wait", on_partition="stop")
        pid = self.pid_of("child")
        until(lambda: self.lab.job(job)["state"] == "running")
        launcher = self.launcher()
        self.lab.agent.send_signal(signal.SIGSTOP)
        os.kill(launcher, signal.SIGSTOP)
        try:
            until(lambda: not is_alive(pid), limit_s=45, what="the child's end")  # the controller starts it elsewhere then
        finally:
            os.kill(launcher, signal.SIGCONT)
            self.lab.agent.send_signal(signal.SIGCONT)
        until(lambda: self.lab.job(job)["attempt"] == 2 and self.lab.job(job)["state"] == "running", limit_s=60)

    def test_a_launcher_that_stands_still_takes_its_server_down_and_its_jobs_run_on(self):
        job = self.lab.submit("sleep 300 & echo $! > child; wait")
        pid = self.pid_of("child")
        until(lambda: self.lab.job(job)["state"] == "running")
        launcher = self.launcher()
        server = lambda: self.lab.get("/api/v1/servers/lab")["state"]
        os.kill(launcher, signal.SIGSTOP)
        try:
            until(lambda: server() == "down", limit_s=80, what="a server that takes no jobs")
            self.assertIn("the launcher does not answer", (self.lab.folder / "agent.log").read_text())
        finally:
            os.kill(launcher, signal.SIGCONT)
        until(lambda: server() == "up", limit_s=30)
        until(lambda: self.lab.job(job)["state"] == "running")
        self.assertEqual((self.lab.job(job)["attempt"], is_alive(pid)), (1, True))
        self.assertEqual(self.lab.finished(self.lab.submit("true"))["state"], "succeeded")

    def test_a_warden_that_was_killed_has_a_successor(self):
        self.lab.submit("sleep 300 & echo $! > child; wait", on_partition="stop")
        pid = self.pid_of("child")
        launcher = str(self.launcher())

        def warden():
            for process in pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # gone since it was listed
                    if pathlib.Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"schedulearn-warden"):
                        return int(process)

        first = until(warden)
        os.kill(first, signal.SIGKILL)
        until(lambda: warden() not in (None, first))
        self.lab.kill(self.lab.agent)
        self.kill_launcher()
        until(lambda: not is_alive(pid), limit_s=5, what="the child's end")

    def test_the_next_launcher_ends_what_a_job_left_behind_a_dead_one(self):
        job = self.lab.submit('[ "$SCHEDULEARN_ATTEMPT" = 2 ] && exit 0; setsid sleep 300 & echo $! > child; echo $$ > leader; sleep 300')
        child, leader = self.pid_of("child"), self.pid_of("leader")
        until(lambda: self.lab.job(job)["state"] == "running")
        self.lab.kill(self.lab.agent)
        self.kill_launcher()
        os.kill(leader, signal.SIGKILL)
        self.assertTrue(is_alive(child))
        self.lab.start_agent()
        self.assertEqual(self.lab.finished(job)["attempt"], 2)  # nobody knows how the first one ended
        self.assertFalse(is_alive(child))

    def test_an_adopted_job_can_be_cancelled_with_all_it_started(self):
        job = self.lab.submit("setsid sleep 300 & echo $! > child; sleep 300")
        child = self.pid_of("child")
        until(lambda: self.lab.job(job)["state"] == "running")
        self.kill_launcher()
        until(lambda: self.lab.try_get("/api/v1/servers")["items"][0]["state"] == "up")
        self.lab.cli("cancel", job)
        self.lab.finished(job)
        self.assertFalse(is_alive(child))

    def test_after_a_reboot_the_numbers_in_the_journal_are_strangers(self):
        stranger = subprocess.Popen(["sleep", "300"], start_new_session=True)
        self.addCleanup(lambda: (stranger.kill(), stranger.wait()))
        ticks = pathlib.Path(f"/proc/{stranger.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        self.lab.kill(self.lab.agent)
        self.kill_launcher()
        journal = self.lab.folder / "agent" / "journal"
        with open(journal, "a") as file:  # as it was on the boot before, when these numbers were a job's
            file.write(f"start\t77.1\t{stranger.pid}\t{ticks}\t1\t0\t0\tanother-boot\t\n")
            file.write(f"start\t78.1\t{stranger.pid}\t{int(ticks) + 1}\t1\t0\t0\t{pathlib.Path('/proc/sys/kernel/random/boot_id').read_text().strip()}\t\n")
            file.write(f"start\t79.1\t{stranger.pid}\t{ticks}\t1\t0\t0\n")  # of a version that did not say which boot
        self.lab.start_agent()
        until(lambda: "end\t77.1" in journal.read_text() or "77.1" not in journal.read_text())
        self.lab.finished(self.lab.submit("true"))
        self.assertTrue(is_alive(stranger.pid))

    def test_a_job_cannot_talk_to_the_launcher(self):
        talk = self.lab.folder / "talk.py"
        talk.write_text(f"""import socket, sys
answers = 0
for _ in range(50):  # the agent calls again at once when somebody takes its place
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    try:
        s.connect({str(self.lab.folder / "agent" / "launcher.sock")!r})
        s.sendall((5).to_bytes(4, sys.byteorder) + b"list\\0")
        answers += len(s.recv(1))
    except OSError:
        pass
sys.exit(min(answers, 9))
""")
        job = self.lab.submit(f"/usr/bin/python3 {talk}; echo $? > plain; {HIDE} '/usr/bin/python3 {talk}; echo $? > {self.lab.folder}/hidden' & wait")
        self.assertEqual((self.pid_of("plain"), self.pid_of("hidden")), (0, 0))
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")

    def test_a_job_may_open_as_many_files_as_whoever_started_the_agent(self):
        job = self.lab.finished(self.lab.submit("ulimit -n"))
        own = subprocess.run(["bash", "-c", "ulimit -n"], capture_output=True, text=True).stdout
        self.assertEqual(self.lab.output(job["id"]), own)


class WithoutControlGroupsTest(ProcessTreeTest):
    cgroups = "off"


if __name__ == "__main__":
    unittest.main()
