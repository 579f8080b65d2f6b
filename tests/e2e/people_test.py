#!/usr/bin/python3
"""Who may do what: roles, named tokens, signing in and out, what ends when a token ends, and what is told to all."""

import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest

from lab import PROGRAM, Lab, LabTest, until

NOBODY = pwd.getpwnam("nobody")
ROLES = ("agent", "viewer", "user", "admin")

# The role that each operation needs. A route that is not here fails the test, and so does one that is not there.
NEEDS = {
    "agent": "GET /api/v1/whoami",
    "viewer": """
        GET /healthz  GET /readyz  GET /metrics  GET /api/v1  GET /api/v1/openapi.json  GET /api/docs  GET /api/docs/style.css
        GET /api/v1/jobs  GET /api/v1/jobs/{id}  GET /api/v1/jobs/{id}/explain  GET /api/v1/jobs/{id}/events
        GET /api/v1/jobs/{id}/logs  GET /api/v1/jobs/{id}/logs/stream  GET /api/v1/jobs/{id}/metrics  GET /api/v1/jobs/{id}/files
        GET /api/v1/jobs/{id}/usage  GET /api/v1/jobs/{id}/attempts  GET /api/v1/jobs/{id}/diff  GET /api/v1/doctor
        GET /api/v1/queue  GET /api/v1/cluster  GET /api/v1/cluster/metrics  GET /api/v1/cluster/forecast  GET /api/v1/gpus
        GET /api/v1/servers  GET /api/v1/servers/{name}  GET /api/v1/servers/{name}/metrics
        GET /api/v1/policies  GET /api/v1/policies/{name}  GET /api/v1/policy  GET /api/v1/policy/history
        GET /api/v1/policy/shadow  GET /api/v1/policy/shadow/series  GET /api/v1/estimates  GET /api/v1/costs
        GET /api/v1/simulations  GET /api/v1/simulations/{id}  GET /api/v1/simulations/{id}/charts/{kind}
        GET /api/v1/simulations/{id}/results  GET /api/v1/simulations/{id}/jobs  GET /api/v1/workloads  GET /api/v1/traces  GET /api/v1/traces/{name}  GET /api/v1/traces/thesis/{name}
        GET /api/v1/profiles  GET /api/v1/profiles/{family}  GET /api/v1/secrets  GET /api/v1/snapshots  GET /api/v1/snapshots/{id}
        GET /api/v1/notifications/channels  GET /api/v1/notifications/deliveries  GET /api/v1/events  GET /api/v1/events/stream
        GET /api/v1/tokens  DELETE /api/v1/tokens/{id}  GET /api/v1/announcements
        POST /api/v1/sessions  DELETE /api/v1/sessions  POST /api/v1/sessions/link
        GET /jobs  GET /jobs/{id}  POST /signin""",
    "user": """
        POST /api/v1/jobs  POST /api/v1/jobs/batch  PATCH /api/v1/jobs/{id}  DELETE /api/v1/jobs/{id}  POST /api/v1/jobs/{id}/cancel
        POST /api/v1/jobs/{id}/signal  POST /api/v1/jobs/{id}/suspend  POST /api/v1/jobs/{id}/resume  POST /api/v1/jobs/{id}/release  POST /api/v1/jobs/{id}/migrate
        POST /api/v1/jobs/{id}/scale  POST /api/v1/jobs/{id}/retry  POST /api/v1/jobs/{id}/ports/{name}/session
        POST /api/v1/policy/try  POST /api/v1/policy/preview  POST /api/v1/simulations  DELETE /api/v1/simulations/{id}  POST /api/v1/traces  DELETE /api/v1/traces/{name}
        POST /api/v1/profiles  DELETE /api/v1/profiles/{family}  PUT /api/v1/secrets/{name}  DELETE /api/v1/secrets/{name}
        PUT /api/v1/notifications/channels/{name}  DELETE /api/v1/notifications/channels/{name}  POST /api/v1/notifications/channels/{name}/test
        PUT /api/v1/snapshots/{id}  POST /api/v1/tokens  POST /jobs  DELETE /jobs/{id}""",
    "admin": """
        PUT /api/v1/policy  POST /api/v1/policy/undo  PUT /api/v1/policy/shadow  DELETE /api/v1/policy/shadow
        PUT /api/v1/policy/planned  DELETE /api/v1/policy/planned
        POST /api/v1/servers  PATCH /api/v1/servers/{name}  DELETE /api/v1/servers/{name}  POST /api/v1/servers/{name}/lost  POST /api/v1/servers/{name}/drain
        POST /api/v1/servers/{name}/undrain  POST /api/v1/servers/{name}/release
        GET /api/v1/users  POST /api/v1/users  PATCH /api/v1/users/{name}  DELETE /api/v1/users/{name}
        POST /api/v1/announcements  DELETE /api/v1/announcements/{id}  PUT /algorithm/{name}""",
}
NEEDS = {(method, path): role for role, text in NEEDS.items() for method, path in re.findall(r"([A-Z]+) (\S+)", text)}


