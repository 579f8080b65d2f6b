#!/usr/bin/python3
"""Notifications: through webhooks, Slack and e-mail, to receivers that work and others, across the death of the controller."""

import base64
import email
import email.policy
import hmac
import http.server
import json
import os
import pathlib
import socketserver
import ssl
import subprocess
import threading
import time
import unittest

from lab import PROGRAM, Lab, free_port, until

KEY = "signing-key-4b1f77"
PASSWORD = "mail-password-93ad1c"
HOOK_PATH = "/services/T0/secret-path-8c21"


class Receiver(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Remembers every POST; answers with the next of `answers`, the last one over and over."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *answers, port=0):
        self.answers, self.posts = list(answers) or [200], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.posts.append((self.path, dict(self.headers), body))
                answer = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                if callable(answer):
                    return answer(self)
                self.send_response(answer)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class MailServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """As much of SMTP as a client needs; keeps the mails, and as whom the client logged in. `tls`: with this context, at
    once or (`starts_tls`) once the client asks for it; then logins in clear text are refused."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, refuses=b"", tls=None, starts_tls=False):
        self.mails, self.logins, self.clear_logins = [], [], 0
        server = self

        class Session(socketserver.StreamRequestHandler):
            def encrypt(self):
                self.request = self.connection = tls.wrap_socket(self.request, server_side=True)
                self.rfile, self.wfile = self.request.makefile("rb", -1), self.request.makefile("wb", 0)

            def handle(self):
                try:
                    if tls and not starts_tls:
                        self.encrypt()
                    self.talk()
                except (ssl.SSLError, ConnectionError):
                    pass  # the client does not trust us

            def talk(self):
                self.wfile.write(b"220 test\r\n")
                sender, receivers = b"", []
                while line := self.rfile.readline():
                    word = line.split(b" ")[0].strip().upper()
                    if refuses and line.upper().startswith(refuses):
                        self.wfile.write(b"550 no\r\n")
                    elif word == b"EHLO":
                        offers = b"250-STARTTLS\r\n" if starts_tls else b""
                        self.wfile.write(b"250-test\r\n" + offers + b"250 AUTH PLAIN\r\n")
                    elif word == b"STARTTLS":
                        self.wfile.write(b"220 go\r\n")
                        self.encrypt()
                    elif word == b"AUTH":
                        server.clear_logins += not isinstance(self.connection, ssl.SSLSocket)
                        secret = line.split()[2] if len(line.split()) > 2 else (self.wfile.write(b"334 \r\n"), self.rfile.readline())[1]
                        server.logins.append(base64.b64decode(secret).split(b"\0")[1:])
                        self.wfile.write(b"235 ok\r\n")
                    elif word == b"MAIL":
                        sender = line
                        self.wfile.write(b"250 ok\r\n")
                    elif word == b"RCPT":
                        receivers.append(line.split(b"<")[1].split(b">")[0].decode())
                        self.wfile.write(b"250 ok\r\n")
                    elif word == b"DATA":
                        self.wfile.write(b"354 go\r\n")
                        lines = []
                        while (text := self.rfile.readline()) not in (b".\r\n", b""):
                            lines.append(text)
                        server.mails.append((sender, receivers, email.message_from_bytes(b"".join(lines), policy=email.policy.default)))
                        self.wfile.write(b"250 ok\r\n")
                    elif word == b"QUIT":
                        self.wfile.write(b"221 bye\r\n")
                        return
                    else:
                        self.wfile.write(b"250 ok\r\n")

        super().__init__(("127.0.0.1", 0), Session)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class NotifyTest(unittest.TestCase):
    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.__exit__)
        self.lab.start_controller("--notify-allow", "127.0.0.1")
        self.lab.start_agent()

    def receiver(self, *answers, port=0):
        made = Receiver(*answers, port=port)
        self.addCleanup(made.stop)
        return made

    def secret(self, name, value):
        environment = {**os.environ, "SCHEDULEARN_URL": self.lab.url}
        subprocess.run([PROGRAM, "secret", "set", name], input=value, text=True, capture_output=True, env=environment, check=True)

    def add_hook(self, url, *more, name="hook"):
        self.secret("key", KEY)
        self.lab.cli("notify", "add", name, "--webhook", url, "--secret", "key", *more)

    def restart(self):
        self.lab.kill(self.lab.controller)
        self.lab.start_controller("--notify-allow", "127.0.0.1")

    def log(self):
        return self.lab.get("/api/v1/notifications/deliveries")["items"]

    def check_signature(self, headers, body):
        signed = hmac.new(KEY.encode(), headers["X-Schedulearn-Timestamp"].encode() + b"." + body, "sha256").hexdigest()
        self.assertEqual(headers["X-Schedulearn-Signature"], "v1=" + signed)
        self.assertLess(abs(time.time() - int(headers["X-Schedulearn-Timestamp"])), 60)

    # ---- what users do ----
    def test_a_webhook_is_told_of_a_job_that_asked_for_it(self):
        receiver = self.receiver()
        self.add_hook(receiver.url + "/hook")
        quiet = self.lab.submit("exit 3")
        self.lab.finished(quiet)
        job = int(self.lab.cli("submit", "-q", "--name", "loud", "--notify", "started,failed=hook", "--", "bash", "-c", "exit 3").stdout)
        self.lab.finished(job)
        until(lambda: len(receiver.posts) == 2, what="two messages")
        events = []
        for path, headers, body in receiver.posts:
            self.check_signature(headers, body)
            self.assertEqual(path, "/hook")
            notice = json.loads(body)
            self.assertEqual(headers["X-Schedulearn-Delivery"], notice["id"])
            self.assertEqual((notice["job"]["id"], notice["job"]["name"]), (job, "loud"))
            events.append(notice["event"])
        self.assertEqual(sorted(events), ["failed", "started"])
        failed = next(json.loads(body) for _, _, body in receiver.posts if b'"failed"' in body and json.loads(body)["event"] == "failed")
        self.assertEqual((failed["job"]["state"], failed["job"]["exit_code"]), ("failed", 3))
        self.assertRegex(failed["text"], rf"^Job {job} loud has failed after \d+ s: .*3")
        log = until(lambda: [line for line in self.lab.cli("notify", "log").stdout.splitlines() if "delivered" in line][1:], what="the log")
        self.assertIn("hook", log[0])
        self.assertIn("hook when started, failed", self.lab.cli("show", job).stdout)

    def test_an_array_is_told_of_once(self):
        receiver = self.receiver()
        self.add_hook(receiver.url, "--on", "finished")
        group = int(self.lab.cli("submit", "-q", "--array", "0-2", "--", "true").stdout)
        self.lab.finished(group)
        last = self.lab.submit("true")
        self.lab.finished(last)
        until(lambda: len(receiver.posts) >= 2, what="two messages")
        self.assertEqual([json.loads(body)["job"]["id"] for _, _, body in receiver.posts], [group, last])

    def logged_in(self, server):
        """Once, or more often where the server was slow: a message whose arrival is not certain is sent again."""
        self.assertEqual({tuple(login) for login in server.logins}, {(b"robot", PASSWORD.encode())})

    def test_slack_and_mail(self):
        receiver, server = self.receiver(), MailServer()
        self.addCleanup(server.stop)
        self.secret("slack-url", receiver.url + HOOK_PATH + "\n")
        self.secret("mail-password", PASSWORD)
        self.lab.cli("notify", "add", "team", "--slack", "--secret", "slack-url", "--room", "#vision")
        self.lab.cli("notify", "add", "me", "--mail", "mei@lab.example", "--server", f"smtp://127.0.0.1:{server.port}",
                     "--login", "robot", "--secret", "mail-password", "--from", "robot@lab.example")
        job = int(self.lab.cli("submit", "-q", "--name", "träin <!channel>", "--notify", "team", "--notify", "finished=me:bella@lab.example", "--", "true").stdout)
        self.lab.finished(job)
        until(lambda: receiver.posts and server.mails, what="both messages")
        path, _, body = receiver.posts[0]
        self.assertEqual(path, HOOK_PATH)
        self.assertEqual(json.loads(body)["channel"], "#vision")
        self.assertIn("träin &lt;!channel&gt; has succeeded", json.loads(body)["text"])
        sender, receivers, mail = server.mails[0]
        self.assertIn(b"<robot@lab.example>", sender)
        self.assertEqual(receivers, ["bella@lab.example"])
        self.logged_in(server)
        self.assertIn("träin <!channel> has succeeded", mail["Subject"])
        self.assertIn(f"schedulearn show {job}", mail.get_content())
        self.assertIn("a test message has arrived", self.lab.cli("notify", "test", "me").stdout)
        self.assertEqual(server.mails[-1][1], ["mei@lab.example"])

    def test_mail_goes_encrypted_to_a_server_that_is_trusted(self):
        folder = self.lab.folder
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "ca.pem"],
                       capture_output=True, check=True)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
        servers = {"smtps": MailServer(tls=context), "smtp": MailServer(tls=context, starts_tls=True)}
        self.secret("mail-password", PASSWORD)
        for scheme, server in servers.items():
            self.addCleanup(server.stop)
            self.lab.cli("notify", "add", scheme, "--mail", "mei@lab.example", "--server", f"{scheme}://127.0.0.1:{server.port}",
                         "--login", "robot", "--secret", "mail-password")
            said = self.lab.cli("notify", "test", scheme, check=False)
            self.assertEqual(said.returncode, 1, "nobody has said that it is to be trusted")
            self.assertIn("certificate", said.stderr)
            self.assertEqual((server.mails, server.logins), ([], []))
        self.lab.kill(self.lab.controller)
        self.lab.environment["SSL_CERT_FILE"] = str(folder / "ca.pem")
        self.lab.start_controller("--notify-allow", "127.0.0.1")
        for scheme, server in servers.items():
            self.assertIn("a test message has arrived", self.lab.cli("notify", "test", scheme).stdout)
            self.logged_in(server)
            self.assertEqual(server.clear_logins, 0, scheme)

    def test_a_test_says_what_is_wrong(self):
        receiver = self.receiver(500)
        self.add_hook(receiver.url)
        said = self.lab.cli("notify", "test", "hook", check=False)
        self.assertEqual((said.returncode, said.stderr), (1, "the test did not arrive at hook: it answered 500\n"))
        server = MailServer(refuses=b"RCPT")
        self.addCleanup(server.stop)
        self.lab.cli("notify", "add", "me", "--mail", "mei@lab.example", "--server", f"smtp://127.0.0.1:{server.port}")
        said = self.lab.cli("notify", "test", "me", check=False)
        self.assertEqual(said.returncode, 1)
        self.assertIn("550", said.stderr)

    def test_secrets_are_in_no_file_answer_or_command_line(self):
        receiver = self.receiver(500)
        self.secret("slack-url", receiver.url + HOOK_PATH)
        self.secret("mail-password", PASSWORD)
        self.add_hook(receiver.url, "--on", "finished")
        self.lab.cli("notify", "add", "team", "--slack", "--secret", "slack-url", "--on", "finished")
        self.lab.cli("notify", "add", "me", "--mail", "mei@lab.example", "--server", f"smtp://127.0.0.1:{free_port()}",
                     "--login", "robot", "--secret", "mail-password", "--on", "finished")
        job = self.lab.submit("true")
        self.lab.finished(job)
        until(lambda: len([one for one in self.log() if one["tries"] >= 1]) == 3, what="three tries")
        texts = [self.lab.request("GET", "/api/v1" + path)[2] for path in ("/notifications/channels", "/notifications/deliveries", f"/jobs/{job}", "/events", "/secrets")]
        for value in (KEY, PASSWORD, HOOK_PATH):
            forms = (value.encode(), base64.b64encode(value.encode())[:16])
            for text in texts:
                self.assertNotIn(value, text)
            found = [str(path) for path in pathlib.Path(self.lab.folder).rglob("*") if path.is_file() and any(form in path.read_bytes() for form in forms)]
            self.assertEqual(found, [])

    # ---- receivers that fail, controllers that die ----
    def test_a_receiver_that_is_away_is_told_when_it_is_back_by_another_controller(self):
        port = free_port()
        self.add_hook(f"http://127.0.0.1:{port}", "--on", "succeeded")
        job = self.lab.submit("true")
        self.lab.finished(job)
        until(lambda: self.log() and self.log()[0]["tries"] >= 1, what="a try")
        waiting = self.log()[0]
        self.assertEqual((waiting["state"], waiting["why"]), ("waiting", "it cannot be connected to"))
        self.restart()
        self.assertEqual([one["id"] for one in self.log()], [waiting["id"]])
        receiver = self.receiver(port=port)
        until(lambda: receiver.posts, what="the message")
        _, headers, body = receiver.posts[0]
        self.check_signature(headers, body)
        self.assertEqual(json.loads(body)["id"], waiting["id"])
        until(lambda: self.log()[0]["state"] == "delivered", what="the log")

    def test_each_event_is_told_although_controllers_are_killed(self):
        receiver = self.receiver()
        self.add_hook(receiver.url, "--on", "succeeded")
        jobs = []
        for _ in range(6):
            jobs += [self.lab.submit("true") for _ in range(5)]
            until(lambda: self.lab.job(jobs[-1])["state"] == "succeeded", what="the end of the last job")
            self.restart()  # at any moment between an event and the confirmation of its delivery
        for job in jobs:
            self.lab.finished(job)
        told = {}

        def all_told():
            for _, _, body in list(receiver.posts):
                notice = json.loads(body)
                told.setdefault(notice["job"]["id"], set()).add(notice["id"])
            return set(told) == set(jobs)

        until(all_told, what="a message about each job")
        self.assertEqual({len(ids) for ids in told.values()}, {1}, "what is told again has the same id")

    def test_receivers_that_hang_or_never_stop_delay_nobody(self):
        def hang(handler):
            time.sleep(60)

        def endless(handler):
            handler.send_response(200)
            handler.end_headers()
            try:
                while True:
                    handler.wfile.write(b"x" * 65536)
            except OSError:
                pass

        for name, answer in (("hangs", hang), ("endless", endless), ("good", 200)):
            self.add_hook(self.receiver(answer).url, "--on", "finished", name=name)
        began = time.monotonic()
        jobs = [self.lab.submit("true") for _ in range(4)]
        for job in jobs:
            self.lab.finished(job)

        def told(channel):
            return len([one for one in self.log() if one["channel"] == channel and one["state"] == "delivered"])

        until(lambda: told("good") == 4 and told("endless") == 4, limit_s=10, what="messages to the others")
        self.assertEqual(told("hangs"), 0)
        self.assertLess(time.monotonic() - began, 12)
        self.assertLess(self.lab.get("/api/v1/cluster")["decisions"]["max_ms"], 1000)

    def test_it_goes_where_it_may_only(self):
        inside = self.receiver()
        moved = self.receiver(lambda handler: (handler.send_response(302), handler.send_header("Location", inside.url), handler.end_headers()))
        self.add_hook(moved.url)
        said = self.lab.cli("notify", "test", "hook", check=False)
        self.assertIn("redirects are not followed", said.stderr)
        self.assertEqual(inside.posts, [])
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()  # allows nothing any more
        said = self.lab.cli("notify", "test", "hook", check=False)
        self.assertEqual(said.returncode, 1)
        self.assertIn("127.0.0.1", said.stderr)
        self.assertEqual(len(moved.posts), 1)
        for url in ("http://127.0.0.1/", "http://localhost:9/", "http://169.254.169.254/latest", "http://[::1]/", "http://2130706433/"):
            said = self.lab.cli("notify", "add", "other", "--webhook", url, "--secret", "key", check=False)
            self.assertEqual(said.returncode, 4, url)
            self.assertIn("[host-not-allowed]", said.stderr)
        self.assertEqual([one["name"] for one in self.lab.get("/api/v1/notifications/channels")["items"]], ["hook"])

    def test_libcurl_is_loaded_by_the_first_message_only(self):
        def is_loaded():
            return "libcurl" in pathlib.Path(f"/proc/{self.lab.controller.pid}/maps").read_text()

        hook = self.receiver()
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.lab.finished(self.lab.submit("true"))
        self.assertFalse(is_loaded())
        self.restart()
        self.add_hook(hook.url)
        self.lab.cli("notify", "test", "hook")
        self.assertTrue(is_loaded())

    def test_without_libcurl_it_is_said_that_nothing_can_be_sent(self):
        self.secret("key", KEY)
        self.secret("room", "https://hooks.slack.example/services/T0")
        self.lab.kill(self.lab.controller)
        broken = self.lab.folder / "libraries"
        broken.mkdir()
        (broken / "libcurl.so.4").write_text("no library")
        self.lab.environment["LD_LIBRARY_PATH"] = str(broken)
        self.lab.start_controller()
        refused = self.lab.cli("notify", "add", "hook", "--webhook", "https://ci.lab.example/", "--secret", "key", check=False)
        self.assertEqual(refused.returncode, 6, refused.stderr)
        self.assertIn("[no-libcurl]", refused.stderr)
        self.assertIn("libcurl4", refused.stderr)
        self.lab.cli("notify", "add", "team", "--slack", "--secret", "room")
        self.lab.cli("submit", "--notify", "team", "--", "true")
        waiting = until(lambda: [one for one in self.log() if one["tries"] > 0], what="a try")[0]
        self.assertEqual(waiting["state"], "waiting")  # it is sent once the library is there
        self.assertIn("libcurl", waiting["why"])

    def test_bad_requests_change_nothing(self):
        self.secret("key", KEY)
        for words, code in ((("notify", "add", "a"), "bad-flag"), (("notify", "add", "a b", "--slack", "--secret", "key"), "bad-channel"),
                            (("notify", "add", "a", "--slack"), "bad-channel"), (("notify", "add", "a", "--slack", "--secret", "no"), "no-such-secret"),
                            (("notify", "add", "a", "--webhook", "https://mei:pw@ci.lab", "--secret", "key"), "bad-url"),
                            (("notify", "add", "a", "--slack", "--secret", "key", "--on", "exploded"), "bad-notify"),
                            (("notify", "test", "a"), "no-such-channel"), (("notify", "rm", "a"), "no-such-channel"),
                            (("submit", "--notify", "a", "--", "true"), "no-such-channel"), (("submit", "--notify", "exploded=a", "--", "true"), "bad-notify")):
            refused = self.lab.cli(*words, check=False)
            self.assertNotEqual(refused.returncode, 0, words)
            self.assertIn(f"[{code}]", refused.stderr, words)
        self.assertEqual((self.lab.jobs(), self.lab.get("/api/v1/notifications/channels")["items"], self.log()), ([], [], []))
        self.assertIn("No channels", self.lab.cli("notify", "ls").stdout)
        self.assertIn("Nothing was sent", self.lab.cli("notify", "log").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
