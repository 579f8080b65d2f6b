#!/usr/bin/python3
"""Secrets: given to the jobs that name them, shown to nobody else."""

import base64
import json
import os
import pathlib
import subprocess
import unittest

from lab import PROGRAM, LabTest, until

VALUE = "wand-7f3a91c2-secret"
FORMS = (VALUE.encode(), base64.b64encode(VALUE.encode())[:20])


def places_with_secret(folder):
    found = []
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file() and not path.is_symlink() and any(form in path.read_bytes() for form in FORMS):
            found.append(str(path))
    return found


def given_files():
    """Also those that an agent which was killed with its machine has left."""
    return set(pathlib.Path("/dev/shm").glob("schedulearn-*/*/wandb"))


class SecretsTest(LabTest):
    def store(self, value=VALUE, name="wandb"):
        environment = {**os.environ, "SCHEDULEARN_URL": self.lab.url}
        return subprocess.run([PROGRAM, "secret", "set", name], input=value, text=True, capture_output=True, env=environment, check=True)

    def test_a_job_is_given_it_as_a_file_and_as_a_variable(self):
        self.store(VALUE + "\n")
        job = self.lab.submit('test "$(cat $SCHEDULEARN_SECRETS_DIR/wandb)" = "$WANDB_API_KEY" && printf %s "$WANDB_API_KEY" | md5sum && stat -fc %T $SCHEDULEARN_SECRETS_DIR',
                              secrets=["WANDB_API_KEY=wandb"])
        self.assertEqual(self.lab.finished(job)["state"], "succeeded", self.lab.output(job))
        digest = subprocess.run(["md5sum"], input=VALUE, text=True, capture_output=True).stdout
        self.assertEqual(self.lab.output(job), digest + "tmpfs\n")

    def test_it_is_in_no_row_event_recording_log_command_line_or_file(self):
        self.lab.kill(self.lab.controller)
        recordings = self.lab.folder / "recordings"
        self.lab.start_controller("--record", recordings)
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
        self.store()
        of_others = given_files()
        job = self.lab.submit("sleep 83.7", secrets=["wandb", "WANDB_API_KEY=wandb"])
        until(lambda: self.lab.job(job)["state"] == "running")
        given = until(lambda: [path for path in given_files() - of_others if path.parent.name.startswith(f"{job}.1.") and path.read_text() == VALUE], what="the file")
        commands = b"".join(path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists())
        self.assertNotIn(VALUE.encode(), commands)
        for path in ("/jobs", f"/jobs/{job}", f"/jobs/{job}/events", "/events", "/secrets", f"/jobs/{job}/explain"):
            self.assertNotIn(VALUE, self.lab.request("GET", "/api/v1" + path)[2])
        self.lab.cli("cancel", job)
        self.lab.finished(job)
        until(lambda: not any(path.exists() for path in given), what="its removal")
        self.assertTrue(list(recordings.glob("*.jsonl")))
        self.assertEqual(places_with_secret(self.lab.folder), [])
        self.assertEqual((self.lab.folder / "controller" / "secrets.key").stat().st_mode & 0o777, 0o600)

    def test_it_survives_controller_and_agent_and_goes_with_the_job(self):
        self.store()
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
        of_others = given_files()
        job = self.lab.submit("sleep 84.6", secrets=["wandb"])
        given = until(lambda: list(given_files() - of_others), what="the file")
        self.lab.kill(self.lab.agent)
        self.lab.start_agent()
        self.assertTrue(given[0].exists())
        pid = until(lambda: self.lab.job(job)["placement"][0]["pid"], what="its process")
        self.lab.kill(self.lab.agent)
        os.kill(pid, 9)
        self.lab.start_agent()
        self.lab.finished(job)
        until(lambda: not given[0].exists(), what="its removal")

    def test_set_ls_rm(self):
        self.assertIn("No secrets", self.lab.cli("secret", "ls").stdout)
        self.assertNotIn(VALUE, self.store().stdout)
        self.assertIn("wandb", self.lab.cli("secret", "ls").stdout)
        key = self.lab.folder / "key"
        key.write_text("from a file\n")
        self.lab.cli("secret", "set", "other", "--file", key)
        job = self.lab.submit("cat $SCHEDULEARN_SECRETS_DIR/other", secrets=["other"])
        self.lab.finished(job)
        self.assertEqual(self.lab.output(job), "from a file\n")
        self.assertIn("other", self.lab.cli("show", job).stdout)
        self.lab.cli("secret", "rm", "wandb")
        self.assertEqual([item["name"] for item in json.loads(self.lab.cli("secret", "ls", "--json").stdout)["items"]], ["other"])

    def test_bad_requests_change_nothing(self):
        for words, code in ((("secret", "set", "wandb=" + VALUE), "secret-on-command-line"), (("secret", "rm", "wandb"), "no-such-secret"),
                            (("secret", "set", "a/b"), "bad-secret"), (("submit", "--secret", "wandb", "--", "true"), "no-such-secret")):
            environment = {**os.environ, "SCHEDULEARN_URL": self.lab.url}
            refused = subprocess.run([PROGRAM, *words], input="x", text=True, capture_output=True, env=environment)
            self.assertNotEqual(refused.returncode, 0, words)
            self.assertIn(f"[{code}]", refused.stderr)
            self.assertNotIn(VALUE, refused.stderr)
        self.assertEqual(self.lab.jobs(), [])

    def test_one_that_was_removed_before_the_start_fails_the_job_with_the_reason(self):
        self.store()
        job = self.lab.submit("true", secrets=["wandb"], hold=True)
        self.lab.cli("secret", "rm", "wandb")
        self.lab.cli("resume", job)
        failure = self.lab.finished(job)["failure"]
        self.assertEqual((failure["kind"], failure["message"]), ("setup", "its secret wandb is not stored any more"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
