"""Jobs in containers, on real engines: the same list of behaviours with Podman and with Docker."""

import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import engines
from lab import until
from mpi_test import RANKS, has_mpi, ranks_in
from on_an_engine import USER, WITH_USR, OnAnEngine, run_suite, runners, until_engines_are_found
from registry import Registry, Way
from shell_test import Terminal, processes_with


class Behaviours(OnAnEngine):
    """What both engines must do."""

    # ---- a job ----
    def test_its_output_exit_code_and_image_are_those_of_the_job(self):
        server = self.lab.get("/api/v1/servers")["items"][0]
        self.assertEqual(["process", "container"], server["runtimes"])
        self.assertTrue(server["container_engine"].startswith(self.engine.name), server["container_engine"])
        job, output = self.run_job("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; exit 7")
        self.assertEqual("".join(f"out {i}\nerr {i}\n" for i in range(1, 6)), output)
        self.assertEqual(("failed", 7), (job["state"], job["exit"]["code"]))
        self.assertRegex(job["placement"][0]["image"], "sha256:[0-9a-f]{64}")
        events = [event["text"] for event in self.lab.get(f"/api/v1/jobs/{job['id']}/events")["items"] if event["kind"] == "job.image"]
        self.assertEqual(1, len(events), events)
        self.assertIn(job["placement"][0]["image"], events[0])

    def test_it_has_its_user_and_no_rights_beyond(self):
        _, output = self.run_job(["sh", "-c", "id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; echo $SCHEDULEARN_JOB_NAME"], name="mine")
        uid = "65534" if USER == "nobody" else str(os.geteuid())
        self.assertEqual({uid, "mine", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"}, set(output.splitlines()))
        if os.geteuid() == 0:
            job, _ = self.run_job(["true"], user="root")
            self.assertIn("--allow-container-root", job["failure"]["message"])

    def test_it_can_leave_what_it_is_to_leave(self):
        job, output = self.run_job('echo x > "$SCHEDULEARN_CHECKPOINT_DIR/a" && echo x > "$SCHEDULEARN_OUTPUT_DIR/a" && echo x > "$SCHEDULEARN_TMP_DIR/a" && '
                                   'echo \'{"epoch": 3, "epochs": 4}\' >> "$SCHEDULEARN_METRICS_FILE"; ls "${SCHEDULEARN_METRICS_FILE%/*}" >/dev/null && echo seen; '
                                   'touch "${SCHEDULEARN_METRICS_FILE%/*}/limit" 2>/dev/null || echo kept', checkpoint={"dir": ""})
        self.assertEqual("succeeded", job["state"], output)
        self.assertIn("kept", output)
        self.assertEqual(3, self.lab.job(job["id"])["progress"]["done"])

    def test_commands_and_folders_that_are_not_in_the_image_are_named(self):
        self.assertEqual("no such command: pyton in the image", self.run_job(["pyton", "x"])[0]["failure"]["message"])
        self.assertEqual("no such command: pyton in the image", self.run_job("pyton x")[0]["failure"]["message"])
        self.assertEqual("setup", self.run_job(["pyton"])[0]["failure"]["kind"])

    def test_an_image_without_bash_has_ranks_and_a_set_up_too(self):
        self.assertEqual("none\n", self.run_job("command -v bash || echo none")[1])
        job, output = self.run_job("echo rank $RANK of $WORLD_SIZE", gpus=2, launch="ranks")
        self.assertEqual(("succeeded", ["rank 0 of 2", "rank 1 of 2"]), (job["state"], sorted(output.splitlines())), output)
        job, output = self.run_job("echo rank $RANK $A", gpus=2, launch="ranks", setup=["export A=set"])
        self.assertEqual(("succeeded", ["rank 0 set", "rank 1 set"]), (job["state"], sorted(output.splitlines())), output)

    def test_a_folder_that_a_job_names_twice_is_there_once(self):
        shared = self.shared / "twice"
        shared.mkdir()
        shared.chmod(0o777)
        job, output = self.run_job("touch here; pwd", workdir=f"{shared}/", mounts=[f"{shared}:{shared}:rw"], checkpoint={"dir": str(shared)})
        self.assertEqual(("succeeded", f"{shared}\n"), (job["state"], output), job["failure"])
        self.assertTrue((shared / "here").exists())

    def test_an_image_that_is_nowhere_ends_the_job_with_its_name(self):
        job = self.lab.finished(self.submit("true", image="127.0.0.1:1/nothing:1"), 120)
        self.assertEqual("image", job["failure"]["kind"])
        self.assertIn("127.0.0.1:1/nothing:1", job["failure"]["message"])

    def test_memory_and_processes_are_limited_and_a_job_over_its_memory_says_so(self):
        job, output = self.run_job("echo begun; x=a; while true; do x=$x$x$x$x; done", resources={"memory": "32MiB"})
        self.assertEqual("out_of_memory", job["failure"]["kind"], job["failure"])
        self.assertIn("32 MiB that it asked for", job["failure"]["message"])
        job, output = self.run_job("cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; ulimit -n", resources={"memory": "64MiB", "shm": "4MiB"})
        self.assertEqual([str(64 << 20), "16385"], output.split()[:2])
        _, output = self.run_job("grep /dev/shm /proc/mounts", resources={"shm": "4MiB"})
        self.assertIn("size=4096k", output)

    def test_processes_of_another_container_do_not_count(self):
        many = self.running(self.submit("for i in $(seq 40); do sleep 60 & done; echo begun; wait"))
        for processes in (30, 1):
            job, _ = self.run_job(["true"] if processes == 1 else "for i in 1 2 3; do true & wait; done", resources={"processes": processes})
            self.assertEqual("succeeded", job["state"], job["failure"])
        self.lab.cli("cancel", many, "--now")

    def test_it_runs_its_snapshot_and_has_its_secrets(self):
        code = self.lab.folder / "code"
        code.mkdir()
        (code / "run.sh").write_text('cat word "$SCHEDULEARN_SECRETS_DIR/key"; echo "[$A_KEY]"; env | grep -c SECRET_VARIABLES; echo more > left && ls')
        (code / "word").write_text("submitted\n")
        snapshot = json.loads(self.lab.cli("submit", "--snapshot", "copy", "--hold", "--", "true", cwd=code).stdout and self.lab.cli("show", "last", "--json").stdout)["snapshot"]
        (code / "word").write_text("edited\n")
        self.assertEqual(200, self.lab.request("PUT", "/api/v1/secrets/key", "secret value\n")[0])
        owner = getpass.getuser() if os.geteuid() != 0 else "root"
        refused = self.lab.request("POST", "/api/v1/jobs", {"image": engines.BUSYBOX, "user": USER, "command": "sh run.sh", "snapshot": snapshot, "secrets": ["key"]})
        if owner != USER:
            self.assertEqual((404, "no-such-secret"), (refused[0], json.loads(refused[2])["code"]))
            self.assertEqual(200, self.lab.request("PUT", "/api/v1/secrets/key", "secret value\n", {"X-Schedulearn-User": USER})[0])
        job, output = self.run_job("sh run.sh", snapshot=snapshot, secrets=["key", "A_KEY=key"])
        self.assertEqual("submitted\nsecret value\n[secret value\n]\n0\nleft\nrun.sh\nword\n", output, job["failure"])
        for kept in (self.lab.folder / "agent" / "containers").rglob("*"):
            self.assertNotIn(b"secret value", kept.read_bytes() if kept.is_file() else b"")

    def test_a_shell_is_in_the_container_and_ends_with_it(self):
        self.assertEqual(200, self.lab.request("PUT", "/api/v1/secrets/shown", "to the shell", {"X-Schedulearn-User": USER})[0])
        job = self.submit("trap 'exit 5' TERM; echo in the image > /tmp/here; while true; do sleep 0.1; done", secrets=["A_KEY=shown"])
        until(lambda: self.lab.job(job)["state"] == "running")
        with Terminal(self.lab, "shell", job) as shell:
            shell.expect("in shell 1 of job")
            until(lambda: "in the image" in (shell.type("cat /tmp/here\n"), shell.read(0.3), shell.said.decode())[-1])
            shell.type("echo is $SCHEDULEARN_JOB_ID $TERM; id -u\n")
            shell.expect(f"is {job} xterm-256color")
            shell.type("echo [$A_KEY][$SCHEDULEARN_SECRET_VARIABLES]\n").expect("[to the shell][]")
            shell.type("sleep 88.7141\n")
            until(lambda: processes_with("88.7141"))
            shell.type("\x03").type("echo on''ward\n").expect("onward")
            shell.type("sleep 88.7142 &\n")
            until(lambda: processes_with("88.7142"))
            shell.type("exit 9\n")
            self.assertEqual(9, shell.end())
        with Terminal(self.lab, "shell", job) as shell:
            shell.type("X=kept; echo rea''dy\n").expect("ready")
            self.lab.kill(self.lab.agent)
            self.start_agent()
            shell.type("echo $X-$X\n").expect("kept-kept", 60)
            self.lab.cli("cancel", job)
            self.assertNotEqual(0, shell.end(60))  # by the kernel, or with the program that serves it
        self.assertEqual("cancelled", self.lab.finished(job)["state"])
        until(lambda: not processes_with("88.7142"))

    # ---- at a terminal; only the job's own user connects to it ----
    def run_at(self, *command, **size):
        if os.geteuid() == 0:
            self.lab.kill(self.lab.agent)
            self.start_agent("--allow-container-root")
        return Terminal(self.lab, "run", "--pty", "--image", engines.BUSYBOX, "--", *command, **size)

    def test_a_shell_says_that_the_engine_does_not_answer(self):
        job = self.running(self.submit("echo begun; sleep 300"))
        self.engine.process.send_signal(signal.SIGSTOP)
        try:
            told = self.lab.cli("shell", str(job), "--", "true", check=False)
        finally:
            self.engine.process.send_signal(signal.SIGCONT)
        self.assertIn("[engine-unreachable]", told.stderr)
        self.lab.cli("cancel", str(job), "--now")
        self.assertEqual("cancelled", self.lab.finished(job)["state"])

    def test_a_job_at_a_terminal_has_its_keys_size_and_exit_code(self):
        script = "ls /bin/busybox; stty size; echo job $SCHEDULEARN_JOB_ID at $TERM as $(id -u); trap 'stty size' WINCH; until read word; do :; done; echo got $word; exit 7"
        with self.run_at("/bin/sh", "-c", script, columns=91, rows=34) as terminal:
            job = int(terminal.expect("; Ctrl-]").rsplit("job ", 1)[1])
            terminal.expect("/bin/busybox")
            terminal.expect("34 91")
            terminal.expect(f"job {job} at xterm-256color as {os.geteuid()}")
            with Terminal(self.lab, "shell", job, "--new") as shell:
                shell.expect("in shell 2 of job")
                shell.type("ls -d /.schedulearn && echo in''side\n").expect("inside")
                shell.type("exit 3\n")
                self.assertEqual(3, shell.end())
            terminal.resize(70, 20)
            terminal.expect("20 70")
            terminal.type("a word\r")
            terminal.expect("got a word")
            self.assertEqual(7, terminal.end())
        self.assertEqual((7, "failed"), (self.lab.finished(job)["exit"]["code"], self.lab.job(job)["state"]))
        self.assertIn("got a word\r\n", self.lab.output(job))

    def test_ctrl_c_at_a_terminal_interrupts_what_runs_there_and_who_leaves_can_come_back(self):
        with self.run_at("/bin/sh", "-i") as terminal:
            job = int(terminal.expect("; Ctrl-]").rsplit("job ", 1)[1])
            terminal.type("sleep 88.7143\r")
            until(lambda: processes_with("88.7143"))
            terminal.type("\x03").type("echo on''ward\r").expect("onward")
            terminal.type("\x1d\x1d")
            terminal.expect(f"schedulearn shell {job}")
            self.assertEqual(0, terminal.end())
        self.restart_agent()
        with Terminal(self.lab, "shell", job) as terminal:
            terminal.type("echo st''ill\r").expect("still")
            terminal.type("sleep 88.7144\r")
            until(lambda: processes_with("88.7144"))
            terminal.type("\x03exit 4\r")
            self.assertEqual(4, terminal.end())
        self.assertEqual(4, self.lab.finished(job)["exit"]["code"])

    def test_a_stop_reaches_a_job_at_a_terminal_once(self):
        with self.run_at("/bin/sh", "-c", "trap 'echo asked' TERM; trap 'echo closed' HUP; echo begun; for i in 1 2 3 4; do sleep 0.3; done; exit 9") as terminal:
            job = int(terminal.expect("; Ctrl-]").rsplit("job ", 1)[1])
            terminal.expect("begun")
            self.lab.cli("cancel", job)
            terminal.end()
        self.assertEqual("cancelled", self.lab.finished(job)["state"])
        self.assertEqual((1, 0), (self.lab.output(job).count("asked"), self.lab.output(job).count("closed")))

    def test_a_job_at_a_terminal_begins_without_a_client_too_and_says_what_is_missing(self):
        job, output = self.run_job("echo alone; test -t 0 && echo at a terminal", pty=True)
        self.assertEqual(("succeeded", "alone\r\nat a terminal\r\n"), (job["state"], output))
        job, output = self.run_job(["no-such-program"], pty=True)
        self.assertEqual(("failed", "setup"), (job["state"], job["failure"]["kind"]), job)
        self.assertIn("no such command: no-such-program", job["failure"]["message"])

    # ---- folders of the server ----
    def test_it_sees_only_what_the_admin_allows(self):
        (self.shared / "data").mkdir()
        (self.shared / "data" / "file").write_text("hello\n")
        job, output = self.run_job("cat /in/file; touch /in/new || echo read-only", mounts=[f"{self.shared}/data:/in"])
        self.assertEqual("hello", output.split()[0])
        self.assertIn("read-only", output)
        (self.shared / "data").chmod(0o777)
        self.assertEqual("succeeded", self.run_job("touch /in/new", mounts=[f"{self.shared}/data:/in:rw"])[0]["state"])
        self.assertTrue((self.shared / "data" / "new").exists())
        (self.shared / "way-out").symlink_to("/root" if USER == "nobody" else "/etc")
        for mount in ("/etc:/in", f"{self.shared}/way-out:/in", f"{self.shared}/../controller:/in"):
            status, _, text = self.lab.request("POST", "/api/v1/jobs", {"image": engines.BUSYBOX, "user": USER, "command": "ls /in", "mounts": [mount]})
            if status != 201:
                continue
            job = self.lab.finished(json.loads(text)["id"])
            self.assertEqual("setup", job["failure"]["kind"], mount)
            self.assertIn("mounts:", job["failure"]["message"])
        victim = self.lab.folder / "victim"
        victim.mkdir()
        for folder in (f"e,source={victim}", "lr=0.1,U=true"):  # Podman writes the options of a mount with commas
            (self.shared / folder).mkdir(parents=True)
            job, _ = self.run_job("ls", workdir=str(self.shared / folder))
            self.assertEqual(("setup", 1), (job["failure"]["kind"], job["attempt"]), folder)
            self.assertIn("a comma", job["failure"]["message"])
        job, output = self.run_job("pwd; echo x > here", workdir=str(self.shared / "data"))
        self.assertEqual(f"{self.shared}/data", output.strip())
        self.assertTrue((self.shared / "data" / "here").exists())

    # ---- its end ----
    def test_it_is_asked_to_stop_and_then_killed(self):
        polite = self.running(self.submit("trap 'echo bye; exit 5' TERM; echo begun; while true; do sleep 0.1; done"))
        deaf = self.running(self.submit("trap '' TERM; echo begun; while true; do sleep 0.1; done", checkpoint={"grace": "1s"}))
        for job in (polite, deaf):
            self.lab.request("POST", f"/api/v1/jobs/{job}/cancel", {})
        self.assertEqual("cancelled", self.lab.finished(polite)["state"])
        self.assertIn("bye", self.lab.output(polite))
        self.assertEqual(5, self.lab.job(polite)["exit"]["code"])
        self.lab.kill(self.lab.agent)
        self.start_agent()
        self.assertEqual("cancelled", self.lab.finished(deaf)["state"])

    def test_it_is_frozen_and_goes_on(self):
        job = self.running(self.submit("i=0; echo begun; while true; do i=$((i+1)); echo tick $i; sleep 0.05; done", freeze=True), "tick 3")
        self.lab.cli("suspend", job)
        until(lambda: self.lab.job(job)["state"] == "suspended", what="suspended")
        before = self.lab.output(job)
        other, _ = self.run_job("sleep 0.5")
        self.assertEqual(before, self.lab.output(job))
        self.lab.cli("resume", job)
        until(lambda: len(self.lab.output(job)) > len(before), what="more output")
        self.lab.cli("cancel", job)
        self.assertEqual("cancelled", self.lab.finished(job)["state"])

    def test_signals_of_all_processes_and_orphans_end_with_it(self):
        marker = self.shared / "alive"
        job, _ = self.run_job(f"(trap '' HUP TERM; while true; do touch {marker}; sleep 0.1; done) & sleep 0.5; echo done", mounts=[f"{self.shared}:{self.shared}:rw"])
        self.assertEqual("succeeded", job["state"])
        marker.unlink(missing_ok=True)
        self.run_job("sleep 0.5")
        self.assertFalse(marker.exists())

    def test_one_that_is_paused_or_renamed_by_hand_ends_all_the_same_and_is_not_left(self):
        for change in ("pause", "rename?name=mine"):
            job = self.running(self.submit("echo begun; while true; do sleep 0.1; done", checkpoint={"grace": "1s"}))
            (container,) = self.engine.containers()
            self.assertLess(self.engine.call("POST", f"/v1.41/containers/{container['Id']}/{change}")[0], 300)
            self.lab.cli("cancel", job)
            self.assertEqual("cancelled", self.lab.finished(job)["state"])
            self.nothing_is_left()

    # ---- when things die ----
    def test_it_outlives_agent_and_launcher_and_its_exit_code_is_known(self):
        job = self.running(self.submit(f"echo begun; while [ ! -e {self.shared}/go ]; do sleep 0.05; done; exit 9", mounts=[str(self.shared)]))
        self.lab.kill(self.lab.agent)
        self.lab.kill_launcher()
        self.assertEqual(1, len(self.engine.containers()))
        self.start_agent()
        (self.shared / "go").touch()
        ended = self.lab.finished(job)
        self.assertEqual(("failed", 9, 1), (ended["state"], ended["exit"]["code"], ended["attempt"]), ended["failure"])
        self.assertRegex(ended["placement"][0]["image"], "sha256:")

    def test_its_end_while_nobody_looks_is_known(self):
        job = self.running(self.submit(f"echo begun; while [ ! -e {self.shared}/go ]; do sleep 0.05; done; exit 9", mounts=[str(self.shared)]))
        self.lab.kill(self.lab.agent)
        self.lab.kill_launcher()
        (self.shared / "go").touch()
        until(lambda: not runners(self.lab), what="the end of the container")
        self.start_agent()
        ended = self.lab.finished(job)
        self.assertEqual(("failed", 9, 1), (ended["state"], ended["exit"]["code"], ended["attempt"]), ended["failure"])

    def test_without_the_program_that_runs_it_nothing_of_it_goes_on(self):
        marker = self.shared / "alive"
        job = self.running(self.submit(f"echo begun; while true; do touch {marker}; sleep 0.05; done", mounts=[f"{self.shared}:{self.shared}:rw"]))
        (runner,) = runners(self.lab)
        os.kill(runner, signal.SIGKILL)
        ended = self.lab.finished(job)
        self.assertEqual(("failed", 9), (ended["state"], ended["exit"]["signal"]), ended["failure"])
        marker.unlink(missing_ok=True)
        until(lambda: not self.engine.containers(), what="the container being removed")
        self.assertFalse(marker.exists())

    def test_what_is_left_while_no_agent_runs_does_nothing_if_started_and_is_removed_by_the_next(self):
        marker = self.shared / "alive"
        job = self.running(self.submit(f"echo begun; while true; do touch {marker}; sleep 0.1; done", mounts=[f"{self.shared}:{self.shared}:rw"]))
        self.lab.kill(self.lab.agent)
        (runner,) = runners(self.lab)
        os.kill(runner, signal.SIGKILL)
        until(lambda: self.engine.containers()[0]["State"] == "exited", what="the end of the container")
        marker.unlink()
        name = self.engine.containers()[0]["Id"]
        self.engine.call("POST", f"/v1.41/containers/{name}/start")  # as an engine may that was slow to do so
        self.assertIn('"StatusCode":125', self.engine.call("POST", f"/v1.41/containers/{name}/wait")[1])
        self.assertFalse(marker.exists())
        self.start_agent()
        self.lab.finished(job)
        until(lambda: not self.engine.containers(), what="the container being removed")

    def test_a_stranger_that_has_the_name_is_left_alone_and_the_job_takes_another(self):
        way = Way(self.engine, self.lab.folder / "way")
        self.addCleanup(way.close)
        self.lab.kill(self.lab.agent)
        self.start_agent(socket=way.socket)
        stranger = json.dumps({"Image": engines.BUSYBOX, "Cmd": ["/bin/true"], "HostConfig": {"NetworkMode": "host"}})
        taken = way.expect("before", "POST", "/containers/create", lambda path: self.engine.call("POST", path, stranger, {"Content-Type": "application/json"}))
        job, output = self.run_job("echo begun")
        self.assertTrue(taken.is_set())
        self.assertEqual(("succeeded", 2, "begun\n"), (job["state"], job["attempt"], output), job["failure"])
        (left,) = self.engine.containers()
        self.assertEqual({}, left["Labels"] or {})
        self.assertIn("not ours", json.dumps(self.lab.get(f"/api/v1/jobs/{job['id']}/events")))
        self.assertEqual("up", self.lab.get("/api/v1/servers")["items"][0]["state"])
        self.engine.remove_containers()

    # ---- images from a registry ----
    def with_registry(self, engine):
        registry = Registry(engine.registry_port)
        self.addCleanup(registry.close)
        return registry

    def test_an_image_comes_from_its_registry_and_a_digest_is_that_image_or_none(self):
        registry = self.with_registry(self.engine)
        first = registry.push("net:1", engines.busybox_files(), ["FROM=first"])
        job, output = self.run_job("echo $FROM", image=f"{registry.name}/net:1")
        self.assertEqual(("succeeded", "first\n", f"{registry.name}/net@{first}"), (job["state"], output, job["placement"][0]["image"]))
        second = registry.push("net:1", engines.busybox_files(), ["FROM=second"])
        self.assertNotEqual(first, second)
        job, output = self.run_job("echo $FROM", image=f"{registry.name}/net@{second}")
        self.assertEqual("second\n", output, job["failure"])
        changed = registry.push("changed:1", engines.busybox_files(), ["FROM=here"])
        registry.files[f"/v2/changed/manifests/{changed}"] = registry.files["/v2/net/manifests/1"]
        for image in (f"{registry.name}/changed@{changed}", f"{registry.name}/net@sha256:{'0' * 64}", f"{registry.name}/none:1"):
            job, _ = self.run_job("true", image=image)
            self.assertEqual(("failed", "image"), (job["state"], job["failure"]["kind"]), image)
            self.assertIn(f"cannot fetch the image {image}: ", job["failure"]["message"])
        self.assertEqual("up", self.lab.get("/api/v1/servers")["items"][0]["state"])

    def test_a_registry_that_is_away_for_a_moment_is_asked_again_and_show_says_why(self):
        registry = self.with_registry(self.engine)
        registry.push("net:2", engines.busybox_files())
        registry.away = True
        job = self.submit("true", image=f"{registry.name}/net:2")
        self.assertEqual("succeeded", self.lab.finished(self.submit("true"))["state"])
        until(lambda: "trying again to fetch the image" in self.lab.cli("show", job).stdout, what="the reason")
        registry.away = False
        self.assertEqual("succeeded", self.lab.finished(job)["state"])

    def test_an_image_for_which_the_engine_has_no_room_fails_its_job_only(self):
        small = self.engine_class(disk_bytes=64 << 20)
        self.addCleanup(small.close)
        registry = self.with_registry(small)
        registry.push("huge:1", engines.tar_of({"noise": (os.urandom(96 << 20), 0o644)}))
        self.lab.kill(self.lab.agent)
        self.start_agent(socket=small.socket)
        huge = self.submit("true", image=f"{registry.name}/huge:1")
        self.assertEqual("succeeded", self.run_job("true")[0]["state"])
        ended = self.lab.finished(huge, 120)
        self.assertEqual(("failed", "image"), (ended["state"], ended["failure"]["kind"]))
        self.assertIn("no space left on device", ended["failure"]["message"])
        self.assertEqual("succeeded", self.run_job("true")[0]["state"])

    # ---- trainings ----
    def test_a_training_has_the_same_losses_as_in_a_plain_process(self):
        self.engine.import_image(WITH_USR, engines.host_files())
        for source in (pathlib.Path(__file__).parents[2] / "examples").glob("*.py"):
            shutil.copy(source, self.shared)
        command = "/usr/bin/python3 fashion_mlp.py --epochs 2 --images 6400 --fresh --checkpoints $SCHEDULEARN_CHECKPOINT_DIR"
        losses = {}
        for kind, more in {"process": {}, "container": {"image": WITH_USR, "mounts": ["/usr", "/etc/alternatives"], "user": USER}}.items():
            status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": command, "workdir": str(self.shared), **more})
            self.assertEqual(201, status, text)
            job = self.lab.finished(json.loads(text)["id"], 120)
            self.assertEqual("succeeded", job["state"], self.lab.output(job["id"]))
            self.assertEqual(2, job["progress"]["done"])
            losses[kind] = [line for line in self.lab.output(job["id"]).splitlines() if "loss" in line]
        self.assertTrue(losses["process"])
        self.assertEqual(self.without_times(losses["process"]), self.without_times(losses["container"]))

    @staticmethod
    def without_times(lines):
        return [re.findall(r"loss\D*([0-9.]+)", line) for line in lines]

    # ---- the original ----
    @unittest.skipUnless(has_mpi(), "openmpi-bin or python3-mpi4py is not installed")
    def test_mpi_computes_together_in_a_container_and_in_two(self):
        self.engine.import_image(WITH_USR, engines.host_files())
        (self.shared / "rank.py").write_text(RANKS + "\nimport numpy\nsums = numpy.zeros(1 << 18)\nworld.Allreduce(numpy.ones(1 << 18), sums)\nassert (sums == world.Get_size()).all()\n")
        mounts = ["/usr", "/etc/alternatives", str(self.shared)]
        command = f"/usr/bin/python3 {self.shared}/rank.py"
        job, output = self.run_job(command, image=WITH_USR, mounts=mounts, gpus=2, launch="mpi")
        self.assertEqual("succeeded", job["state"], output)
        self.assertEqual([f"rank {n} local {n} sum 1 of server 0" for n in range(2)], ranks_in(output))
        self.lab.start_another_agent("other", 2, *self.of_containers())
        until_engines_are_found(self.lab)
        job, output = self.run_job(command, image=WITH_USR, mounts=mounts, gpus=4, servers=2, launch="mpi")
        output += self.lab.request("GET", f"/api/v1/jobs/{job['id']}/logs?rank=1")[2]
        self.assertEqual("succeeded", job["state"], output)
        self.assertEqual([f"rank {n} local {n % 2} sum 6 of server {n // 2}" for n in range(4)], ranks_in(output))
        job, output = self.run_job("exit 3", image=WITH_USR, mounts=mounts, gpus=2, launch="mpi")
        self.assertEqual(("failed", 3), (job["state"], job["exit"]["code"]), output)
        job, output = self.run_job("true", gpus=2, launch="mpi")
        self.assertIn("mpirun", job["failure"]["message"])

    def test_the_request_of_the_original_s_readme_trains(self):
        self.engine.import_image("nathansetyawan96/horovod:latest", engines.horovod_files())
        keys = {"name": "Pytorch Mnist", "type": "Pytorch", "container_image": "nathansetyawan96/horovod", "command": "python pytorch/pytorch_mnist.py", "required_gpus": 2}
        status, _, text = self.lab.request("POST", "/jobs", {**keys, "user": USER})
        self.assertEqual(201, status, text)
        job = self.lab.finished(json.loads(text)["id"], 120)
        output = self.lab.output(job["id"])
        self.assertEqual("succeeded", job["state"], output)
        for rank in (0, 1):
            losses = [float(line.split()[-1]) for line in output.splitlines() if line.startswith(f"rank {rank} of 2 step")]
            self.assertEqual(12, len(losses), output)
            self.assertLess(losses[-1], 0.7 * losses[0])
        self.assertEqual(1, len({line.split()[-1] for line in output.splitlines() if "weights" in line}), output)

    # ---- many, and bad ones ----
    def test_a_hundred_of_them_leave_nothing(self):
        jobs = [self.submit(["true"], name=f"n{i}") for i in range(100)]
        states = [self.lab.finished(job, 120)["state"] for job in jobs]
        self.assertEqual(["succeeded"] * 100, states)
        self.assertEqual([], self.engine.containers())
        until(lambda: not list((self.lab.folder / "agent" / "containers").iterdir()), what="its folders being removed")

    def test_a_hostile_one_harms_nobody(self):
        job = self.submit("trap '' TERM HUP INT; printf '\\033[2J\\033]0;x\\007begun\\n'; for i in 1 2 3 4 5 6 7 8; do (trap '' TERM; while true; do :; done) & done; yes 0123456789012345678901234567890123456789 | head -c 300000000; while true; do sleep 1; done",
                          output_limit="64MiB", resources={"memory": "64MiB"}, checkpoint={"grace": "1s"})
        self.running(job)
        self.assertEqual("succeeded", self.run_job(["true"])[0]["state"])
        self.lab.cli("cancel", job)
        self.assertEqual("cancelled", self.lab.finished(job, 90)["state"])
        output = next((self.lab.folder / "agent" / "attempts").glob(f"{job}.1.*")) / "output"
        self.assertLess(output.stat().st_blocks * 512, 100 << 20)

    def test_what_a_container_writes_into_itself_goes_with_it(self):
        used = lambda: int(subprocess.run(["du", "-sxm", self.engine.folder], capture_output=True, text=True, check=False).stdout.split()[0])
        before = used()
        job = self.running(self.submit("dd if=/dev/zero of=/tmp/much bs=1048576 count=512 2>/dev/null; echo begun; sleep 100"))
        self.assertGreater(used(), before + 500)
        self.lab.cli("cancel", job)
        self.assertEqual("cancelled", self.lab.finished(job)["state"])
        self.nothing_is_left()
        until(lambda: used() < before + 100, what="the room")

    def test_an_image_has_no_say_in_who_runs_what_where(self):
        registry = self.with_registry(self.engine)
        hostile = {"Env": ["SCHEDULEARN_JOB_ID=0", "LD_PRELOAD=/none"], "Entrypoint": ["/bin/echo", "mine"], "Cmd": ["mine"], "User": "0", "WorkingDir": "/none", "StopSignal": "SIGKILL",
                   "Volumes": {"/kept": {}, "/.schedulearn": {}}, "Healthcheck": {"Test": ["CMD-SHELL", "touch /tmp/looked"], "Interval": 1000000000}, "Labels": {"schedulearn.agent": "x"}}
        registry.push("hostile:1", engines.busybox_files(), config=hostile)
        job, output = self.run_job("id -u; echo job $SCHEDULEARN_JOB_ID; sleep 2.5; test -e /tmp/looked && echo looked; true", image=f"{registry.name}/hostile:1")
        self.assertEqual(("succeeded", f"{'65534' if USER == 'nobody' else os.geteuid()}\njob {job['id']}\n"), (job["state"], output), job["failure"])
        self.nothing_is_left()
        self.assertFalse((json.loads(self.engine.call("GET", "/v1.41/volumes")[1]).get("Volumes")), "volumes of the image are left")


class PodmanTest(Behaviours, unittest.TestCase):
    engine_class = engines.Podman


class DockerTest(Behaviours, unittest.TestCase):
    engine_class = engines.Docker


if __name__ == "__main__":
    run_suite()
