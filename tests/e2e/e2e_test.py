#!/usr/bin/python3
"""End to end: what a user does, what goes wrong in the field, and what a hostile client tries."""

import http.client
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from lab import PROGRAM, Lab, LabTest, fill, small_disk, until

ROOT = pathlib.Path(__file__).resolve().parents[2]


class JobTest(LabTest):
    def test_a_job_runs_with_its_environment_and_its_output_is_kept(self):
        job = self.lab.submit('echo "job $SCHEDULEARN_JOB_ID attempt $SCHEDULEARN_ATTEMPT gpus $CUDA_VISIBLE_DEVICES of $SCHEDULEARN_NUM_GPUS"; echo to-stderr >&2; pwd', gpus=2)
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        self.assertEqual(self.lab.output(job), f"job {job} attempt 1 gpus 0,1 of 2\nto-stderr\n{self.lab.folder}\n")

    def test_an_exit_code_is_kept_and_is_the_code_of_run(self):
        done = self.lab.cli("run", "--", "sh", "-c", "echo hello; exit 7", check=False)
        self.assertEqual((done.returncode, done.stdout), (7, "hello\n"))

    def test_a_vector_runs_without_a_shell(self):
        job = self.lab.submit(["/bin/echo", "$HOME", "a b"])
        self.lab.finished(job)
        self.assertEqual(self.lab.output(job), "$HOME a b\n")

    def test_cancel_sends_the_signal_then_kills_what_ignores_it(self):
        polite = self.lab.submit('trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done')
        until(lambda: "ready" in self.lab.output(polite))
        self.lab.request("POST", f"/api/v1/jobs/{polite}/cancel", "{}")
        self.lab.finished(polite)
        self.assertIn("bye", self.lab.output(polite))

    def test_cancel_ends_the_whole_process_group(self):
        job = self.lab.submit("sleep 300 & sleep 300 & echo $!; wait")
        child = int(until(lambda: self.lab.output(job).strip()))
        self.lab.request("POST", f"/api/v1/jobs/{job}/cancel", "{}")
        self.assertEqual(self.lab.finished(job)["state"], "cancelled")
        until(lambda: not os.path.exists(f"/proc/{child}") or pathlib.Path(f"/proc/{child}/stat").read_text().split()[2] == "Z", what="the end of its child")

    def test_a_time_limit_ends_a_job_and_says_so(self):
        job = self.lab.finished(self.lab.submit("sleep 60", time={"limit": "1s"}))
        self.assertEqual((job["state"], job["failure"]["kind"]), ("failed", "time_limit"))

    def test_a_job_that_cannot_start_says_why(self):
        missing = self.lab.finished(self.lab.submit("pyton train.py"))
        self.assertEqual((missing["failure"]["kind"], missing["failure"]["message"]), ("setup", "no such command: pyton"))
        script = self.lab.folder / "train.sh"
        script.write_text("echo trained")
        for command in ("./train.sh", ["./train.sh"]):
            refused = self.lab.finished(self.lab.submit(command, workdir=str(self.lab.folder)))
            self.assertEqual((refused["failure"]["kind"], refused["failure"]["message"]), ("setup", "not executable (chmod +x): ./train.sh"))
        nowhere = self.lab.finished(self.lab.submit("ls", workdir="/no/such/place"))
        self.assertEqual((nowhere["failure"]["kind"], nowhere["failure"]["message"]), ("setup", "no such working directory: /no/such/place"))

    def test_progress_of_the_metrics_file_is_shown(self):
        job = self.lab.submit("""echo '{"epoch": 1, "epochs": 2, "loss": 0.5, "accuracy": 0.8}' >> $SCHEDULEARN_METRICS_FILE
            echo 'not json' >> $SCHEDULEARN_METRICS_FILE
            echo '{"epoch": 2, "epochs": 2, "loss": 0.25, "accuracy": 0.9}' >> $SCHEDULEARN_METRICS_FILE""")
        self.lab.finished(job)
        progress = until(lambda: self.lab.job(job)["progress"])
        self.assertEqual((progress["done"], progress["total"], progress["loss"], progress["accuracy"]), (2, 2, 0.25, 0.9))

    def test_output_can_be_read_by_range_and_followed_from_any_byte(self):
        job = self.lab.submit("for i in $(seq 1000); do echo line $i; done")
        self.lab.finished(job)
        whole = self.lab.output(job)
        self.assertEqual(whole, "".join(f"line {i}\n" for i in range(1, 1001)))
        status, headers, text = self.lab.request("GET", f"/api/v1/jobs/{job}/logs", headers={"Range": "bytes=5-11"})
        self.assertEqual((status, text, headers["Content-Range"]), (206, whole[5:12], f"bytes 5-11/{len(whole)}"))
        _, _, events = self.lab.request("GET", f"/api/v1/jobs/{job}/logs/stream", headers={"Last-Event-ID": str(len(whole) - 10)})
        self.assertIn('"x":"line 1000"', events)
        self.assertNotIn('"x":"line 998"', events)
        self.assertIn("event: end", events)

    def test_a_follower_sees_every_line_of_a_running_job_once(self):
        job = self.lab.submit("for i in $(seq 40); do echo line $i; sleep 0.02; done")
        done = self.lab.cli("logs", "-f", job)
        self.assertEqual(done.stdout, "".join(f"line {i}\n" for i in range(1, 41)))

    def test_output_over_its_limit_loses_its_middle_and_says_so(self):
        job = self.lab.submit("echo begin; for i in $(seq 30); do head -c 1000000 /dev/zero | tr '\\0' x; echo; sleep 0.05; done; echo end", output_limit="1MB")
        self.assertEqual(self.lab.finished(job)["state"], "succeeded")
        output = self.lab.output(job)
        self.assertTrue(output.startswith("begin\n"))
        self.assertTrue(output.endswith("end\n"))
        self.assertIn("bytes of output were dropped here", output)
        self.assertLess(len(output), 20_000_000)
        used = sum(file.stat().st_blocks * 512 for file in self.lab.folder.glob(f"agent/attempts/{job}.1.*/output"))
        self.assertLess(used, 20_000_000)
        self.assertIn("dropped here", self.lab.cli("logs", "-f", job).stderr)

    def test_output_over_its_limit_that_comes_at_once_loses_its_middle_too(self):
        job = self.lab.submit("head -c 300000000 /dev/zero | tr '\\0' x | fold -w 100", output_limit="4MiB")
        self.assertEqual(self.lab.finished(job, 120)["state"], "succeeded")
        output = next(self.lab.folder.glob(f"agent/attempts/{job}.1.*/output"))
        until(lambda: output.stat().st_blocks * 512 < 8_000_000, what="no more of the output than its limit, and what is kept of its beginning")

    def test_torchrun_starts_as_many_processes_as_gpus(self):
        script = self.lab.folder / "ranks.py"
        script.write_text("import os, sys\nsys.stdout.write(f\"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}\\n\")\n")
        job = self.lab.finished(self.lab.submit(f"cd / && /usr/bin/python3 {script}", gpus=2, launch="torchrun"), 60)
        self.assertEqual(job["state"], "succeeded", self.lab.output(job["id"]))
        self.assertEqual(sorted(line for line in self.lab.output(job["id"]).splitlines() if line.startswith("rank")), ["rank 0 of 2", "rank 1 of 2"])

    def test_ranks_starts_as_many_processes_as_gpus_and_ends_like_the_first_that_fails(self):
        job = self.lab.submit('echo rank $RANK of $WORLD_SIZE; [ $RANK = 1 ] && exit 9; sleep 30', gpus=2, launch="ranks")
        self.assertEqual(self.lab.finished(job)["exit"]["code"], 9)

    def test_members_of_a_job_with_roles_run_together_and_know_what_they_are(self):
        roles = [{"name": "scheduler", "gpus": 0}, {"name": "server", "count": 2, "gpus": 0}, {"name": "worker", "count": 2, "count_min": 1}]
        told = 'echo "$SCHEDULEARN_ROLE $SCHEDULEARN_ROLE_INDEX/$SCHEDULEARN_ROLE_COUNT rank $RANK/$WORLD_SIZE gpu [$CUDA_VISIBLE_DEVICES]"'
        job = self.lab.finished(self.lab.submit(told, roles=roles), 30)
        self.assertEqual(job["state"], "succeeded", self.lab.output(job["id"]))
        self.assertEqual(job["spec"]["gpus"]["max"], 2)
        lines = sorted(line.split(" gpu ") for line in self.lab.output(job["id"]).splitlines())
        self.assertEqual([line[0] for line in lines], ["scheduler 0/1 rank 0/5", "server 0/2 rank 1/5", "server 1/2 rank 2/5", "worker 0/2 rank 3/5", "worker 1/2 rank 4/5"])
        self.assertEqual([line[1] for line in lines[:3]], ["[]"] * 3)
        self.assertEqual(len({line[1] for line in lines[3:]} - {"[]"}), 2, "each worker sees a GPU of its own")
        self.assertIn("scheduler 1 (no GPU), server 2 (no GPU), worker 1..2", self.lab.cli("show", job["id"]).stdout)

    def test_a_member_that_fails_ends_its_job(self):
        job = self.lab.submit('[ $SCHEDULEARN_ROLE = server ] && exit 9; sleep 30', roles=[{"name": "server", "gpus": 0}, {"name": "worker"}])
        self.assertEqual(self.lab.finished(job)["exit"]["code"], 9)

    def test_a_rank_that_fails_before_the_others_have_begun_ends_them_too(self):
        launcher = pathlib.Path(PROGRAM).with_name("schedulearn-launcher")
        command = [launcher, "ranks", "2@0", "/bin/bash", "-c", "[ $RANK = 1 ] && exit 9; sleep 60"]
        begun = [subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) for _ in range(40)]  # at once, so that some are late
        self.assertEqual([process.wait(timeout=30) for process in begun], [9] * 40)

    def test_the_original_api_answers_as_it_did(self):
        status, headers, text = self.lab.request("POST", "/jobs", {"name": "old", "type": "pytorch", "container_image": "", "command": "true", "required_gpus": 1})
        self.assertEqual((status, json.loads(text)["message"], headers["Deprecation"]), (201, "Job created successfully", "true"))
        job = json.loads(text)["id"]
        self.lab.finished(job)
        self.assertEqual(self.lab.get(f"/jobs/{job}")["status"], "Completed")
        self.assertEqual(self.lab.get("/jobs")[0]["required_gpus"], 1)
        self.assertEqual(json.loads(self.lab.request("PUT", "/algorithm/RoundRobin")[2]), {"message": "Algorithm changed to Round Robin"})
        self.assertEqual(self.lab.request("PUT", "/algorithm/nonsense")[0], 400)


