"""When lines of an output were written: over REST, as events and on the command line; also while no agent runs."""

import datetime
import json
import re
import unittest
import urllib.request

from lab import LabTest, until

LINE = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (.*)$")


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class OutputTimesTest(LabTest):
    def timed(self, job, query=""):
        """(time, line) of each line of its output."""
        lines = self.lab.request("GET", f"/api/v1/jobs/{job}/logs?timestamps=true{query}")[2].splitlines()
        return [(seconds(time), text) for time, text in (LINE.match(line).groups() for line in lines)]

    def test_lines_have_the_times_at_which_they_were_written(self):
        job = self.lab.submit("for i in 1 2 3; do date +%s.%N; sleep 0.7031; done; printf end")
        self.lab.finished(job)
        lines = self.timed(job)
        self.assertEqual([text for _, text in lines][-1], "end")
        for time, text in lines[:-1]:
            self.assertLess(abs(time - float(text)), 0.6, text)
        self.assertEqual(self.timed(job, "&tail=1"), lines[-1:])
        printed = self.lab.cli("logs", job, "--timestamps").stdout
        self.assertEqual([LINE.match(line).group(2) for line in printed.splitlines()], [text for _, text in lines])
        self.assertEqual(self.lab.cli("logs", "-f", job, "--timestamps").stdout, printed)
        with urllib.request.urlopen(f"{self.lab.url}/api/v1/jobs/{job}/logs/stream?timestamps=true", timeout=30) as stream:
            events = [json.loads(line[6:]) for line in stream.read().decode().splitlines() if line.startswith("data: ")]
        self.assertEqual([(seconds(event["t"]), event["x"]) for event in events if "x" in event], lines)

    def test_only_the_lines_since_a_time(self):
        """A time that is unknown leaves no line out, and that is said."""
        lab = self.lab
        job = lab.submit("echo early; sleep 3; date +%s.%N; echo late; sleep 1")
        lab.finished(job)
        since = self.timed(job)[1][0] - 1.5
        text = datetime.datetime.fromtimestamp(since, datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        for follow in [], ["-f"]:
            shown = lab.cli("logs", job, "--since", text, *follow)
            self.assertEqual((shown.stdout.splitlines()[1:], shown.stderr), (["late"], ""))
            self.assertEqual(lab.cli("logs", job, "--since", text, "--grep", "^l", *follow).stdout, "late\n")
            stamped = lab.cli("logs", job, "--since", text, "--timestamps", "--grep", "^l", *follow).stdout
            self.assertEqual(LINE.match(stamped).group(2), "late")
            self.assertEqual(lab.cli("logs", job, "--since", "1h", *follow).stdout, lab.output(job))
        later = datetime.datetime.fromtimestamp(since + 3600, datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        self.assertEqual(lab.cli("logs", job, "--since", later).stdout, "")
        refused = lab.cli("logs", job, "--since", "lately", check=False)
        self.assertEqual((refused.returncode, "bad-time" in refused.stderr), (2, True), refused.stderr)
        [notes] = lab.folder.glob("agent/attempts/*/output_times")
        notes.unlink()
        unknown = lab.cli("logs", job, "--since", later)
        self.assertEqual(unknown.stdout, lab.output(job))
        self.assertEqual(unknown.stderr, f"Job {job}: it is not known when 3 of its lines were written; they are not left out.\n")

    def test_nobody_asked_for_times_gets_none_and_a_range_has_none(self):
        job = self.lab.submit("echo plain")
        self.lab.finished(job)
        self.assertEqual(self.lab.output(job), "plain\n")
        status, _, text = self.lab.request("GET", f"/api/v1/jobs/{job}/logs?timestamps=true", headers={"Range": "bytes=0-2"})
        self.assertEqual((status, json.loads(text)["code"]), (422, "bad-range"))

    def test_they_survive_the_agent_and_outputs_without_notes_have_none(self):
        lab = self.lab
        job = lab.submit("date +%s.%N; sleep 1.3107; date +%s.%N; sleep 600.3107")
        until(lambda: lab.output(job).count("\n") == 1, what="the first line")
        before = until(lambda: self.timed(job))
        lab.kill(lab.agent)
        lab.start_agent()
        until(lambda: lab.output(job).count("\n") == 2, what="the second line")
        lines = self.timed(job)
        self.assertEqual(lines[0][1], before[0][1])
        for time, text in lines:
            self.assertLess(abs(time - float(text)), 0.6, text)
        [notes] = lab.folder.glob("agent/attempts/*/output_times")
        notes.unlink()
        self.assertTrue(all(line.startswith("- ") for line in lab.cli("logs", job, "--timestamps").stdout.splitlines()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
