#!/usr/bin/python3
"""`up`: how it ends, and what is there without it."""

import json
import os
import signal
import subprocess
import unittest

from lab import PROGRAM, Lab, fill, small_disk, until

SAVES = 'trap "echo saved; exit 143" TERM; echo "attempt $SCHEDULEARN_ATTEMPT resume=$SCHEDULEARN_RESUME"; while :; do sleep 0.02; done'
DEAF = 'trap "" TERM; echo deaf; while :; do sleep 0.02; done'


class UpLab(Lab):
    """One program that is everything, started and stopped by the test."""

    def __init__(self, simulate="2"):
        super().__init__()
        self.simulate = simulate
        self.data = self.folder / "data"
        self.daemon = None

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        if self.daemon and self.daemon.poll() is None:
            self.kill(self.daemon)
        super().__exit__()

    def up(self, *more):
        self.daemon = self._daemon("up", "up", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}", "--simulate", self.simulate, *more)
        count = int(self.simulate.split("x")[0]) if "x" in self.simulate else 1
        until(lambda: (self.try_get("/api/v1/cluster") or {}).get("servers_up") == count, what="all servers")

    def said(self):
        return (self.folder / "up.log").read_text()

    def tell_to_stop(self, number=signal.SIGTERM):
        before = self.said().count("Stopping")
        self.daemon.send_signal(number)
        until(lambda: self.said().count("Stopping") > before or self.daemon.poll() is not None, what="its answer")

    def stop(self, limit_s=30):
        self.daemon.send_signal(signal.SIGINT)
        self.ended(limit_s)

    def ended(self, limit_s=30):
        assert self.daemon.wait(limit_s) == 0, self.said()

    def running(self, command, **spec):
        job = self.submit(command, **spec)
        until(lambda: self.output(job), what="its first line")
        return job


class UpTest(unittest.TestCase):
    simulate = "2"

    def setUp(self):
        self.lab = UpLab(self.simulate)
        self.lab.__enter__()
        self.addCleanup(self.lab.__exit__)

    def states(self, *jobs):
        return [self.lab.job(job)["state"] for job in jobs]


