"""What runs a job's container dies at each step of its life: agent, launcher, runner and engine, with Podman and Docker."""

import os
import signal
import unittest

import engines
from lab import until
from on_an_engine import OnAnEngine, run_suite, runners
from registry import Way


class EngineDies(OnAnEngine):
    def test_the_engine_may_die(self):
        job = self.running(self.submit(f"echo begun; while [ ! -e {self.shared}/go ]; do sleep 0.05; done; exit 9", mounts=[str(self.shared)]))
        plain = self.lab.submit("sleep 0.5")
        self.engine.kill()
        self.assertEqual("succeeded", self.lab.finished(plain)["state"])
        (self.shared / "go").touch()
        if self.engine.keeps_containers:
            ended = self.lab.finished(job)
            self.assertEqual(("failed", 9, 1), (ended["state"], ended["exit"]["code"], ended["attempt"]), ended["failure"])
        self.engine.start()
        ended = self.lab.finished(job, 120)
        self.assertEqual(9, ended["exit"]["code"])
        self.restart_agent()
        until(lambda: not self.engine.containers(), what="the container being removed")


class Deaths(EngineDies):
    """Each program at each step of a container's life."""

    def test_whatever_dies_at_whichever_step_no_attempt_runs_twice_and_nothing_is_left(self):
        way = Way(self.engine, self.lab.folder / "way")
        self.addCleanup(way.close)
        self.lab.kill(self.lab.agent)
        self.start_agent(socket=way.socket)
        began = self.shared / "began"
        began.touch()
        began.chmod(0o666)
        deaths = {"agent": (lambda: self.lab.kill(self.lab.agent), lambda: self.start_agent(socket=way.socket)),
                  "launcher": (self.lab.kill_launcher, lambda: None),
                  "runner": (lambda: [os.kill(runner, signal.SIGKILL) for runner in runners(self.lab)], lambda: None),
                  "engine": (self.engine.kill, self.engine.start)}
        steps = [("before", "GET", "/images/"), ("before", "POST", "/containers/create"), ("after", "POST", "/containers/create"), ("before", "POST", "/start$"),
                 ("after", "POST", "/start$"), ("after", "GET", "/containers/[^/]+/json$"), ("before", "DELETE", "/containers/"), ("after", "DELETE", "/containers/")]
        for who, (dies, returns) in deaths.items():
            for step in steps:
                with self.subTest(who=who, step=step):
                    if who == "runner" and step[2] == "/images/":
                        continue  # there is none yet
                    began.write_text("")
                    happened = way.expect(*step, lambda _, dies=dies: dies())
                    job = self.submit(f"echo $SCHEDULEARN_ATTEMPT >> {began}; sleep 0.2", mounts=[f"{self.shared}:{self.shared}:rw"], retry={"max": 1, "on": ["signal"]})
                    self.assertTrue(happened.wait(60), "that step")
                    returns()
                    ended = self.lab.finished(job, 120)
                    attempts = began.read_text().split()
                    self.assertEqual(("succeeded", sorted(set(attempts))), (ended["state"], attempts), ended["failure"])
                    self.assertIn(str(ended["attempt"]), attempts)
                    self.nothing_is_left()


class PodmanDeathsTest(Deaths, unittest.TestCase):
    engine_class = engines.Podman


class LiveRestoreDeathsTest(EngineDies, unittest.TestCase):
    engine_class = engines.DockerWithLiveRestore


class DockerDeathsTest(Deaths, unittest.TestCase):
    engine_class = engines.Docker


if __name__ == "__main__":
    run_suite()
