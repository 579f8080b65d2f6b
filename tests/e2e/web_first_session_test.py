"""The README's first session, done wholly in a browser; and the form of a submission, which asks for all that a job file
can say."""

import json
import pathlib
import shlex
import sys
import unittest

from lab import until
from page import PageTest, reason_to_skip

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


class FirstSessionTest(PageTest):
    def submit(self, command, gpus, name="", estimate=""):
        page = self.page
        page.click("Submit", kind="nav a")
        page.wait("location.pathname === '/ui/submit' && document.querySelector('#command')")
        page.fill("#name", name)
        page.fill("#command", command)
        page.fill("#gpus", str(gpus))
        if estimate:
            page.click("Time and order", kind="summary")
            page.fill("#estimate", estimate)
        page.wait_text("The controller would accept it.")
        page.click("Submit", kind="form button")
        page.wait("/jobs\\/\\d+$/.test(location.pathname)", "the page of the job")
        return int(page.run("location.pathname.split('/').at(-1)"))

    def test_the_form_says_when_a_job_would_start_and_end(self):
        lab, page = self.lab, self.page
        self.open("submit")
        page.fill("#command", "sleep 1")
        page.click("Time and order", kind="summary")
        page.fill("#estimate", "10m")
        said = "[...document.querySelectorAll('dt')].find(each => each.innerText === %r)?.nextElementSibling.innerText"
        when, ends = said % "When", said % "Ends"
        page.wait(f"{when} === 'at once, on lab'", "that it starts at once")
        page.wait(f"/^about \\d\\d:.* to .*; rests on its user's estimate$/.test({ends})", "when it ends")
        running = lab.submit("sleep 600", gpus=4, time={"estimate": "30m"})
        until(lambda: lab.job(running)["state"] == "running")
        page.wait(f"/^about \\d\\d:.* to .*, on lab$/.test({when})", "when it starts, once the other one has ended")  # without being asked
        page.fill("#estimate", "")
        page.wait(f"({ends} ?? '').includes('nothing is known about how long it runs')", "why its end is not known")
        self.is_clean()

    def test_the_first_session_of_the_readme(self):
        lab, page = self.lab, self.page
        self.open()
        page.wait_text("Nothing of yours runs or waits")

        # submit, and watch its output
        hello = self.submit("echo GPUs $CUDA_VISIBLE_DEVICES; sleep 1", 2, "hello")
        page.wait_text("GPUs 0,1")
        page.wait_text("the job has ended: succeeded")
        page.run("document.querySelector('select option[value=clock]').parentElement.value = 'clock'; document.querySelector('select option[value=clock]').parentElement.dispatchEvent(new Event('change', {bubbles: true}))")
        page.wait(r"/^\d\d:\d\d:\d\d/.test(document.querySelector('.line .time')?.innerText)", "the time of the line")

        # a training from its job file
        page.click("Submit", kind="nav a")
        page.wait("document.querySelector('#job-file')")
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        field = page.call("DOM.querySelector", nodeId=root, selector="#job-file")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=field, files=[str(EXAMPLES / "fashion-mlp.toml")])
        page.wait("document.querySelector('#name').value === 'fashion-mlp'", "the job file in the form")
        self.assertIn("fashion_mlp.py", page.run("document.querySelector('#command').value"))
        page.wait("document.activeElement.id === 'workdir'", "the question for its folder, which a browser does not say")
        page.wait_text("relative paths begin there")
        page.call("Input.insertText", text=str(EXAMPLES))
        page.wait("!document.body.innerText.includes('relative paths begin there')", "the folder")
        page.wait_text("The controller would accept it.")
        page.click("Submit", kind="form button")
        page.wait("location.pathname.endsWith('/jobs/2')")
        page.wait_text("the job has ended: succeeded", 90)
        page.click("Measurements", kind="a")
        page.wait_text("Loss by epoch")

        # what can never run
        page.click("Submit", kind="nav a")
        page.fill("#command", "python train.py")
        page.fill("#gpus", "8")
        page.wait_text("[gpus-unsatisfiable]")

        # why a job waits
        long = self.submit("sleep 60.8807", 4, estimate="1m")
        until(lambda: lab.job(long)["state"] == "running")
        waits = self.submit("true", 1, estimate="1s")
        page.wait_text("It will run; nothing is wrong with the request.")
        page.wait_text("1 short")

        # what if, and another policy
        page.click("Policy", kind="nav a")
        page.wait_text("Current policy")
        page.click("Compare Round Robin", kind="input")
        page.click("Try")
        page.wait_text("Differences below", 40)
        page.click("Switch to Round Robin")
        page.wait_text("It can be undone for 10 minutes")
        page.click("Switch", kind="dialog button")
        until(lambda: lab.get("/api/v1/policy")["name"] == "round_robin", what="the switch")
        page.wait_text("Round Robin is in force now")
        page.click("Back to fifo")
        page.click("Go back", kind="dialog button")
        until(lambda: lab.get("/api/v1/policy")["name"] == "fifo", what="the way back")

        # cancel
        page.wait("document.querySelector('dialog[open]') === null", "the dialog to close")
        page.click("Jobs", kind="nav a")
        page.click(str(long), kind="td a")
        page.click("Cancel")
        page.wait_text("gets TERM")
        page.click("Cancel the job", kind="dialog button")
        self.assertEqual(lab.finished(long)["state"], "cancelled")
        self.assertEqual(lab.finished(waits)["state"], "succeeded")
        self.assertEqual(lab.finished(hello)["state"], "succeeded")
        self.is_clean()


