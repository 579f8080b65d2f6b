#!/usr/bin/python3
"""What the program says about itself: errors, manual pages, completion, fields of documents, --watch, doctor; and the database's copies."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from lab import PROGRAM, LabTest, until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "SCHEDULEARN_URL": "http://127.0.0.1:1", "XDG_DATA_HOME": "/nonexistent"}


def say(*words, environment=None):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment or ENVIRONMENT, timeout=60)


class Errors(unittest.TestCase):
    def test_every_code_of_the_sources_is_explained(self):
        listed = [json.loads(line) for line in say("help", "error", "--json=code,meaning,remedy").stdout.splitlines()]
        made = set()
        for path in (ROOT / "src").rglob("*.cpp"):
            if not path.stem.endswith("_test"):
                made |= set(re.findall(r'\b(?:invalid|not_found|denied|conflict|unavailable|internal_error)\(\s*"([a-z0-9_-]+)",', path.read_text()))
        self.assertGreater(len(made), 150)
        self.assertEqual(made - {row["code"] for row in listed}, set())
        for row in listed:
            self.assertGreater(len(row["meaning"]), 10, row)
            self.assertGreater(len(row["remedy"]), 5, row)
            self.assertFalse(row["meaning"].endswith(".") or row["remedy"].endswith("."), row)
            shown = say("help", "error", row["code"])
            self.assertEqual(shown.returncode, 0)
            self.assertTrue(shown.stdout.startswith(row["code"] + "\n"), shown.stdout)
            self.assertIn(row["meaning"], shown.stdout)
            self.assertIn(row["remedy"], shown.stdout)

    def test_commands_that_remedies_name_are_there(self):
        for row in map(json.loads, say("help", "error", "--json=code,remedy").stdout.splitlines()):
            for words in re.findall(r"(?:: |^see |^)schedulearn ((?:[a-z]+ ?)+)", row["remedy"]):
                words = words.split()
                words = words[:2] if words[0] in ("policy", "servers", "profile", "db", "sim", "trace", "agent", "controller", "plot") else words[:1]
                self.assertEqual(say("help", *words).returncode, 0, row)

    def test_an_unknown_code_is_refused_with_the_nearest(self):
        done = say("help", "error", "gpu-unsatisfiable")
        self.assertEqual(done.returncode, 3)
        self.assertIn("[unknown-error-code]", done.stderr)
        self.assertIn("did you mean gpus-unsatisfiable?", done.stderr)

    def test_an_error_without_a_hint_of_its_own_gets_that_of_its_code(self):
        done = say("submit", "--gpus", "1", "--output-limit-nonsense")
        self.assertIn("hint:", done.stderr)


class Pages(unittest.TestCase):
    def commands(self):
        """Every command, as its help lists them."""
        def below(*words):
            text = say("help", *words).stdout
            listed = re.search(r"\nCommands:\n((?:  .*\n)+)", text)
            for name in re.findall(r"^  ([a-z-]+)", listed[1] if listed else "", re.M):
                yield (*words, name)
                yield from below(*words, name)

        top = re.findall(r"\b([a-z]+)\b", re.sub(r"\(.*?\)", "", re.search(r"Jobs .*?\n\n", say("help").stdout, re.S)[0]))
        for word in top:
            if say("help", word).returncode == 0:
                yield (word,)
                yield from below(word)

    def test_each_command_has_a_page_with_all_its_flags(self):
        folder = pathlib.Path(self.enterContext(__import__("tempfile").TemporaryDirectory()))
        done = say("man", "--out", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        pages = {path.name: path.read_text() for path in folder.iterdir()}
        commands = set(self.commands())
        self.assertGreater(len(commands), 40)
        for words in commands:
            page = pages["-".join(("schedulearn", *words)) + ".1"]
            help_text = say("help", *words).stdout
            for flag in set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_text, re.M)):
                self.assertIn(flag.replace("-", "\\-"), page, f"{words} {flag}")
            if "Examples:" in help_text:
                self.assertIn(".SH EXAMPLES", page, words)
        self.assertEqual(say("man", "policy", "set").stdout, pages["schedulearn-policy-set.1"])
        if shutil.which("mandoc") or shutil.which("groff"):
            for name in pages:
                checker = ["mandoc", "-Tlint", "-Werror"] if shutil.which("mandoc") else ["groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-z"]
                done = subprocess.run([*checker, str(folder / name)], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)


class Completion(LabTest):
    def ask(self, *words):
        started = time.monotonic()
        done = say("__complete", *words, environment={**ENVIRONMENT, "SCHEDULEARN_URL": self.lab.url})
        self.took = time.monotonic() - started
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("\t") for line in done.stdout.splitlines())

    def test_what_is_offered(self):
        lab = self.lab
        mnist = lab.submit("sleep 87.1001", name="mnist")
        held = lab.submit("true", name="held-one", hold=True)
        ended = lab.submit("true", name="ended")
        lab.finished(ended)
        self.assertIn("submit", self.ask("su"))
        self.assertEqual(set(self.ask("servers", "un")), {"undrain"})
        self.assertIn("--gpus", self.ask("submit", "--gp"))
        self.assertIn("--json", self.ask("ls", "--js"))
        jobs = self.ask("cancel", "")
        self.assertEqual(set(jobs), {str(mnist), str(held)})
        self.assertIn("mnist", jobs[str(mnist)])
        self.assertEqual(set(self.ask("resume", "")), {str(held)})
        self.assertEqual(set(self.ask("retry", "")), {str(ended)})
        self.assertEqual(set(self.ask("logs", "-f", "")), {str(mnist), str(held), str(ended)})
        self.assertEqual(set(self.ask("servers", "drain", "")), {"lab"})
        self.assertIn("fifo_easy", self.ask("policy", "set", "fifo"))
        self.assertEqual(set(self.ask("ls", "--color", "")), {"auto", "always", "never"})
        self.assertEqual(set(self.ask("ls", "--state", "pen")), {"pending"})
        self.assertEqual(set(self.ask("ls", "--state=pen")), {"--state=pending"})
        self.assertEqual(set(self.ask("completion", "")), {"bash", "zsh", "fish"})
        self.assertEqual(self.ask("submit", "--gpus", "1", "--", "python", "tr"), {})
        self.assertEqual(self.ask("no-such-command", ""), self.ask(""))

    def test_it_is_quick_also_with_many_jobs_and_without_a_controller(self):
        lab = self.lab
        for _ in range(4):
            self.assertEqual(lab.request("POST", "/api/v1/jobs/batch", {"jobs": [{"command": "true", "hold": True, "name": "many"}] * 500})[0], 201)
        for words in (("cancel", ""), ("su",), ("submit", "--")):
            took = []
            for _ in range(5):
                self.assertTrue(self.ask(*words))
                took.append(self.took)
            self.assertLess(min(took), 0.15, words)
        lab.controller.send_signal(signal.SIGSTOP)
        try:
            self.assertEqual(min((self.ask("cancel", "1"), self.took)[1] for _ in range(3)) < 0.3, True)
        finally:
            lab.controller.send_signal(signal.SIGCONT)

    def test_bash_inserts_what_is_offered(self):
        job = self.lab.submit("true", hold=True, name="only")
        script = """
