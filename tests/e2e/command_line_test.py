#!/usr/bin/python3
"""The command line as people use it: a first session, lists on terminals of any width, Ctrl-C, errors, daemons that start and stop."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time
import unicodedata
import unittest

from lab import PROGRAM, LabTest, free_port, until
from shell_test import Terminal


def catches_interrupts(pid):
    caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return int(caught[1], 16) & 1 << (signal.SIGINT - 1)


class CommandLineTest(LabTest):
    def test_a_first_session(self):
        submitted = self.lab.cli("submit", "--gpus", 2, "--name", "hello", "--", "echo", "hi there")
        self.assertTrue(submitted.stdout.startswith("✓ Job 1 hello  ·  2 GPUs  ·  process\n"), submitted.stdout)
        self.assertEqual(self.lab.cli("wait", "hello").returncode, 0)
        self.assertEqual(self.lab.cli("logs", "last").stdout, "hi there\n")
        self.assertIn("✓ succeeded", self.lab.cli("ls").stdout)
        self.assertEqual(self.lab.cli("ls", "-q").stdout, "1\n")
        self.assertEqual(json.loads(self.lab.cli("show", 1, "--json=id,state").stdout), {"id": 1, "state": "succeeded"})
        self.assertIn("lab-3", self.lab.cli("gpus").stdout)
        self.assertIn("simulated", self.lab.cli("status").stdout)
        self.assertIn("round_robin", self.lab.cli("policy", "ls").stdout)
        self.assertIn("schedulearn submit --gpus 1", self.lab.cli("submit", "--help").stdout)

    def test_flags_and_addresses_as_people_type_them(self):
        first, second = self.lab.submit("true", labels={"lr": "3"}), self.lab.submit("true", labels={"lr": "4"})
        until(lambda: all(self.lab.job(job)["state"] == "succeeded" for job in (first, second)))
        self.assertEqual(self.lab.cli("ls", "-q", "--label", "lr=3").stdout, f"{first}\n")
        self.assertEqual(self.lab.cli("ls", "-q", "--label", "lr").stdout.split(), [str(second), str(first)])
        self.assertEqual(self.lab.cli("ls", "-q", "--label", "lr=3", "--label", "lr=4").stdout, f"{second}\n")  # the last counts
        after = json.loads(self.lab.cli("submit", "--hold", "--after", first, "--after", second, "--json=spec.after", "--", "true").stdout)
        self.assertEqual(after, {"spec.after": [first, second]})  # lists add up
        self.assertEqual(self.lab.cli("servers", "ls", "-q").stdout, "lab\n")
        self.assertEqual(self.lab.cli("gpus", "-q").stdout.split(), [f"lab-{gpu}" for gpu in range(self.lab.gpus)])
        for *words, first_name in (("trace", "ls", "poisson"), ("reproduce", "ls", "tetris-vs-fifo"), ("policy", "show", "sjf", "sjf")):
            self.assertEqual(self.lab.cli(*words, "-q").stdout.splitlines()[0], first_name)
        self.assertEqual(self.lab.cli("policy", "show", "sjf", "--plain").stdout.splitlines()[0], "name\tsjf")
        simulated = self.lab.cli("sim", "run", "--trace", "poisson:jobs=20", "--servers", "2x8", "--policies", "fifo,sjf", "--json=policy,jobs").stdout
        self.assertEqual([json.loads(line) for line in simulated.splitlines()], [{"policy": "fifo", "jobs": 20}, {"policy": "sjf", "jobs": 20}])
        for address in (f"127.0.0.1:{self.lab.port}", f"{self.lab.url}/", f"{self.lab.url}/ui/"):
            self.assertEqual(self.lab.cli("--url", address, "ls", "-q", "--label", "lr=3").stdout, f"{first}\n", address)

    def test_a_hint_is_about_what_was_asked_for(self):
        runs = self.lab.submit("sleep 100")
        self.assertIn("hint: wait longer: --for 2h", self.lab.cli("wait", runs, "--for", "0.1s", check=False).stderr)
        for words in (("--time-limit", "0"), ("--estimate", "0"), ("--deadline", "0"), ("--checkpoint-every", "0"), ("--retry", "1", "--retry-backoff", "400d")):
            said = self.lab.cli("submit", *words, "--", "true", check=False).stderr
            self.assertIn("[bad-time]\n  hint: write a duration: 90s, 30m, 2h, 1d\n", said)
        self.assertIn("hint: write a duration", self.lab.cli("set", runs, "--time-limit", "0", check=False).stderr)
        self.assertIn("hint: write 21:00", self.lab.cli("submit", "--not-before", "soon", "--", "true", check=False).stderr)
        alone = self.lab.cli("submit", "--retry-backoff", "1m", "--", "true", check=False)
        self.assertEqual((alone.returncode, "--retry 3" in alone.stderr), (2, True), alone.stderr)
        self.lab.cli("submit", "--dry-run", "--retry", "1", "--retry-backoff", "1m", "--", "true")
        self.assertNotIn("INT:INT", self.lab.cli("help", "logs").stdout)
        self.assertIn("--rank takes a number from 0 to 1000000, not -1", self.lab.cli("logs", runs, "--rank", "-1", check=False).stderr)

    def test_nothing_has_an_empty_name_or_one_with_a_slash(self):
        for thing, commands in (("server", ("servers show", "servers rm", "servers lost", "servers drain", "servers undrain")), ("secret", ("secret rm",)), ("user", ("user rm",)), ("channel", ("notify rm", "notify test")), ("profile", ("profile show", "profile rm")), ("trace", ("trace rm",))):
            for words in commands:
                for name, told in (("a1/../x", "a1/../x"), ("lab/drain", "lab/drain"), ("", "without a name")):
                    refused = self.lab.cli(*words.split(), name, "--yes", check=False)
                    self.assertEqual((refused.returncode, f"error: there is no {thing} {told} [" in refused.stderr), (3, True), (words, name, refused.stderr))
        self.assertEqual(json.loads(self.lab.cli("servers", "show", "lab", "--json=state").stdout), {"state": "up"})
        self.assertIn("[bad-name]", self.lab.cli("notify", "add", "a/b", "--webhook", "https://a.example/x", check=False).stderr)

    def test_show_says_how_many_attempts_it_leaves_out(self):
        job = self.lab.submit("false", retry={"max": 6, "backoff": "0s"})
        self.lab.finished(job)
        shown = self.lab.cli("show", job).stdout
        self.assertIn(f"Attempts   2 earlier: schedulearn show {job} --json=attempts\n             3 on lab", shown)
        twice = self.lab.submit("false", retry={"max": 1, "backoff": "0s"})
        self.lab.finished(twice)
        self.assertIn("Attempts   1 on lab", self.lab.cli("show", twice).stdout)

    def test_ls_explains_no_group_that_runs(self):
        group = self.lab.submit("sleep 100", array="1-6")
        until(lambda: self.lab.job(group)["members"]["running"] == self.lab.gpus)
        self.assertNotIn("schedulearn why", self.lab.cli("ls").stdout)
        waits = self.lab.submit("true")
        until(lambda: self.lab.job(waits)["state"] == "pending")
        self.assertIn(f"Why is one waiting:  schedulearn why {waits}\n", self.lab.cli("ls").stdout)

    def test_a_list_with_a_limit_is_the_beginning_of_the_whole_one_and_asks_for_no_more(self):
        jobs = [self.lab.submit("sleep 100", gpus=self.lab.gpus) for _ in range(3)] + [self.lab.submit("true", gpus=0)]
        jobs.append(self.lab.submit("sleep 100", hold=True))
        until(lambda: self.lab.job(jobs[0])["state"] == "running" and self.lab.job(jobs[3])["state"] == "succeeded")
        for order in ((), ("--sort", "id"), ("--sort", "name"), ("--sort", "gpus")):
            whole = self.lab.cli("ls", "-q", *order).stdout.splitlines()
            for limit in range(1, 7):
                self.assertEqual(self.lab.cli("ls", "-q", "--limit", limit, *order).stdout.splitlines(), whole[:limit], (limit, order))
        said = self.lab.cli("ls", "--limit", 2, "--verbose")
        asked = [line for line in said.stderr.splitlines() if "/api/v1/jobs?" in line]
        self.assertTrue(asked and all("limit=2&" in line and "fields=" in line for line in asked), said.stderr)
        rows = [json.loads(line) for line in self.lab.cli("ls", "--limit", 2, "--json=id,spec.gpus.max,reason.text").stdout.splitlines()]
        self.assertEqual([row["id"] for row in rows], [jobs[0], jobs[4]])
        self.assertEqual(rows[0]["spec.gpus.max"], self.lab.gpus)
        self.assertGreaterEqual(json.loads(self.lab.cli("ls", "--limit", 2, "--json=total").stdout)["total"], 5)
        self.assertIn("there is no field stat ", self.lab.cli("ls", "--limit", 2, "--json=stat", check=False).stderr)
        self.lab.cli("cancel", *jobs[:3], jobs[4], "--yes")

    def test_whoever_removes_an_array_is_told_how_many_jobs_it_is(self):
        group = self.lab.submit("true", array="1-12")
        until(lambda: self.lab.job(group)["state"] == "succeeded")
        with Terminal(self.lab, "rm", group) as terminal:
            terminal.expect("Really remove 12 jobs for good? [y/N]")
            terminal.type("n\n")
        self.assertEqual(self.lab.job(group)["members"]["succeeded"], 12)
        self.assertIn("with its 12 members", self.lab.cli("rm", group).stdout)

    def test_at_a_terminal_the_output_of_a_job_has_colours_and_controls_nothing_else(self):
        job = self.lab.submit(r"printf '\033]0;mine\007\033[2Jplain \033[31mred\n'")
        until(lambda: self.lab.job(job)["state"] == "succeeded")
        with Terminal(self.lab, "logs", job) as terminal:
            self.assertEqual(terminal.expect("\033[31mred"), "plain ")
            terminal.expect("\033[0m")
        with Terminal(self.lab, "logs", job, "--raw") as terminal:
            terminal.expect("\033]0;mine\007\033[2J")
        self.assertIn("\033]0;mine", self.lab.cli("logs", job).stdout)

    def test_ctrl_c_is_answered_at_once_while_a_job_waits_or_is_silent(self):
        """Whatever follows a job ends and leaves the job alone; `run` cancels it if Ctrl-C is pressed again within 2 s."""
        silent = self.lab.submit("sleep 600", gpus=self.lab.gpus)
        until(lambda: self.lab.job(silent)["state"] == "running")
        for arguments, waits_for in [(["logs", "-f", str(silent)], ""), (["submit", "--follow", "--", "true"], "waits:"), (["run", "--", "true"], "needs 1 free GPU"), (["wait", str(silent)], ""), (["submit", "--wait", "--", "true"], "waits:")]:
            with subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "SCHEDULEARN_URL": self.lab.url}) as command:
                said = ""
                while waits_for and waits_for not in said:
                    said += command.stdout.readline()
                until(lambda: catches_interrupts(command.pid), what="a handler for Ctrl-C")
                pressed = time.monotonic()
                command.send_signal(signal.SIGINT)
                while "goes on; return with: schedulearn logs -f" not in said:
                    said += command.stdout.readline()
                self.assertLess(time.monotonic() - pressed, 2)
                if arguments[0] == "run":
                    command.send_signal(signal.SIGINT)
                    self.assertIn("is cancelled", command.stdout.read())
                self.assertEqual(command.wait(10), 130)
        self.assertEqual(self.lab.job(silent)["state"], "running")
        self.lab.cli("cancel", silent)

    def test_why_a_job_was_cancelled_is_shown_later(self):
        lab = self.lab
        job = lab.submit("exec sleep 600")
        until(lambda: lab.job(job)["state"] == "running")
        for reason in "x" * 201, "a\nb":
            refused = lab.cli("cancel", job, "--reason", reason, check=False)
            self.assertEqual((refused.returncode, "bad-reason" in refused.stderr), (2, True), refused.stderr)
        for body, code in ({"reasn": "a"}, "unknown-key"), ({"reason": 3}, "wrong-type"), ([], "wrong-type"):
            status, _, text = lab.request("POST", f"/api/v1/jobs/{job}/cancel", body)
            self.assertEqual((status, json.loads(text)["code"]), (422, code))
        self.assertEqual(lab.job(job)["state"], "running")
        lab.cli("cancel", job, "--reason", "wrong data – v2")
        lab.finished(job)
        self.assertEqual(lab.job(job)["reason"], {"code": "stopped", "text": "wrong data – v2"})
        self.assertIn("wrong data – v2", lab.cli("show", job).stdout)
        self.assertEqual(lab.cli("why", job).stdout, f"job {job} has ended: cancelled (wrong data – v2).\n")
        self.assertIn("wrong data – v2", lab.cli("events", job).stdout)
        array = lab.submit("exec sleep 600", array="0-1", gpus=lab.gpus)
        until(lambda: lab.job(f"{array}_0")["state"] == "running")
        lab.cli("cancel", array, "--reason", "all of it")
        lab.finished(array)
        self.assertEqual([lab.job(j)["reason"]["text"] for j in (array, f"{array}_0")], ["all of it"] * 2)
        polite = lab.submit("trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.1; done")
        dependent = lab.submit("echo trained", after=[polite])
        until(lambda: lab.output(polite) == "up\n")
        lab.cli("cancel", polite, "--reason", "enough")
        self.assertEqual((lab.finished(polite)["state"], lab.job(polite)["exit"]["code"]), ("cancelled", 0))
        self.assertEqual(lab.cli("why", polite).stdout, f"job {polite} has ended: cancelled (enough).\n")
        self.assertEqual(lab.finished(dependent)["failure"]["kind"], "dependency")
        lab.kill(lab.controller)
        lab.start_controller()
        self.assertEqual(lab.job(job)["reason"]["text"], "wrong data – v2")

    def test_a_job_file_names_files_of_variables(self):
        """Relative to the job file; what is listed in it counts more, and flags count most."""
        lab = self.lab
        folder = lab.folder / "beside"
        folder.mkdir()
        (folder / "a.env").write_text("# of a\nA=1\nB=1\nC=1\nD=a=b c\r\n\nPATH\n")
        (folder / "b.env").write_text("B=2\n")
        (folder / "job.toml").write_text('command = "echo $A $B $C $D $E"\nenv_file = ["a.env", "b.env"]\nworkdir = "/"\n[env]\nC = "3"\nE = "5"\n')
        lab.cli("submit", "beside/job.toml", "--env", "E=6", "--wait", cwd=lab.folder)
        self.assertEqual(lab.cli("logs", "last").stdout, "1 2 3 a=b c 6\n")
        (folder / "one.json").write_text('{"command": "echo $B", "env_file": "b.env"}')
        lab.cli("submit", "beside/one.json", "--wait", cwd=lab.folder)
        self.assertEqual(lab.cli("logs", "last").stdout, "2\n")
        (folder / "b.env").write_text("NOT_SET_ANYWHERE\n")
        for content, code, exit_status in ('env_file = "c.env"', "no-such-file", 3), ("env_file = 3", "wrong-type", 2), ('env_file = "b.env"', "bad-env", 2):
            (folder / "bad.toml").write_text(f'command = "true"\n{content}\n')
            refused = lab.cli("submit", "beside/bad.toml", cwd=lab.folder, check=False)
            self.assertEqual((refused.returncode, code in refused.stderr, "beside/bad.toml" in refused.stderr), (exit_status, True, True), refused.stderr)
        status, _, text = lab.request("POST", "/api/v1/jobs", {"command": "true", "env_file": "/etc/passwd"})
        self.assertEqual((status, json.loads(text)["code"]), (422, "unknown-key"))
        self.assertEqual(len(lab.jobs()), 2)

    def test_a_wrong_job_file_is_told_all_at_once_with_its_lines(self):
        lab = self.lab
        (lab.folder / "bad.toml").write_text('comand = "true"\ngpus = "two"\n[resources]\nmemory = "lots"\ncpus = -3\n[time]\nlimit = "1x"\n')
        said = lab.cli("submit", "bad.toml", cwd=lab.folder, check=False)
        self.assertEqual((said.returncode, said.stderr.count("error: ")), (2, 1), said.stderr)
        for code in ("bad-gpus", "bad-size", "bad-duration", "unknown-key", "empty-command", "bad-resources"):
            self.assertEqual(said.stderr.count(f"[{code}]"), 1, said.stderr)
        self.assertIn('  note: in bad.toml, line 4, column 10\n  note: 4 | memory = "lots"\n  note:   |          ^\n', said.stderr)
        self.assertIn("unknown key comand [unknown-key]; did you mean command?\n  note: in bad.toml, line 1, column 1\n", said.stderr)
        replaced = lab.cli("submit", "bad.toml", "--gpus", "three", cwd=lab.folder, check=False).stderr
        self.assertIn("not a number of GPUs: three [bad-gpus]\n  note: in bad.toml at /gpus\n", replaced, "that is not in the file")
        (lab.folder / "bad.toml").write_text("command = 5\ngpus = 0.5\n")
        said = lab.cli("submit", "bad.toml", cwd=lab.folder, check=False).stderr
        self.assertNotIn("empty-command", said, "there is one, if of the wrong type")
        self.assertIn("line 1, column 11", said)
        self.assertIn("line 2, column 8", said)
        (lab.folder / "bad.toml").write_text('command = "true"\n"\\u001b[2Ja/b" = 1\n')
        said = lab.cli("submit", "bad.toml", cwd=lab.folder, check=False).stderr
        self.assertIn("unknown key ^[[2Ja/b [unknown-key]\n  note: in bad.toml, line 2, column 1\n", said, "nothing that a terminal would obey")
        self.assertEqual(lab.jobs(), [])

    def test_a_dry_run_says_in_words_what_would_be_submitted(self):
        lab = self.lab
        said = lab.cli("submit", "--dry-run", "--gpus", "2", "--name", "x", "--time-limit", "1h", "-e", "TOKEN=secret", "--", "python3", "my train.py").stdout
        self.assertIn("dry run: nothing is submitted\n  x  ·  2 GPUs  ·  process\n  starts now on lab, ends about", said)
        self.assertRegex(said, r"  command +python3 'my train.py'\n")
        self.assertRegex(said, r"  time_limit_s +1h 00m\n")
        self.assertIn("TOKEN", said)
        self.assertNotIn("secret", said)
        self.assertNotIn("priority", said, "it is as usual")
        self.assertIn("\n  train.py  ·  1 GPU", lab.cli("submit", "--dry-run", "--", "python3", "train.py").stdout, "its name, as it would be kept")
        self.assertIn("3 members  ·  1 GPU each", lab.cli("submit", "--dry-run", "--array", "0-2", "--", "true").stdout)
        self.assertEqual(json.loads(lab.cli("submit", "--dry-run", "--json", "--", "true").stdout)["spec"]["priority"], 0)
        self.assertEqual(lab.jobs(), [])

    def test_names_that_turn_the_direction_of_writing_or_colour_a_terminal_are_shown_as_what_they_are(self):
        lab = self.lab
        job = lab.submit(["bash", "-c", r"echo > $SCHEDULEARN_OUTPUT_DIR/$'evil\x1b[31m\u202egnp'"], name="evil\u202egnp", hold=True)
        for command in (("ls",), ("show", job), ("set", job, "--release"), ("wait", job), ("files", job, "ls", "output")):
            done = lab.cli(*command)
            text = done.stdout + done.stderr
            self.assertIn("<U+202E>gnp", text)
            self.assertNotIn("\u202e", text)
            self.assertNotIn("\x1b", text)
        self.assertIn("evil\u202egnp", lab.cli("ls", "--plain").stdout, "programs get names as they are")

    def test_lines_of_an_output_that_match_and_those_from_the_first_error_on(self):
        lab = self.lab
        job = lab.submit("for i in 1 2 3; do echo epoch $i; echo loss 0.$i; done; echo 'ValueError: bad' >&2; echo after")
        lab.finished(job)
        for follow in [], ["-f"]:
            self.assertEqual(lab.cli("logs", job, "--grep", "epoch [23]|after", *follow).stdout, "epoch 2\nepoch 3\nafter\n")
            self.assertEqual(lab.cli("logs", job, "--errors", *follow).stdout, "ValueError: bad\nafter\n")
            for option, said in (["--grep", "accuracy"], "matches"), (["--errors", "--attempt", "1", "--tail", "1"], "looks like an error"):
                nothing = lab.cli("logs", job, *option, *([] if "--tail" in option else follow), check=False)
                self.assertEqual((nothing.returncode, nothing.stdout, nothing.stderr), (1, "", f"Job {job}: no line {said}\n"))
        self.assertEqual(lab.on_terminal(80, "logs", job, "--grep", "ep.*1").replace("\r", ""), "\x1b[1;31mepoch 1\x1b[0m\n")
        for option, code in (["--grep", "("], "bad-pattern"), (["--raw", "--errors"], "cannot be used together"):
            refused = lab.cli("logs", job, *option, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertEqual((refused.stdout, code in refused.stderr), ("", True), refused.stderr)

    def test_matching_lines_are_followed_as_they_are_written(self):
        job = self.lab.submit("echo first; echo other; echo first again; exec sleep 600")
        with subprocess.Popen([PROGRAM, "logs", "-f", str(job), "--grep", "first"], stdout=subprocess.PIPE, text=True, env={**os.environ, "SCHEDULEARN_URL": self.lab.url}) as command:
            self.assertEqual([command.stdout.readline() for _ in range(2)], ["first\n", "first again\n"])
            self.lab.cli("cancel", job)
            self.assertEqual((command.stdout.read(), command.wait(30)), ("", 0))

    def test_raw_output_is_what_was_written_byte_by_byte(self):
        lab = self.lab
        written = b"caf\xe9 \xff\n\xef\xbf\xbd\x00\x1b[1m\r\nend \xfe"
        (lab.folder / "bytes").write_bytes(written)
        job = lab.submit("cat bytes")
        lab.finished(job)
        environment = {**os.environ, "SCHEDULEARN_URL": lab.url}
        for follow in [], ["-f"]:
            done = subprocess.run([PROGRAM, "logs", str(job), "--raw", *follow], capture_output=True, env=environment, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, written))
        silent = lab.submit("true")
        lab.finished(silent)
        self.assertEqual(lab.cli("logs", silent, "--raw").stdout, "")

    def test_the_web_page_finds_the_first_error_by_the_same_rule(self):
        root = pathlib.Path(__file__).parents[2]
        ours = re.search(r'first_error =\s+R"\((.*)\)";', (root / "src/cli/output_filter.cpp").read_text())[1]
        page = re.search(r"const faults =\s+/(.*)/i;", (root / "web/src/lib/log.svelte.ts").read_text())[1]
        self.assertEqual(ours, page)

    def test_logs_and_why_tell_of_a_job_that_never_ran_and_of_earlier_attempts(self):
        def said(*arguments):
            done = self.lab.cli(*arguments)
            return done.stdout, done.stderr.strip()

        wide = self.lab.submit("sleep 600", gpus=self.lab.gpus)
        until(lambda: self.lab.job(wide)["state"] == "running")
        waiting = self.lab.submit("true")
        self.assertEqual(said("logs", waiting), ("", f"Job {waiting} has not started yet: first in line, needs 1 free GPU"))
        self.lab.cli("cancel", waiting)
        self.assertEqual(said("logs", waiting), ("", f"Job {waiting} never started: cancelled"))
        self.assertEqual(said("why", waiting)[0], f"job {waiting} has ended: cancelled.\n")
        held = self.lab.submit("true", hold=True)
        self.assertIn(f"Resume     schedulearn resume {held}\n", said("why", held)[0])
        self.assertNotIn("It will run", said("why", held)[0])
        self.lab.cli("cancel", wide)
        missing = self.lab.submit("pyton train.py")
        self.lab.finished(missing)
        self.assertEqual(said("logs", missing), ("", f"Job {missing} never started: no such command: pyton"))
        self.assertEqual(said("logs", "-f", missing), ("", "[the job never started: no such command: pyton]"))
        self.assertEqual(said("why", missing)[0], f"job {missing} has ended: failed (no such command: pyton).\n")
        twice = self.lab.submit("echo $SCHEDULEARN_ATTEMPT; test $SCHEDULEARN_ATTEMPT = 2 || exit 75")
        self.lab.finished(twice)
        self.assertEqual(said("logs", twice), ("2\n", f"This is attempt 2; before it:  schedulearn logs --attempt 1 {twice}"))
        self.assertEqual(said("logs", "--attempt", 1, twice), ("1\n", ""))

    def test_a_name_means_its_unfinished_job_and_no_job_if_there_are_several(self):
        first, second = (self.lab.submit("true", hold=True, name="twin") for _ in range(2))
        for verb in ("cancel", "resume", "show", "why", "logs", "wait"):
            done = self.lab.cli(verb, "twin", check=False)
            self.assertEqual(done.returncode, 2, verb)
            self.assertIn(f"2 unfinished jobs are called twin: {second}, {first}", done.stderr)
        self.lab.cli("cancel", second)
        self.lab.cli("cancel", "twin")
        self.assertEqual([self.lab.job(job)["state"] for job in (first, second)], ["cancelled", "cancelled"])
        shown = self.lab.cli("show", "twin").stdout
        self.assertTrue(shown.startswith(f"Job {second} twin"), shown)
        self.assertNotIn("schedulearn logs", shown)

    def test_long_output_goes_through_a_pager_at_a_terminal(self):
        lab = self.lab
        job = lab.submit("echo one; echo two")
        lab.finished(job)
        paged = {"PAGER": "sed 's/^/paged: /'"}
        self.assertEqual(lab.on_terminal(80, "logs", job, **paged).splitlines(), ["paged: one", "paged: two"])
        self.assertIn("\x1b[", lab.on_terminal(80, "show", job, **paged), "in colour, as without it")
        for words in (("logs", job, "--plain"), ("ls", "-q"), ("ls", "--json"), ("logs", "-f", job), ("status",)):
            self.assertNotIn("paged: ", lab.on_terminal(80, *words, **paged), words)
        self.assertIn("one", lab.on_terminal(80, "logs", job, PAGER="cat"))
        self.assertEqual(lab.on_terminal(80, "logs", job, PAGER="echo $LESS; cat > /dev/null").strip(), "FRX")
        script = f"PAGER='sed s/^/paged:/' {PROGRAM} logs {job}"
        piped = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env={**os.environ, "SCHEDULEARN_URL": lab.url})
        self.assertEqual(piped.stdout, "one\ntwo\n")

    def test_flags_of_submit_stand_for_keys_of_the_job_file(self):
        flags = {"--setup": "echo ready", "--retry": 2, "--retry-backoff": "1m", "--checkpoint-dir": "saved", "--checkpoint-every": "10m"}
        spec = json.loads(self.lab.cli("submit", "--json", "--hold", *(word for flag in flags.items() for word in flag), "--", "true").stdout)["spec"]
        self.assertEqual((spec["setup"], spec["retry"]["max"], spec["retry"]["backoff_s"], spec["checkpoint"]["every_s"]), (["echo ready"], 2, 60, 600))
        refused = self.lab.cli("submit", "--retry-backoff", "soon", "--", "true", check=False)
        self.assertEqual((refused.returncode, "[bad-duration]" in refused.stderr), (2, True), refused.stderr)

    def test_ls_shows_what_runs_and_waits_before_what_has_ended(self):
        ended = [self.lab.submit("true", name=f"ended-{i}") for i in range(9)]
        for job in ended:
            self.lab.finished(job)
        runs = self.lab.submit("sleep 600", gpus=self.lab.gpus, name="訓練-" + "long" * 12)
        waits = [self.lab.submit("true", name=f"waits-{i}", user="mei") for i in range(3)]
        until(lambda: self.lab.job(runs)["state"] == "running")
        more = self.lab.submit("true", hold=True)
        ids = [int(line) for line in self.lab.cli("ls", "-q", "--limit", 8).stdout.split()]
        self.assertEqual(ids[:5], [runs, more, *reversed(waits)], "what runs, then what waits, the newest first")
        self.assertEqual(ids[5:], ended[:5:-1], "and three that have ended")
        self.assertIn("1 running, 3 pending, 1 held. 8 of 14 shown", self.lab.cli("ls", "--limit", 8).stdout)
        self.assertEqual(self.lab.cli("ls", "-q", "--limit", 2).stdout.split(), [str(runs), str(more)])
        self.assertEqual(len(self.lab.cli("ls", "-q").stdout.split()), 14)
        self.assertEqual(self.lab.cli("ls", "-q", "--user", "nobody-like-that").stdout, "")
        self.assertEqual(self.lab.cli("show", "-q", f"{runs},{more}").stdout, f"{runs}\n{more}\n")
        self.assertEqual(self.lab.cli("ls", "-q", "--sort", "gpus").stdout.split()[0], str(runs))
        for columns in (60, 80, 200):
            lines = self.lab.on_terminal(columns, "ls").splitlines()
            self.assertTrue(any("running" in line and "…" in line for line in lines) if columns < 200 else True, lines)
            for line in lines:
                plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
                self.assertLessEqual(len(plain) + sum(unicodedata.east_asian_width(c) == "W" for c in plain), columns, plain)
        for columns in (80, 120):
            for line in self.lab.on_terminal(columns, "policy", "ls").splitlines():
                self.assertLessEqual(len(re.sub(r"\x1b\[[0-9;]*m", "", line)), columns, line)
        self.lab.cli("cancel", "--yes", runs, more)

    def test_a_job_file_is_read_with_paths_relative_to_it(self):
        folder = self.lab.folder / "project"
        folder.mkdir()
        (folder / "job.toml").write_text('name = "filed"\ncommand = "pwd"\ngpus = 1\n[env]\nA = "b"\n')
        done = self.lab.cli("run", folder / "job.toml")
        self.assertEqual(done.stdout.strip(), str(folder))

    def test_errors_say_what_where_and_what_to_do(self):
        broken = self.lab.folder / "broken.toml"
        broken.write_text('command = "x"\ngpus = \n')
        script = self.lab.folder / "train.py"
        script.write_text('"""A training."""\n')
        for arguments, code, words in [
            (("submti",), 2, "did you mean submit?"), (("ls", "--josn"), 2, "did you mean --json?"), (("submit", "--gpus", "8", "--", "true"), 2, "needs 8 GPUs on one server, the largest server has 4"), (("submit", broken), 2, "line 2, column"), (("submit", script), 2, f"schedulearn submit --gpus 1 -- python {script}"),
            (("submit", "."), 2, ". is a folder, not a job file"), (("run", "python train.py"), 3, "schedulearn submit --gpus 1 -- python train.py"), (("run", "--", "python train.py"), 2, 'there is no program called "python train.py"'),
            (("help", "kill"), 2, "did you mean cancel?"), (("help", "pause"), 2, "did you mean suspend?"), (("restart", "5"), 2, "did you mean retry?"), (("help", "policy", "sett"), 2, "did you mean set?"), (("logs", "-n", "10", "5"), 2, "did you mean --tail?"),
            (("show", 99), 3, "there is no job 99"), (("cancel", "nobody"), 3, "there is no job nobody"), (("policy", "set", "fifoo"), 3, "there are fifo"), (("submit", "/no/file.toml"), 3, "there is no job file"),
            (("ls", "--url", f"http://127.0.0.1:{free_port()}"), 6, "schedulearn up"), (("submit",), 2, "schedulearn submit job.toml"),
            (("ls", "--timeout", "3x"), 2, "not a duration"), (("sim", "run", "--jbos", 3), 2, "schedulearn help sim run"), (("trace", "infoo"), 2, "did you mean info?"),
            (("kill", "3"), 2, "did you mean cancel?"), (("policies",), 2, "did you mean policy?"), (("plot", "hist"), 2, "did you mean cdf?"), (("plot", "dots"), 2, "there are: cdf, gantt, util, queue, lines, bars"),
            (("frob", "--help"), 2, "there is no command frob"), (("policy", "frob", "--help"), 2, "there are: ls, show, set"), (("policy",), 2, "policy needs one of its commands: ls, show, set"),
            (("run", "python", "train.py"), 2, "a job's command follows --"), (("submit", "--gpus"), 2, "--gpus needs a value"), (("ls", "-z"), 2, "there is no flag -z"), (("events", "--limit", "x"), 2, "--limit takes a number from 1 to 10000, not x"),
            (("sim", "run", "--policy", "fifo"), 2, "sim run needs --trace"), (("plot", "cdf", "--run", "a", "--jobs", "b"), 2, "--run cannot be used together with --jobs"), (("trace", "gen", "poisson", "--seed", "-1"), 2, "takes a whole number from 0 to 18446744073709551615, not -1"), (("trace", "gen", "poisson", "--seed", "18446744073709551616"), 2, "takes a whole number from 0"), (("ls", "--color", "blue"), 2, "takes one of auto, always, never, not blue"),
        ]:
            done = self.lab.cli(*arguments, check=False)
            self.assertEqual(done.returncode, code, arguments)
            self.assertTrue(done.stderr.startswith("error: "), done.stderr)
            self.assertIn(words, done.stderr)
        self.assertNotIn("did you mean", self.lab.cli("up", "--gpus", "4", check=False).stderr)  # gpus is a command

    def test_daemons_that_cannot_start_say_why(self):
        for arguments, words in [
            (("controller", "run", "--data", self.lab.folder / "other", "--listen", f"127.0.0.1:{self.lab.port}"), "port-in-use"),
            (("controller", "run", "--data", self.lab.folder / "controller", "--listen", "127.0.0.1:0"), "data-directory-in-use"),
            (("controller", "run", "--data", "/proc/nowhere", "--listen", "127.0.0.1:0"), "data-directory-not-writable"),
            (("controller", "run", "--data", self.lab.folder / "open", "--listen", "0.0.0.0:0"), "authentication-required"),
            (("agent", "run", "--join", self.lab.url, "--data", self.lab.folder / "agent", "--simulate", "1"), "data-directory-in-use"),
        ]:
            done = self.lab.cli(*arguments, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)

    def test_a_newer_schema_is_refused(self):
        import sqlite3
        self.lab.kill(self.lab.controller)
        with sqlite3.connect(self.lab.folder / "controller" / "schedulearn.db") as database:
            database.execute("INSERT INTO schema_version VALUES (99)")
        done = self.lab.cli("controller", "run", "--data", self.lab.folder / "controller", "--listen", "127.0.0.1:0", check=False)
        self.assertIn("newer-schema", done.stderr)

    def test_up_runs_everything_and_ctrl_c_ends_it_with_its_jobs(self):
        port = free_port()
        up = subprocess.Popen([PROGRAM, "up", "--data", str(self.lab.folder / "up"), "--listen", f"127.0.0.1:{port}", "--simulate", "2"], stdout=subprocess.PIPE, text=True)
        self.assertIn("Schedulearn is up", up.stdout.readline())
        url = f"http://127.0.0.1:{port}"
        until(lambda: self.lab.cli("status", "--url", url, check=False).returncode == 0)
        self.lab.cli("submit", "--url", url, "--", "sleep", "300")
        until(lambda: "running" in self.lab.cli("ls", "--url", url).stdout)
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=20)
        self.assertEqual(up.returncode, 0)
        until(lambda: not self.lab.processes_of(self.lab.folder / "up"), 5, "the end of the launcher")

    def test_up_opens_the_page_on_a_desktop_unless_told_not_to(self):
        browser = self.lab.folder / "bin" / "xdg-open"
        browser.parent.mkdir()
        browser.write_text(f"#!/bin/sh\necho $$ > {self.lab.folder}/browser\necho $1 > {self.lab.folder}/opened\nexec sleep 20\n")
        browser.chmod(0o755)
        opened = self.lab.folder / "opened"
        for more, opens in (([], True), (["--no-open"], False)):
            opened.unlink(missing_ok=True)
            listen = f"127.0.0.1:{free_port()}"
            ours, theirs = pty.openpty()
            environment = {**os.environ, "PATH": f"{browser.parent}:{os.environ['PATH']}", "DISPLAY": ":9"}
            up = subprocess.Popen([PROGRAM, "up", "--data", str(self.lab.folder / "up"), "--listen", listen, "--simulate", "1", *more], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment)
            os.close(theirs)
            self.assertIn("Schedulearn is up", up.stdout.readline())
            if opens:
                until(lambda: opened.exists() and opened.read_text())
                self.assertEqual(opened.read_text(), f"http://{listen}/ui/\n")
                started = int((self.lab.folder / "browser").read_text())
                self.addCleanup(os.kill, started, signal.SIGKILL)
                self.assertEqual(os.getsid(started), started)  # Ctrl-C at the terminal of `up` does not reach it
            up.send_signal(signal.SIGINT)  # it does not wait for the browser
            up.communicate(timeout=30)
            os.close(ours)
            self.assertEqual((up.returncode, opened.exists()), (0, opens))

    def test_up_is_there_again_after_a_kill_though_a_job_runs_on(self):
        data, listen = self.lab.folder / "up", f"127.0.0.1:{free_port()}"
        self.lab.kill(self.lab.agent)
        self.lab.agent = self.start_up(data, listen)
        self.lab.cli("submit", "--url", f"http://{listen}", "--", "sleep", "300")
        until(lambda: "running" in self.lab.cli("ls", "--url", f"http://{listen}").stdout)
        self.lab.kill(self.lab.agent)
        self.lab.agent = self.start_up(data, listen)
        self.assertIn("running", self.lab.cli("ls", "--url", f"http://{listen}").stdout)

    def start_up(self, data, listen):
        up = subprocess.Popen([PROGRAM, "up", "--data", str(data), "--listen", listen, "--simulate", "2"], stdout=subprocess.PIPE, text=True)
        self.assertIn("Schedulearn is up", up.stdout.readline())
        up.stdout.close()
        return up

    def test_an_unset_variable_never_means_that_a_flag_is_not_given(self):
        for flag in ("--image", "--after", "--array", "--time-limit", "--on", "--setup", "--epochs"):
            refused = self.lab.cli("submit", flag, "", "--", "true", check=False)
            self.assertEqual(refused.returncode, 2, flag)
            self.assertIn(f"{flag}: it is empty; is a variable not set?", refused.stderr)

    def test_lines_and_names_are_texts_whatever_they_look_like(self):
        for flag, value in (("--setup", "false"), ("--family", "3090")):
            shown = self.lab.cli("submit", "--dry-run", flag, value, "--", "true", check=False)
            self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_an_empty_image_in_a_request_is_no_plain_process(self):
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "image": ""})
        self.assertEqual((status, json.loads(text)["code"]), (422, "bad-image"))


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    unittest.main(verbosity=2)
