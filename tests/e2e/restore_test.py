#!/usr/bin/python3
"""A database restored from a backup goes over numbers of jobs that agents have seen before: nothing an agent still holds or keeps is taken for something else."""

import shutil
import sqlite3
import subprocess
import unittest

from lab import LabTest, until


class RestoreTest(LabTest):
    def setUp(self):
        super().setUp()
        self.nap = f"{1_000_000 + self.lab.port}"  # seconds; nobody else on this machine sleeps for that long
        self.database = self.lab.folder / "controller" / "schedulearn.db"

    def back_up(self):
        """As the guide says: while the controller runs."""
        copy = self.lab.folder / "backup.db"
        with sqlite3.connect(self.database) as source, sqlite3.connect(copy) as target:
            source.backup(target)
        return copy

    def restore(self, copy, agent_too=False):
        self.lab.kill(self.lab.controller)
        if agent_too:
            self.lab.kill(self.lab.agent)
        for left in self.database.parent.glob("schedulearn.db*"):
            left.unlink()
        self.database.write_bytes(copy.read_bytes())
        self.lab.start_controller()
        if agent_too:
            self.lab.start_agent()

    def events(self, kind):
        return [event for event in self.lab.get("/api/v1/events?limit=1000")["items"] if event["kind"] == kind]

    def is_up(self):
        return any(server["state"] == "up" for server in (self.lab.try_get("/api/v1/servers") or {"items": []})["items"])

    def wait_for_the_unknown(self):
        until(lambda: not self.lab.processes_of(f"sleep\0{self.nap}"), what="the end of what the database does not know")

    def run_lost_history(self):
        """Jobs that the backup does not know: one ends, one runs on. And one that it knows and that runs on."""
        lab = self.lab
        known = lab.submit("echo known; until test -e done; do sleep 0.1; done; echo well")
        until(lambda: lab.output(known) == "known\n", what="the known job")
        copy = self.back_up()
        ended = lab.submit('echo secret of another user; echo theirs > "$SCHEDULEARN_CHECKPOINT_DIR"/model')
        lab.finished(ended)
        running = lab.submit(f"echo started; sleep {self.nap}")
        until(lambda: lab.output(running) == "started\n", what="the running job")
        return copy, known, ended, running

    def check(self, known, fresh):
        self.assertEqual(self.lab.finished(fresh)["state"], "succeeded")
        self.assertEqual(self.lab.output(fresh), "mine\n")
        (self.lab.folder / "done").touch()
        ended = self.lab.finished(known)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1))
        self.assertEqual(self.lab.output(known), "known\nwell\n")
        self.wait_for_the_unknown()

    def test_the_agent_calls_first(self):
        for agent_too in (False, True):
            with self.subTest(agent_too=agent_too):
                if agent_too:
                    self.lab.__exit__()
                    self.setUp()
                copy, known, ended, running = self.run_lost_history()
                self.restore(copy, agent_too)
                until(self.is_up, what="the agent")
                fresh = self.lab.submit('ls "$SCHEDULEARN_CHECKPOINT_DIR"; echo mine')
                self.assertEqual(fresh, running + 1, "no number is given out twice")
                self.check(known, fresh)
                self.assertEqual(self.lab.request("GET", f"/api/v1/jobs/{ended}")[0], 404)
                said = self.events("database.restored")
                self.assertEqual(len(said), 1)
                self.assertIn(f"has heard of job {running}", said[0]["text"])
                foreign = self.events("attempt.foreign")
                self.assertEqual(len(foreign), 1)
                folder = next(word for word in foreign[0]["text"].split() if word.startswith(f"{running}.1."))
                self.assertTrue((self.lab.folder / "agent" / "attempts" / folder / "output").read_text().startswith("started\n"))

    def test_jobs_are_submitted_before_any_agent_calls(self):
        copy, known, ended, running = self.run_lost_history()
        self.lab.kill(self.lab.agent)
        self.restore(copy)
        fresh = self.lab.submit('ls "$SCHEDULEARN_CHECKPOINT_DIR"; echo mine')
        self.assertEqual(fresh, ended, "nobody can know yet that it has been given out")
        self.lab.start_agent()
        self.check(known, fresh)
        self.assertEqual(len(self.events("attempt.foreign")), 1)

    def test_a_new_database_is_another_cluster_and_stops_nothing_while_it_may_be_a_mistake(self):
        lab, aside = self.lab, self.lab.folder / "aside"
        running = lab.submit(f"echo started; sleep {self.nap}")
        until(lambda: lab.output(running) == "started\n", what="the running job")

        def start_anew():
            lab.kill(lab.controller)
            self.database.parent.rename(aside)
            lab.start_controller()
            until(lambda: self.events("server.refused"), what="the refusal")
            self.assertFalse(self.is_up())
            self.assertTrue(lab.processes_of(f"sleep\0{self.nap}"), "it runs on")

        start_anew()
        lab.kill(lab.controller)
        shutil.rmtree(self.database.parent)
        aside.rename(self.database.parent)
        lab.start_controller()
        until(self.is_up, what="the agent")
        self.assertEqual((lab.job(running)["state"], lab.job(running)["attempt"]), ("running", 1))
        start_anew()
        subprocess.run(["pkill", "-KILL", "-f", f"^sleep {self.nap}"], check=True)
        until(self.is_up, what="the agent, whose job has ended")
        fresh = lab.submit("echo mine")
        self.assertEqual(lab.finished(fresh)["state"], "succeeded")
        self.assertEqual(lab.output(fresh), "mine\n")
        self.assertEqual(len(self.events("server.other_cluster")), 1)


if __name__ == "__main__":
    unittest.main()
