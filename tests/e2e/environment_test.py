"""A job runs in the environment it was submitted from: my interpreter, my packages, my variables."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest


class EnvironmentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = cls.enterClassContext(Lab(environment={"SCHEDULEARN_UNRELATED": "x"}))
        cls.venv = cls.lab.folder / "my venv"
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", str(cls.venv)], check=True)
        site = next((cls.venv / "lib").glob("python3*")) / "site-packages"
        (site / "mine.py").write_text("answer = 42\n")
        cls.active = {"VIRTUAL_ENV": str(cls.venv), "PATH": f"{cls.venv}/bin:/usr/bin:/bin"}

    def run_job(self, *arguments, **environment):
        """What `schedulearn run ARGUMENTS` printed and how it ended, with the given variables and no others of ours."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "CONDA_PREFIX")}
        environment = {**kept, "PATH": "/usr/bin:/bin", **environment, "SCHEDULEARN_URL": self.lab.url}
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, env=environment, cwd=self.lab.folder, check=False)

    def test_an_active_virtual_environment_is_the_job_s_too(self):
        for command in (["python", "-c", "import sys, mine; print(sys.prefix, mine.answer)"], ["bash", "-c", "cd / && python -c 'import sys, mine; print(sys.prefix, mine.answer)'"]):
            done = self.run_job("run", "--gpus", "1", "--", *command, **self.active)
            self.assertEqual((done.returncode, done.stdout), (0, f"{self.venv} 42\n"), done.stderr)
        shown = self.run_job("show", "1")
        self.assertIn(f"Python     {self.venv}\n", shown.stdout)
        self.assertIn("Variables  PATH", shown.stdout)

    def test_what_travels_is_shown_beforehand_and_can_be_left_out(self):
        spec = json.loads(self.run_job("submit", "--dry-run", "--json", "--", "true", **self.active, SCHEDULEARN_UNRELATED="y").stdout)
        self.assertEqual(set(spec["spec"]["env"]), {"PATH", "VIRTUAL_ENV"})
        spec = json.loads(self.run_job("submit", "--dry-run", "--json", "--clean-env", "--", "true", **self.active).stdout)
        self.assertEqual(spec["spec"]["env"], {})
        spec = json.loads(self.run_job("submit", "--dry-run", "--json", "-e", "PATH=/mine", "--", "true", **self.active).stdout)
        self.assertEqual(spec["spec"]["env"]["PATH"], "/mine")

    def test_the_library_is_there_with_nothing_installed(self):
        done = self.run_job("run", "--", "python3", "-c", "import importlib.util, schedulearn; assert importlib.util.find_spec('schedulearn.pytorch'); print(schedulearn.job().gpus)")
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
        own = self.lab.folder / "own"
        (own / "schedulearn").mkdir(parents=True)
        (own / "schedulearn" / "__init__.py").write_text("name = 'the user\\'s own'\n")
        done = self.run_job("run", "--", "python3", "-c", "import schedulearn; print(schedulearn.name)", PYTHONPATH=str(own))
        self.assertEqual(done.stdout, "the user's own\n", done.stderr)

    def test_an_interpreter_that_is_not_there_is_named_before_anything_runs(self):
        gone = self.lab.folder / "gone"
        done = self.run_job("run", "--", "sh", "-c", "echo it ran", VIRTUAL_ENV=str(gone), PATH=f"{gone}/bin:/usr/bin:/bin")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("it ran", done.stdout)
        self.assertIn(f"there is no {gone}/bin/python", done.stdout + done.stderr)
        failed = self.lab.get("/api/v1/jobs?state=failed&limit=1")["items"][0]
        self.assertEqual(failed["failure"]["kind"], "setup")
        followed = self.run_job("logs", "-f", str(failed["id"]))
        self.assertEqual((followed.returncode, followed.stdout), (0, ""))
        self.assertTrue(followed.stderr.startswith("[the job never started: "), followed.stderr)

    def test_torchrun_is_started_by_the_interpreter_that_is_active(self):
        script = self.lab.folder / "ranks.py"
        script.write_text("import os, sys\nsys.stdout.write(f\"rank {os.environ['RANK']} {sys.argv[1]}\\n\")\n")
        (self.lab.folder / "work").mkdir()
        shutil.copy(script, self.lab.folder / "work")
        wrapper = self.lab.folder / "bin"
        wrapper.mkdir()
        (wrapper / "python").write_text('#!/bin/sh\necho "my python" >&2\nexec /usr/bin/python3 "$@"\n')
        (wrapper / "python").chmod(0o755)
        for words in (["python", str(script), "a"], [f"cd {self.lab.folder}/work && python -u ranks.py a"]):
            file = self.lab.folder / "job.toml"
            file.write_text(f"command = {json.dumps(words if len(words) > 1 else words[0])}\ngpus = 2\nlaunch = 'torchrun'\n")
            done = self.run_job("run", str(file), PATH=f"{wrapper}:/usr/bin:/bin")
            self.assertEqual(sorted(line for line in done.stdout.splitlines() if line.startswith("rank")), ["rank 0 a", "rank 1 a"], done.stdout + done.stderr)
            self.assertIn("my python", done.stdout)
        refused = self.run_job("submit", "--launch", "torchrun", "--", "bash", "train.sh")
        self.assertIn("this command starts none", refused.stderr)

    def test_what_would_surprise_is_refused_or_noted(self):
        for entry, message in (("NOT_SET_HERE", "NOT_SET_HERE is not set here"), ("A B=1", "'A B' is no name of an environment variable")):
            refused = self.run_job("submit", "-e", entry, "--", "true")
            self.assertEqual(refused.returncode, 2, refused.stdout)
            self.assertIn(message, refused.stderr)
        noted = self.run_job("submit", "-e", "CUDA_VISIBLE_DEVICES=7", "-C", "/nowhere", "--", "true")
        self.assertEqual(noted.returncode, 0, noted.stderr)
        self.assertIn("note: CUDA_VISIBLE_DEVICES will name the GPUs that the job gets", noted.stderr)
        self.assertIn("note: there is no folder /nowhere on this machine", noted.stderr)
        noted = self.run_job("run", "--", "echo", "hi", PYTHONPATH="/tmp/\udcff")
        self.assertEqual((noted.returncode, noted.stdout), (0, "hi\n"), noted.stderr)
        self.assertIn("note: your PYTHONPATH is no UTF-8 text and is left out", noted.stderr)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from lab import PROGRAM, Lab

    unittest.main(verbosity=2)
