#!/usr/bin/python3
"""What commands print about one cluster: those that read in colour, as plain records, and the shape of their JSON; those
that change something as one session; the screen of top; and those that bring a cluster of their own.

The folder golden/ holds it, one file per command that reads, with times, amounts and numbers of processes replaced.
`golden_test.py record` writes them anew: read the difference before committing it."""

import getpass
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import pyte

import top_test
from lab import PROGRAM, Lab, free_port, until

GOLDEN = pathlib.Path(__file__).parent / "golden"

COMMANDS = [
    "status", "ls", "ls --all", "ls --group 7", "show 8", "ls --state failed", "show 1", "show 2", "show 3", "show 5", "show 6", "show 7", "show 7_1", "show 14",
    "why 1", "why 3", "why 5", "why 6", "why 7", "why 14", "logs 2", "logs 2 --tail 1", "events --limit 99", "files 1 ls",
    "servers ls", "gpus", "policy ls", "policy show", "policy history", "policy try sjf", "policy shadow", "estimates",
    "secret ls", "notify ls", "notify log", "profile ls", "profile costs", "config show", "whoami", "version",
    "user ls", "token ls", "announce", "servers show far", "servers add lab", "sim ls", "login",
    "set 5 --priority 3 --dry-run", "suspend 3 --dry-run", "retry 2 --dry-run", "servers drain far --dry-run",
    "show 999", "ls --state tired", "why 1 --at soon", "policy set fifoo", "cancel nobody", "submit --gpus 99 -- true", "migrate 5", "set 3 --gpus 0",
    "user add mei", "user set nobody --role admin", "token rm none", "token add more --user nobody", "sim show 99", "servers show none", "whoami --context lab",
    "shell 2", "files 1 get result.txt",
]  # fmt: skip

# One after the other, when the others have been asked.
SESSION = [
    "set 14 --priority 3 --name urgent", "set 14 --time-limit 2h --json=id,spec.time_limit_s", "set 5,6 --priority 1", "set 5 --first", "set 6 --before 5", "set 12 --release --dry-run",
    "retry 2", "retry 2 --json=id,name", "cancel 15 --reason tried --yes", "cancel 16 --yes --json=id,state,reason", "cancel 7 --yes", "wait 1", "rm 2 --yes", "rm 1 --yes --json", "wait 13", "wait 13 --json=id,state",
    "migrate 4 --dry-run", "scale 4 1 --dry-run", "signal 5 USR1", "logs 5",
    "policy set srtf", "policy set sjf --json", "policy undo", "policy undo --json", "policy set fifo_easy --at 12h", "policy set --call-off", "policy shadow sjf", "policy shadow --off", "events --about policy --limit 5", "events --about polciy", "events --about policy --server far",
    "servers drain far --yes", "servers undrain far", "servers drain far --yes --json=name,state", "servers undrain far --json=name,state,state_reason", "servers lost far --yes", "servers rm far --yes",
    "secret rm none", "notify rm none", "notify test none", "user set vera --role user", "user set vera --role viewer --json", "user rm vera --yes", "token rm ci --yes", "announce --clear", "announce",
    "trace gen poisson jobs=3 --out t.csv", "trace info t.csv", "trace ls poisson", "sim run --policy fifo --trace t.csv --servers 1x8 --out results", "plot cdf --run results", "plot cdf --run nowhere", "sim compare --trace t.csv --servers 1x4 --policies fifo,sjf",
    "db backup copy.db --data controller", "db check copy.db", "init", "submit --dry-run job.toml", "help error job-not-found", "config set timeout 20s", "config get timeout", "config set timeout 30s --json",
    "run --gpus 0 -- echo hello", "run --gpus 0 -- false", "top", "completion tcsh", "man cancel", "man nothing", "help cancel", "help nothing", "help error nothing", "web", "logout",
    "db restore copy.db --data elsewhere", "db restore copy.db --data elsewhere --confirm elsewhere", "db restore copy.db --data controller --confirm controller", "reproduce ls", "reproduce nothing", "profile run", "profile show none", "controller replay none.jsonl",
    "secret set key --file t.csv", "notify add ops --webhook https://hooks.example.org/lab --on failed", "notify add ops --webhook https://hooks.example.org/lab --secret key --on failed", "notify rm ops --yes", "secret rm key --yes", "servers add gpu9", "servers release far", "user add leo --role viewer", "user rm leo --yes", "token add robot --expires 90d", "token add second --json", "token rm robot --yes",
    "resume 12", "resume 12 --json=id,state", "suspend 5", "config path",
    "profile import steps.json", "profile show steps", "profile show steps --plain", "profile rm steps --yes", "policy check fifo", "sim show 1", "sim show 1 --plain", "sim show 1 --json", "sim rm 1 --yes",
    "sim run --policy fifo,sjf --trace t.csv --servers 1x4 --seed 1..2 --out two --events", "plot gantt --run two --policy fifo --seed 1", "plot util --run two --policy fifo --seed 1", "plot queue --run two --seed 1 --json", "plot bars --run two", "plot lines --run two --x seed", "plot ahead", "plot regret",
    "trace export t.csv --format swf --out t.swf", "trace import swf t.swf --out back.csv", "estimates speeds --plain", "estimates run-times t.csv", "estimates losses curves.csv", "estimates losses curves.csv --json",
    "policy check nothing.py", "estimates ranges", "plot util", "version --json", "reproduce ls --json", "reproduce ls --plain", "trace ls poisson --plain", "trace ls poisson --json=name", "trace info t.csv --plain", "plot cdf --run results --plain", "cancel 3 --yes", "wait 3", "migrate 4 --dry-run", "migrate 4 --dry-run --json", "signal 4 USR1", "completion fish",
]  # fmt: skip