class PeopleLab(LabTest):
    def add(self, user, role="user", name="laptop", **more):
        """The secret of a new token of this user, who is added if that is needed."""
        self.lab.request("POST", "/api/v1/users", {"name": user, "role": role})
        status, headers, text = self.lab.request("POST", "/api/v1/tokens", {"name": name, "user": user, **more})
        self.assertEqual((status, headers["Cache-Control"]), (201, "no-store"), text)
        self.made = json.loads(text)
        return self.made["token"]

    def let_in(self, name, **more):
        """What is said to a server that may join."""
        status, headers, text = self.lab.request("POST", "/api/v1/servers", {"name": name, **more})
        self.assertEqual((status, headers["Cache-Control"]), (201, "no-store"), text)
        return json.loads(text)

    def ask(self, secret, method, path, body=None, **headers):
        status, _, text = self.lab.request(method, path, body, {"Authorization": f"Bearer {secret}", **headers})
        return status, json.loads(text) if text[:1] in "{[" and text else text

    def code(self, *request, **headers):
        return self.ask(*request, **headers)[1].get("code", "")

    def revoke(self, token):
        self.assertEqual(self.lab.request("DELETE", f"/api/v1/tokens/{token['id']}")[0], 200)

    def stream(self, secret, path):
        """The open answer to a request for a stream."""
        connection = http.client.HTTPConnection("127.0.0.1", self.lab.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        return answer

    def events(self, kind):
        return [event for event in self.lab.get("/api/v1/events?since=0&limit=10000")["items"] if event["kind"] == kind]


class Roles(PeopleLab):
    def test_an_admin_who_is_made_a_user_shares_no_channel_any_more(self):
        bob, eve = self.add("bob", "admin"), self.add("eve")
        self.ask(bob, "PUT", "/api/v1/secrets/key", "k")
        wanted = {"kind": "webhook", "url": "https://lab.example/", "secret": "key", "on": ["failed", "server_down"], "shared": True}
        status, answer = self.ask(bob, "PUT", "/api/v1/notifications/channels/lab", wanted)
        self.assertIn(status, (200, 201), answer)
        seen = lambda who: [(each["name"], each["shared"], each["on"]) for each in self.ask(who, "GET", "/api/v1/notifications/channels")[1]["items"]]
        self.assertEqual(seen(eve), [("lab", True, ["failed", "server_down"])])
        self.assertEqual(self.lab.request("PATCH", "/api/v1/users/bob", {"role": "user"})[0], 200)
        self.assertEqual((seen(eve), seen(bob)), ([], [("lab", False, ["failed"])]))

    def test_every_operation_has_the_role_that_is_written_here_and_refuses_those_below(self):
        operations = {(verb.upper(), path): operation["x-schedulearn-role"] for path, verbs in self.lab.get("/api/v1/openapi.json")["paths"].items() for verb, operation in verbs.items()}
        self.assertEqual(operations, NEEDS)
        self.assertEqual({(each["method"], each["path"]): each["role"] for each in self.lab.get("/api/v1")["items"]}, NEEDS)
        secrets = {role: self.add(f"a-{role}", role) for role in ROLES[1:]}
        secrets["agent"] = self.let_in("gpu9")["token"]
        open_to_all = {"/healthz", "/api/v1/openapi.json", "/api/docs", "/api/docs/style.css", "/signin"}
        for (method, path), needed in NEEDS.items():
            if path in open_to_all:
                continue
            address = re.sub(r"{\w+}", "1", path) + "?no_such_parameter=1"  # refused after the role, before anything happens
            for role in ROLES:
                status, answer = self.ask(secrets[role], method, address, None if method == "GET" else {})
                if ROLES.index(role) >= ROLES.index(needed):
                    self.assertEqual((status, answer["code"]), (422, "unknown-parameter"), f"{role}: {method} {path}")
                else:
                    self.assertEqual((status, answer["code"]), (403, "role-needed"), f"{role}: {method} {path}")
                    self.assertIn(f"the role {needed}", answer["detail"])
                    self.assertTrue(answer["hints"])

    def test_a_viewer_sees_and_changes_nothing(self):
        job = self.lab.submit("echo seen; sleep 4114.5", env={"KEY": "hush-4114"})
        until(lambda: "seen" in self.lab.output(job))
        viewer = self.add("vera", "viewer")
        for path in ("/api/v1/jobs", f"/api/v1/jobs/{job}", "/api/v1/queue", "/api/v1/policy", "/metrics"):
            status, answer = self.ask(viewer, "GET", path)
            self.assertEqual(status, 200, path)
            self.assertNotIn("hush-4114", str(answer))
        self.assertIn("seen", self.ask(viewer, "GET", f"/api/v1/jobs/{job}/logs")[1])
        before = self.lab.jobs()
        for method, path, body in (("POST", "/api/v1/jobs", {"command": "id"}), ("POST", "/jobs", {"command": "id"}), ("POST", f"/api/v1/jobs/{job}/cancel", {}),
                                   ("PUT", "/api/v1/secrets/x", "value"), ("POST", "/api/v1/tokens", {"name": "more"}), ("PUT", "/api/v1/policy", {"name": "srtf"})):
            self.assertEqual(self.code(viewer, method, path, body), "role-needed", path)
        for path in (f"/api/v1/jobs/{job}/shell", f"/jobs/{job}/proxy/board/"):
            answer = self.upgrade(viewer, path)
            self.assertIn(b" 403 ", answer)
            self.assertIn(b"role-needed", answer)
        self.assertEqual([each["state"] for each in self.lab.jobs()], [each["state"] for each in before])
        self.lab.cli("cancel", job)

    @staticmethod
    def upgrade_text(secret, path):
        return (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode()

    def upgrade(self, secret, path):
        """What is said to a request for a WebSocket."""
        with socket.create_connection(("127.0.0.1", self.lab.port), 10) as connection:
            connection.sendall(self.upgrade_text(secret, path))
            said = b""
            while b"code" not in said and b" 101 " not in said:
                piece = connection.recv(65536)
                if not piece:
                    break
                said += piece
            return said

    def test_an_idempotency_key_belongs_to_its_user_and_to_all_of_a_batch(self):
        mei, bella = self.add("mei"), self.add("bella")
        job = {"command": "true", "workdir": "/"}
        headers = {"Idempotency-Key": "nightly"}
        ids = [self.ask(secret, "POST", "/api/v1/jobs", job, **headers)[1]["id"] for secret in (mei, bella, mei)]
        self.assertEqual([ids[0] == ids[1], ids[0] == ids[2]], [False, True])
        batch = {"Idempotency-Key": "batch"}
        made = [each["id"] for each in self.ask(mei, "POST", "/api/v1/jobs/batch", {"jobs": [job, job]}, **batch)[1]["items"]]
        self.assertEqual([each["id"] for each in self.ask(mei, "POST", "/api/v1/jobs/batch", {"jobs": [job, job]}, **batch)[1]["items"]], made)
        for other in ([job], [job, job, job]):
            self.assertEqual(self.code(mei, "POST", "/api/v1/jobs/batch", {"jobs": other}, **batch), "idempotency-key-reused")
        self.assertEqual(self.code(mei, "POST", "/api/v1/jobs", job, **{"Idempotency-Key": "\xff"}), "bad-idempotency-key")

    def test_only_admins_and_holders_of_the_controller_s_token_are_agents(self):
        for role in ("viewer", "user"):
            secret = self.add(f"an-{role}", role)
            for path in ("/api/v1/agent", "/api/v1/agent/channels/00"):
                self.assertIn(b"admins-only", self.upgrade(secret, path), path)
        ada = self.add("ada", "admin")
        self.assertIn(b" 101 ", self.upgrade(ada, "/api/v1/agent"))
        with socket.create_connection(("127.0.0.1", self.lab.port), 10) as agent:
            agent.sendall(self.upgrade_text(ada, "/api/v1/agent"))
            self.assertIn(b" 101 ", agent.recv(4096))
            self.lab.request("PATCH", "/api/v1/users/ada", {"role": "user"})
            while b"token-revoked" not in (said := agent.recv(4096)):
                self.assertTrue(said, "closed without a reason")

    @staticmethod
    def hello_of(server):
        return json.dumps({"type": "hello", "protocol": 4, "agent_id": "an-agent", "server": server})

    @staticmethod
    def frame(text):
        data = text.ljust(200).encode()
        return b"\x81\xfe" + len(data).to_bytes(2, "big") + bytes(4) + data

    def hello(self, secret, server):
        """What an agent is told that says it is this server's, until it is refused or welcome."""
        agent = socket.create_connection(("127.0.0.1", self.lab.port), 10)
        self.addCleanup(agent.close)
        agent.sendall(self.upgrade_text(secret, "/api/v1/agent"))
        self.assertIn(b" 101 ", agent.recv(4096))
        agent.sendall(self.frame(self.hello_of(server)))
        said = b""
        while b"welcome" not in said and b"refused" not in said:
            piece = agent.recv(65536)
            self.assertTrue(piece, said)
            said += piece
        return agent, said

    def test_the_token_of_a_server_is_good_for_that_server_and_nothing_else(self):
        job = self.lab.submit("echo seen; sleep 4114.6")
        until(lambda: "seen" in self.lab.output(job))
        secret = self.let_in("gpu4")["token"]
        self.assertEqual(self.ask(secret, "GET", "/api/v1/whoami")[1], {"user": pwd.getpwuid(os.geteuid()).pw_name, "role": "agent", "token": "gpu4"})
        for path in (f"/api/v1/jobs/{job}/shell", f"/jobs/{job}/proxy/board/"):
            self.assertIn(b"role-needed", self.upgrade(secret, path), path)
        with socket.create_connection(("127.0.0.1", self.lab.port), 10) as output:
            output.sendall(self.upgrade_text(secret, f"/jobs/{job}/logs"))
            said = b""
            while not said.endswith(b"refused"):  # of the frame that closes; the connection waits for ours
                piece = output.recv(65536)
                self.assertTrue(piece, said)
                said += piece
            self.assertNotIn(b"seen", said)
        self.assertEqual(self.code(secret, "GET", f"/jobs/{job}/proxy/board/"), "role-needed")
        self.assertEqual(self.code(secret, "POST", "/signin", {"email": "gpu4", "password": secret}), "role-needed")
        self.assertEqual(self.code(secret, "GET", "/api/v1/whoami", **{"X-Schedulearn-User": "ada"}), "not-your-name")
        self.assertIn(b"not-your-server", self.hello(secret, "lab")[1])
        self.assertIn(b"not-your-server", self.hello(secret, "")[1])
        for _ in range(50):  # whoever has hung up is not somebody else
            with socket.create_connection(("127.0.0.1", self.lab.port), 10) as agent:
                agent.sendall(self.upgrade_text(secret, "/api/v1/agent"))
                self.assertIn(b" 101 ", agent.recv(4096))
                agent.sendall(self.frame(self.hello_of("other")))
        self.assertEqual([server["name"] for server in self.lab.get("/api/v1/servers")["items"]], ["lab"])
        agent, said = self.hello(secret, "gpu4")
        self.assertIn(b"welcome", said)
        self.assertEqual(self.code(secret, "DELETE", "/api/v1/servers/lab"), "role-needed")
        self.assertEqual(self.code(secret, "POST", "/api/v1/servers/gpu4/lost", {}), "role-needed")
        self.assertEqual(self.code(secret, "DELETE", "/api/v1/servers/gpu4"), "server-connected")
        agent.close()
        until(lambda: self.lab.get("/api/v1/servers/gpu4")["state"] == "down")
        self.assertEqual(self.ask(secret, "DELETE", "/api/v1/servers/gpu4")[0], 200, "as its agent leaves")
        self.lab.cli("cancel", job)

    def test_who_is_no_admin_gets_no_token_that_joins(self):
        mei = self.add("mei")
        self.assertEqual(self.code(mei, "POST", "/api/v1/servers", {"name": "gpu4"}), "role-needed")
        for path, body in (("/api/v1/tokens", {"name": "x", "role": "agent"}), ("/api/v1/users", {"name": "x", "role": "agent"})):
            status, _, text = self.lab.request("POST", path, body)
            self.assertEqual((status, json.loads(text)["code"]), (422, "bad-role"), path)
        ada = self.add("ada", "admin")
        status, made = self.ask(ada, "POST", "/api/v1/servers", {"name": "gpu4"})
        self.assertEqual(status, 201)
        self.assertIn(b"welcome", self.hello(made["token"], "gpu4")[1])
        agent = self.hello(made["token"], "gpu4")[0]
        self.lab.request("PATCH", "/api/v1/users/ada", {"role": "user"})
        while b"token-revoked" not in (said := agent.recv(4096)):
            self.assertTrue(said, "closed without a reason")
        self.assertEqual(self.code(made["token"], "GET", "/api/v1/whoami"), "role-above")

    def test_a_server_s_token_that_expires_ends_its_connection(self):
        made = self.let_in("gpu4", expires_in_s=2)
        self.assertLess(made["expires_at"], "2100")
        agent, said = self.hello(made["token"], "gpu4")
        self.assertIn(b"welcome", said)
        while b"token-revoked" not in (said := agent.recv(4096)):
            self.assertTrue(said, "closed without a reason")
        self.assertEqual(self.code(made["token"], "GET", "/api/v1/whoami"), "token-expired")
        self.assertIn(b"token-expired", self.upgrade(made["token"], "/api/v1/agent"))

    def test_a_user_has_his_own_jobs_and_an_admin_all(self):
        mei, bella, ada = self.add("mei"), self.add("bella"), self.add("ada", "admin")
        job = self.ask(mei, "POST", "/api/v1/jobs", {"command": "true", "hold": True})[1]
        self.assertEqual(job["user"], "mei")
        self.assertEqual(self.code(bella, "POST", f"/api/v1/jobs/{job['id']}/cancel", {}), "not-your-job")
        for body, headers in (({"command": "true", "user": "ada"}, {}), ({"command": "true"}, {"X-Schedulearn-User": "ada"})):
            self.assertEqual(self.code(mei, "POST", "/api/v1/jobs", body, **headers), "not-your-name")
        self.assertEqual(self.ask(ada, "POST", "/api/v1/jobs", {"command": "true", "user": "bella", "hold": True})[1]["user"], "bella")
        self.assertEqual(self.ask(ada, "POST", f"/api/v1/jobs/{job['id']}/cancel", {})[0], 202)
        self.assertEqual(self.ask(ada, "PUT", "/api/v1/policy", {"name": "srtf"})[0], 200)
        self.assertEqual(self.lab.get("/api/v1/policy")["by"], "ada")
        self.lab.request("PATCH", "/api/v1/users/ada", {"role": "user"})  # it counts at once
        self.assertEqual(self.code(ada, "PUT", "/api/v1/policy", {"name": "fifo"}), "role-needed")

    def test_a_token_of_another_is_seen_and_revoked_by_admins_only(self):
        mei, bella = self.add("mei"), self.add("bella")
        hers = self.made
        self.assertEqual([each["user"] for each in self.ask(mei, "GET", "/api/v1/tokens")[1]["items"]], ["mei"])
        self.assertEqual(self.code(mei, "GET", "/api/v1/tokens?user=bella"), "not-your-name")
        self.assertEqual(self.code(mei, "DELETE", f"/api/v1/tokens/{hers['id']}"), "not-your-name")
        self.assertEqual(self.code(mei, "POST", "/api/v1/tokens", {"name": "x", "user": "bella"}), "not-your-name")
        self.assertEqual(self.code(mei, "POST", "/api/v1/tokens", {"name": "x", "role": "admin"}), "role-above")
        day = self.add("mei", name="day", expires_in_s=86400)
        self.assertEqual(self.code(day, "POST", "/api/v1/tokens", {"name": "x", "expires_in_s": 90000}), "expiry-beyond")
        ends = [self.ask(day, "POST", "/api/v1/tokens", {"name": name, **more})[1]["expires_at"] for name, more in (("unsaid", {}), ("hour", {"expires_in_s": 3600}))]
        self.assertEqual((ends[0], ends[1] < self.made["expires_at"]), (self.made["expires_at"], True))
        self.assertEqual(self.ask(bella, "GET", "/api/v1/whoami"), (200, {"user": "bella", "role": "user", "token": "laptop"}))
        self.assertEqual({each["user"] for each in self.lab.get("/api/v1/tokens")["items"]}, {"mei", "bella"})
        self.assertEqual(self.ask(bella, "DELETE", f"/api/v1/tokens/{hers['id']}")[0], 200)
        self.assertEqual(self.code(bella, "GET", "/api/v1/whoami"), "wrong-token")


@unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
class OtherUsers(PeopleLab):
    def as_nobody(self, secret, method, path, body=None):
        program = "import http.client, json, sys; s, m, port, path, body = json.load(sys.stdin); c = http.client.HTTPConnection('127.0.0.1', port, timeout=20); c.request(m, path, body, {'Content-Type': 'application/json', 'Authorization': 'Bearer ' + s}); a = c.getresponse(); print(json.dumps([a.status, a.read().decode()]))"
        given = json.dumps([secret, method, self.lab.port, path, body and json.dumps(body)])
        done = subprocess.run(["/usr/bin/python3", "-c", program], input=given, capture_output=True, text=True, user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=[], timeout=60, cwd="/", check=True)
        status, text = json.loads(done.stdout)
        return status, json.loads(text)

    def test_with_the_controller_s_token_a_local_user_has_jobs_and_no_say_in_policy_and_servers(self):
        token = (self.lab.folder / "controller" / "token").read_text().strip()
        self.assertEqual(self.as_nobody(token, "GET", "/api/v1/whoami")[1], {"user": "nobody", "role": "user", "token": None})
        for method, path, body in (("PUT", "/api/v1/policy", {"name": "srtf"}), ("POST", "/api/v1/servers/lab/drain", {}), ("PUT", "/algorithm/fifo", {}), ("GET", "/api/v1/users", None)):
            status, answer = self.as_nobody(token, method, path, body)
            self.assertEqual((status, answer["code"]), (403, "role-needed"), path)
        self.assertEqual(self.lab.get("/api/v1/policy")["name"], "fifo")
        self.lab.request("POST", "/api/v1/users", {"name": "nobody", "role": "admin"})
        self.assertEqual(self.as_nobody(token, "PUT", "/api/v1/policy", {"name": "srtf"})[0], 200)
        self.lab.request("PATCH", "/api/v1/users/nobody", {"role": "viewer"})
        self.assertEqual(self.as_nobody(token, "POST", "/api/v1/jobs", {"command": "id"})[1]["code"], "role-needed")

    def test_with_a_named_token_he_is_its_user_and_not_himself(self):
        mei = self.add("mei")
        job = self.as_nobody(mei, "POST", "/api/v1/jobs", {"command": "true", "workdir": "/"})[1]
        self.assertEqual(job["user"], "mei")
        self.assertEqual(self.as_nobody(mei[:-1], "GET", "/api/v1/jobs")[1]["code"], "wrong-token")

    def test_who_guesses_waits_longer_and_longer_and_others_do_not(self):
        mei = self.add("mei")
        begin = time.monotonic()
        for _ in range(4):
            self.assertEqual(self.as_nobody("slt_guess_guess", "GET", "/api/v1/jobs")[1]["code"], "wrong-token")
        self.assertGreater(time.monotonic() - begin, 0.9)
        waits = []
        guess = threading.Thread(target=lambda: waits.append(self.as_nobody("slt_guess_guess", "GET", "/api/v1/jobs")))
        guess.start()
        self.assertEqual(self.ask(mei, "GET", "/api/v1/whoami")[0], 200)
        self.assertEqual(self.as_nobody(mei, "GET", "/api/v1/whoami")[0], 200)  # a right secret never waits
        self.assertTrue(guess.is_alive(), "the others were answered while the guesser waited")
        guess.join()
        told = until(lambda: self.events("sign_in.failed"))
        self.assertEqual(len(told), 1)
        self.assertIn("the user nobody of this machine", told[0]["text"])
        self.assertNotIn("guess", json.dumps(told))


class Ends(PeopleLab):
    def test_streams_end_with_the_token_they_were_asked_for_with_and_others_go_on(self):
        job = self.lab.submit("echo here; sleep 4115.5")
        until(lambda: "here" in self.lab.output(job))
        other = self.add("bella")
        secret = self.add("mei")
        token = self.made
        paths = ("/api/v1/events/stream", f"/api/v1/jobs/{job}/logs/stream")
        streams = [self.stream(secret, path) for path in paths]
        kept = self.stream(other, paths[0])
        self.revoke(token)
        for stream in streams:
            begin = time.monotonic()
            self.assertIn(b"event: closed", stream.read())  # to its end
            self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(self.code(secret, "GET", paths[0]), "wrong-token")
        mark = self.lab.submit("true", hold=True, name="after-it")
        while b"after-it" not in (line := kept.readline()) and f'"job_id":{mark}'.encode() not in line.replace(b" ", b""):
            self.assertTrue(line, "the other stream ended too")
        self.lab.cli("cancel", job)

    def test_a_shell_ends_with_the_token_it_was_opened_with(self):
        secret = self.add("mei")
        token = self.made
        job = self.ask(secret, "POST", "/api/v1/jobs", {"command": "sleep 4116.5", "workdir": "/"})[1]["id"]
        until(lambda: self.lab.job(job)["state"] == "running")
        with socket.create_connection(("127.0.0.1", self.lab.port), 20) as shell:
            shell.sendall(Roles.upgrade_text(secret, f"/api/v1/jobs/{job}/shell"))
            self.assertIn(b" 101 ", shell.recv(4096))
            self.revoke(token)
            begin = time.monotonic()
            try:
                while shell.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            self.assertLess(time.monotonic() - begin, 5)
        self.lab.cli("cancel", job, "--yes")

    def test_a_token_that_expires_ends_its_stream_too(self):
        secret = self.add("mei", expires_in_s=3)
        stream = self.stream(secret, "/api/v1/events/stream")
        self.assertIn(b"event: closed", stream.read())
        self.assertEqual(self.code(secret, "GET", "/api/v1/jobs"), "token-expired")
        self.assertTrue(self.lab.get("/api/v1/tokens")["items"][0]["expired"])

    def test_a_browser_s_session_ends_with_its_token_and_has_its_role(self):
        secret = self.add("mei")
        token = self.made
        status, headers, text = self.lab.request("POST", "/api/v1/sessions", {}, {"Authorization": f"Bearer {secret}"})
        self.assertEqual((status, json.loads(text)["user"], json.loads(text)["role"]), (201, "mei", "user"))
        browser = {"Cookie": headers["Set-Cookie"].split(";")[0], "X-Schedulearn-Session": json.loads(text)["key"]}
        who = lambda: json.loads(self.lab.request("GET", "/api/v1/whoami", None, browser)[2]).get("user")
        self.assertEqual(who(), "mei")
        self.assertEqual(json.loads(self.lab.request("PUT", "/api/v1/policy", {"name": "srtf"}, browser)[2])["code"], "role-needed")
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertEqual(who(), "mei")
        link = json.loads(self.lab.request("POST", "/api/v1/sessions/link", {}, browser)[2])["code"]
        self.revoke(token)
        self.assertEqual(who(), pwd.getpwuid(os.geteuid()).pw_name, "without a session it is who asks: here the controller's own user")
        self.assertNotEqual(json.loads(self.lab.request("POST", "/api/v1/sessions", {}, {"X-Schedulearn-Code": link})[2]).get("user"), "mei")

    def test_tokens_and_users_survive_a_restart_and_so_does_their_end(self):
        kept, ended = self.add("mei", name="kept"), self.add("mei", name="ended")
        self.revoke(self.made)
        for _ in range(2):
            self.lab.kill(self.lab.controller)
            self.lab.start_controller()
            self.assertEqual(self.ask(kept, "GET", "/api/v1/whoami")[1], {"user": "mei", "role": "user", "token": "kept"})
            self.assertEqual(self.code(ended, "GET", "/api/v1/whoami"), "wrong-token")
        self.assertEqual([each["name"] for each in self.lab.get("/api/v1/users")["items"]], ["mei"])
        self.lab.request("DELETE", "/api/v1/users/mei")
        self.assertEqual(self.code(kept, "GET", "/api/v1/whoami"), "wrong-token")
        kinds = [event["kind"] for event in self.lab.get("/api/v1/events?since=0&limit=1000")["items"] if event["kind"].split(".")[0] in ("user", "token")]
        self.assertEqual(kinds, ["user.added", "token.added", "token.added", "token.revoked", "user.removed"])
        for subject in ("user", "token"):
            found = self.lab.get(f"/api/v1/events?since=0&about={subject}")["items"]
            self.assertEqual([event["kind"] for event in found], [kind for kind in kinds if kind.startswith(subject + ".")])

    def test_a_backup_has_them(self):
        secret = self.add("mei")
        backup = self.lab.folder / "copy.db"
        self.lab.cli("db", "backup", "--data", self.lab.folder / "controller", backup)
        self.revoke(self.made)
        self.lab.kill(self.lab.controller)
        self.lab.cli("db", "restore", backup, "--data", self.lab.folder / "controller", "--confirm", self.lab.folder / "controller")
        self.lab.start_controller()
        self.assertEqual(self.ask(secret, "GET", "/api/v1/whoami")[0], 200)


class Secrecy(unittest.TestCase):
    def test_a_secret_is_shown_once_and_is_nowhere_afterwards(self):
        lab = Lab()
        self.addCleanup(lab.__exit__)
        recordings = lab.folder / "recordings"
        lab.start_controller("--record", str(recordings))
        lab.request("POST", "/api/v1/users", {"name": "mei"})
        secret = json.loads(lab.request("POST", "/api/v1/tokens", {"name": "laptop", "user": "mei"})[2])["token"]
        asked = {"Authorization": f"Bearer {secret}"}
        lab.request("POST", "/api/v1/jobs", {"command": "true", "hold": True}, asked)
        lab.request("POST", "/api/v1/jobs", {"command": ""}, asked)  # is logged
        cookie = lab.request("POST", "/api/v1/sessions", {}, asked)[1]["Set-Cookie"]
        lab.request("GET", "/api/v1/jobs", None, {"Authorization": f"Bearer {secret}x"})
        everything = json.dumps([lab.get(path) for path in ("/api/v1/tokens", "/api/v1/users", "/api/v1/events?since=0&limit=1000", "/api/v1/whoami")])
        until(lambda: "sign_in.failed" in json.dumps(lab.get("/api/v1/events?since=0&limit=1000")))
        lab.controller.terminate()
        lab.controller.wait()
        random = secret.rsplit("_", 1)[1]
        files = [path for path in lab.folder.rglob("*") if path.is_file()]
        self.assertTrue(any("recording-" in path.name for path in files))
        for text in (everything, cookie, *(path.read_bytes().decode(errors="replace") for path in files)):
            self.assertNotIn(random, text)


class CommandLine(PeopleLab):
    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-test-home-"))
        self.addCleanup(shutil.rmtree, self.home)

    def cli(self, *arguments, given="", status=0, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SCHEDULEARN_", "XDG_"))}
        clean |= {"HOME": str(self.home), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "SCHEDULEARN_DATA": str(self.home / "none"), **environment}
        done = subprocess.run([PROGRAM, *map(str, arguments)], input=given, capture_output=True, text=True, env=clean, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_users_and_tokens_from_the_command_line(self):
        lab = self.lab
        lab.cli("user", "add", "mei")
        lab.cli("user", "add", "bella", "--role", "admin")
        self.assertIn("user-exists", lab.cli("user", "add", "mei", check=False).stderr)
        lab.cli("user", "set", "bella", "--role", "viewer")
        self.assertEqual([line.split("\t")[:2] for line in lab.cli("user", "ls", "--plain").stdout.splitlines()[-2:]], [["bella", "viewer"], ["mei", "user"]])
        made = lab.cli("token", "add", "ci", "--user", "mei", "--expires", "90d")
        self.assertRegex(made.stdout, r"^slt_[0-9a-f]+_[0-9a-f]{40}\n$")
        self.assertNotIn(made.stdout.strip(), made.stderr)
        self.assertIn("not shown again", made.stderr)
        listed = lab.cli("token", "ls").stdout
        self.assertRegex(listed, r"ci +mei +user .* never ")
        self.assertNotIn(made.stdout.strip(), listed)
        self.assertIn("confirmation-needed", lab.cli("user", "rm", "mei", check=False).stderr)
        lab.cli("token", "rm", "ci", "--user", "mei")
        self.assertEqual(lab.cli("token", "rm", "ci", "--user", "mei", check=False).returncode, 3)
        lab.cli("user", "rm", "mei", "--yes")
        self.assertEqual([each["name"] for each in json.loads(lab.cli("user", "ls", "--json").stdout)["items"]], ["bella"])

    def test_a_later_user_of_a_name_has_nothing_of_the_earlier_one(self):
        secret = self.add("carl")
        self.assertEqual(self.ask(secret, "PUT", "/api/v1/secrets/key", "of carl", **{"Content-Type": "application/octet-stream"})[0], 200)
        self.assertEqual(self.ask(secret, "PUT", "/api/v1/notifications/channels/hook", {"kind": "webhook", "url": "https://hooks.example/x", "secret": "key"})[0], 200)
        self.lab.cli("user", "rm", "carl", "--yes")
        later = self.add("carl")
        for path in ("/api/v1/secrets", "/api/v1/notifications/channels"):
            self.assertEqual(self.ask(later, "GET", path)[1]["items"], [], path)

    def test_sign_in_use_and_sign_out(self):
        secret = self.add("mei")
        said = self.cli("login", self.lab.url, "--name", "lab", given=secret + "\n")
        self.assertIn("You are mei (user)", said.stdout)
        self.assertNotIn(secret, said.stdout + said.stderr)
        kept = self.home / ".config/schedulearn/contexts/lab.toml"
        self.assertEqual((stat.S_IMODE(kept.stat().st_mode), stat.S_IMODE(kept.parent.stat().st_mode)), (0o600, 0o700))
        self.assertIn("mei (user), with the token laptop", self.cli("whoami").stdout)
        job = json.loads(self.cli("submit", "--hold", "--json", "--", "true").stdout)
        self.assertEqual((job["user"], job["id"]), ("mei", self.lab.jobs()[0]["id"]))
        refused = self.cli("policy", "set", "srtf", "--yes", status=4)
        self.assertIn("this needs the role admin, and mei has the role user [role-needed]", refused.stderr)
        self.assertIn("lab", self.cli("login").stdout)
        self.cli("logout")
        self.assertFalse(kept.exists())
        self.assertIn("controller-unreachable", self.cli("whoami", status=6).stderr)
        self.assertIn("no-such-context", self.cli("logout", status=3).stderr)
        self.assertEqual(self.ask(secret, "GET", "/api/v1/whoami")[0], 200, "it is still valid")

    def test_a_wrong_token_is_not_kept(self):
        self.assertIn("wrong-token", self.cli("login", self.lab.url, given="slt_no_no", status=4).stderr)
        self.assertIn("no-token", self.cli("login", self.lab.url, status=2).stderr)
        self.assertFalse((self.home / ".config").exists())

    def test_a_flag_counts_more_than_a_variable_and_both_more_than_what_is_set(self):
        mei, bella = self.add("mei"), self.add("bella")
        self.cli("login", self.lab.url, "--name", "as-mei", given=mei)
        self.cli("login", self.lab.url, "--name", "as-bella", given=bella)
        who = lambda *flags, **variables: self.cli("whoami", "--plain", *flags, **variables).stdout.strip()
        self.assertEqual(who(), "bella")
        self.cli("config", "set", "context", "as-mei")
        self.assertEqual(who(), "mei")
        self.assertEqual(who(SCHEDULEARN_CONTEXT="as-bella"), "bella")
        self.assertEqual(who("--context", "as-mei", SCHEDULEARN_CONTEXT="as-bella"), "mei")
        self.assertEqual(who(SCHEDULEARN_TOKEN=bella), "bella")
        self.assertEqual(who("--context", "as-mei", SCHEDULEARN_TOKEN=bella), "mei")
        self.assertEqual(who("--context", "as-mei", SCHEDULEARN_URL="http://127.0.0.1:1"), "mei")
        self.assertIn("bad-flag", self.cli("whoami", "--context", "as-mei", "--url", self.lab.url, status=2).stderr)
        refused = self.cli("whoami", "--context", "as-nobody", status=3).stderr
        self.assertIn("no-such-context", refused)
        self.assertIn("as-bella, as-mei", refused)
        self.assertIn("controller-unreachable", self.cli("whoami", "--context", "local", "--timeout", "2s", status=6).stderr)

    def test_a_token_is_sent_to_its_address_and_to_no_other(self):
        self.cli("login", self.lab.url, "--name", "lab", given=self.add("mei"))
        self.assertEqual(self.cli("whoami", "--plain", "--url", self.lab.url + "/").stdout.strip(), "mei")
        with socket.create_server(("127.0.0.1", 0)) as other:
            heard = []

            def listen():
                connection, _ = other.accept()
                with connection:
                    heard.append(connection.recv(65536).decode())
                    connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")

            listener = threading.Thread(target=listen)
            listener.start()
            self.cli("whoami", "--url", f"http://127.0.0.1:{other.getsockname()[1]}", status=1)
            listener.join()
        self.assertNotIn("slt_", heard[0])
        self.assertNotIn("authorization", heard[0].lower())


class Announcements(PeopleLab):
    def test_what_an_admin_tells_is_shown_to_all_until_it_is_over(self):
        lab = self.lab
        lab.cli("announce", "gpu3 is down on Friday", "--until", "2d")
        until(lambda: self.events("announcement"))
        self.assertEqual(self.events("announcement")[0]["text"], "gpu3 is down on Friday")
        viewer = self.add("vera", "viewer")
        self.assertEqual(self.ask(viewer, "GET", "/api/v1/announcements")[1]["items"][0]["text"], "gpu3 is down on Friday")
        self.assertEqual(self.code(self.add("mei"), "POST", "/api/v1/announcements", {"text": "buy"}), "role-needed")
        self.assertIn("gpu3 is down on Friday (root", lab.cli("announce").stdout)
        for command in (["status"], ["ls"], ["submit", "--hold", "--", "true"]):
            self.assertIn("gpu3 is down on Friday", lab.on_terminal(120, *command), command)
            self.assertNotIn("gpu3", lab.cli(*command).stderr, "only people are told")
        lab.kill(lab.controller)
        lab.start_controller()
        self.assertEqual(len(lab.get("/api/v1/announcements")["items"]), 1)
        status, _, text = lab.request("POST", "/api/v1/announcements", {"text": "soon over", "until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))})
        self.assertEqual(status, 201, text)
        until(lambda: [each["text"] for each in lab.get("/api/v1/announcements")["items"]] == ["gpu3 is down on Friday"])
        lab.cli("announce", "--clear")
        self.assertEqual(lab.get("/api/v1/announcements")["items"], [])
        self.assertNotIn("gpu3", lab.on_terminal(120, "status"))
        kinds = [line.split("\t")[2] for line in lab.cli("events", "--about", "announcement", "--plain").stdout.splitlines()]
        self.assertEqual((kinds[0], kinds[-1]), ("announcement", "announcement.removed"))

    def test_what_is_no_announcement_is_refused(self):
        for body, pointer in (({"text": ""}, "/text"), ({"text": "a\nb"}, "/text"), ({"text": "x" * 501}, "/text"), ({"text": "x", "until": "2020-01-01T00:00:00Z"}, "/until"), ({"text": "x", "until": "soon"}, "/until")):
            status, _, text = self.lab.request("POST", "/api/v1/announcements", body)
            self.assertEqual((status, json.loads(text)["errors"][0]["pointer"]), (422, pointer), body)
        self.assertEqual(self.lab.request("DELETE", "/api/v1/announcements/none")[0], 404)


if __name__ == "__main__":
    unittest.main()
