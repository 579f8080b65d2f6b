#!/usr/bin/python3
"""Tests of follow.py against a stand-in for the program which answers from a folder of prepared files."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLLOW = Path(__file__).resolve().with_name("follow.py")

# `show 1 --json` gives the next of the files show-1-0, show-1-1, ...; then the last one repeatedly. A missing file means
# that no controller answers.
STAND_IN = """#!/bin/bash
cd "$(dirname "$0")" || exit 9
case $1 in
  logs) cat "log-$2" 2>/dev/null ;;
  show)
    turn=$(cat "turn-$2" 2>/dev/null || echo 0)
    cat "show-$2-$turn" 2>/dev/null || exit 6
    [[ ! -e show-$2-$((turn + 1)) ]] || echo $((turn + 1)) > "turn-$2" ;;
esac
"""


class Follow(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.program = self.folder / "schedulearn"
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)

    def job(self, number, *states, log="", **more):
        for turn, state in enumerate(states):
            document = {"id": number, "name": f"job{number}", "state": state, "run_s": 2.0, "failure": None,
                        "started_at": None if state == "pending" else "2025-01-01T00:00:00.000Z"}
            (self.folder / f"show-{number}-{turn}").write_text(json.dumps(document | more))
        (self.folder / f"log-{number}").write_text(log)

    def follow(self, *arguments):
        return subprocess.run([sys.executable, FOLLOW, self.program, "/my data", *arguments], capture_output=True, text=True, timeout=60)

    def test_shows_each_change_and_the_last_accuracy(self):
        self.job(1, "pending", "running", "succeeded",
                 log="epoch 1/2  loss 0.9  accuracy 0.50  1.0 s\nepoch 2/2  loss 0.5  accuracy 0.75  1.0 s\n")
        self.job(2, "succeeded", log="epoch 1/1  loss 0.1  accuracy 0.99  1.0 s\n")
        result = self.follow("1", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("job 1 job1: ○ pending", result.stdout)
        self.assertIn("job 1 job1: ● running  epoch 2/2  loss 0.5  accuracy 0.75", result.stdout)
        self.assertRegex(result.stdout, r"1  job1 +✓ succeeded +0\.75 +2 s +\S+ logs --data '/my data' 1")

    def test_one_failed_job_fails_all_and_shows_its_last_words(self):
        self.job(1, "succeeded")
        self.job(2, "failed", log="Traceback\nboom\n", failure={"message": "exit status 1"})
        result = self.follow("1", "2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("job 2 job2 failed: exit status 1", result.stdout)
        self.assertIn("| boom", result.stdout)

    def test_gives_up_after_the_limit(self):
        self.job(1, "pending")
        self.assertEqual(self.follow("1", "--limit", "1").returncode, 124)


if __name__ == "__main__":
    unittest.main()
