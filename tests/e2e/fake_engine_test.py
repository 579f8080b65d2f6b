"""Jobs in containers on an engine that is not one: what an agent and a user see when an engine or a registry answers slowly, wrongly or not at all. Runs everywhere."""

import getpass
import http.server
import json
import os
import pathlib
import re
import socketserver
import threading
import unittest
import urllib.parse

from lab import Lab, until

USER = "nobody" if os.geteuid() == 0 else getpass.getuser()


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients may hang up


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "test"

    def log_message(self, *_):
        pass

    def version_string(self):
        return f"{self.server.fake.program}/9.8.7 (linux)"

    def answer(self, status, document=None):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, lines):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            piece = json.dumps(line).encode() + b"\r\n"
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def respond(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        url = urllib.parse.urlsplit(self.path)
        self.server.fake.respond(self, self.command, urllib.parse.unquote(url.path.removeprefix("/v1.41")), urllib.parse.parse_qs(url.query), body)

    do_GET = do_POST = do_DELETE = respond


class FakeEngine:
    """Starts the first process of a "container" as a plain process of this machine, in its own mount namespace where that may be done."""

    def __init__(self, folder):
        self.socket = str(pathlib.Path(folder) / "engine")
        self.images = {"there:1": {"Id": "sha256:" + "1" * 64, "RepoDigests": ["other@sha256:" + "2" * 64, "docker.io/library/there@sha256:" + "2" * 64], "Config": {"Env": ["PYTHONPATH=/of/the/image"]}}}
        self.containers, self.calls = {}, []
        self.pull_lines, self.pull_go, self.auth = [], threading.Event(), None
        self.program = "Docker"
        self.refuse = {}  # (method, pattern): (status, document)
        self.impossible = set()  # images of which no container can be started
        self.server = Server(self.socket, Handler)
        self.server.fake = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def respond(self, handler, method, path, query, body):
        self.calls.append((method, path))
        for (refused, pattern), answer in self.refuse.items():
            if method == refused and re.search(pattern, path):
                return handler.answer(*answer)
        if path == "/_ping":
            return handler.answer(200)
        if method == "POST" and path == "/images/create":
            self.auth = handler.headers.get("X-Registry-Auth")
            return handler.stream(self.pull(f"{query['fromImage'][0]}:{query['tag'][0]}"))
        if match := re.fullmatch(r"/images/(.+)/json", path):
            image = self.images.get(match[1])
            return handler.answer(200, image) if image else handler.answer(404, {"message": "no such image"})
        if path == "/containers/json":
            return handler.answer(200, [{"Id": name, "Names": ["/" + name], "Labels": made["Labels"], "State": "exited"} for name, made in self.containers.items()])
        if path == "/containers/create":
            name = query["name"][0]
            if name in self.containers:
                return handler.answer(409, {"message": "taken"})
            self.containers[name] = body
            return handler.answer(201, {"Id": name})
        if match := re.fullmatch(r"/containers/([^/]+)(/\w+)?", path):
            return self.on_container(handler, method, match[1], match[2])
        return handler.answer(404, {"message": path})

    def on_container(self, handler, method, name, verb):
        made = self.containers.get(name)
        if made is None:
            return handler.answer(404, {"message": "no such container"})
        if method == "DELETE":
            del self.containers[name]
            return handler.answer(204)
        if verb == "/start" and made["Image"] in self.impossible:
            return handler.answer(500, {"message": "OCI runtime error"})
        if verb == "/start":
            self.run(made)
            return handler.answer(204)
        return handler.answer(200, {"Config": {"Labels": made["Labels"]}, "State": {"Running": False, "Pid": 0, "ExitCode": 0, "OOMKilled": made.get("oom", False)}})

    def run(self, made):
        """A container that has ended with exit code 0 by the time its start is answered."""
        end = next(mount["Source"] for mount in made["HostConfig"]["Mounts"] if mount["Target"] == "/.schedulearn/end")
        if "oom" not in made and "silent" not in made["Labels"]:
            pathlib.Path(end).write_text("exit 0\n")

    def pull(self, image):
        for line in self.pull_lines:
            yield line
        self.pull_go.wait(60)
        if not any("error" in line for line in self.pull_lines):
            self.images[image] = {"Id": "sha256:" + "3" * 64, "Config": {}}


class GpuLab(Lab):
    def __init__(self, library, socket):
        super().__init__(gpus=0, environment={"LD_LIBRARY_PATH": library})
        self.socket = socket

    def start_agent(self, *more):
        super().start_agent("--container-socket", self.socket, *more)


class FakeEngineTest(unittest.TestCase):
    def setUp(self):
        self.lab = Lab(gpus=2)
        self.addCleanup(self.lab.__exit__)
        self.lab.folder.chmod(0o755)
        self.engine = FakeEngine(self.lab.folder)
        self.addCleanup(self.engine.close)
        self.lab.start_controller()
        self.lab.start_agent("--container-socket", self.engine.socket)

    def submit(self, image, **spec):
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "image": image, "user": USER, **spec})
        self.assertEqual(201, status, text)
        return json.loads(text)["id"]

    def test_its_limits_are_those_of_the_job_file_and_its_processors_its_own(self):
        seen = {}
        self.engine.run = lambda made: (seen.update(made), FakeEngine.run(self.engine, made))
        job = self.lab.finished(self.submit("there:1", resources={"memory": "1GiB", "cpus": 1, "processes": 99, "pin_cpus": True}))
        self.assertEqual("succeeded", job["state"], job["failure"])
        host = seen["HostConfig"]
        self.assertEqual((1 << 30, 1_000_000_000, 100), (host["Memory"], host["NanoCpus"], host["PidsLimit"]))
        self.assertRegex(host["CpusetCpus"], r"^\d+$")

    def test_a_job_is_one_container_with_its_limits_and_no_more_rights_than_it_needs(self):
        seen = {}
        self.engine.run = lambda made: (seen.update(made), FakeEngine.run(self.engine, made))
        job = self.lab.finished(self.submit("there:1", resources={"memory": "1GiB", "cpus": 2}, gpus=2))
        self.assertEqual("succeeded", job["state"], job["failure"])
        host = seen["HostConfig"]
        self.assertEqual((1 << 30, 1 << 30, 2_000_000_000, 1 << 30, 16385), (host["Memory"], host["MemorySwap"], host["NanoCpus"], host["ShmSize"], host["PidsLimit"]))
        self.assertEqual((["ALL"], ["no-new-privileges"]), (host["CapDrop"], host["SecurityOpt"]))
        self.assertNotIn("DeviceRequests", host)  # its GPUs are simulated
        self.assertNotIn("Privileged", host)
        if os.geteuid() == 0:
            self.assertEqual("65534:65534", seen["User"])
        environment = dict(entry.split("=", 1) for entry in seen["Env"])
        self.assertTrue(environment["PYTHONPATH"].startswith("/of/the/image:"))
        self.assertNotIn("PATH", environment)
        self.assertEqual("docker.io/library/there@sha256:" + "2" * 64, job["placement"][0]["image"])
        self.assertEqual({}, self.engine.containers)
        (container,) = [path for method, path in self.engine.calls if method == "DELETE"]
        self.assertIn(job["placement"][0]["container_id"], container)

    def test_an_image_is_fetched_first_and_show_and_why_say_how_far_it_is(self):
        self.engine.pull_lines = [{"status": "Downloading", "id": "a", "progressDetail": {"current": 1 << 29, "total": 1 << 30}}]
        job = self.submit("registry.lab/net:2")
        reason = until(lambda: (self.lab.job(job)["reason"] or {}).get("code") == "image_pull" and "GiB" in self.lab.job(job)["reason"]["text"] and self.lab.job(job)["reason"], what="image_pull")
        self.assertEqual("fetching the image registry.lab/net:2: 512.0 MiB of 1.0 GiB so far", reason["text"])
        self.assertEqual("starting", self.lab.job(job)["state"])
        for command in ("show", "why"):
            self.assertIn("fetching the image registry.lab/net:2: 512.0 MiB", self.lab.cli(command, job).stdout)
        self.engine.pull_go.set()
        ended = self.lab.finished(job)
        self.assertEqual("succeeded", ended["state"], ended["failure"])
        self.assertEqual("sha256:" + "3" * 64, ended["placement"][0]["image"])

    def test_a_job_is_cancelled_while_its_image_is_fetched(self):
        job = self.submit("registry.lab/net:2")
        until(lambda: ("POST", "/images/create") in self.engine.calls, what="the pull")
        self.lab.cli("cancel", job)
        self.assertEqual("cancelled", self.lab.finished(job)["state"])
        self.engine.pull_go.set()
        self.assertEqual({}, self.engine.containers)

    def test_what_the_registry_says_is_why_the_job_failed(self):
        self.engine.pull_lines = [{"error": "manifest for net:2 not found\nmanifest unknown"}]
        self.engine.pull_go.set()
        job = self.lab.finished(self.submit("registry.lab/net:2"))
        self.assertEqual(("failed", "image"), (job["state"], job["failure"]["kind"]))
        self.assertEqual("cannot fetch the image registry.lab/net:2: manifest for net:2 not found manifest unknown", job["failure"]["message"])
        self.assertEqual(1, self.engine.calls.count(("POST", "/images/create")))

    def test_a_registry_that_does_not_answer_is_asked_again(self):
        self.engine.pull_lines = [{"error": "dial tcp: i/o timeout"}]
        self.engine.pull_go.set()
        job = self.lab.finished(self.submit("registry.lab/net:2"))
        self.assertEqual("image", job["failure"]["kind"])
        self.assertEqual(3, self.engine.calls.count(("POST", "/images/create")))

    def test_a_digest_is_fetched_as_such_and_one_that_is_not_there_any_more_is_named(self):
        digest = "sha256:" + "4" * 64
        asked = []
        real = self.engine.pull
        self.engine.pull = lambda image: (asked.append(image), real(image))[1]
        self.engine.pull_lines = [{"error": "manifest unknown"}]
        self.engine.pull_go.set()
        job = self.lab.finished(self.submit(f"registry.lab/net@{digest}"))
        self.assertEqual([f"registry.lab/net:{digest}"], asked)
        self.assertEqual(("image", f"cannot fetch the image registry.lab/net@{digest}: manifest unknown"), (job["failure"]["kind"], job["failure"]["message"]))

    def test_an_image_for_which_there_is_no_room_fails_its_job_and_no_other(self):
        self.engine.pull_lines = [{"error": "write /var/lib/docker/tmp/layer: no space left on device"}]
        self.engine.pull_go.set()
        job = self.submit("registry.lab/huge:1")
        self.assertEqual("succeeded", self.lab.finished(self.submit("there:1"))["state"])
        ended = self.lab.finished(job)
        self.assertEqual("image", ended["failure"]["kind"])
        self.assertIn("no space left on device", ended["failure"]["message"])
        self.assertEqual("succeeded", self.lab.finished(self.lab.submit("true"))["state"])
        self.assertEqual("up", self.lab.get("/api/v1/servers")["items"][0]["state"])

    def test_an_agent_that_dies_meanwhile_begins_again(self):
        job = self.submit("registry.lab/net:2")
        until(lambda: ("POST", "/images/create") in self.engine.calls, what="the pull")
        self.lab.kill(self.lab.agent)
        self.engine.pull_go.set()
        self.lab.start_agent("--container-socket", self.engine.socket)
        self.assertEqual("succeeded", self.lab.finished(job)["state"])

    def server(self):
        return self.lab.get("/api/v1/servers")["items"][0]

    def test_containers_that_cannot_be_made_harm_no_other(self):
        self.engine.images["bad:1"] = {**self.engine.images["there:1"], "Id": "sha256:" + "4" * 64}
        self.engine.impossible.add("sha256:" + "4" * 64)
        jobs = [self.submit("bad:1") for _ in range(3)]
        for job in jobs:
            until(lambda: "OCI runtime error" in json.dumps(self.lab.get(f"/api/v1/jobs/{job}/events")), what="the refusal")
        self.assertIn("container", self.server()["runtimes"])
        self.assertEqual("succeeded", self.lab.finished(self.submit("there:1"))["state"])
        self.assertEqual(["setup"] * 3, [self.lab.finished(job)["failure"]["kind"] for job in jobs])

    def test_an_engine_that_refuses_all_containers_is_let_alone_for_a_while_and_harms_no_plain_job(self):
        self.engine.refuse[("POST", "/start$")] = (500, {"message": "OCI runtime error"})
        job = self.submit("there:1")
        self.submit("there:1", resources={"memory": "1GiB"})
        until(lambda: "OCI runtime error" in json.dumps(self.lab.get(f"/api/v1/jobs/{job}/events")), what="the refusal")
        until(lambda: self.server()["runtimes"] == ["process"], what="a server without containers")
        self.assertEqual({}, self.engine.containers)
        self.assertEqual("succeeded", self.lab.finished(self.lab.submit("true"))["state"])
        self.engine.refuse.clear()
        self.assertEqual("succeeded", self.lab.finished(job)["state"])
        self.assertEqual("up", self.server()["state"])

    def test_a_container_that_the_engine_refuses_three_times_has_failed_with_what_the_engine_says(self):
        self.engine.refuse[("POST", "/create$")] = (400, {"message": "invalid mount config"})
        job = self.lab.finished(self.submit("there:1"))
        self.assertEqual(("failed", 3, "setup"), (job["state"], job["attempt"], job["failure"]["kind"]))
        self.assertEqual("the container engine says: invalid mount config", job["failure"]["message"])
        self.engine.refuse.clear()
        self.assertEqual("succeeded", self.lab.finished(self.submit("there:1"))["state"])

    def test_a_container_that_ends_three_times_before_its_command_begins_has_failed(self):
        self.engine.run = lambda made: None
        job = self.lab.finished(self.submit("there:1"))
        self.assertEqual(("failed", 3, "setup"), (job["state"], job["attempt"], job["failure"]["kind"]))
        self.assertIn("before its command could begin", job["failure"]["message"])
        self.assertIsNone(job["started_at"])

    def test_an_engine_that_goes_away_harms_no_plain_job_and_is_found_when_it_is_back(self):
        self.engine.close()
        os.unlink(self.engine.socket)
        job = self.submit("there:1")
        plain = self.lab.submit("true")
        self.assertEqual("succeeded", self.lab.finished(plain)["state"])
        until(lambda: self.server()["runtimes"] == ["process"], what="a server without containers")
        self.assertEqual("up", self.server()["state"])
        self.assertIn(self.lab.job(job)["state"], ("pending", "held"))  # held: what is lost starts again after a pause
        self.assertEqual("succeeded", self.lab.finished(self.lab.submit("true"))["state"])
        self.engine = FakeEngine(self.lab.folder)
        self.addCleanup(self.engine.close)
        self.assertEqual("succeeded", self.lab.finished(job)["state"])

    def test_an_engine_that_answers_late_is_found_without_another_agent(self):
        self.lab.kill(self.lab.agent)
        answers = threading.Event()
        real = self.engine.respond
        self.engine.respond = lambda handler, method, path, query, body: answers.wait(100) if path == "/_ping" and not answers.is_set() else real(handler, method, path, query, body)
        self.lab.start_agent("--container-socket", self.engine.socket)
        self.assertEqual(["process"], self.server()["runtimes"])
        self.assertEqual("succeeded", self.lab.finished(self.lab.submit("true"))["state"])
        answers.set()
        until(lambda: "container" in self.server()["runtimes"], 20, "a server with containers")
        self.assertEqual("succeeded", self.lab.finished(self.submit("there:1"))["state"])

    def test_more_memory_than_a_server_has_is_refused_at_once(self):
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "image": "there:1", "user": USER, "resources": {"memory": "100TiB"}})
        self.assertEqual((422, "resources-unsatisfiable"), (status, json.loads(text)["code"]))
        self.assertIn("memory", json.loads(text)["detail"])
        self.assertTrue(json.loads(text)["hints"])

    def test_a_container_that_the_engine_does_not_remove_at_once_is_not_left(self):
        refusals = [1, 1]
        real = self.engine.respond

        def respond(handler, method, path, query, body):
            if method == "DELETE" and refusals:
                refusals.pop()
                return handler.answer(500, {"message": "container not running"})
            return real(handler, method, path, query, body)

        self.engine.respond = respond
        self.assertEqual("succeeded", self.lab.finished(self.submit("there:1"))["state"])
        self.assertEqual([], refusals)
        until(lambda: not self.engine.containers, 10, "the container being removed")

    def test_a_stranger_that_has_the_name_is_left_alone(self):
        job = self.submit("there:1", hold=True)
        real = self.engine.respond

        def respond(handler, method, path, query, body):
            if path == "/containers/create" and not self.engine.containers:
                self.engine.containers[query["name"][0]] = {"Labels": {}, "HostConfig": {"Mounts": []}}
            return real(handler, method, path, query, body)

        self.engine.respond = respond
        self.lab.cli("resume", job)
        ended = self.lab.finished(job)
        self.assertEqual(("succeeded", 2), (ended["state"], ended["attempt"]))
        self.assertIn("not ours", json.dumps(self.lab.get(f"/api/v1/jobs/{job}/events")))
        self.assertEqual([{}], [left["Labels"] for left in self.engine.containers.values()])

    def test_a_container_that_was_ended_from_outside_starts_again(self):
        silent = [True]
        whole = self.engine.run
        self.engine.run = lambda made: None if silent.pop() else whole(made)
        silent[:0] = [False]
        job = self.lab.finished(self.submit("there:1"))
        self.assertEqual(("succeeded", 2), (job["state"], job["attempt"]))

    def test_without_an_engine_such_jobs_wait_and_with_one_again_they_run(self):
        self.lab.kill(self.lab.agent)
        self.lab.start_agent("--container-socket", "none")
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["runtimes"] == ["process"], what="a server without containers")
        waiting = self.submit("there:1")
        self.assertIn("until a container engine answers again", self.lab.get(f"/api/v1/jobs/{waiting}/explain")["summary"])
        self.lab.kill(self.lab.agent)
        self.lab.start_agent("--container-socket", self.engine.socket)
        until(lambda: "container" in self.lab.get("/api/v1/servers")["items"][0]["runtimes"], what="a server with containers")
        self.assertEqual("docker 9.8.7", self.lab.get("/api/v1/servers")["items"][0]["container_engine"])
        self.assertEqual("succeeded", self.lab.finished(waiting)["state"])

    def lab_with_gpus(self):
        library = os.environ.get("SCHEDULEARN_NVML_DOUBLE")
        if not library or not os.path.exists(f"{library}/libnvidia-ml.so.1"):
            self.skipTest("no double of the NVIDIA library; run through ctest")
        self.lab.kill(self.lab.agent)
        self.lab.kill(self.lab.controller)
        self.lab = self.enterContext(GpuLab(library, self.engine.socket))

    def test_gpus_are_requested_by_uuid_those_of_the_job_and_no_others(self):
        self.lab_with_gpus()
        seen = {}
        self.engine.run = lambda made: (seen.update(made), FakeEngine.run(self.engine, made))
        self.assertEqual("succeeded", self.lab.finished(self.submit("there:1"))["state"])
        self.assertEqual([{"Driver": "nvidia", "DeviceIDs": ["GPU-double-0"], "Capabilities": [["gpu"]]}], seen["HostConfig"]["DeviceRequests"])
        self.assertIn("NVIDIA_VISIBLE_DEVICES=GPU-double-0", seen["Env"])
        self.assertEqual("/dev/nvidiactl", seen["Cmd"][3])  # without it the command does not start

    def test_a_server_with_gpus_whose_engine_gives_none_is_given_no_such_job(self):
        self.engine.program = "Libpod"
        self.lab_with_gpus()
        self.assertEqual(["process"], self.lab.get("/api/v1/servers")["items"][0]["runtimes"])
        self.assertIn("gives containers no GPUs", (self.lab.folder / "agent.log").read_text())

    def test_an_engine_that_hangs_stops_nobody_else(self):
        hanging = threading.Event()
        real = self.engine.respond
        asked = []
        self.engine.respond = lambda handler, method, path, query, body: (asked.append((method, path)), hanging.wait(100)) if path == "/containers/create" else real(handler, method, path, query, body)
        job = self.submit("there:1", checkpoint={"grace": "1s"})
        self.assertEqual("succeeded", self.lab.finished(self.lab.submit("true"))["state"])
        until(lambda: ("POST", "/containers/create") in asked, what="the request")
        self.assertEqual("starting", self.lab.job(job)["state"])
        self.lab.request("POST", f"/api/v1/jobs/{job}/cancel", {})
        ended = self.lab.finished(job)
        self.assertEqual(("cancelled", None), (ended["state"], ended["started_at"]))
        hanging.set()

    def test_the_five_keys_of_the_original_run_under_horovod(self):
        seen = {}
        self.engine.run = lambda made: (seen.update(made), FakeEngine.run(self.engine, made))
        self.engine.images["nathansetyawan96/horovod:latest"] = self.engine.images["nathansetyawan96/horovod"] = self.engine.images["there:1"]
        keys = {"name": "Pytorch Mnist", "type": "Pytorch", "container_image": "nathansetyawan96/horovod", "command": "python pytorch/pytorch_mnist.py", "required_gpus": 2}
        status, _, text = self.lab.request("POST", "/jobs", {**keys, **({"user": USER} if os.geteuid() == 0 else {})})
        self.assertEqual(201, status, text)
        row = json.loads(text)
        self.assertEqual("nathansetyawan96/horovod", row["container_image"])
        self.assertEqual("succeeded", self.lab.finished(row["id"])["state"])
        self.assertIn("horovodrun -np 2 -H localhost:2 python pytorch/pytorch_mnist.py", seen["Cmd"][-1])
        self.assertEqual(["", "horovodrun"], seen["Cmd"][3:5])
        row = json.loads(self.lab.request("GET", f"/jobs/{row['id']}")[2])
        self.assertTrue(row["container_name"].startswith("schedulearn-"), row)


if __name__ == "__main__":
    unittest.main(verbosity=2)