class ChaosTest(LabTest):
    def test_killing_the_controller_at_random_loses_no_accepted_job_and_runs_none_twice(self):
        log = self.lab.folder / "runs"
        accepted, done = [], threading.Event()
        dice = random.Random(1)

        def submit_all():
            for i in range(200):
                while True:  # the same key each time: one job however often the answer is lost
                    try:
                        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": f"echo {i} >> {log}; sleep 0.0{dice.randint(1, 9)}", "workdir": str(self.lab.folder)}, {"Idempotency-Key": f"chaos-{i}"})
                    except (OSError, http.client.HTTPException):
                        time.sleep(0.02)
                        continue
                    if status == 201:
                        accepted.append(json.loads(text)["id"])
                        break
            done.set()

        client = threading.Thread(target=submit_all)
        client.start()
        for _ in range(8):
            time.sleep(dice.uniform(0.1, 0.5))
            self.lab.kill(self.lab.controller)
            self.lab.start_controller()
        client.join()
        self.assertTrue(done.is_set())
        self.assertEqual(len(set(accepted)), 200)
        for job in accepted:
            self.assertEqual(self.lab.finished(job, 60)["state"], "succeeded")
        self.assertEqual(len(self.lab.jobs()), 200)
        self.assertEqual(sorted(map(int, log.read_text().split())), list(range(200)))

    def test_jobs_survive_the_agent_and_their_exit_codes_arrive(self):
        jobs = [self.lab.submit(f"sleep {0.5 + i / 2}; exit {i + 3}") for i in range(3)]
        until(lambda: all(self.lab.job(job)["state"] == "running" for job in jobs))
        self.lab.kill(self.lab.agent)
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "down")
        time.sleep(1)  # one of them ends while nobody listens
        self.lab.start_agent()
        self.assertEqual([self.lab.finished(job)["exit"]["code"] for job in jobs], [3, 4, 5])
        self.assertEqual([self.lab.job(job)["attempt"] for job in jobs], [1, 1, 1])

    def test_what_ends_while_its_agent_is_away_ran_until_its_end_and_tells_all_its_progress(self):
        job = self.lab.submit("""for i in 1 2 3; do echo "{\\"epoch\\": $i, \\"epochs\\": 3}" >> $SCHEDULEARN_METRICS_FILE; sleep 0.3; done; touch through""")
        until(lambda: (self.lab.job(job)["progress"] or {}).get("done"), what="the first report")
        self.lab.kill(self.lab.agent)
        until(lambda: (self.lab.folder / "through").exists(), what="its end")
        time.sleep(4)  # how long nobody could tell
        self.lab.start_agent()
        ended = self.lab.finished(job)
        self.assertEqual("succeeded", ended["state"])
        self.assertLess(ended["run_s"], 3)
        until(lambda: self.lab.job(job)["progress"]["done"] == 3, what="its last report")

    def test_a_killed_launcher_does_not_make_jobs_run_twice_at_once(self):
        log = self.lab.folder / "runs"
        job = self.lab.submit(f"echo begin >> {log}; sleep 1; echo end >> {log}")
        until(lambda: self.lab.job(job)["state"] == "running" and log.exists())
        self.lab.kill_launcher()
        ended = self.lab.finished(job)  # nobody knows how the first attempt ended: it is made again
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 2))
        self.assertEqual(log.read_text(), "begin\nend\n" * 2)

    def test_output_is_whole_over_twenty_restarts_of_daemons(self):
        job = self.lab.submit("for i in $(seq 400); do echo line $i; sleep 0.02; done")
        lines = []
        follower = subprocess.Popen([PROGRAM, "logs", "-f", str(job)], stdout=subprocess.PIPE, text=True, env={**os.environ, "SCHEDULEARN_URL": self.lab.url})
        reader = threading.Thread(target=lambda: lines.extend(follower.stdout))
        reader.start()
        for i in range(10):
            self.lab.kill(self.lab.controller)
            self.lab.start_controller()
            self.lab.kill(self.lab.agent)
            self.lab.start_agent()
        self.assertEqual(self.lab.finished(job, 60)["state"], "succeeded")
        reader.join(60)
        follower.wait(60)
        follower.stdout.close()
        self.assertEqual(lines, [f"line {i}\n" for i in range(1, 401)])

    def test_output_is_followed_over_a_restart_of_the_controller(self):
        job = self.lab.submit("for i in $(seq 60); do echo line $i; sleep 0.05; done")
        until(lambda: self.lab.output(job))
        follower = subprocess.Popen([PROGRAM, "logs", "-f", str(job), "--url", self.lab.url], stdout=subprocess.PIPE, text=True)
        for _ in range(3):
            time.sleep(0.4)
            self.lab.kill(self.lab.controller)
            self.lab.start_controller()
        self.assertEqual(follower.communicate(timeout=60)[0], "".join(f"line {i}\n" for i in range(1, 61)))


