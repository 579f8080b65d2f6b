#!/usr/bin/python3
"""config: settings in files instead of flags."""

import json
import os
import subprocess
import unittest

from lab import PROGRAM, LabTest


class ConfigTest(LabTest):
    def run_it(self, *words, cwd=None, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SCHEDULEARN_")}
        environment.update({"XDG_CONFIG_HOME": str(self.lab.folder / "config"), "HOME": str(self.lab.folder), "LC_ALL": "C.UTF-8", **variables})
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment, cwd=cwd or self.lab.folder, timeout=60)

    def good(self, *words, **how):
        done = self.run_it(*words, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_setting_stands_for_a_flag(self):
        path = self.good("config", "path").strip()
        self.assertEqual(path, f"{self.lab.folder}/config/schedulearn/config.toml")
        self.assertIn("nothing is set", self.good("config", "show"))
        unset = self.run_it("config", "get", "url")
        self.assertEqual((unset.returncode, "[not-set]" in unset.stderr), (3, True), unset.stderr)
        self.good("config", "set", "url", self.lab.url)
        self.assertEqual(self.good("config", "get", "url"), self.lab.url + "\n")
        self.assertIn(self.lab.url, self.good("status"))
        self.assertEqual(self.run_it("--url", "http://127.0.0.1:9", "status").returncode, 6, "a flag wins")
        self.assertEqual(self.run_it("status", SCHEDULEARN_URL="http://127.0.0.1:9").returncode, 6, "a variable wins")
        self.assertEqual(json.loads(self.good("config", "show", "--json"))["items"], [{"key": "url", "value": self.lab.url, "file": path}])
        self.good("config", "set", "url", "")
        self.assertIn("nothing is set", self.good("config", "show"))

    def test_defaults_are_of_jobs_that_do_not_say_otherwise(self):
        self.good("config", "set", "url", self.lab.url)
        self.good("config", "set", "defaults.gpus", "2")
        self.good("config", "set", "defaults.time.limit", "2h")
        project = self.lab.folder / "project"
        (project / "deep").mkdir(parents=True)
        (project / ".schedulearn.toml").write_text('[defaults]\nname = "of-project"\ngpus = 3\n')
        submit = lambda *words, cwd: self.lab.job(int(self.good("submit", "-q", *words, "--", "true", cwd=cwd)))
        job = submit(cwd=project / "deep")
        self.assertEqual((job["name"], job["spec"]["gpus"]["max"], job["spec"]["time_limit_s"]), ("of-project", 3, 7200))
        job = submit("--gpus", "1", "--time-limit", "5m", cwd=project)
        self.assertEqual((job["spec"]["gpus"]["max"], job["spec"]["time_limit_s"]), (1, 300))
        self.assertEqual(submit(cwd=self.lab.folder)["spec"]["gpus"]["max"], 2)

    def test_defaults_that_no_job_could_have_are_refused_and_named(self):
        self.assertIn("[unknown-key]", self.run_it("config", "set", "defaults.gpsu", "2").stderr)
        for key in ("defaults.gpus", "defaults.training.batch_size"):
            self.assertIn(f"error: {key} is not a number [wrong-type]", self.run_it("config", "set", key, "nan").stderr)
        project = self.lab.folder / "with-a-typo"
        project.mkdir()
        (project / ".schedulearn.toml").write_text("[defaults]\ngpsu = 2\n")
        refused = self.run_it("submit", "--dry-run", "--", "true", cwd=project)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("it is among your defaults", refused.stderr)
        self.assertIn("did you mean gpus?", refused.stderr)

    def test_settings_of_a_project_count_only_if_nobody_else_can_have_written_them(self):
        project = self.lab.folder / "shared"
        file = project / "deep" / ".schedulearn.toml"
        file.parent.mkdir(parents=True)
        (project / ".schedulearn.toml").write_text('[defaults]\nname = "of-project"\n')
        file.write_text('[defaults]\nname = "planted"\n')
        self.assertEqual(self.good("config", "get", "defaults.name", cwd=file.parent), "planted\n")

        def refused(why, folder=file.parent):
            done = self.run_it("config", "get", "defaults.name", cwd=folder)
            self.assertEqual((done.returncode, done.stdout), (0, "of-project\n"), done.stderr)
            self.assertEqual(done.stderr.count("warning: "), 1, done.stderr)
            self.assertIn(f"{file} does not count: ", done.stderr)
            self.assertIn(why, done.stderr)
            return done.stderr

        file.chmod(0o666)
        self.assertIn(f"chmod go-w {file}", refused("others may write it"))
        listed = self.run_it("--url", self.lab.url, "ls", cwd=file.parent)
        self.assertEqual((listed.returncode, listed.stderr.count("others may write it")), (0, 1), listed.stderr)
        file.chmod(0o644)
        file.parent.chmod(0o777)
        self.assertIn(f"chmod go-w {file.parent}\n", refused("others may write its folder"))
        file.parent.chmod(0o1777)
        self.assertEqual(self.good("config", "get", "defaults.name", cwd=file.parent), "planted\n", "sticky, as /tmp is")
        if os.geteuid() == 0:
            os.chown(file, 65534, -1)
            refused("it belongs to nobody")
            os.chown(file, 0, -1)
            file.rename(project / "own.toml")
            file.symlink_to(project / "own.toml")
            self.assertEqual(self.good("config", "get", "defaults.name", cwd=file.parent), "planted\n", "a link of one's own")
            os.chown(file, 65534, -1, follow_symlinks=False)
            refused("it belongs to nobody")

    def test_what_is_no_file_of_settings_holds_nobody_up(self):
        project = self.lab.folder / "odd"
        project.mkdir()
        file = project / ".schedulearn.toml"
        for make in (lambda: os.mkfifo(file), lambda: file.symlink_to("/dev/zero")):
            make()
            listed = self.run_it("--url", self.lab.url, "ls", cwd=project)
            self.assertEqual(listed.returncode, 0, listed.stderr)
            self.assertIn(f"warning: {file} does not count: it is no regular file", listed.stderr)
            file.unlink()
        own = self.lab.folder / "config" / "schedulearn" / "config.toml"
        own.parent.mkdir(parents=True)
        own.symlink_to("/dev/zero")
        for words in (("ls",), ("config", "set", "color", "never"), ("config", "edit")):
            refused = self.run_it(*words, EDITOR="true")
            self.assertEqual((refused.returncode, "it is no regular file" in refused.stderr), (2, True), refused.stderr)
            self.assertIn(f"in {own}", refused.stderr)

    def edit(self, text, **variables):
        """`config edit` with an editor that writes this."""
        editor = self.lab.folder / "my editor"
        editor.write_text(f"#!/bin/sh\ncat > \"$1\" <<'EOF'\n{text}\nEOF\n")
        editor.chmod(0o755)
        return self.run_it("config", "edit", EDITOR=f"'{editor}'", **variables)

    def test_settings_are_edited_and_become_valid_or_stay(self):
        file = self.lab.folder / "config" / "schedulearn" / "config.toml"
        self.assertEqual(self.edit("# mine\ncolor = 'never'").stdout, f"{file} is changed\n")
        self.assertEqual(file.read_text(), "# mine\ncolor = 'never'\n")
        wrong = self.edit("colour = 'never'")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("[unknown-key]", wrong.stderr)
        self.assertIn("did you mean color?", wrong.stderr)
        self.assertEqual(file.read_text(), "# mine\ncolor = 'never'\n")
        go_on = self.run_it("config", "edit", VISUAL="sed -i s/colour/color/")
        self.assertEqual((go_on.returncode, file.read_text()), (0, "color = 'never'\n"), go_on.stderr)
        failed = self.run_it("config", "edit", EDITOR="false")
        self.assertEqual((failed.returncode, "[editor-failed]" in failed.stderr), (1, True), failed.stderr)
        self.assertIn("is as it was", self.run_it("config", "edit", EDITOR="true").stdout)
        self.assertEqual([each.name for each in file.parent.iterdir()], ["config.toml"])

    def test_bad_files_are_named_and_can_be_mended(self):
        folder = self.lab.folder / "config" / "schedulearn"
        folder.mkdir(parents=True)
        file = folder / "config.toml"
        for text, code in (("url = ", "malformed-toml"), ("urls = 'x'", "unknown-key"), ("url = 5", "wrong-type"), ("defaults = 5", "wrong-type"), ("color = 'pink'", "bad-flag"), ("timeout = 'soon'", "bad-flag")):
            file.write_text(text)
            said = self.run_it("ls")
            self.assertEqual(said.returncode, 2, text)
            self.assertIn(f"[{code}]", said.stderr)
            self.assertIn(str(file), said.stderr)
        self.assertEqual(self.run_it("help").returncode, 0)
        self.assertIn("[bad-flag]", self.run_it("config", "set", "defaults.gpus", "1").stderr, "the file would still be refused")
        for key, value in (("timeout", "20s"), ("defaults.gpus", "1")):
            self.assertEqual(self.run_it("config", "set", key, value).returncode, 0)
        self.assertEqual(self.run_it("config", "set", "urls", "x").returncode, 2)
        file.write_text("url = ")
        before = file.read_text()
        self.assertIn("[malformed-toml]", self.run_it("config", "set", "color", "never").stderr)
        self.assertEqual(file.read_text(), before)
        project = self.lab.folder / "project"
        project.mkdir()
        file.unlink()
        (project / ".schedulearn.toml").write_text('url = "http://evil.example"\n')
        said = self.run_it("ls", cwd=project)
        self.assertIn("a project sets only [defaults]", said.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
