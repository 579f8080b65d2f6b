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

    def over_a_way(self):
        """The agent reaches its engine over it."""
        way = Way(self.engine, self.lab.folder / "way")
        self.addCleanup(way.close)
        self.lab.kill(self.lab.agent)
        self.start_agent(socket=way.socket)
        return way

    def test_what_an_engine_creates_after_what_is_left_was_looked_for_is_removed(self):
        way, answered = self.over_a_way(), []

        def dies(_):
            looked = way.expect("after", "GET", "/containers/json", lambda _: None)
            for runner in runners(self.lab):
                os.kill(runner, signal.SIGKILL)
            self.assertTrue(looked.wait(60), "the agent's look for what is left")
            answered.append(way.expect("after", "POST", "/containers/create", lambda _: None))

        died = way.expect("before", "POST", "/containers/create", dies)
        ended = self.lab.finished(self.submit("true"))
        self.assertEqual(("failed", "signal"), (ended["state"], ended["failure"]["kind"]), ended["failure"])
        self.assertTrue(died.wait(60) and answered[0].wait(60), "that the engine has created it, or refuses since its folders are gone")
        self.nothing_is_left()

    def test_whatever_dies_at_whichever_step_no_attempt_runs_twice_and_nothing_is_left(self):
        way = self.over_a_way()
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
