"""What the tests of jobs in containers share: a server whose jobs run on a real engine of the test's own."""

import getpass
import os
import pathlib
import sys
import unittest

import engines
from lab import Lab, until

USER = "nobody" if os.geteuid() == 0 else getpass.getuser()


def runners(lab):
    """The numbers of the programs of this lab that run containers."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"schedulearn-container" in command.split(b"\0")[0] and str(lab.folder).encode() in command:
            found.append(int(process.name))
    return found


WITH_USR = "localhost/schedulearn-test-host:latest"  # has nothing but links into /usr


def until_engines_are_found(lab):
    """A busy engine answers an agent late."""
    until(lambda: all("container" in server["runtimes"] for server in lab.get("/api/v1/servers")["items"]), what="servers with containers")


def start_or_skip(engine_class):
    try:
        return engine_class()
    except engines.Unavailable as why:
        print(f"SKIPPED: {why}", file=sys.stderr)
        raise unittest.SkipTest(str(why)) from None


class OnAnEngine:
    """A server with an engine of the test's own."""

    engine_class = None

    @classmethod
    def setUpClass(cls):
        cls.engine = start_or_skip(cls.engine_class)
        cls.addClassCleanup(cls.engine.close)  # which also removes what a failed test has left

    def setUp(self):
        self.engine.make_empty()
        self.lab = Lab(gpus=2)
        self.addCleanup(self.lab.__exit__)
        self.addCleanup(self.nothing_is_left)
        self.shared = self.lab.folder / "shared"
        self.shared.mkdir(mode=0o777)
        self.shared.chmod(0o777)
        self.lab.folder.chmod(0o755)
        self.lab.start_controller()
        self.start_agent()

    def start_agent(self, *more, **ways):
        self.lab.start_agent(*more, *self.of_containers(**ways))
        until_engines_are_found(self.lab)

    def of_containers(self, socket=None):
        return ["--container-socket", str(socket or self.engine.socket), *(word for folder in (self.shared, "/usr", "/etc/alternatives") for word in ("--allow-mount", str(folder)))]

    def nothing_is_left(self):
        until(lambda: not self.engine.containers(), 30, f"{self.engine.name} without containers")

    def submit(self, command, **spec):
        keys = {"image": engines.BUSYBOX, "user": USER, "command": command, **spec}
        status, _, text = self.lab.request("POST", "/api/v1/jobs", keys)
        self.assertEqual(201, status, text)
        return self.lab.try_get("/api/v1/jobs?limit=1")["items"][0]["id"]

    def run_job(self, command, **spec):
        job = self.lab.finished(self.submit(command, **spec))
        return job, self.lab.output(job["id"])

    def running(self, job, text="begun"):
        until(lambda: text in self.lab.output(job), what=f"{text} in the output of job {job}: {self.lab.job(job)}")
        return job

    def restart_agent(self):
        self.lab.kill(self.lab.agent)
        self.start_agent()


def run_suite():
    """As unittest.main; ends with 77 if all was skipped, as ctest is told."""
    program = unittest.main(exit=False, verbosity=2)
    skipped = program.result.skipped and len(program.result.skipped) >= program.result.testsRun
    sys.exit(77 if skipped else not program.result.wasSuccessful())