class DiskTest(unittest.TestCase):
    """A controller whose disk is full, on a separate file system."""

    def setUp(self):
        self.lab = Lab()
        self.disk = small_disk(self, self.lab.folder / "controller", "4m")
        self.addCleanup(self.lab.__exit__)
        self.lab.__enter__()

    def test_a_full_disk_refuses_submissions_keeps_jobs_and_recovers(self):
        running = self.lab.submit("sleep 2; exit 5")
        filler = fill(self.disk)
        refused = until(lambda: (answer := self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/"}))[0] == 503 and answer, what="a refusal")
        self.assertEqual(json.loads(refused[2])["code"], "disk-full")
        until(lambda: self.lab.job(running)["state"] == "failed")  # in memory: its end waits for the disk
        filler.unlink()
        accepted = until(lambda: (answer := self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/"}))[0] == 201 and json.loads(answer[2])["id"], what="acceptance")
        self.assertEqual(self.lab.finished(accepted)["state"], "succeeded")
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertEqual(self.lab.job(running)["exit"]["code"], 5)


class BadInputTest(LabTest):
    def assert_problem(self, method, path, body, expected, headers=None):
        status, answer_headers, text = self.lab.request(method, path, body, headers)
        self.assertIn(status, expected if isinstance(expected, tuple) else (expected,), f"{method} {path} {body!r:.80}: {text:.300}")
        self.assertEqual(answer_headers.get_content_type(), "application/problem+json", f"{method} {path} {body!r:.80}")
        problem = json.loads(text)
        self.assertTrue(problem["code"] and isinstance(problem["detail"], str))
        return problem

    def test_a_hundred_malformed_submissions_are_refused_and_change_nothing(self):
        cases = [
            ("{", 400), ("", 400), ("[]", 422), ("null", 422), ('"x"', 422), ("{}{}", 400), ("{'a':1}", 400), ('{"command": }', 400), ("\x00", 400), ("[" * 5000, 400),
            ("{}", 422), ('{"command": ""}', 422), ('{"command": []}', 422), ('{"command": 5}', 422), ('{"command": {"a": 1}}', 422), ('{"command": ["a", 5]}', 422), ('{"command": "x", "comand": "y"}', 422),
            ('{"command": "x", "gpus": -1}', 422), ('{"command": "x", "gpus": 0, "launch": "torchrun"}', 422), ('{"command": "x", "gpus": 1e99}', 422), ('{"command": "x", "gpus": 9999999999}', 422), ('{"command": "x", "gpus": 1.5}', 422),
            ('{"command": "x", "gpus": "two"}', 422), ('{"command": "x", "gpus": "3..1"}', 422), ('{"command": "x", "gpus": []}', 422), ('{"command": "x", "gpus": true}', 422), ('{"command": "x", "gpus": 5}', 422),
            ('{"command": "x", "name": "a\\nb"}', 422), ('{"command": "x", "name": "a\\u0007"}', 422), ('{"command": "x", "name": 5}', 422), ('{"command": "x", "name": "' + "n" * 200 + '"}', 422),
            ('{"command": "x", "servers": 2}', 422), ('{"command": "x", "image": "i j"}', 422), ('{"command": "x", "launch": "horovod", "gpus": 2, "servers": 2}', 422), ('{"command": "x", "launch": "torchrum"}', 422), ('{"command": "x", "env": []}', 422),
            ('{"command": "x", "env": {"A=B": "c"}}', 422), ('{"command": "x", "env": {"A": 5}}', 422), ('{"command": "x", "priority": "high"}', 422), ('{"command": "x", "hold": "yes"}', 422), ('{"command": "x", "labels": 5}', 422),
            ('{"command": "x", "time": {"limit": "soon"}}', 422), ('{"command": "x", "time": {"limit": -5}}', 422), ('{"command": "x", "time": {"limt": "5s"}}', 422), ('{"command": "x", "time": 5}', 422),
            ('{"command": "x", "resources": {"memory": "lots"}}', 422), ('{"command": "x", "resources": {"memory": "900TiB"}}', 422), ('{"command": "x", "resources": {"cpus": -1}}', 422), ('{"command": "x", "resources": {"gpu_type": "H900"}}', 422),
            ('{"command": "x", "checkpoint": {"grace": "forever"}}', 422), ('{"command": "x", "retry": {"max": -1}}', 422), ('{"command": "x", "retry": 3}', 422), ('{"command": "x", "matrix": {"lr": []}}', 422), ('{"command": "x", "after": [99999]}', 404),
            ('{"command": "x", "mounts": ["/a:/b"]}', 422), ('{"required_gpus": "many", "command": "x"}', 422),
        ]
        for body, expected in cases:
            self.assert_problem("POST", "/api/v1/jobs", body, expected)
            self.assert_problem("POST", "/jobs", body, expected)
        self.assertEqual(self.lab.jobs(), [])
        self.assertEqual(self.assert_problem("POST", "/api/v1/jobs", '{"command": "x", "gpus": 5}', 422)["detail"], "no server can ever run this job: needs 5 GPUs on one server, the largest server has 4")
        self.assertEqual(self.assert_problem("POST", "/api/v1/jobs", '{"command": "x", "comand": "y"}', 422)["hints"][0]["text"], "did you mean command?")

    def test_every_other_path_refuses_nonsense(self):
        job = self.lab.submit("true")
        self.lab.finished(job)
        for method, path, body, expected in [
            ("GET", "/api/v1/jobs/999", None, 404), ("GET", "/api/v1/jobs/abc", None, 404), ("GET", "/api/v1/jobs/-1", None, 404), ("GET", "/api/v1/jobs/99999999999999999999", None, 404), ("GET", "/api/v1/jobs/%00", None, 404),
            ("GET", "/api/v1/jobs?limit=0", None, 422), ("GET", "/api/v1/jobs?limit=x", None, 422), ("GET", "/api/v1/jobs?state=nonsense", None, 422), ("GET", "/api/v1/jobs?cursor=x", None, 422), ("DELETE", "/api/v1/jobs", None, 405),
            ("POST", f"/api/v1/jobs/{job}/cancel", "{}", 409), ("POST", "/api/v1/jobs/999/cancel", "{}", 404), ("GET", "/api/v1/jobs/999/logs", None, 404), ("GET", "/api/v1/jobs/999/logs/stream", None, 404),
            ("GET", "/api/v1/jobs/999/explain", None, 404), ("GET", "/api/v1/jobs/999/events", None, 404), ("GET", "/api/v2/jobs", None, 404), ("GET", "/../../etc/passwd", None, 404), ("PUT", "/api/v1/policy", "{", 400), ("PUT", "/api/v1/policy", "{}", 404),
            ("PUT", "/api/v1/policy", '{"name": "fifoo"}', 404), ("PUT", "/api/v1/policy", '{"name": 5}', 422), ("PUT", "/api/v1/policy", '{"name": "fifo", "parameters": {"x": 1}}', 422), ("PUT", "/api/v1/policy", '{"name": "fifo", "parameters": {"theta": 1000}}', 422),
            ("PUT", "/api/v1/policy", '{"name": "fifo", "nmae": 1}', 422), ("POST", "/api/v1/policy", "{}", 405), ("GET", "/api/v1/events?limit=x", None, 422), ("GET", "/api/v1/events?since=x", None, 422), ("GET", "/jobs/999", None, 404),
            ("PATCH", "/api/v1/cluster", "{}", 405), ("GET", "/api/v1/agent", None, 404), ("BREW", "/api/v1/jobs", None, 405),
        ]:
            self.assert_problem(method, path, body, expected)
        self.assert_problem("GET", f"/api/v1/jobs/{job}/logs", None, 422, {"Range": "lines=1-2"})
        self.assert_problem("POST", "/api/v1/jobs", b'{"command": "true"}', 415, {"Content-Type": "text/plain"})
        self.assert_problem("POST", "/api/v1/jobs", b'{"command": 1}', 422, {"Content-Type": "Application/JSON ; charset=UTF-8"})
        self.assert_problem("POST", "/api/v1/jobs", b'{"command": "true"}', 403, {"Origin": "http://evil.example"})
        self.assert_problem("POST", "/api/v1/jobs", b'{"command": "true"}', 403, {"Host": "evil.example"})
        self.assertEqual(len(self.lab.jobs()), 1)

    def test_a_body_over_the_limit_is_413_and_broken_requests_do_no_harm(self):
        self.assert_problem("POST", "/api/v1/jobs", '{"command": "' + "x" * (2 << 20) + '"}', 413)
        for raw in (b"nonsense\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n", b"\x16\x03\x01" * 50, b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.lab.port), 5) as connection:
                connection.sendall(raw)
                connection.shutdown(1)
                connection.settimeout(5)
                try:
                    answer = connection.recv(4096)
                except ConnectionResetError:
                    answer = b""
                self.assertIn(answer[9:10], (b"4", b""), raw[:40])
        self.assertTrue(self.lab.try_get("/healthz"))

    def test_the_same_key_is_one_job_and_another_body_under_it_is_refused(self):
        first = self.lab.request("POST", "/api/v1/jobs", {"command": "true"}, {"Idempotency-Key": "k"})
        again = self.lab.request("POST", "/api/v1/jobs", {"command": "true"}, {"Idempotency-Key": "k"})
        self.assertEqual(json.loads(first[2])["id"], json.loads(again[2])["id"])
        self.assert_problem("POST", "/api/v1/jobs", {"command": "false"}, 422, {"Idempotency-Key": "k"})


class GpuTest(unittest.TestCase):
    def test_gpus_are_found_through_nvml_and_one_that_others_use_is_not_given_out(self):
        library = os.environ.get("SCHEDULEARN_NVML_DOUBLE")
        if not library or not os.path.exists(f"{library}/libnvidia-ml.so.1"):
            self.skipTest("no double of the NVIDIA library; run through ctest")
        with Lab(gpus=0, environment={"LD_LIBRARY_PATH": library}) as lab:
            first, second = lab.get("/api/v1/gpus")["items"]
            self.assertEqual((first["uuid"], first["name"], first["simulated"], first["condition"]), ("GPU-double-0", "Double H200", False, "free"))
            self.assertEqual((first["utilization_pct"], first["temperature_celsius"], first["power_watts"], first["memory_used_bytes"]), (10, 55, 123, 100 << 20))
            (process,) = second["processes"]
            self.assertEqual((second["condition"], process["pid"], process["user"], process["memory_bytes"]), ("outside", 1, "root", 3 << 30))
            first_process = rf"by root \({re.escape(process['program'])}, pid 1, 3\.0 GiB\)"
            self.assertRegex(lab.cli("gpus").stdout, "used " + first_process)
            self.assertEqual(lab.get("/api/v1/servers")["items"][0]["driver_version"], "550.0")
            inside = lab.submit("sleep 300")
            waiting = lab.submit("true")
            until(lambda: lab.job(inside)["state"] == "running")
            self.assertEqual(lab.job(inside)["placement"][0]["gpus"], ["lab-0"])
            self.assertEqual((lab.job(waiting)["state"], lab.job(waiting)["reason"]["code"]), ("pending", "used_outside"))
            self.assertRegex(lab.job(waiting)["reason"]["text"], "not started here: lab-1 " + first_process)

    def with_double(self, **environment):
        library = os.environ.get("SCHEDULEARN_NVML_DOUBLE")
        if not library or not os.path.exists(f"{library}/libnvidia-ml.so.1"):
            self.skipTest("no double of the NVIDIA library; run through ctest")
        state = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "state"
        return self.enterContext(Lab(gpus=0, environment={"LD_LIBRARY_PATH": library, "NVML_DOUBLE_STATE": str(state), **environment})), state

    def conditions(self, lab):
        return [gpu["condition"] for gpu in lab.get("/api/v1/gpus")["items"]]

    def test_a_gpu_that_falls_off_the_bus_is_unavailable_under_its_own_index_and_its_job_is_told(self):
        lab, state = self.with_double()
        job = lab.submit("sleep 300")
        until(lambda: lab.job(job)["state"] == "running")
        state.write_text("gone")
        until(lambda: any(event["kind"] == "job.gpu_unavailable" for event in lab.get(f"/api/v1/jobs/{job}/events")["items"]))
        lab.cli("cancel", job)
        lab.finished(job)
        until(lambda: self.conditions(lab) == ["unavailable", "outside"])
        self.assertEqual(lab.job(lab.submit("true"))["state"], "pending")
        lab.kill(lab.controller)
        lab.start_controller()
        until(lambda: lab.get("/api/v1/servers")["items"][0]["state"] == "up" and self.conditions(lab) == ["unavailable", "outside"])
        state.write_text("")
        until(lambda: self.conditions(lab)[0] != "unavailable")

    def test_a_process_of_a_job_on_a_gpu_that_the_job_does_not_hold_is_reported_once_with_its_number(self):
        lab, state = self.with_double()
        job = lab.submit("sleep 307.3 & wait")
        until(lambda: lab.job(job)["state"] == "running" and lab.job(job)["placement"][0]["pid"])
        self.assertEqual(lab.job(job)["placement"][0]["gpus"], ["lab-0"])
        shell = lab.job(job)["placement"][0]["pid"]
        child = until(lambda: pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split())[0]
        state.write_text(f"uses {child}")
        found = lambda: [event["text"] for event in lab.get(f"/api/v1/jobs/{job}/events")["items"] if event["kind"] == "job.foreign_gpu"]
        until(found, what="the event")
        for _ in range(2):  # the first may still be of the look that found it
            sampled = lab.get("/api/v1/gpus")["items"][1]["sampled_at"]
            until(lambda: lab.get("/api/v1/gpus")["items"][1]["sampled_at"] != sampled, what="another look")
        self.assertEqual(found(), [f"process {child} (sleep) of the job uses lab-1, which the job does not hold"])

    def test_a_job_opens_the_device_of_its_gpu_and_no_other_where_that_can_be_enforced(self):
        self.opens_the_device_of_its_gpu(lab=self.with_double(SCHEDULEARN_CGROUPS="v1")[0])

    def test_it_does_so_with_control_groups_v2_as_well(self):
        self.opens_the_device_of_its_gpu(lab=self.with_double(SCHEDULEARN_CGROUPS="v2")[0])

    def opens_the_device_of_its_gpu(self, lab):
        isolation = lab.get("/api/v1/gpus")["items"][0]["isolation"]
        enforced = "devices" in lab.get("/api/v1/servers/lab")["enforces"]
        self.assertEqual("device_cgroup" if enforced else "visible_devices", isolation)
        self.assertIn(isolation.replace("_", " "), lab.cli("gpus").stdout)
        if not enforced or os.geteuid() != 0:
            self.skipTest("no device cgroup here")
        for number in (200, 201):
            os.mknod(lab.folder / f"gpu{number}", 0o20600, os.makedev(195, number))
        job = lab.submit("for gpu in gpu200 gpu201; do (exec < $gpu) 2>&1; done; true", gpus=1)
        self.assertEqual(lab.finished(job)["attempts"][0]["gpus"], ["lab-0"])
        own, other = (next(line for line in lab.output(job).splitlines() if f"gpu{number}" in line) for number in (201, 200))
        self.assertIn("No such device", own, "it may be opened, if there were one")
        self.assertIn("not permitted", other)

    def test_a_job_that_uses_more_gpu_memory_than_it_asked_for_is_told_once(self):
        lab, _ = self.with_double()
        job = lab.submit("sleep 307.9", gpus=1, resources={"gpu_memory": "50MiB"})
        found = lambda: [event["text"] for event in lab.get(f"/api/v1/jobs/{job}/events")["items"] if event["kind"] == "job.over_gpu_memory"]
        until(found, what="the event")
        sampled = lab.get("/api/v1/gpus")["items"][0]["sampled_at"]
        until(lambda: lab.get("/api/v1/gpus")["items"][0]["sampled_at"] != sampled, what="another look")
        self.assertEqual(found(), ["100 MiB of a GPU's memory are in use, and the job asked for 50 MiB"])

    def test_a_job_that_fails_as_its_gpu_goes_is_not_to_blame_and_is_tried_again(self):
        lab, state = self.with_double()
        flag = lab.folder / "go"
        job = lab.submit(f'[ "$SCHEDULEARN_ATTEMPT" = 2 ] && exit 0; while [ ! -e {flag} ]; do sleep 0.05; done; exit 1')
        until(lambda: lab.job(job)["state"] == "running")
        state.write_text("gone")
        flag.touch()
        until(lambda: lab.get("/api/v1/servers/lab")["state"] == "quarantined")
        faults = until(lambda: [event["text"] for event in lab.get(f"/api/v1/jobs/{job}/events")["items"] if event["kind"] == "job.server_fault"], what="its event to be durable")
        self.assertEqual(faults, ["attempt 1 ended by the server's fault (gpu_error): GPU 0 no longer answers (exit code 1)"])
        state.write_text("")
        lab.cli("servers", "release", "lab")
        self.assertEqual((lab.finished(job)["state"], lab.job(job)["attempt"]), ("succeeded", 2))

    def test_a_gpu_that_is_missing_when_the_agent_starts_is_unavailable_and_jobs_find_theirs_by_uuid(self):
        lab, state = self.with_double()
        self.assertEqual(lab.output(lab.finished(lab.submit("echo $CUDA_VISIBLE_DEVICES"))["id"]), "GPU-double-0\n")
        lab.kill(lab.agent)
        state.write_text("gone")
        lab.start_agent()
        until(lambda: self.conditions(lab) == ["unavailable", "outside"])
        self.assertIn("GPU 0 (Double H200, GPU-double-0) is missing", (lab.folder / "agent.log").read_text())
        until(lambda: any(event["kind"] == "gpu.unavailable" for event in lab.get("/api/v1/events")["items"]), what="its event to be durable")
        state.write_text("")
        until(lambda: self.conditions(lab) == ["free", "outside"])

    def test_a_server_with_two_types_of_gpus_has_an_agent_for_each(self):
        library = os.environ.get("SCHEDULEARN_NVML_DOUBLE")
        if not library or not os.path.exists(f"{library}/libnvidia-ml.so.1"):
            self.skipTest("no double of the NVIDIA library; run through ctest")
        with Lab(gpus=0, environment={"LD_LIBRARY_PATH": library, "NVML_DOUBLE_MIXED": "1"}) as lab:
            self.assertIn("GPUs of several types", (lab.folder / "agent.log").read_text())
            self.assertEqual([gpu["name"] for gpu in lab.get("/api/v1/gpus")["items"]], ["Double H200", "Double T4"])
            self.assertIn("no server has the GPU type", lab.cli("submit", "--gpu-type", "Double T4", "--", "true", check=False).stderr)
            lab.start_another_agent("lab-t4", 0, "--gpu-type", "Double T4")
            job = lab.finished(lab.submit("echo $CUDA_VISIBLE_DEVICES", resources={"gpu_type": "Double T4"}))
            self.assertEqual((job["placement"][0]["gpus"], lab.output(job["id"])), (["lab-t4-0"], "GPU-double-1\n"))

    def test_a_library_that_hangs_takes_its_gpus_out_and_nothing_else(self):
        lab, state = self.with_double()
        job = lab.submit("sleep 14; echo fine")
        until(lambda: lab.job(job)["state"] == "running")
        state.write_text("hang")
        until(lambda: "NVIDIA library does not answer" in (lab.folder / "agent.log").read_text())
        self.assertEqual(lab.get("/api/v1/servers")["items"][0]["state"], "up")
        self.assertEqual(lab.finished(job)["state"], "succeeded")
        self.assertEqual(lab.output(job), "fine\n")
        state.write_text("")
        until(lambda: self.conditions(lab) == ["free", "outside"])


class TrainingTest(LabTest):
    def test_what_is_said_of_a_training_and_what_it_reports_is_shown(self):
        job = self.lab.submit("""for i in $(seq 1 60); do
            echo "{\\"step\\": $((i * 10)), \\"steps\\": 600, \\"loss\\": 0.5}" >> $SCHEDULEARN_METRICS_FILE; sleep 0.1; done
            mkdir -p $SCHEDULEARN_CHECKPOINT_DIR; head -c 5000 /dev/zero > $SCHEDULEARN_CHECKPOINT_DIR/c""",
            weight=2, training={"target_loss": 0.3, "epochs": 5, "model_bytes": "4MiB"}, resources={"share": True})
        self.lab.finished(job)
        told = until(lambda: self.lab.job(job)["telemetry"])
        self.assertEqual(told["unit"], "step")
        self.assertTrue(5 < told["per_s"] < 100, told)
        self.assertEqual((told["loss_by_epoch"], told["checkpoint_bytes"], told["steps_per_epoch"]), ([], 5000, 120))
        shown = self.lab.cli("show", job).stdout
        for fact in ("target_loss 0.3", "epochs 5", "model_bytes 4.0 MiB", "weight 2", "Sharing    allowed", "steps/s", "step 600 of 600", "4.9 KiB"):
            self.assertIn(fact, shown)

    def test_bad_facts_of_a_training_are_refused_with_the_key(self):
        refused = self.lab.cli("submit", "--target-loss", "low", "--", "true", check=False)
        self.assertEqual((refused.returncode, self.lab.jobs()), (2, []))
        self.assertIn("not a number: low", refused.stderr)

    def test_200000_lines_of_metrics_are_no_events(self):
        job = self.lab.submit("""python3 -c 'for i in range(1, 200001): print("{\\"step\\": %d}" % i)' >> $SCHEDULEARN_METRICS_FILE; sleep 4""")
        self.lab.finished(job, 60)
        self.assertEqual(until(lambda: (self.lab.job(job)["progress"] or {}).get("step")), 200000)
        self.assertLess(len(self.lab.get(f"/api/v1/jobs/{job}/events")["items"]), 12)

    def test_a_training_is_measured_by_short_runs_and_its_family_is_known_from_then_on(self):
        done = self.lab.cli("profile", "run", ROOT / "examples" / "fashion-mlp.toml", "--gpus", "1,2", "--seconds", "2", "-o", self.lab.folder / "mlp.json")
        self.assertIn("fashion-mlp: 10 epochs of 468 steps", done.stdout)
        self.assertTrue(all(job["state"] in ("cancelled", "succeeded") for job in self.lab.jobs()), "a quick training may end first")
        profile = json.loads((self.lab.folder / "mlp.json").read_text())
        self.assertEqual([speed["gpus"] for speed in profile["speeds"]], [1, 2])
        self.assertTrue(all(speed["steps_per_s"] > 10 for speed in profile["speeds"]))
        self.assertGreater(profile["checkpoint_bytes"], 100_000)
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertIn("fashion-mlp", self.lab.cli("profile", "ls").stdout)
        self.assertEqual(json.loads(self.lab.cli("profile", "show", "fashion-mlp", "--json").stdout), profile)
        self.lab.cli("profile", "rm", "fashion-mlp")
        self.assertEqual(self.lab.cli("profile", "show", "fashion-mlp", check=False).returncode, 3)
        self.lab.cli("profile", "import", self.lab.folder / "mlp.json")
        self.assertEqual(len(self.lab.get("/api/v1/profiles")["items"]), 1)
        (self.lab.folder / "bad.json").write_text('{"schedulearn_profile": 1, "family": "x", "speeds": []}')
        self.assertIn("bad-profile", self.lab.cli("profile", "import", self.lab.folder / "bad.json", check=False).stderr)
        silent = self.lab.cli("profile", "run", "--patience", "1s", self.silent_job(), check=False)
        self.assertIn("no-reports", silent.stderr)
        until(lambda: self.lab.jobs()[0]["state"] == "cancelled", what="the end of the job that reported nothing")

    def silent_job(self):
        path = self.lab.folder / "silent.toml"
        path.write_text('command = "sleep 300"\n')
        return path

    def test_the_three_trainings_of_examples_learn(self):
        jobs = {name: int(self.lab.cli("submit", ROOT / "examples" / f"{name}.toml", "-q").stdout) for name in ("fashion-cnn", "fashion-cnn-2gpus", "fashion-mlp")}
        for name, job in jobs.items():
            ended = self.lab.finished(job, 300)
            self.assertEqual(ended["state"], "succeeded", self.lab.output(job))
            accuracy = until(lambda: (self.lab.job(job)["progress"] or {}).get("accuracy"))
            self.assertGreater(accuracy, 0.8, name)
            self.assertEqual(self.lab.job(job)["progress"]["done"], self.lab.job(job)["progress"]["total"])


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    unittest.main(verbosity=2)
