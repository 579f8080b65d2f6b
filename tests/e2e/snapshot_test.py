#!/usr/bin/python3
"""Snapshots of code: what was submitted is what runs."""

import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
import time
import unittest

from lab import PROGRAM, LabTest, until


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)


class SnapshotTest(LabTest):
    def setUp(self):
        super().setUp()
        self.code = self.lab.folder / "code"
        (self.code / "sub").mkdir(parents=True)
        (self.code / "sub" / "train.py").write_text("import pathlib, sys\nsys.path.insert(0, '..')\nimport lib\nprint('runs', lib.VALUE, sorted(p.name for p in pathlib.Path('..').iterdir()))\n")
        (self.code / "lib.py").write_text("VALUE = 'one'\n")
        (self.code / ".gitignore").write_text("*.pt\n")
        git(self.code, "init", "--quiet")
        git(self.code, "add", "-A")
        git(self.code, "commit", "--quiet", "-m", "first")

    def submit(self, *words, cwd=None):
        said = self.lab.cli("submit", *words, cwd=cwd or self.code / "sub").stdout
        return int(re.search(r"Job (\d+)", said)[1]), said

    def test_what_was_submitted_runs_also_after_an_edit(self):
        (self.code / "lib.py").write_text("VALUE = 'two'\n")
        (self.code / "new.txt").write_text("new")
        (self.code / "model.pt").write_text("weights")
        job, said = self.submit("--hold", "--snapshot", "git", "--", "/usr/bin/python3", "-B", "train.py")
        commit = subprocess.run(["git", "-C", str(self.code), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
        self.assertIn(f"code {commit} + 2 changed files", said)
        (self.code / "lib.py").write_text("VALUE = 'three'\n")
        self.lab.cli("resume", job)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded", self.lab.output(job))
        self.assertEqual(self.lab.output(job), "runs two ['.gitignore', 'lib.py', 'new.txt', 'sub']\n")
        shown = self.lab.cli("show", job).stdout
        for words in (f"{commit} + 2 changed files", "lib.py", "new.txt"):
            self.assertIn(words, shown)
        snapshot = self.lab.job(job)["snapshot"]
        self.assertEqual((snapshot["kind"], snapshot["commit"], snapshot["dirty_files"], snapshot["subfolder"]), ("git", commit, 2, "sub"))

    def test_from_python_the_same_is_packed(self):
        (self.code / "lib.py").write_text("VALUE = 'two'\n")
        (self.code / "model.pt").write_text("weights")
        (self.code / "link").symlink_to("lib.py")
        os.link(self.code / "lib.py", self.code / "second.py")  # another name of the same file
        (self.code / "sub" / "run.sh").write_text("#!/bin/sh\nexec /usr/bin/python3 -B train.py\n")
        (self.code / "sub" / "run.sh").chmod(0o755)
        program = ("import schedulearn, sys\nclient = schedulearn.Client(sys.argv[1])\n"
                   "for kind, command in (('git', './run.sh'), ('copy', 'ls'), ('git', './run.sh')):\n"
                   "    print(client.submit(command=command, snapshot=kind, hold=True)['id'])\n")
        path = str(pathlib.Path(__file__).resolve().parents[2] / "python")
        said = subprocess.run(["/usr/bin/python3", "-B", "-c", program, self.lab.url], cwd=self.code / "sub", env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        self.assertEqual(0, said.returncode, said.stderr)
        whole, folder, again = map(int, said.stdout.split())
        (self.code / "lib.py").write_text("VALUE = 'three'\n")
        for job in (whole, folder):
            self.lab.cli("resume", job)
            self.assertEqual(self.lab.finished(job)["state"], "succeeded", self.lab.output(job))
        self.assertEqual(self.lab.output(whole), "runs two ['.gitignore', 'lib.py', 'link', 'second.py', 'sub']\n")
        self.assertEqual(self.lab.output(folder).split(), ["run.sh", "train.py"])
        self.assertEqual(self.lab.job(whole)["snapshot"], self.lab.job(again)["snapshot"], "packed alike")
        snapshot = self.lab.job(whole)["snapshot"]
        self.assertEqual(("git", 4, "sub"), (snapshot["kind"], snapshot["dirty_files"], snapshot["subfolder"]))
        self.assertEqual({"lib.py", "link", "second.py", "sub/run.sh"}, set(snapshot["changed"]))
        outside = self.lab.folder / "outside"
        outside.mkdir()
        refused = subprocess.run(["/usr/bin/python3", "-B", "-c", program, self.lab.url], cwd=outside, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        self.assertIn("SnapshotError: git says of", refused.stderr)

    # ---- what was changed ----
    def change(self):
        """Changes files of every kind and returns the diff that is expected of them."""
        (self.code / "lib.py").write_text("VALUE = 'two'\n")
        (self.code / "neü \x1b[2J.txt").write_bytes(b"\xff new\r\n")
        (self.code / "model.pt").write_text("weights")
        (self.code / "sub" / "data.bin").write_bytes(b"a\0b")
        return ("diff --git a/lib.py b/lib.py\n--- a/lib.py\n+++ b/lib.py\n@@ -1 +1 @@\n-VALUE = 'one'\n+VALUE = 'two'\n"
                'diff --git "a/neü \\033[2J.txt" "b/neü \\033[2J.txt"\nnew file mode 100644\n--- /dev/null\n+++ "b/neü \\033[2J.txt"\t\n@@ -0,0 +1 @@\n+\udcff new\r\n'
                "diff --git a/sub/data.bin b/sub/data.bin\nnew file mode 100644\nGIT binary patch\n").encode(errors="surrogateescape")

    def diff(self, job, *words, **more):
        """As bytes, without the numbers that git gives contents, and what it makes of binary ones."""
        said = subprocess.run([PROGRAM, "show", str(job), "--diff", "--url", self.lab.url, *words], capture_output=True, **more)
        self.assertEqual(said.returncode, 0, said.stderr)
        return re.sub(rb"^index .*\n|(?<=^GIT binary patch\n)(.*\n)+?\n(.*\n)+?\n", b"", said.stdout, flags=re.M)

    def refused(self, method, path, body=None, headers=None):
        status, _, text = self.lab.request(method, f"/api/v1/{path}", body, headers)
        return status, json.loads(text)["code"]

    def put(self, data):
        name = hashlib.sha256(data).hexdigest()
        for offset in range(0, len(data), 1 << 19):
            self.assertEqual(self.lab.request("PUT", f"/api/v1/snapshots/{name}?offset={offset}&size={len(data)}", data[offset:offset + (1 << 19)])[0], 200)
        return name

    def test_what_was_changed_can_be_seen_and_applied_again(self):
        expected = self.change()
        job, _ = self.submit("--hold", "--snapshot", "git", "--array", "0-1", "--", "true")
        self.assertEqual(self.diff(job), expected)
        self.assertEqual(self.diff(f"{job}_1"), expected, "of a member")
        self.assertRegex(self.lab.cli("show", job).stdout, rf"\n +neü \^\[\[2J.txt\n +sub/data.bin\n +schedulearn show {job} --diff ")
        on_terminal = self.lab.on_terminal(100, "show", job, "--diff", PAGER="cat")
        self.assertIn("\x1b[31m-VALUE = 'one'\x1b[0m\n\x1b[32m+VALUE = 'two'\x1b[0m\n", on_terminal)
        self.assertIn("\x1b[32m+\ufffd new^M\x1b[0m\n", on_terminal)
        self.assertNotIn("\x1b[2J", on_terminal)
        clean = self.lab.folder / "clean"
        git(self.code, "worktree", "add", "--detach", clean, "HEAD")
        whole = subprocess.run([PROGRAM, "show", str(job), "--diff", "--url", self.lab.url], capture_output=True).stdout
        subprocess.run(["git", "-C", str(clean), "apply", "-"], input=whole, check=True, capture_output=True)
        for name in ("lib.py", "neü \x1b[2J.txt", "sub/data.bin"):
            self.assertEqual((clean / name).read_bytes(), (self.code / name).read_bytes())
        self.lab.kill(self.lab.controller)
        self.assertEqual(self.diff(job, "--data", str(self.lab.folder / "controller")), expected, "from the data folder alone")

    def test_from_python_the_same_diff_is_kept(self):
        expected = self.change()
        job, _ = self.submit("--hold", "--snapshot", "git", "--", "true")
        program = ("import schedulearn, sys\nclient = schedulearn.Client(sys.argv[1])\nfirst = client.submit(command='true', snapshot='git', hold=True)['id']\n"
                   "open('lib.py', 'w').write('x' * (2 << 20))\nopen('large.bin', 'wb').write(bytes(2 << 20))\nsecond = client.submit(command='true', snapshot='git', hold=True)['id']\nprint(first, second)\nprint(client.diff(second)[-70:])\n")
        path = str(pathlib.Path(__file__).resolve().parents[2] / "python")
        said = subprocess.run(["/usr/bin/python3", "-B", "-c", program, self.lab.url], cwd=self.code, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        self.assertEqual(0, said.returncode, said.stderr)
        first, second = map(int, said.stdout.split("\n")[0].split())
        for key in ("diff", "commit", "changed", "dirty_files"):
            self.assertEqual(self.lab.job(first)["snapshot"][key], self.lab.job(job)["snapshot"][key])
        self.assertEqual(self.diff(first), expected)
        self.assertIn("\n# 2 more files differ; at most 1024 KiB of a diff are kept\n", said.stdout)
        cut, _ = self.submit("--hold", "--snapshot", "git", "--", "true")
        self.assertEqual(self.lab.job(second)["snapshot"]["diff"], self.lab.job(cut)["snapshot"]["diff"], "cut alike")
        self.assertIn(b"data.bin", self.diff(cut))
        self.assertNotIn(b"VALUE", self.diff(cut))

    def test_a_diff_is_not_for_others_and_one_that_is_gone_is_said(self):
        self.change()
        job, _ = self.submit("--snapshot", "git", "--", "true")
        self.lab.finished(job)
        self.lab.request("POST", "/api/v1/users", {"name": "mei", "role": "user"})
        token = json.loads(self.lab.request("POST", "/api/v1/tokens", {"name": "laptop", "user": "mei"})[2])["token"]
        as_mei = {"Authorization": f"Bearer {token}"}
        self.assertEqual(self.refused("GET", f"jobs/{job}/diff", headers=as_mei), (403, "not-your-job"))
        for path in (f"jobs/{job}", "jobs"):
            text = self.lab.request("GET", f"/api/v1/{path}", None, as_mei)[2]
            self.assertIn('"diff":""', text)
            for digest in "id", "diff":
                self.assertNotIn(self.lab.job(job)["snapshot"][digest], text)
        clean, _ = self.submit("--hold", "--snapshot", "copy", "--", "true")
        for without in (clean, self.lab.submit("true")):
            self.assertEqual(self.refused("GET", f"jobs/{without}/diff"), (404, "no-diff"))
        gone = self.lab.job(job)["snapshot"]["diff"]
        (self.lab.folder / "controller" / "snapshots" / f"{gone}.tar").unlink()
        self.assertEqual(self.refused("GET", f"jobs/{job}/diff"), (404, "snapshot-missing"))
        self.lab.cli("retry", job)
        again = self.lab.jobs()[0]
        self.assertEqual((again["snapshot"]["diff"], again["snapshot"]["id"]), ("", self.lab.job(job)["snapshot"]["id"]))

    def test_a_diff_that_is_none_is_refused_or_kept_as_it_is(self):
        code = self.put(b"code")
        job = {"command": "true", "hold": True, "snapshot": {"kind": "git", "id": code, "commit": "abc", "dirty_files": 1}}
        for diff, expected in (("0" * 64, (404, "snapshot-missing")), ("x", (422, "bad-snapshot")), (self.put(bytes((1 << 20) + 1)), (422, "bad-snapshot"))):
            self.assertEqual(self.refused("POST", "jobs", {**job, "snapshot": {**job["snapshot"], "diff": diff}}), expected)
        self.assertEqual(self.lab.jobs(), [])
        for text in (b"no diff\n", b"\xff\x1b[31", b"diff --git a/x b/x\n@@ -1,9 +1,9 @@\n-o", bytes(1 << 20)):
            made = self.lab.submit(**{**job, "snapshot": {**job["snapshot"], "diff": self.put(text)}})
            self.assertEqual(self.diff(made), text)
            self.assertNotIn("\x1b[31\n", self.lab.on_terminal(80, "show", made, "--diff", PAGER="cat"))

    def test_also_on_another_server_with_a_relative_checkpoint_folder(self):
        (self.code / "step.py").write_text("""
import os, pathlib, signal, sys, time
state = pathlib.Path("ck/steps")
done = int(state.read_text()) if state.exists() else 0
print("from", done, open("word").read(), flush=True)
def save(*_):
    state.parent.mkdir(exist_ok=True)
    state.write_text("7")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
if done == 0: time.sleep(71.3)
""")
        (self.code / "word").write_text("first")
        self.lab.start_another_agent("other", 4)
        job, _ = self.submit("--snapshot", "copy", "--gpus", "4", "--checkpoint-dir", "ck", "--", "/usr/bin/python3", "step.py", cwd=self.code)
        until(lambda: "from 0 first" in self.lab.output(job))
        (self.code / "word").write_text("second")
        source = self.lab.job(job)["attempts"][-1]["server"]
        self.lab.cli("servers", "drain", source, "--migrate")
        done = self.lab.finished(job)
        self.assertEqual(done["state"], "succeeded")
        self.assertNotEqual(done["attempts"][-1]["server"], source)
        self.assertEqual(self.lab.output(job), "from 7 first\n")
        other = self.lab.folder / ("agent" if source == "other" else "other")
        self.assertEqual((next(other.glob("jobs/*/code")) / "ck" / "steps").read_text(), "7")

    def test_a_retry_and_an_array_have_the_same_code_and_it_is_sent_once(self):
        job, _ = self.submit("--snapshot", "git", "--array", "0-3", "--", "/usr/bin/python3", "-B", "train.py")
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        (self.code / "lib.py").write_text("VALUE = 'later'\n")
        self.lab.cli("retry", job + 1)
        retried = json.loads(self.lab.cli("show", "last", "--json").stdout)["id"]
        self.lab.finished(retried)
        self.assertIn("runs one", self.lab.output(retried))
        described = json.loads(self.lab.cli("submit", "--snapshot", "git", "--dry-run", "--json", "--", "true", cwd=self.code).stdout)["spec"]["snapshot"]
        self.assertRegex(self.lab.cli("submit", "--snapshot", "git", "--dry-run", "--", "true", cwd=self.code).stdout, r"process  ·  code [0-9a-f]{7,} \+ 1 changed file")
        self.assertEqual((described["id"], described["changed"]), ("", ["lib.py"]))
        self.assertEqual(self.lab.get("/api/v1/snapshots")["count"], 1)

    def test_the_same_code_may_be_submitted_several_times_at_the_same_time(self):
        (self.code / "ballast").write_bytes(os.urandom(12 << 20))
        command = [PROGRAM, "submit", "--url", self.lab.url, "--hold", "--snapshot", "copy", "--", "true"]
        submissions = [subprocess.Popen(command, cwd=self.code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(4)]
        for one in submissions:
            said = one.communicate(timeout=120)[0]
            self.assertEqual(one.returncode, 0, said)
        self.assertEqual(len({job["snapshot"]["id"] for job in self.lab.jobs()}), 1)
        self.assertEqual(self.lab.get("/api/v1/snapshots")["count"], 1)

    def test_the_controller_may_be_killed_between_submission_and_start(self):
        job, _ = self.submit("--hold", "--snapshot", "git", "--", "/usr/bin/python3", "-B", "train.py")
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.lab.cli("resume", job)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded", self.lab.output(job))

    def test_the_agent_may_be_killed_while_the_code_comes(self):
        (self.code / "ballast").write_bytes(os.urandom(40 << 20))
        job, _ = self.submit("--snapshot", "git", "--", "/usr/bin/python3", "-B", "train.py")
        until(lambda: list(self.lab.folder.glob("agent/snapshots/*")), what="the first piece")
        self.lab.kill(self.lab.agent)
        self.lab.start_agent()
        self.assertEqual(self.lab.finished(job)["state"], "succeeded", self.lab.output(job))
        self.assertEqual(self.lab.job(job)["attempt"], 1)

    def test_code_that_has_gone_from_the_controller_fails_the_job_with_the_reason(self):
        job, _ = self.submit("--hold", "--snapshot", "git", "--", "/usr/bin/python3", "-B", "train.py")
        for archive in self.lab.folder.glob("controller/snapshots/*.tar"):
            archive.unlink()
        self.lab.cli("resume", job)
        failure = self.lab.finished(job)["failure"]
        self.assertEqual(failure["kind"], "setup")
        self.assertIn("the controller does not have it any more", failure["message"])
        refused = self.lab.cli("retry", job, check=False)
        self.assertIn("[snapshot-missing]", refused.stderr)

    def test_too_much_is_refused_before_anything_is_sent(self):
        self.lab.kill(self.lab.controller)
        self.lab.start_controller("--snapshot-limit", "1MiB")
        (self.code / "data.bin").write_bytes(bytes(2 << 20))
        refused = self.lab.cli("submit", "--snapshot", "git", "--", "true", cwd=self.code, check=False)
        self.assertEqual(refused.returncode, 2)
        for words in ("[snapshot-too-large]", "may have 1.0 MiB", "data.bin (2.0 MiB)", ".gitignore"):
            self.assertIn(words, refused.stderr)
        self.assertEqual(self.lab.jobs(), [])

    def test_bad_requests_change_nothing(self):
        refused = self.lab.cli("submit", "--snapshot", "git", "--", "true", cwd="/tmp", check=False)
        self.assertIn("[not-a-repository]", refused.stderr)
        self.assertIn("--snapshot copy", refused.stderr)
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "snapshot": "git"})
        self.assertEqual((status, json.loads(text)["code"]), (422, "snapshot-missing"))
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "snapshot": {"kind": "git", "id": "0" * 64}})
        self.assertEqual((status, json.loads(text)["code"]), (404, "snapshot-missing"))
        for path, body, code in (("a" * 64, b"other", "snapshot-damaged"), ("../../etc", b"x", "no-such-path"), ("A" * 64, b"x", "bad-snapshot"),
                                 ("a" * 64 + "?offset=7&size=9", b"x", "snapshot-offset"), ("a" * 64 + "?size=999999999999", b"x", "snapshot-too-large")):
            status, _, text = self.lab.request("PUT", f"/api/v1/snapshots/{path}", body)
            self.assertEqual(json.loads(text)["code"], code, path)
        self.assertEqual(list(self.lab.folder.glob("controller/snapshots/*.tar")), [])
        self.assertEqual(self.lab.jobs(), [])

    def test_an_archive_made_to_harm_writes_nothing_outside(self):
        victim = self.lab.folder / "victim"
        victim.mkdir()
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as packed:
            link = tarfile.TarInfo("out")
            link.type, link.linkname = tarfile.SYMTYPE, str(victim)
            packed.addfile(link)
            for name in ("out/a", "../../../../victim/b"):
                entry = tarfile.TarInfo(name)
                entry.size = 1
                packed.addfile(entry, io.BytesIO(b"x"))
        body = archive.getvalue()
        name = hashlib.sha256(body).hexdigest()
        self.assertEqual(self.lab.request("PUT", f"/api/v1/snapshots/{name}", body)[0], 200)
        job = self.lab.submit("true", snapshot={"kind": "copy", "id": name})
        self.lab.finished(job)
        self.assertEqual(list(victim.iterdir()), [])

    def test_code_is_kept_while_it_is_needed_and_goes_after_its_time(self):
        (self.code / "lib.py").write_text("VALUE = 'changed'\n")
        waiting, _ = self.submit("--hold", "--snapshot", "git", "--", "true")
        (self.code / "lib.py").write_text("VALUE = 'other'\n")
        ended, _ = self.submit("--snapshot", "git", "--", "true")
        self.lab.finished(ended)
        archives = list(self.lab.folder.glob("controller/snapshots/*.tar"))
        self.assertEqual(len(archives), 4, "of each the code and the diff")
        for archive in archives:
            os.utime(archive, (time.time() - 2 * 3600,) * 2)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller("--keep", "1h")
        kept = until(lambda: len(left := list(self.lab.folder.glob("controller/snapshots/*.tar"))) == 2 and left, what="removal")
        snapshot = self.lab.job(waiting)["snapshot"]
        self.assertEqual({one.stem for one in kept}, {snapshot["id"], snapshot["diff"]})
        self.assertIn(b"+VALUE = 'changed'", self.diff(waiting))
        self.assertTrue(all(time.time() - one.stat().st_mtime < 600 for one in kept), "their time counts from the job's end")


if __name__ == "__main__":
    unittest.main(verbosity=2)
