#!/usr/bin/python3
"""Jobs that need no GPU: they start beside full GPUs, wait for CPUs, see no GPU, and survive what other jobs survive."""

import json
import unittest

from lab import LabTest, until


class WithoutGpus(LabTest):
    def refused(self, **spec):
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", **spec})
        self.assertGreaterEqual(status, 400, text)
        return json.loads(text)

    def running(self, job):
        until(lambda: self.lab.job(job)["state"] == "running", what=f"job {job} running")
        return self.lab.job(job)

    def end(self, *jobs):
        for job in jobs:
            self.lab.cli("cancel", job, "--now", check=False)
        for job in jobs:
            self.lab.finished(job)

    def cpus(self):
        return self.lab.get("/api/v1/servers")["items"][0]["cpus"]

    def test_one_starts_at_once_while_all_gpus_are_taken_and_sees_none(self):
        lab = self.lab
        gpus = len(lab.get("/api/v1/servers")["items"][0]["gpus"])
        taker, waiter = (lab.submit("sleep 300", gpus=gpus) for _ in range(2))
        self.running(taker)
        self.assertEqual(lab.job(waiter)["state"], "pending")
        said = lab.cli("submit", "--gpus", 0, "--", "sh", "-c", 'echo "[$CUDA_VISIBLE_DEVICES] $NVIDIA_VISIBLE_DEVICES $SCHEDULEARN_NUM_GPUS"; sleep 300').stdout
        self.assertIn("0 GPUs", said)
        job = max(one["id"] for one in lab.jobs())
        view = self.running(job)
        self.assertEqual([(part["server"], part["gpus"]) for part in view["placement"]], [("lab", [])])
        until(lambda: lab.output(job))
        self.assertEqual(lab.output(job).strip(), "[] void 0")
        self.assertRegex(lab.cli("show", job).stdout, r"GPUs +0 +on lab\b")
        self.assertRegex(lab.cli("ls").stdout, rf"(?m)^ *{job} .* lab ")
        self.assertIn(f"job {job} is running on lab, of those with room for it", lab.cli("why", job).stdout)
        self.end(job, taker, waiter)
        self.assertEqual(lab.job(job)["gpu_seconds"], 0)

    def test_one_waits_for_cpus_and_says_so(self):
        lab = self.lab
        cpus = self.cpus()
        first = lab.submit("sleep 300", gpus=0, resources={"cpus": cpus})
        self.running(first)
        second = lab.submit("true", gpus=0)
        reason = lab.job(second)["reason"]
        self.assertEqual(reason["code"], "cpu_or_memory")
        self.assertEqual(reason["text"], "first in line, needs 1 free CPU on one server")
        why = lab.get(f"/api/v1/jobs/{second}/explain")
        self.assertEqual([(one["fits"], one["text"], one["frees"]) for one in why["servers"]], [(False, "too few free CPUs or too little memory", [])])
        room = why["servers"][0]["room"]
        self.assertEqual((room["cpus_free"], room["cpus_needed"], room["memory_needed_bytes"]), (0, 1, 0))
        self.assertGreater(room["memory_free_bytes"], 0)
        with_gpu = lab.submit("true", gpus=1, resources={"cpus": 1})
        self.assertEqual(lab.job(with_gpu)["reason"]["code"], "cpu_or_memory")
        self.assertIsNone(lab.get(f"/api/v1/jobs/{with_gpu}/explain")["servers"][0]["room"])
        third = lab.submit("true", gpus=0, resources={"memory_bytes": 1 << 20})
        self.assertEqual(lab.job(third)["reason"]["text"], f"number 2 in line behind job {second}, needs 1 free CPU and 0.0 GiB of free memory on one server")
        why = lab.get(f"/api/v1/jobs/{third}/explain")
        self.assertEqual((why["position"], why["queue_length"], why["needs_gpus"], why["ahead"]), (2, 2, False, {"jobs": 1, "gpus": 0}))
        said = lab.cli("why", third).stdout
        self.assertIn("2 of 2 without GPUs, the same under every policy", said)
        self.assertRegex(said, r"lab +0 CPUs, [0-9.]+ GiB +1 CPU, 1.0 MiB +too few free CPUs")
        lab.cli("set", third, "--priority", 5)
        self.assertEqual(lab.get(f"/api/v1/jobs/{third}/explain")["position"], 1)
        self.end(first)
        for job in (second, third, with_gpu):
            self.assertEqual(lab.finished(job)["state"], "succeeded")
        refused = self.refused(gpus=0, resources={"cpus": cpus + 1})
        self.assertEqual((refused["code"], refused["hints"][0]["text"]), ("resources-unsatisfiable", "schedulearn servers ls"))

    def test_it_prepares_for_a_job_with_gpus(self):
        lab = self.lab
        prepare = lab.submit("sleep 0.5", gpus=0)
        train = lab.submit("true", gpus=1, after=[prepare])
        self.assertEqual(lab.finished(train)["state"], "succeeded")
        self.assertGreaterEqual(lab.job(train)["started_at"], lab.job(prepare)["finished_at"])

    def test_it_runs_on_while_the_controller_and_the_agent_are_gone(self):
        lab = self.lab
        job = lab.submit("sleep 4; echo still here", gpus=0, resources={"cpus": self.cpus()})
        held = lab.submit("echo froze; sleep 4; echo thawed", gpus=0, freeze=True, hold=True)
        self.running(job)
        lab.kill(lab.agent)
        lab.kill(lab.controller)
        lab.start_controller()
        lab.start_agent()
        ended = lab.finished(job)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1))
        lab.cli("resume", held)
        self.running(held)
        lab.cli("suspend", held, "--yes")
        until(lambda: lab.job(held)["state"] == "suspended")
        lab.cli("resume", held)
        self.assertEqual(lab.finished(held)["state"], "succeeded")
        self.assertIn("thawed", lab.output(held))

    def test_it_is_moved_to_another_server_and_counts_where_that_is_drained(self):
        lab = self.lab
        job = lab.submit('test "$SCHEDULEARN_RESUME" = 1 && sleep 300; trap "exit 0" TERM; sleep 300 & wait', gpus=0, checkpoint={"dir": str(self.lab.folder / "kept")})
        self.running(job)
        lab.start_another_agent("other", 2)
        self.assertIn("continues on other", lab.cli("migrate", job, "--to", "other", "--yes").stdout)
        until(lambda: (lambda now: now["state"] == "running" and now["attempt"] == 2)(lab.job(job)))
        self.assertEqual([part["server"] for part in lab.job(job)["placement"]], ["other"])
        lab.cli("servers", "drain", "other")
        self.assertIn("1 job is left there", lab.cli("servers", "ls", check=False).stdout)
        self.end(job)

    def test_what_is_about_gpus_is_refused(self):
        for spec, code in [({"gpus": "0..2"}, "bad-gpus"), ({"gpus": 0, "servers": 2}, "bad-servers"), ({"gpus": 0, "launch": "ranks"}, "bad-launch"),
                           ({"gpus": 0, "resources": {"gpu_type": ["T4"]}}, "bad-resources")]:
            with self.subTest(spec=spec):
                error = self.refused(**spec)
                self.assertEqual(error["code"], code)
                self.assertTrue(error["hints"], error)
        job = self.lab.submit("true", gpus=0, hold=True)
        done = self.lab.cli("set", job, "--gpus", 2, check=False)
        self.assertIn("bad-gpus", done.stderr)
        self.end(job)


if __name__ == "__main__":
    unittest.main()
