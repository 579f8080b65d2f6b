#!/usr/bin/python3
"""Tests of the package schedulearn: the job side in a made-up environment, the client against a small server on loopback."""

import datetime
import decimal
import http.server
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import schedulearn

HERE = Path(__file__).resolve().parent


class JobSide(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        schedulearn._has_warned = False

    def environment(self, **variables):
        """From here to the end of the test the environment is exactly this."""
        patch = mock.patch.dict(os.environ, variables, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def test_outside_a_job_everything_works_and_does_nothing(self):
        self.environment()
        self.assertIsNone(schedulearn.job())
        schedulearn.report(epoch=1)
        self.assertFalse(schedulearn.should_checkpoint())
        self.assertEqual(schedulearn.checkpoint_folder("here"), Path("here"))

    def test_facts_come_from_the_environment(self):
        self.environment(SCHEDULEARN_JOB_ID="50", SCHEDULEARN_JOB_NAME="mnist", SCHEDULEARN_ATTEMPT="2",
                         SCHEDULEARN_RESUME="1", SCHEDULEARN_NUM_GPUS="4", SCHEDULEARN_CHECKPOINT_DIR="/data/ck")
        facts = schedulearn.job()
        self.assertEqual((facts.id, facts.name, facts.attempt, facts.resuming, facts.gpus), (50, "mnist", 2, True, 4))
        self.assertEqual(schedulearn.checkpoint_folder("here"), Path("/data/ck/job-50"))

    def test_the_checkpoints_of_another_controllers_job_with_the_same_number_are_not_the_jobs(self):
        root, begun = self.folder / "checkpoints", int(time.time()) - 100
        (root / "job-5").mkdir(parents=True)
        facts = {"SCHEDULEARN_JOB_ID": "5", "SCHEDULEARN_CHECKPOINT_DIR": str(root), "SCHEDULEARN_JOB_FOLDER": f"job-5.{begun}000000"}
        for resume, changed, expected in (("0", begun + 50, f"job-5.{begun}000000"), ("1", begun - 50, f"job-5.{begun}000000"), ("1", begun + 50, "job-5")):
            with self.subTest(resume=resume, changed=changed):
                os.utime(root / "job-5", (changed, changed))
                self.environment(**facts, SCHEDULEARN_RESUME=resume)
                self.assertEqual(schedulearn.checkpoint_folder("here"), root / expected)
        (root / f"job-5.{begun}000000").mkdir()
        self.assertEqual(schedulearn.checkpoint_folder("here"), root / f"job-5.{begun}000000")

    def test_a_number_that_cannot_be_converted_ends_no_training(self):
        class Tensor:
            def __float__(self):
                raise RuntimeError("a tensor with 2 elements cannot be converted")

        self.environment(SCHEDULEARN_METRICS_FILE=str(self.folder / "metrics.jsonl"))
        schedulearn.report(loss=Tensor())
        self.assertFalse((self.folder / "metrics.jsonl").exists())

    def test_reports_are_lines_of_json_added_to_the_metrics_file(self):
        metrics = self.folder / "metrics.jsonl"
        self.environment(SCHEDULEARN_METRICS_FILE=str(metrics))
        schedulearn.report(epoch=1, epochs=2, loss=0.5)
        schedulearn.report(epoch=2, epochs=2, loss=0.1, note="best")
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        for line in lines:
            self.assertAlmostEqual(line.pop("time"), time.time(), delta=60)
        self.assertEqual(lines, [{"epoch": 1, "epochs": 2, "loss": 0.5}, {"epoch": 2, "epochs": 2, "loss": 0.1, "note": "best"}])

    def test_only_the_first_of_several_processes_reports(self):
        metrics = self.folder / "metrics.jsonl"
        self.environment(SCHEDULEARN_METRICS_FILE=str(metrics), RANK="1")
        schedulearn.report(epoch=1)
        self.assertFalse(metrics.exists())

    def test_numbers_of_any_kind_are_reported_and_nothing_ends_the_training(self):
        metrics = self.folder / "metrics.jsonl"
        self.environment(SCHEDULEARN_METRICS_FILE=str(metrics))
        schedulearn.report(epoch=1, loss=decimal.Decimal("0.5"))
        schedulearn.report(epoch=2, loss=float("nan"), accuracy=float("inf"))
        with mock.patch("sys.stderr") as stderr:
            schedulearn.report(epoch=3, loss=object())
        self.assertTrue(stderr.write.called)
        lines = [json.loads(line, parse_constant=lambda _: "not finite") for line in metrics.read_text().splitlines()]
        for line in lines:
            line.pop("time")
        self.assertEqual(lines, [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": "not finite", "accuracy": "not finite"}])
        schedulearn.resized()  # of no request

    def test_a_number_in_a_list_that_is_not_finite_takes_no_report_with_it(self):
        metrics = self.folder / "metrics.jsonl"
        self.environment(SCHEDULEARN_METRICS_FILE=str(metrics))
        schedulearn.report(epoch=1, loss=0.5, extra={"gradients": [1.0, float("nan")]})
        self.assertIn('"epoch": 1, "loss": 0.5', metrics.read_text())

    def test_what_a_full_disk_has_left_of_a_line_takes_no_other_with_it_and_is_told_once(self):
        metrics = self.folder / "metrics.jsonl"
        self.environment(SCHEDULEARN_METRICS_FILE=str(metrics))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGXFSZ, before)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
        with mock.patch("sys.stderr") as stderr:
            for epoch in range(1, 4):
                schedulearn.report(epoch=epoch)
            self.assertEqual("".join(call.args[0] for call in stderr.write.call_args_list).count("not reported"), 1)
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        schedulearn.report(epoch=4)
        self.assertEqual(json.loads(metrics.read_text().splitlines()[-1])["epoch"], 4)

    def test_a_metrics_file_that_cannot_be_written_is_only_a_warning(self):
        self.environment(SCHEDULEARN_METRICS_FILE=str(self.folder / "no" / "such" / "folder"))
        with mock.patch("sys.stderr") as stderr:
            schedulearn.report(epoch=1)
        self.assertTrue(stderr.write.called)

    def test_a_notice_asks_for_a_checkpoint(self):
        notice = self.folder / "notice"
        self.environment(SCHEDULEARN_NOTICE_FILE=str(notice))
        self.assertFalse(schedulearn.should_checkpoint())
        notice.touch()
        self.assertTrue(schedulearn.should_checkpoint())

    def test_a_caught_signal_asks_for_a_checkpoint(self):
        self.environment()
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.getsignal(signal.SIGUSR1))
        self.addCleanup(setattr, schedulearn, "_stop_requested", False)
        schedulearn.catch_stop(signal.SIGUSR1)
        self.assertFalse(schedulearn.should_checkpoint())
        signal.raise_signal(signal.SIGUSR1)
        self.assertTrue(schedulearn.should_checkpoint())

    def test_requeue_ends_with_75_and_minds_no_second_signal(self):
        script = ("import os, schedulearn\n"
                  "schedulearn.catch_stop()\n"
                  "class Late:\n"
                  "    def __del__(self, kill=os.kill, pid=os.getpid()): kill(pid, 15)\n"
                  "late = Late()\n"
                  "late.myself = late\n"
                  "schedulearn.requeue()\n")
        self.assertEqual(subprocess.run([sys.executable, "-c", script], cwd=HERE).returncode, 75)

    def test_a_training_may_run_on_a_python_without_a_toml_reader(self):
        script = ("import sys\n"
                  "sys.modules['tomllib'] = None  # as before Python 3.11: importing it fails\n"
                  "import schedulearn, schedulearn.policy, schedulearn.sim\n"
                  "schedulearn.catch_stop()\n"
                  "schedulearn.report(epoch=1)\n"
                  "schedulearn.requeue()\n")
        self.assertEqual(subprocess.run([sys.executable, "-c", script], cwd=HERE).returncode, 75)

    def test_the_training_of_the_readme_continues_where_it_was_stopped(self):
        readme = (HERE.parent / "README.md").read_text(encoding="utf-8")
        block = re.search(r"## Your training\n.*?```python\n(.*?)```", readme, re.DOTALL).group(1)
        (self.folder / "torch.py").write_text(
            "import pickle\n"
            "def save(value, path): path.write_bytes(pickle.dumps(value))\n"
            "def load(path): return pickle.loads(path.read_bytes())\n")
        (self.folder / "train.py").write_text(
            "import os, signal, torch\n"
            "class Net:\n"
            "    epochs_seen = 0\n"
            "    def state_dict(self): return self.epochs_seen\n"
            "    def load_state_dict(self, seen): self.epochs_seen = seen\n"
            "net, optimizer, epochs = Net(), Net(), 5\n"
            "def train_one_epoch():\n"
            "    net.epochs_seen += 1\n"
            "    print(net.epochs_seen)\n"
            "    if net.epochs_seen in (2, 3): signal.raise_signal(signal.SIGTERM)\n"
            "    return 0.5\n" + block)
        metrics = self.folder / "metrics.jsonl"
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE), "SCHEDULEARN_JOB_ID": "7",
                     "SCHEDULEARN_CHECKPOINT_DIR": str(self.folder / "ck"), "SCHEDULEARN_METRICS_FILE": str(metrics)}
        runs = [subprocess.run([sys.executable, "train.py"], cwd=self.folder, env=variables, capture_output=True, text=True)
                for _ in range(3)]
        self.assertEqual([(run.returncode, run.stdout.split(), run.stderr) for run in runs],
                         [(75, ["1", "2"], ""), (75, ["3"], ""), (0, ["4", "5"], "")])
        self.assertEqual([json.loads(line)["epoch"] for line in metrics.read_text().splitlines()], [1, 2, 3, 4, 5])