# Replaced in this order.
NOISE = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d(\.\d+)?)?\b", "CLOCK"),
    (r"\d+d \d+h|\d+m \d\ds|\d+h \d+m|\b\d+(\.\d+)? ?(ms|s|min)\b", "SPAN"),
    (r"\b\d+(\.\d+)? ?(bytes|[kKMGT]i?B|B)\b", "SIZE"),
    (r"\d+(\.\d+)? ?%", "SHARE"),
    (r"http://127\.0\.0\.1:\d+", "ADDRESS"),
    (r"(/tmp/)?schedulearn-test-\w+", "FOLDER"),
    (r"\bpid \d+", "pid N"),
    (r"\d+ GPU-seconds", "N GPU-seconds"),
    (r"over \d+ possible futures", "over N possible futures"),
    (r"(?m)\t\d+\.\d+$", "\tN"),
    (r"\b(draws|pid)\t\d+", "\\1\tN"),
    (r"\(\d+ are open\)", "(N are open)"),
    (r"\(lab:[\d,-]+\)", "(lab:GPUS)"),
    (r"\d+ jobs, \d+ events", "N jobs, N events"),
    (r"\b(slt_)?[0-9a-f]{12,}([-_]\w+)*\b", "ID"),
    (r"listens on port \d+", "listens on port N"),
    (r"[\u2580-\u259f\u2800-\u28ff]+", "BAR"),
    (r"(?m)^ +\d+  CLOCK", "   N  CLOCK"),
]  # fmt: skip


def quiet(text):
    """Without what differs from run to run; columns as wide as they must be."""
    for pattern, name in NOISE:
        text = re.sub(pattern, name, text)
    text = re.sub(rf"\b{re.escape(getpass.getuser())}\b", "USER", text)
    return re.sub(r"(?<=\S) {2,}", "  ", re.sub(r"[ \t]+$", "", text, flags=re.M))


def shape(value, path="", into=None):
    """The paths of a document with the kinds of their values: one line each."""
    into = {} if into is None else into
    if isinstance(value, dict):
        for key, part in value.items():
            shape(part, f"{path}.{key}", into)
    elif isinstance(value, list):
        for part in value:
            shape(part, path + "[]", into)
    kind = "null" if value is None else "truth" if isinstance(value, bool) else "number" if isinstance(value, (int, float)) else type(value).__name__
    into.setdefault(path, set()).add({"dict": "object", "list": "list", "str": "text"}.get(kind, kind))
    return into


def shape_text(document):
    return "".join(f"{path or '.'}  {', '.join(sorted(kinds))}\n" for path, kinds in shape(json.loads(document)).items())