class FullDiskTest(UpTest):
    """Nothing can be recorded any more, so no order leaves the controller."""

    def setUp(self):
        self.lab = UpLab(self.simulate)
        small_disk(self, self.lab.data, "24m")
        self.addCleanup(self.lab.__exit__)
        self.lab.__enter__()

    def test_its_trainings_are_asked_to_save_all_the_same_and_go_on_later(self):
        lab = self.lab
        saves = lab.running(SAVES.replace("143", "0"), checkpoint={"dir": str(lab.folder / "states")})
        filler = fill(lab.data)
        until(lambda: lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/"})[0] == 503, what="a refusal")
        lab.stop(60)
        self.assertNotIn("Killing", lab.said())
        filler.unlink()
        lab.up()
        until(lambda: "attempt 2 resume=1" in lab.output(saves), what="its second attempt")
        self.assertEqual(self.states(saves), ["running"])


class StoppingTest(UpTest):
    def test_jobs_that_save_their_state_resume_and_others_are_cancelled_with_the_reason(self):
        lab = self.lab
        saves = lab.running(SAVES, checkpoint={"dir": "ckpt"})
        plain = lab.running("echo on; sleep 300")
        waits = lab.submit("true", gpus=2)
        lab.stop()
        said = lab.said()
        self.assertIn(f"Stopping 2 jobs: job {saves} goes back to the queue, job {plain} is cancelled.", said)
        self.assertIn(f"Stopped. To continue:    schedulearn up --data {lab.data}", said)
        until(lambda: not lab.processes_of(lab.data), what="the end of everything")
        lab.up()
        until(lambda: "attempt 2 resume=1" in lab.output(saves), what="its second attempt")
        self.assertEqual(self.states(saves, plain, waits), ["running", "cancelled", "pending"])
        events = lab.get(f"/api/v1/jobs/{waits}/events")["items"]
        self.assertEqual([event["kind"] for event in events], ["job.submitted"])
        self.assertIsNone(lab.job(plain)["failure"])
        self.assertIn("schedulearn up was stopped", lab.cli("show", plain).stdout)
        self.assertIn("schedulearn up was stopped", lab.cli("ls").stdout)
        self.assertIn("schedulearn up was stopped", lab.cli("wait", plain, check=False).stderr)

    def test_it_ends_with_its_terminal_unless_it_was_started_to_outlive_it(self):
        lab = self.lab
        plain = lab.running("echo on; sleep 300")
        lab.tell_to_stop(signal.SIGHUP)
        lab.ended()
        until(lambda: not lab.processes_of(lab.data), what="the end of everything")
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        try:
            lab.up()
        finally:
            signal.signal(signal.SIGHUP, before)
        self.assertEqual(self.states(plain), ["cancelled"])
        lab.daemon.send_signal(signal.SIGHUP)
        self.assertEqual(lab.finished(lab.submit("true"))["state"], "succeeded")
        lab.stop()

    def test_a_second_signal_kills_what_does_not_listen(self):
        lab = self.lab
        deaf = lab.running(DEAF)
        deaf_too = lab.running(DEAF, checkpoint={"dir": "ckpt", "grace": "600s"})
        lab.tell_to_stop()
        self.assertIn("This takes up to 600 s; another Ctrl-C kills them.", lab.said())
        lab.daemon.send_signal(signal.SIGINT)
        lab.ended(10)
        self.assertIn("Stopped. To continue", lab.said())
        lab.up()
        until(lambda: self.states(deaf, deaf_too) == ["cancelled", "running"])

    def test_a_job_that_does_not_listen_is_killed_when_its_grace_is_over(self):
        lab = self.lab
        deaf = lab.running(DEAF, checkpoint={"dir": "ckpt", "grace": "1s"})
        lab.stop(15)
        lab.up()
        until(lambda: lab.job(deaf)["attempt"] == 2)
        self.assertEqual(lab.job(deaf)["preemptions"], 1)

    def test_what_a_kill_interrupts_is_finished_by_the_next(self):
        lab = self.lab
        slow = 'trap "echo told; while ! [ -e go ]; do sleep 0.02; done; exit 143" TERM; echo on; while :; do sleep 0.02; done'
        saves = lab.running(slow, checkpoint={"dir": "ckpt"})
        plain = lab.running(slow)
        lab.tell_to_stop()
        until(lambda: all("told" in lab.output(job) for job in (saves, plain)))
        lab.kill(lab.daemon)
        lab.up()
        self.assertEqual(self.states(saves, plain), ["stopping", "stopping"])
        (lab.folder / "go").touch()
        self.assertEqual(lab.finished(plain)["state"], "cancelled")
        until(lambda: (lab.job(saves)["attempt"], lab.job(saves)["state"]) == (2, "running"))

    def test_a_recording_of_a_stop_decides_the_same_again(self):
        lab = self.lab
        lab.stop()
        lab.up("--record", str(lab.folder / "tape"))
        lab.running(SAVES, checkpoint={"dir": "ckpt"})
        lab.running("echo on; sleep 300")
        lab.stop()
        (tape,) = (lab.folder / "tape").iterdir()
        self.assertIn('"in":"stopping"', tape.read_text())
        self.assertIn("differences  0", lab.cli("controller", "replay", tape).stdout)


class PastTest(UpTest):
    """A data folder without a daemon."""

    def ask(self, *arguments, check=True):
        command, *rest = arguments
        return self.lab.cli(command, "--data", self.lab.data, *rest, check=check)

    def files(self):
        return {str(path): path.stat().st_mtime_ns for path in sorted(self.lab.data.rglob("*"))}

    def test_after_the_end_the_folder_answers_and_nothing_in_it_changes(self):
        lab = self.lab
        done = lab.submit("for i in 1 2 3; do echo line $i; done", name="done")
        lab.finished(done)
        saves = lab.running(SAVES, checkpoint={"dir": "ckpt"})
        lab.stop()
        self.assertIn(f"schedulearn ls --data {lab.data}", lab.said())
        before = self.files()
        shown = self.ask("ls")
        self.assertIn("succeeded", shown.stdout)
        self.assertIn("pending", shown.stdout)
        self.assertEqual(shown.stderr, f"No controller runs on {lab.data}; this is what is recorded there.\n")
        self.assertEqual(self.ask("logs", done).stdout, "line 1\nline 2\nline 3\n")
        self.assertEqual(self.ask("logs", "--tail", "1", "done").stdout, "line 3\n")
        self.assertEqual(self.ask("logs", "-f", done).stdout, "line 1\nline 2\nline 3\n")
        self.assertRegex(self.ask("logs", saves).stdout, r"^attempt 1 resume=0\n(.*\n)*saved\n$")
        self.assertIn(f"schedulearn logs --data {lab.data} {done}", self.ask("show", done).stdout)
        self.assertEqual(json.loads(self.ask("show", "last", "--json").stdout)["preemptions"], 1)
        self.assertEqual(self.ask("ls", "-q", "--state", "succeeded").stdout, f"{done}\n")
        self.assertIn("job.submitted", self.ask("events", done).stdout)
        self.assertEqual(self.ask("logs", 99, check=False).returncode, 3)
        environment = {**os.environ, "SCHEDULEARN_DATA": str(lab.data), "SCHEDULEARN_URL": lab.url}
        asked = subprocess.run([PROGRAM, "status"], capture_output=True, text=True, env=environment, timeout=60)
        self.assertIn(f"schedulearn ls --data {lab.data}", asked.stderr)
        self.assertEqual(self.files(), before)

    def test_after_a_kill_it_says_which_jobs_ran_and_reads_what_they_write(self):
        lab = self.lab
        job = lab.running("echo on; while ! [ -e go ]; do sleep 0.02; done; echo more; sleep 300")
        lab.kill(lab.daemon)
        self.assertIn("is down", self.ask("ls").stdout)
        (lab.folder / "go").touch()
        until(lambda: self.ask("logs", job).stdout == "on\nmore\n")

    def test_a_controller_that_runs_there_is_asked(self):
        lab = self.lab
        job = lab.submit("echo hello; sleep 0.5; echo bye")
        said = self.ask("logs", "-f", job)
        self.assertEqual((said.stdout, said.stderr), ("hello\nbye\n", ""))

    def test_a_folder_that_is_none_is_refused_and_left_as_it_is(self):
        lab = self.lab
        empty = lab.folder / "empty"
        empty.mkdir()
        for folder, status, code in ((empty, 3, "no-database"), (lab.folder / "nowhere", 3, "no-database")):
            refused = lab.cli("ls", "--data", folder, check=False)
            self.assertEqual(refused.returncode, status, refused)
            self.assertIn(code, refused.stderr)
            self.assertIn(str(folder), refused.stderr)
        self.assertEqual(list(empty.iterdir()), [])
        self.assertFalse((lab.folder / "nowhere").exists())
        (empty / "schedulearn.db").write_text("no database at all, but long enough to be taken for the header of one ......")
        refused = lab.cli("ls", "--data", empty, check=False)
        self.assertEqual((refused.returncode, "store-failed" in refused.stderr), (1, True), refused)


class ServersTest(UpTest):
    """Several simulated servers in one program."""

    simulate = "3x4"

    def server_of(self, job):
        return self.lab.job(job)["placement"][0]["server"]

    def test_policies_see_three_servers(self):
        lab = self.lab
        self.assertEqual(sorted((server["name"], len(server["gpus"])) for server in lab.get("/api/v1/servers")["items"]), [("sim1", 4), ("sim2", 4), ("sim3", 4)])
        self.assertIn("sim3", lab.cli("servers", "ls").stdout)
        self.assertIn("sim3-3", lab.cli("gpus").stdout)
        lab.cli("policy", "set", "round_robin")
        jobs = [lab.running("hostname; sleep 300") for _ in range(3)]
        self.assertEqual(sorted(map(self.server_of, jobs)), ["sim1", "sim2", "sim3"])
        wide = lab.submit("true", gpus=4)
        why = lab.cli("why", wide).stdout
        for server in ("sim1", "sim2", "sim3"):
            self.assertRegex(why, rf"{server} +3 +4 +1 short")
        refused = lab.cli("submit", "--gpus", "5", "--", "true", check=False)
        self.assertIn("needs 5 GPUs on one server, the largest server has 4", refused.stderr)

    def test_a_kill_and_a_new_start_leave_jobs_and_servers_as_they_were(self):
        lab = self.lab
        jobs = [lab.running("echo $$; sleep 300", gpus=4) for _ in range(3)]
        before = [(lab.output(job), self.server_of(job)) for job in jobs]
        lab.kill(lab.daemon)
        lab.up()
        until(lambda: self.states(*jobs) == ["running"] * 3)
        self.assertEqual([(lab.output(job), self.server_of(job)) for job in jobs], before)
        self.assertEqual([lab.job(job)["attempt"] for job in jobs], [1, 1, 1])
        lab.cli("cancel", jobs[2])
        self.assertEqual(lab.finished(jobs[2])["state"], "cancelled")

    def test_they_end_together_and_keep_their_output(self):
        lab = self.lab
        jobs = [lab.running(SAVES, gpus=4, checkpoint={"dir": "ckpt"}) for _ in range(2)]
        plain = lab.running("echo on; sleep 300", gpus=4)
        lab.stop()
        self.assertIn(f"Stopping 3 jobs: jobs {jobs[0]} and {jobs[1]} go back to the queue, job {plain} is cancelled.", lab.said())
        until(lambda: not lab.processes_of(lab.data), what="the end of everything")
        self.assertTrue(lab.cli("logs", "--data", lab.data, plain).stdout.startswith("on\n"))
        lab.up()
        until(lambda: all("attempt 2 resume=1" in lab.output(job) for job in jobs))

    def test_other_sizes_are_refused(self):
        for size in ("3x", "x4", "0x4", "3x65", "65x1", "3x4x5", "three"):
            refused = self.lab.cli("up", "--data", self.lab.folder / "other", "--simulate", size, check=False)
            self.assertEqual((refused.returncode, "bad-simulate" in refused.stderr), (2, True), refused)
        self.assertFalse((self.lab.folder / "other").exists())


if __name__ == "__main__":
    unittest.main()