class FakeController(http.server.ThreadingHTTPServer):
    """Records what is asked and answers from a list of (status, body) or (status, body, headers).

    An answer of None closes the connection.
    """

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), FakeHandler)
        self.answers = list(answers)
        self.requests = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


class FakeHandler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path, self.headers, json.loads(body) if body else None))
        answer = self.server.answers.pop(0)
        if answer is None:
            return
        status, document, *headers = answer
        text = (document if isinstance(document, str) else json.dumps(document)).encode()
        self.send_response(status)
        for name, value in dict(*headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *_):
        """Keeps the test's output clean."""


class ClientSide(unittest.TestCase):
    def client(self, *answers, **options):
        self.controller = FakeController(*answers)
        self.addCleanup(self.controller.server_close)
        self.addCleanup(self.controller.shutdown)
        return schedulearn.Client(self.controller.url, **options)

    def silent_url(self):
        """Of a peer that accepts connections and never answers."""
        peer = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(peer.close)
        return f"http://127.0.0.1:{peer.getsockname()[1]}"

    def pauses(self):
        """From here to the end of the test only pauses of the client take time, and they end at once. Returns them."""
        pauses = []
        patch = mock.patch.multiple(time, sleep=pauses.append, monotonic=lambda: sum(pauses))
        patch.start()
        self.addCleanup(patch.stop)
        return pauses

    def test_submit_posts_the_keys_of_a_job_file(self):
        client = self.client((201, {"id": 7}))
        self.assertEqual(client.submit(command="python train.py", gpus=2, workdir="/data")["id"], 7)
        method, path, headers, body = self.controller.requests[0]
        self.assertEqual((method, path), ("POST", "/api/v1/jobs"))
        self.assertEqual(body | {"env": {}}, {"command": "python train.py", "gpus": 2, "workdir": "/data", "env": {}})
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertTrue(headers["Idempotency-Key"])

    def test_submit_reads_a_file_and_works_in_its_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "job.toml")
            file.write_text('command = "train.py"\ngpus = 1\n')
            self.client((201, {"id": 7})).submit(file, gpus=4)
            self.assertEqual(self.controller.requests[0][3] | {"env": {}},
                             {"command": "train.py", "gpus": 4, "workdir": str(Path(folder).resolve()), "env": {}})

    def test_the_environment_of_the_submitter_travels_and_what_it_sets_itself_counts(self):
        mine = {"PATH": "/venv/bin:/bin", "VIRTUAL_ENV": "/venv", "HOME": "/home/mei", "LD_LIBRARY_PATH": "/opt/\udcff", "PYTHONPATH": "/lib"}
        with mock.patch.dict(os.environ, mine, clear=True):
            self.client((201, {"id": 7})).submit(command="train", env={"PYTHONPATH": "/own", "A": "1"})
        self.assertEqual(self.controller.requests[0][3]["env"],
                         {"PATH": "/venv/bin:/bin", "VIRTUAL_ENV": "/venv", "PYTHONPATH": "/own", "A": "1"})

    def test_a_lost_answer_is_asked_for_again_under_the_same_key(self):
        client = self.client(None, (201, {"id": 7}))
        self.assertEqual(client.submit(command="true")["id"], 7)
        keys = [headers["Idempotency-Key"] for _, _, headers, _ in self.controller.requests]
        self.assertEqual(len(keys), 2)
        self.assertEqual(keys[0], keys[1])

    def test_a_retry_whose_answer_is_lost_makes_one_job(self):
        client = self.client(None, (201, {"id": 8}), (200, {"effect": {}}))
        self.assertEqual(client.retry(7)["id"], 8)
        client.retry(7, dry_run=True)
        self.assertEqual([path for _, path, _, _ in self.controller.requests], ["/api/v1/jobs/7/retry"] * 2 + ["/api/v1/jobs/7/retry?dry_run=true"])
        keys = [headers.get("Idempotency-Key") for _, _, headers, _ in self.controller.requests]
        self.assertTrue(keys[0])
        self.assertEqual(keys, [keys[0], keys[0], None])

    def test_a_job_that_is_still_being_written_is_asked_for_again_under_the_same_key(self):
        self.pauses()
        in_flight = (409, {"code": "submission-in-flight"})
        client = self.client(None, in_flight, in_flight, in_flight, None, (201, {"id": 7}))
        self.assertEqual(client.submit(command="true")["id"], 7)
        self.assertEqual(len(self.controller.requests), 6)
        self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers, _ in self.controller.requests}), 1)

    def test_a_job_that_is_never_written_is_asked_for_as_long_as_an_answer_may_take(self):
        pauses = self.pauses()
        with self.assertRaisesRegex(schedulearn.ApiError, "submission-in-flight"):
            self.client(None, None, *[(409, {"code": "submission-in-flight"})] * 99, timeout_s=20).submit(command="true")
        self.assertAlmostEqual(sum(pauses[2:]), 20)

    def test_other_conflicts_of_a_submission_are_told_at_once(self):
        with self.assertRaisesRegex(schedulearn.ApiError, "dependency-failed"):
            self.client((409, {"code": "dependency-failed"})).submit(command="true")

    def test_wait_asks_until_the_job_has_ended(self):
        client = self.client((200, {"state": "pending"}), (200, {"state": "running"}), (200, {"state": "failed"}))
        self.assertEqual(client.wait(7, poll_s=0)["state"], "failed")

    def test_wait_outlives_a_restart_of_the_controller(self):
        self.pauses()
        away = (None, None, None, None, (502, "<html>"), (503, {"code": "starting"}))
        for before in ((), ((200, {"state": "running"}),)):
            with self.subTest(before=before):
                self.assertEqual(self.client(*before, *away, (200, {"state": "succeeded"})).wait(7)["state"], "succeeded")

    def test_wait_gives_each_restart_a_minute(self):
        pauses = self.pauses()
        running = (200, {"state": "running"})
        client = self.client(running, None, running, None, (503, {}), *[None] * 99)
        with self.assertRaises(schedulearn.Unreachable):
            client.wait(7, poll_s=25)
        self.assertEqual(pauses, [25, 25, 25, 25, 25, 10])
        self.assertEqual(self.client(running, None, (200, {"state": "succeeded"})).wait(7, poll_s=90)["state"], "succeeded")

    def test_wait_gives_a_silent_controller_a_minute(self):
        begin = time.monotonic()
        with mock.patch.object(schedulearn, "RESTART_S", 0.3), self.assertRaises(schedulearn.Unreachable):
            schedulearn.Client(self.silent_url(), timeout_s=4).wait(7)
        self.assertLess(time.monotonic() - begin, 3)

    def test_wait_gives_up_after_its_time(self):
        self.pauses()
        for timeout_s, answers in ((0, 1), (1.2, 4)):
            with self.assertRaisesRegex(TimeoutError, f"waited {timeout_s} s for job 7: it is still running"):
                self.client(*[(200, {"state": "running"})] * answers).wait(7, timeout_s=timeout_s)
            self.assertEqual(len(self.controller.requests), answers)

    def test_wait_for_a_controller_that_stays_away_ends_with_what_is_over_first(self):
        for timeout_s, error in ((59, TimeoutError), (60, TimeoutError), (61, schedulearn.Unreachable)):
            with self.subTest(timeout_s=timeout_s), self.assertRaises(error):
                self.pauses()
                self.client(*[None] * 99).wait(7, timeout_s=timeout_s)

    def test_wait_gives_up_after_its_time_though_nothing_is_answered(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(TimeoutError, "waited 0.3 s for job 7: no answer from http"):
            schedulearn.Client(self.silent_url(), timeout_s=4).wait(7, timeout_s=0.3)
        self.assertLess(time.monotonic() - begin, 3)

    def test_wait_pauses_as_long_as_it_is_told_to(self):
        pauses = self.pauses()
        dated = {"Retry-After": "Sat, 28 Nov 2026 22:16:00 GMT"}
        client = self.client((429, {}, {"Retry-After": "90"}), (503, {}, {"Retry-After": "2"}), (429, {}, dated),
                             (200, {"state": "succeeded"}))
        self.assertEqual(client.wait(7)["state"], "succeeded")
        self.assertEqual(pauses, [90, 2, 0.5])

    def test_wait_pauses_no_longer_than_its_time_and_that_of_a_restart(self):
        pauses = self.pauses()
        refused = (429, {"code": "too-many-requests"}, {"Retry-After": "3600"})
        with self.assertRaisesRegex(TimeoutError, "too-many-requests"):
            self.client(refused, refused).wait(7, timeout_s=20)
        self.client((503, {}, {"Retry-After": "3600"}), (200, {"state": "succeeded"})).wait(7)
        self.assertEqual(pauses, [20, 60])

    def test_wait_passes_other_refusals_on_at_once(self):
        for status in (302, 401, 404, 500):
            with self.subTest(status), self.assertRaises(schedulearn.ApiError):
                self.client((status, {})).wait(7)

    def test_jobs_follows_the_pages(self):
        client = self.client((200, {"items": [{"id": 1}], "next_cursor": "a b"}), (200, {"items": [{"id": 2}], "next_cursor": None}))
        self.assertEqual([job["id"] for job in client.jobs(state="running")], [1, 2])
        self.assertEqual(self.controller.requests[1][1], "/api/v1/jobs?state=running&cursor=a+b")

    def test_logs_are_text(self):
        self.assertEqual(self.client((200, "epoch 1\n")).logs(7), "epoch 1\n")

    def test_a_refusal_tells_code_and_detail(self):
        problem = {"code": "gpus-unsatisfiable", "detail": "no server has 8 GPUs", "status": 422}
        with self.assertRaises(schedulearn.ApiError) as refusal:
            self.client((422, problem)).submit(command="true", gpus=8)
        self.assertEqual((refusal.exception.status, refusal.exception.code), (422, "gpus-unsatisfiable"))
        self.assertIn("no server has 8 GPUs", str(refusal.exception))

    def test_a_refusal_without_a_document_still_has_a_sentence(self):
        with self.assertRaisesRegex(schedulearn.ApiError, "HTTP status 500"):
            self.client((500, "oops")).get(7)

    def test_a_refusal_tells_when_to_ask_again(self):
        with self.assertRaises(schedulearn.ApiError) as refusal:
            self.client((429, {}, {"Retry-After": "3"})).get(7)
        self.assertEqual(refusal.exception.retry_after_s, 3)

    def test_a_redirect_is_not_followed_and_its_target_is_told(self):
        other = FakeController(*[(200, {"id": 7})] * 10)
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        for status in (301, 302, 303, 307, 308):
            for path, ask in (("/jobs/7", lambda client: client.get(7)), ("/jobs", lambda client: client.submit(command="true"))):
                client = self.client((status, "<html>", {"Location": f"{other.url}/api/v1{path}"}), token="secret")
                with self.subTest(status=status, path=path), self.assertRaises(schedulearn.ApiError) as refusal:
                    ask(client)
                self.assertEqual(refusal.exception.status, status)
                self.assertIn(f"{client.url} redirects to '{other.url}', and redirects are not followed", str(refusal.exception))
        self.assertEqual(other.requests, [])

    def test_a_redirect_to_elsewhere_names_all_of_it(self):
        for target in ("https://sign-in.example/?to=lab", "/api/v1/jobs/7", "http://[", "file:///etc/passwd"):
            with self.subTest(target), self.assertRaisesRegex(schedulearn.ApiError, re.escape(f"redirects to '{target}'")):
                self.client((302, "", {"Location": target})).get(7)
        with self.assertRaisesRegex(schedulearn.ApiError, "HTTP status 302"):
            self.client((302, "")).get(7)

    def test_the_token_is_sent(self):
        self.client((200, {}), token="secret").get(7)
        self.assertEqual(self.controller.requests[0][2]["Authorization"], "Bearer secret")

    def test_the_first_line_of_a_token_file_is_the_token_and_no_error_shows_it(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("slt_1_secret\nmade in November\n")
            file.flush()
            with mock.patch.dict(os.environ, {"SCHEDULEARN_TOKEN_FILE": file.name}):
                self.client((200, {})).get(7)
        self.assertEqual(self.controller.requests[0][2]["Authorization"], "Bearer slt_1_secret")
        with self.assertRaises(ValueError) as refusal:
            schedulearn.Client(token="slt_1_secret\nmore")
        self.assertNotIn("slt_1", str(refusal.exception))

    def test_addresses_are_those_of_the_command_line(self):
        for typed in ("localhost:5000", "http://localhost:5000/", "http://localhost:5000/ui/", "localhost:5000/ui", "HTTP://localhost:5000",
                      "http://localhost:5000//ui//", "http://localhost:5000/ui/jobs/1", "localhost:5000/ui/#sign-in=abc", "localhost:5000/ui?theme=dark"):
            self.assertEqual(schedulearn.Client(typed).url, "http://localhost:5000")
        for typed, url in (("http://ui", "http://ui"), ("ui/ui/", "http://ui"), ("http://lab/uid", "http://lab/uid"),
                           ("http://proxy/team/ui/queue", "http://proxy/team")):
            self.assertEqual(schedulearn.Client(typed).url, url)
        self.assertEqual(schedulearn.Client("HTTPS://lab/ui").url, "https://lab")
        for typed in ("http://", "http:///ui", "/ui", "lab:99999", "lab:x", "a b", "ftp://lab", "file:///etc/passwd", "ws://lab:5000"):
            with self.assertRaisesRegex(ValueError, f"not a controller's address: {typed}"):
                schedulearn.Client(typed)

    def test_who_answers_with_something_else_is_no_controller(self):
        with self.assertRaisesRegex(schedulearn.Unreachable, "no controller"):
            self.client((200, "<html>")).get(7)

    def test_a_time_of_a_job_file_travels_as_text(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "job.toml")
            file.write_text('command = "train.py"\nnot_before = 2026-11-28T01:00:00Z\n')
            self.client((201, {"id": 7})).submit(file)
        self.assertEqual(self.controller.requests[0][3]["not_before"], "2026-11-28T01:00:00Z")

    def test_times_and_paths_travel_as_text_wherever_they_stand(self):
        begin = datetime.datetime(2026, 11, 28, 1, tzinfo=datetime.timezone.utc)
        times = {"not_before": begin, "limit": datetime.time(1, 30), "estimate": datetime.timedelta(minutes=90)}
        self.client((201, {"id": 7})).submit(command="true", time=times, output_dir=Path("/data"))
        body = self.controller.requests[0][3]
        self.assertEqual(body["time"], {"not_before": "2026-11-28T01:00:00Z", "limit": "01:30:00", "estimate": "5400.000000s"})
        self.assertEqual(body["output_dir"], "/data")
        with self.assertRaisesRegex(TypeError, "not a value of a job's description"):
            self.client().submit(command="true", gpus=object())

    def test_without_a_snapshot_no_code_is_sent(self):
        self.client((201, {"id": 7})).submit(command="true", snapshot="none")
        self.assertEqual([(request[0], request[3]["snapshot"]) for request in self.controller.requests], [("POST", "none")])

    def test_what_is_no_number_of_a_job_is_asked_for_as_it_is(self):
        client = self.client(*[(404, {"code": "job-not-found"})] * 3)
        for wrong in ("a b", "ü", "1/logs"):
            with self.assertRaisesRegex(schedulearn.ApiError, "job-not-found"):
                client.get(wrong)
        self.assertEqual([request[1] for request in self.controller.requests], [f"/api/v1/jobs/{path}" for path in ("a%20b", "%C3%BC", "1%2Flogs")])

    def test_truth_is_written_as_the_controller_reads_it(self):
        list(self.client((200, {"items": [], "next_cursor": None})).jobs(grouped=True))
        self.assertEqual(self.controller.requests[0][1], "/api/v1/jobs?grouped=true")

    def test_no_controller_is_unreachable(self):
        client = self.client()
        self.controller.shutdown()
        self.controller.server_close()
        with self.assertRaises(schedulearn.Unreachable):
            client.get(7)


if __name__ == "__main__":
    unittest.main()