source <("$1" completion bash)
export PATH="$(dirname "$1"):$PATH"
COMP_LINE="$2" COMP_POINT=${#2} COMP_TYPE=9 COMP_WORDBREAKS=$' \\t\\n"=:'
_schedulearn
printf '%s\\n' "${COMPREPLY[@]}"
"""
        def offer(line):
            done = subprocess.run(["bash", "-c", script, "bash", PROGRAM, line], capture_output=True, text=True, env={**ENVIRONMENT, "SCHEDULEARN_URL": self.lab.url})
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

        self.assertEqual(offer("schedulearn can"), ["cancel"])
        self.assertEqual(offer("schedulearn cancel "), [str(job)])
        self.assertEqual(offer("schedulearn ls --state=run"), ["running"])
        for shell in ("zsh", "fish"):
            script_of = say("completion", shell).stdout
            self.assertIn("__complete", script_of)
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=script_of, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)


class Fields(LabTest):
    def test_fields_of_documents_and_of_lists(self):
        job = self.lab.submit("true", hold=True, name="fields", labels={"a": "b"})
        self.assertEqual(json.loads(self.lab.cli("show", job, "--json=id,spec.gpus.max").stdout), {"id": job, "spec.gpus.max": 1})
        self.assertEqual(json.loads(self.lab.cli("ls", "--json=id,state").stdout), {"id": job, "state": "held"})
        self.assertEqual(json.loads(self.lab.cli("servers", "ls", "--json=name,state").stdout), {"name": "lab", "state": "up"})
        self.assertEqual(json.loads(self.lab.cli("ls", "--json=total").stdout), {"total": 1})
        self.assertEqual(json.loads(self.lab.cli("ls", "--json=labels.a,labels.none").stdout), {"labels.a": "b", "labels.none": None})
        fields = self.lab.cli("ls", "--json=?").stdout.split()
        self.assertEqual(fields, list(self.lab.get("/api/v1/jobs")["items"][0]))

    def test_an_unknown_field_is_refused_with_a_hint(self):
        self.lab.submit("true", hold=True)
        for words in (("ls", "--json=id,stat"), ("show", "1", "--json=stat"), ("status", "--json=polic"), ("gpus", "--json=nam"), ("ls", "--json=spec.gpuss")):
            done = self.lab.cli(*words, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("[unknown-field]", done.stderr)
            self.assertIn("--json=? lists the fields", done.stderr)
            self.assertEqual(done.stderr.count("error:"), 1)


class Watch(LabTest):
    def test_it_shows_what_changes_until_ctrl_c(self):
        ours, theirs = pty.openpty()
        watching = subprocess.Popen([PROGRAM, "ls", "-w"], stdout=theirs, stderr=theirs, stdin=theirs, env={**ENVIRONMENT, "SCHEDULEARN_URL": self.lab.url, "TERM": "xterm"})
        os.close(theirs)
        said = b""

        def read_until(text):
            nonlocal said
            while text not in said:
                said += os.read(ours, 4096)

        read_until(b"No jobs yet")
        self.lab.submit("true", hold=True, name="appears")
        read_until(b"appears")
        watching.send_signal(signal.SIGINT)
        self.assertEqual(watching.wait(10), 0)
        os.close(ours)

    def test_commands_that_change_something_are_not_repeated(self):
        done = self.lab.cli("submit", "-w", "--", "true", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("[bad-flag]", done.stderr)
        self.assertEqual(self.lab.jobs(), [])


class Doctor(LabTest):
    def findings(self, status):
        done = self.lab.cli("doctor", "--json", check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return {row["subject"]: row for row in json.loads(done.stdout)["items"]}

    def test_it_says_what_is_right_and_what_is_wrong(self):
        found = self.findings(0)
        self.assertEqual([found[name]["verdict"] for name in ("controller", "version", "submissions", "server lab")], ["ok"] * 4)
        self.lab.start_another_agent("other", 1)
        until(lambda: (self.lab.try_get("/api/v1/servers/other") or {}).get("state") == "up")
        self.lab.cli("servers", "drain", "lab", "--reason", "a new fan")
        until(lambda: self.lab.get("/api/v1/servers/lab")["state"] == "draining")
        drained = self.findings(0)["server lab"]
        self.assertEqual((drained["verdict"], drained["remedy"]), ("note", "to use it again: schedulearn servers undrain lab"))
        self.assertRegex(drained["text"], "^is drained by .*: a new fan, no job is left there$")
        self.assertIn("Nothing is wrong.", self.lab.cli("doctor").stdout)
        self.lab.kill(self.lab.agent)
        until(lambda: self.lab.get("/api/v1/servers/lab")["state"] == "down")
        self.assertEqual(self.findings(0)["server lab"]["verdict"], "note", "switched off since")
        self.lab.start_agent()
        until(lambda: self.lab.get("/api/v1/servers/lab")["state"] != "down")
        self.lab.cli("servers", "undrain", "lab")
        self.lab.kill(self.lab.agent)
        until(lambda: self.lab.get("/api/v1/servers/lab")["state"] == "down")
        found = self.findings(1)
        self.assertEqual(found["server lab"]["verdict"], "wrong")
        self.assertIn("schedulearn servers lost lab", found["server lab"]["remedy"])
        self.lab.kill(self.lab.controller)
        found = self.findings(1)
        self.assertEqual(found["controller"]["verdict"], "wrong")
        self.assertIn("schedulearn up", found["controller"]["remedy"])
        text = self.lab.cli("doctor", check=False).stdout
        self.assertIn("✗ controller", text)
        self.assertRegex(text, r"\d+ things? to mend\.")


class Init(LabTest):
    def init(self, folder, *words):
        return subprocess.run([PROGRAM, "init", *words], capture_output=True, text=True, env=ENVIRONMENT, cwd=folder, timeout=60)

    def test_the_file_is_a_job_with_and_without_what_is_commented_out(self):
        folder = self.lab.folder / 'a "strange" folder'
        folder.mkdir()
        (folder / "fit.py").write_text("print('it', 'runs')\n")
        done = self.init(folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("runs python3 fit.py", done.stdout)
        text = (folder / "job.toml").read_text()
        job = int(re.search(r"Job (\d+)", self.lab.cli("submit", "job.toml", cwd=folder).stdout)[1])
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertEqual((self.lab.output(job), self.lab.job(job)["name"]), ("it runs\n", 'a "strange" folder'))
        every_key = re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.M)
        self.assertGreater(len(re.findall(r"^\w+ = ", every_key, re.M)), len(re.findall(r"^\w+ = ", text, re.M)) + 4)
        (folder / "all.toml").write_text(every_key.replace('launch = "torchrun"', 'launch = "ranks"'))
        self.lab.cli("submit", "--dry-run", "all.toml", cwd=folder)

    def test_nothing_is_overwritten(self):
        (self.lab.folder / "job.toml").write_text("mine")
        done = self.init(self.lab.folder)
        self.assertEqual((done.returncode, "[file-exists]" in done.stderr), (5, True))
        self.assertEqual((self.lab.folder / "job.toml").read_text(), "mine")
        self.assertEqual(self.init(self.lab.folder, "/nonexistent/job.toml").returncode, 4)


class Database(LabTest):
    def setUp(self):
        super().setUp()
        self.data = self.lab.folder / "controller"
        self.copy = self.lab.folder / "copy.db"

    def db(self, *words, check=True):
        return self.lab.cli("db", *words, check=check)

    def test_a_copy_is_made_while_the_controller_works_and_put_back_while_it_does_not(self):
        first = self.lab.submit("true", name="before")
        self.lab.finished(first)
        until(lambda: json.loads(self.db("check", "--data", self.data, "--json").stdout)["events"] >= 4)
        said = self.db("backup", "--data", self.data, self.copy).stdout
        self.assertRegex(said, r"copy\.db is whole: 1 job, \d+ events")
        self.assertEqual(self.copy.stat().st_mode & 0o777, 0o600)
        self.lab.submit("true", hold=True, name="after")
        refused = self.db("restore", "--data", self.data, self.copy, "--confirm", self.data, check=False)
        self.assertEqual((refused.returncode, "[data-directory-in-use]" in refused.stderr), (5, True), refused.stderr)
        self.lab.kill(self.lab.controller)
        refused = self.db("restore", "--data", self.data, self.copy, check=False)
        self.assertEqual((refused.returncode, "[confirmation-needed]" in refused.stderr), (2, True), refused.stderr)
        report = json.loads(self.db("restore", "--data", self.data, self.copy, "--confirm", self.data, "--json").stdout)
        self.assertEqual(report["jobs"], 1)
        with sqlite3.connect(report["kept"]) as kept:
            self.assertEqual(kept.execute("SELECT count(*) FROM jobs").fetchone(), (2,))
        self.lab.start_controller()
        self.assertEqual([job["name"] for job in self.lab.jobs()], ["before"])

    def test_what_is_no_whole_database_is_refused_and_nothing_changes(self):
        self.lab.submit("true", hold=True, name="kept")
        self.db("backup", "--data", self.data, self.copy)
        again = self.db("backup", "--data", self.data, self.copy, check=False)
        self.assertEqual((again.returncode, "[file-exists]" in again.stderr), (5, True), again.stderr)
        self.lab.kill(self.lab.controller)
        damaged = self.lab.folder / "damaged.db"
        whole = self.copy.read_bytes()
        for content in (b"", b"no database at all" * 1000, whole[: len(whole) // 2], whole[:8192] + b"\xff" * 8192 + whole[16384:]):
            damaged.write_bytes(content)
            for words in (("check", damaged), ("restore", "--data", self.data, damaged, "--confirm", self.data)):
                done = self.db(*words, check=False)
                self.assertEqual((done.returncode, "[database-damaged]" in done.stderr), (2, True), (len(content), done.stdout, done.stderr))
        self.assertEqual([path.name for path in self.data.glob("schedulearn.db*") if "before" in path.name or "part" in path.name], [])
        missing = self.db("check", "--data", "/nonexistent", check=False)
        self.assertEqual((missing.returncode, "[no-database]" in missing.stderr), (3, True))
        self.lab.start_controller()
        self.assertEqual([job["name"] for job in self.lab.jobs()], ["kept"])


if __name__ == "__main__":
    unittest.main()