class FormTest(PageTest):
    # Other names of keys that the form has: those of the original API, and of REST.
    ALIASES = {"type", "container_image", "required_gpus", "preempt", "migrate", "time_limit_s", "estimate_s", "deadline_s", "output_limit_bytes", "time.not_before", "resources.memory_bytes", "resources.gpu_memory_bytes", "resources.shm_bytes", "checkpoint.grace_s", "checkpoint.every_s", "retry.backoff_s"}
    UNSEEN = {"snapshot"}  # kept of a template: an archive of code is no text

    def leaves(self, schema, path=""):
        if "properties" not in schema:
            return {path}
        return set().union(*(self.leaves(inner, f"{path}.{name}".lstrip(".")) for name, inner in schema["properties"].items()))

    def test_every_key_of_a_job_file_can_be_asked_for(self):
        self.open("submit")
        document = self.lab.get("/api/v1/openapi.json")
        keys = self.leaves(document["components"]["schemas"]["JobFile"]) - self.ALIASES - self.UNSEEN
        fields = self.page.run("[...document.querySelectorAll('form [name]')].map(e => e.name)")
        self.assertEqual(len(fields), len(set(fields)))
        self.assertEqual(set(fields), keys)
        self.is_clean()

    def test_roles_ports_and_facts_of_a_training_reach_the_job(self):
        page = self.page
        self.open("submit")
        page.fill("#command", "sleep 1.7701")
        page.run("document.querySelectorAll('form details').forEach(each => each.open = true)")
        page.fill("#roles", "server gpus=0 cpus=1\nworker count=2 count_min=1 cpu=1")
        page.wait_text("[unknown-key]")
        self.assertEqual(page.run("document.querySelector('#roles').getAttribute('aria-invalid')"), "true")
        page.fill("#roles", "server gpus=0 cpus=1\nworker count=2 count_min=1")
        page.wait_text("leave gpus out")
        page.run("document.querySelector('#gpus').value = ''; document.querySelector('#gpus').dispatchEvent(new Event('input', {bubbles: true}))")
        page.fill("#ports", "board=0")
        page.fill("[name='training.target_loss']", "0.25")
        page.fill("[name='training.model_bytes']", "4MiB")
        page.wait_text("The controller would accept it.")
        page.click("Submit", kind="form button")
        page.wait("/jobs\\/1$/.test(location.pathname)")
        spec = self.lab.job(1)["spec"]
        self.assertEqual([(role["name"], role["count"], role["gpus"]) for role in spec["roles"]], [("server", 1, 0), ("worker", 2, 1)])
        self.assertEqual(spec["ports"], {"board": {"port": 0, "keep_path": False}})
        self.assertEqual((spec["training"]["target_loss"], spec["training"]["model_bytes"]), (0.25, 4 << 20))
        self.open("submit?from=1")
        page.wait("document.querySelector('#roles')?.value.includes('worker count=2 count_min=1')", "the roles of the template")
        page.wait_text("The controller would accept it.")
        self.is_clean()

    def test_an_earlier_job_is_a_template_and_the_form_says_when(self):
        lab, page = self.lab, self.page
        long = lab.submit("sleep 600", name="long-one", gpus=4, priority=3)
        until(lambda: lab.job(long)["state"] == "running")
        self.open("submit")
        page.click("From an earlier job", kind="summary")
        page.click(f"{long} long-one")
        page.wait("document.querySelector('#name').value === 'long-one' && document.querySelector('#gpus').value === '4'", "the earlier job in the form")
        page.wait_text("no server has 4 free GPUs now")
        page.wait_text("once 4 GPUs are free")
        lab.submit("true", name="waits", gpus=1)
        page.wait_text("1 job waits already; fifo decides who is served first")
        page.fill("#name", "another")
        self.assertEqual(page.run("document.querySelector('#command').value"), "sleep 600")
        page.click("Submit", kind="form button")
        page.wait("location.pathname.endsWith('/jobs/3')")
        self.assertEqual(lab.job(3)["priority"], 3)
        self.is_clean()

    def test_a_job_is_submitted_again_with_what_it_has_whatever_that_is(self):
        lab, page = self.lab, self.page
        env = {"NOTE": "it's\n2=lines", "B": "x"}
        job = lab.submit(["sleep", "600", "&"], env=env)
        form = lambda: page.run("document.querySelector('pre.json').innerText")
        self.open(f"jobs/{job}?tab=spec")
        page.wait("document.querySelector('pre.json')?.innerText.startsWith('command')", "the job file")
        file = lab.folder / "job.toml"
        file.write_text(form())
        page.click("Command line")
        page.wait("document.querySelector('pre.json').innerText.startsWith('schedulearn')", "the command line")
        words = shlex.split(form())[1:]
        for given in ((words[0], "--dry-run", "--json", *words[1:]), ("submit", file, "--dry-run", "--json")):
            spec = json.loads(lab.cli(*given).stdout)["spec"]
            self.assertEqual((spec["command"], {**spec["env"], **env}), (["sleep", "600", "&"], spec["env"]), given)  # the command adds PATH
        self.open(f"submit?from={job}")
        page.wait_text("The controller would accept it.")
        page.click("Submit", kind="form button")
        page.wait(f"location.pathname.endsWith('/jobs/{job + 1}')")
        self.assertEqual(lab.job(job + 1)["spec"]["env"], env)
        self.is_clean()

    def test_the_equal_command_line_submits_the_same(self):
        page = self.page
        self.open("submit")
        page.fill("#command", "true")
        page.run("document.querySelectorAll('form details').forEach(each => each.open = true)")
        page.fill("#ports", "board=0")
        page.fill("[name='retry.on']", "exit:3")
        page.fill("#retries", "2")
        page.wait_text("The controller would accept it.")
        line = page.run("document.querySelector('pre.means').innerText")
        words = shlex.split(line)[1:]
        checked = json.loads(self.lab.cli(words[0], "--dry-run", "--json", *words[1:]).stdout)["spec"]
        self.assertEqual((checked["ports"], checked["retry"]), ({"board": {"port": 0, "keep_path": False}}, {"max": 2, "on": ["exit:3"], "backoff_s": 0}))


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