class Cluster:
    """Jobs in every state on two servers; nothing moves any more."""

    def __enter__(self):
        self.lab = Lab(environment={"SCHEDULEARN_CGROUPS": "off"})  # whatever this machine permits
        try:
            self.fill(self.lab.__enter__())
        except BaseException:
            self.lab.__exit__()
            raise
        return self

    def fill(self, lab):
        lab.start_another_agent("far", 2)
        prepared = lab.submit("echo ready > result.txt; echo prepared", name="prepare", gpus=1)  # 1
        lab.finished(prepared)
        failed = lab.submit("echo one; echo two; exit 3", name="broken", gpus=1, labels={"team": "vision"})  # 2
        lab.finished(failed)
        self.runs(lab.submit("sleep 5713", name="train", gpus=4, priority=2, time_limit_s=86400, estimate_s=7200))  # 3
        self.runs(lab.submit("sleep 5713", name="far-train", gpus=2, time_limit_s=86400, checkpoint={"dir": "c"}))  # 4
        lab.submit("sleep 1", name="wide", gpus=4, estimate_s=600)  # 5
        lab.submit("sleep 1", name="behind", gpus=1, after=[3])  # 6
        lab.submit("sleep 1", name="sweep", gpus=1, array="0-3", max_running=2, estimate_s=60)  # 7: 8 to 11
        lab.submit("sleep 1", name="later", gpus=1, hold=True)  # 12
        lab.submit("sleep 1", name="gone", gpus=1)  # 13
        lab.cli("cancel", "gone", "--yes")
        lab.submit("sleep 1", name="narrow", gpus=1, estimate_s=30)  # 14
        lab.cli("user", "add", "mei")
        lab.cli("user", "add", "vera", "--role", "viewer")
        lab.cli("token", "add", "laptop", "--user", "mei", "--expires", "90d")
        lab.cli("token", "add", "ci")
        lab.cli("announce", "gpu3 is down on Friday")
        (lab.folder / "steps.json").write_text('{"schedulearn_profile": 1, "family": "steps", "origin": "made up", "epochs": 2, "steps_per_epoch": 50, "speeds": [{"gpus": 1, "steps_per_s": 20}, {"gpus": 2, "steps_per_s": 35}]}')
        (lab.folder / "curves.csv").write_text("losses\n" + "|".join(f"{1 / (0.3 * epoch + 0.5) + 0.2:.4f}" for epoch in range(1, 31)) + "\n")
        simulated = {"policies": [{"name": "fifo"}, {"name": "sjf"}], "servers": "1x4", "trace": {"workload": "poisson", "parameters": {"jobs": 20, "cluster_gpus": 4}}}
        status, _, answer = lab.request("POST", "/api/v1/simulations", simulated)
        assert status == 202, answer
        until(lambda: lab.get("/api/v1/simulations/1")["state"] == "succeeded", what="the end of the simulation")
        lab.get("/api/v1/jobs/14?fresh_ms=5000")
        until(lambda: all(server["cpu_utilization_pct"] is not None and server["job_files_bytes"] is not None for server in lab.get("/api/v1/servers")["items"]), what="what servers measure")

    def runs(self, job):
        until(lambda: self.lab.job(job)["state"] == "running")

    def __exit__(self, *_):
        self.lab.__exit__()

    def say(self, command, *flags, locale="C.UTF-8"):
        environment = {**os.environ, "SCHEDULEARN_URL": self.lab.url, "LC_ALL": locale, "TZ": "UTC", "HOME": str(self.lab.folder), "COLUMNS": "120"}
        environment.pop("NO_COLOR", None)
        done = subprocess.run([PROGRAM, *command.split(), *flags], capture_output=True, text=True, env=environment, cwd=self.lab.folder, timeout=60, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def golden(self, command):
        """What the file of this command holds."""
        status, said, errors = self.say(command, "--color", "always")
        text = f"$ schedulearn {command}\n" + quiet(said + errors).replace("\x1b", "^[") + (f"exit status {status}\n" if status else "")
        if status or command.startswith(("logs", "version")):
            return text
        text += f"\n$ schedulearn {command} --plain\n" + quiet(self.say(command, "--plain")[1]).replace("\t", "|")
        document = self.say(command, "--json")[1]
        return text + f"\n$ schedulearn {command} --json\n" + shape_text(document)

    def session(self):
        """What the commands print that change something, in their order."""
        text = ""
        for command in SESSION:
            status, said, errors = self.say(command)
            if "--json" in command and said:
                said = shape_text(said)
            text += f"$ schedulearn {command}\n" + quiet(said + errors) + (f"exit status {status}\n" if status else "") + "\n"
        return text

    def top(self):
        """What is on a terminal of 100 columns and 30 lines."""
        terminal = top_test.Terminal(self.lab.url, columns=100, lines=30, kind="linux", environment={**os.environ, "TZ": "UTC"})
        screen = pyte.Screen(100, 30)
        stream = pyte.Stream(screen)

        def is_there():
            terminal.read()
            stream.feed(terminal.said)
            terminal.said = ""
            return all(text in "\n".join(screen.display) for text in ("far-train", "prepare", "q quit"))  # its first, last and lowest line

        try:
            until(is_there, what="the jobs on the screen")
        finally:
            terminal.end()
        return "\n".join(quiet(line) for line in screen.display).rstrip() + "\n"

    def doctor(self):
        """Without what it says of this machine's driver and container engines."""
        lines = re.sub(r"(?m)^. +(GPUs|containers) .*\n( {8,}.*\n)*", "", self.say("doctor")[1])
        records = "".join(line.split("\t")[1] + "\n" for line in self.say("doctor", "--plain")[1].splitlines())
        return f"$ schedulearn doctor\n{quiet(lines)}\n$ schedulearn doctor --plain\n{records}\n$ schedulearn doctor --json\n" + shape_text(self.say("doctor", "--json")[1])


STEPS = r"""for step in $(seq 100); do
  echo "{\"step\": $step, \"steps\": 100}" >> $SCHEDULEARN_METRICS_FILE
  sleep 0.05
done
"""


class OtherCommands:
    """Commands that begin a cluster or a daemon of their own, or lose a server."""

    def __init__(self, lab):
        self.lab = lab

    def start(self, *words):
        environment = {**os.environ, "HOME": str(self.lab.folder), "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "120"}
        return subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, env=environment)

    def until_ctrl_c(self, *words):
        """Its first line, and what it says at its end."""
        daemon = self.start(*words)
        said = daemon.stdout.readline()
        daemon.send_signal(signal.SIGINT)
        return quiet(said + daemon.communicate(timeout=60)[0])

    def measured(self):
        (self.lab.folder / "steps.sh").write_text(STEPS)
        (self.lab.folder / "steps.toml").write_text('command = "bash steps.sh"\n')
        done = self.lab.cli("profile", "run", "steps.toml", "--gpus", "1", "--seconds", "1", cwd=self.lab.folder)
        return re.sub(r"\d+\.\d+", "N", quiet(done.stdout))

    def lost(self):
        text = ""
        for name, command in (("away", "servers lost away --yes"), ("off", "servers rm off --confirm off"), ("gone", "agent leave --name gone")):
            self.lab.start_another_agent(name, 2)
            self.lab.kill(self.lab.more_agents[-1])
            text += f"$ schedulearn {command}\n" + quiet(self.lab.cli(*command.split()).stdout)
        return text

    def texts(self):
        folder, listen = self.lab.folder, lambda: f"127.0.0.1:{free_port()}"
        demo = self.start("demo")  # half a minute, beside the others
        texts = {
            "up": self.until_ctrl_c("up", "--simulate", "2", "--data", folder / "up", "--listen", listen()),
            "controller run": self.until_ctrl_c("controller", "run", "--data", folder / "other", "--listen", listen()),
            "agent run": self.until_ctrl_c("agent", "run", "--join", self.lab.url, "--data", folder / "another", "--simulate", "1"),
            "profile run": self.measured(),
            "servers lost": self.lost(),
        }
        return {**texts, "demo": re.sub(r"sim\d:\S+", "PLACE", quiet(demo.communicate(timeout=240)[0]))}


def others(cluster):
    """By command."""
    with Lab() as lab:
        return {"top": cluster.top(), "doctor": cluster.doctor(), **OtherCommands(lab).texts()}


SESSION_FILE = GOLDEN / "session.txt"
OTHERS = ["top", "doctor", "profile run", "up", "demo", "controller run", "agent run", "servers lost"]


def file_of(command):
    return GOLDEN / (re.sub(r"\W+", "-", command) + ".txt")


class GoldenTest(unittest.TestCase):
    maxDiff = None

    def test_what_commands_print(self):
        with Cluster() as cluster:
            for command in COMMANDS:
                with self.subTest(command):
                    self.assertEqual(cluster.golden(command), file_of(command).read_text(), f"if this is meant: {__file__} record")
                    in_ascii = cluster.say(command, locale="C")
                    self.assertTrue("".join(in_ascii[1:]).isascii(), in_ascii)
            for command, text in others(cluster).items():
                with self.subTest(command):
                    self.assertEqual(text, file_of(command).read_text(), f"if this is meant: {__file__} record")
            self.assertEqual(cluster.session(), SESSION_FILE.read_text(), f"if this is meant: {__file__} record")

    def test_no_file_is_left_over(self):
        self.assertEqual(sorted(GOLDEN.glob("*.txt")), sorted([*map(file_of, COMMANDS + OTHERS), SESSION_FILE]))


def record():
    with Cluster() as cluster:
        files = {file_of(command): cluster.golden(command) for command in COMMANDS}
        files |= {file_of(command): text for command, text in others(cluster).items()} | {SESSION_FILE: cluster.session()}
    for old in GOLDEN.glob("*.txt"):
        old.unlink()
    for file, text in files.items():
        file.write_text(text)


if __name__ == "__main__":
    record() if sys.argv[1:] == ["record"] else unittest.main()
