#!/usr/bin/python3
"""Ports that jobs publish, reached through the controller's: HTTP in both directions, WebSockets, bounds, who may."""

import hashlib
import http.client
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab import Lab, LabTest, until
from original_test import WebSocket

# What a notebook does, in small: answers with what it was asked, takes bodies, streams, speaks WebSocket.
SERVER = r'''
import base64, hashlib, http.server, os, socketserver, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, body, **headers):
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.path.startswith("/echo"):
            return self.answer((self.path + "\n" + "".join(f"{n}: {v}\n" for n, v in self.headers.items())).encode(),
                Set_Cookie="visits=1; Path=/; HttpOnly", Service_Worker_Allowed="/")
        if self.path == "/moved":
            self.send_response(302); self.send_header("Location", "/echo/there"); self.send_header("Content-Length", "0"); return self.end_headers()
        if self.path == "/endless":
            self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
            block = b"x" * 65536
            while True:
                self.wfile.write(b"10000\r\n" + block + b"\r\n")
        if self.path.startswith("/large/"):
            left = int(self.path[7:])
            self.send_response(200); self.send_header("Content-Length", str(left)); self.end_headers()
            while left:
                piece = b"y" * min(left, 65536); self.wfile.write(piece); left -= len(piece)
            return
        if self.path == "/cut":
            self.send_response(200); self.send_header("Content-Length", "1000"); self.end_headers()
            self.wfile.write(b"only this"); self.close_connection = True; return
        if self.path == "/ws":
            key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_response(101); self.send_header("Upgrade", "websocket"); self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()); self.end_headers()
            for word in (b"one", b"two"):
                self.wfile.write(bytes((0x81, len(word))) + word)
            self.wfile.write(b"\x88\x05\x03\xe8end"); self.wfile.flush(); self.close_connection = True; time.sleep(0.2); return
        self.send_error(404)
    do_HEAD = do_GET
    def do_POST(self):
        digest = hashlib.sha256(); length = self.headers["Content-Length"]
        if length is None:
            while size := int(self.rfile.readline(), 16):
                digest.update(self.rfile.read(size)); self.rfile.read(2)
            self.rfile.read(2)
        else:
            left = int(length)
            while left:
                piece = self.rfile.read(min(left, 65536)); digest.update(piece); left -= len(piece)
        self.answer(digest.hexdigest().encode())
    def log_message(self, *_): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True; request_queue_size = 64
Server(("127.0.0.1", int(os.environ["SCHEDULEARN_PORT_WEB"])), Handler).serve_forever()
'''


class PortsTest(LabTest):
    def serve(self, **ports):
        (self.lab.folder / "server.py").write_text(SERVER)
        job = self.lab.submit("exec /usr/bin/python3 server.py", ports=ports or {"web": 0})
        until(lambda: self.lab.job(job)["state"] == "running")
        until(lambda: self.lab.request("GET", f"/jobs/{job}/proxy/web/echo")[0] == 200, what="its server")
        return job

    def problem(self, path, **more):
        status, _, text = self.lab.request("GET", path, **more)
        self.assertEqual(status, json.loads(text)["status"])
        return status, json.loads(text)["code"]

    def memory_kib(self, daemon):
        return int(next(line for line in pathlib.Path(f"/proc/{daemon.pid}/status").read_text().splitlines() if line.startswith("VmRSS")).split()[1])

    def test_requests_reach_the_job_with_what_it_may_see(self):
        job = self.serve()
        status, headers, text = self.lab.request("GET", f"/jobs/{job}/proxy/web/echo/a%20b?c=d%2Fe", headers={
            "Authorization": "token of-the-notebook", "X-Schedulearn-User": "root", "Cookie": "visits=0", "X-Forwarded-Prefix": "/lie"})
        self.assertEqual((status, text.splitlines()[0]), (200, "/echo/a%20b?c=d%2Fe"))
        seen = dict(line.split(": ", 1) for line in text.splitlines()[1:])
        seen = {name.lower(): value for name, value in seen.items()}
        self.assertEqual(seen["authorization"], "token of-the-notebook")
        self.assertEqual(seen["cookie"], "visits=0")
        self.assertEqual(seen["host"], f"127.0.0.1:{self.lab.port}")
        self.assertEqual(seen["x-forwarded-prefix"], f"/jobs/{job}/proxy/web")
        self.assertEqual(headers["Set-Cookie"], f"visits=1; HttpOnly; Path=/jobs/{job}/proxy/web/")
        self.assertIsNone(headers["Service-Worker-Allowed"])
        self.assertIn(f"/jobs/{job}/proxy/web/", self.lab.cli("show", job).stdout)

    def test_links_to_its_top_lead_back_to_it(self):
        job = self.serve()
        connection = http.client.HTTPConnection("127.0.0.1", self.lab.port)
        connection.request("GET", f"/jobs/{job}/proxy/web/moved")
        self.assertEqual(connection.getresponse().headers["Location"], f"/jobs/{job}/proxy/web/echo/there")
        connection = http.client.HTTPConnection("127.0.0.1", self.lab.port)
        connection.request("GET", f"/jobs/{job}/proxy/web?a=b")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.headers["Location"]), (308, f"/jobs/{job}/proxy/web/?a=b"))

    def test_a_job_that_wants_whole_paths_gets_them(self):
        job = self.lab.submit(["/usr/bin/python3", "-c", SERVER.replace('startswith("/echo")', 'startswith(os.environ["SCHEDULEARN_PATH_WEB"])')], ports={"web": {"port": 0, "keep_path": True}})
        text = until(lambda: (self.lab.try_get(f"/api/v1/jobs/{job}") or {}).get("state") == "running" and self.lab.request("GET", f"/jobs/{job}/proxy/web/tree")[2])
        until(lambda: self.lab.request("GET", f"/jobs/{job}/proxy/web/tree")[0] == 200)
        text = self.lab.request("GET", f"/jobs/{job}/proxy/web/tree")[2]
        self.assertTrue(text.startswith(f"/jobs/{job}/proxy/web/tree\n"), text)

    def test_bodies_arrive_whole_in_either_form(self):
        job = self.serve()
        body = os.urandom(3_000_000)  # more than the API takes
        for chunked in (False, True):
            connection = http.client.HTTPConnection("127.0.0.1", self.lab.port, timeout=60)
            pieces = (body[at:at + 100_000] for at in range(0, len(body), 100_000))
            connection.request("POST", f"/jobs/{job}/proxy/web/", pieces if chunked else body, encode_chunked=chunked, headers={"Transfer-Encoding": "chunked"} if chunked else {})
            self.assertEqual(connection.getresponse().read().decode(), hashlib.sha256(body).hexdigest())

    def test_websockets_and_streams_pass(self):
        job = self.serve()
        socket_ = WebSocket(self.lab.port, f"/jobs/{job}/proxy/web/ws")
        self.assertEqual(socket_.status, 101)
        self.assertEqual(list(socket_.frames()), ["one", "two"])
        before = self.memory_kib(self.lab.controller)
        status, _, text = self.lab.request("GET", f"/jobs/{job}/proxy/web/large/100000000")
        self.assertEqual((status, len(text)), (200, 100_000_000))
        self.assertLess(self.memory_kib(self.lab.controller) - before, 20_000)
        connection = http.client.HTTPConnection("127.0.0.1", self.lab.port)
        connection.request("GET", f"/jobs/{job}/proxy/web/cut")
        with self.assertRaises(http.client.IncompleteRead):
            connection.getresponse().read()

    def test_a_reader_that_never_reads_costs_nothing(self):
        job = self.serve()
        before = self.memory_kib(self.lab.controller), self.memory_kib(self.lab.agent)
        readers = []
        for _ in range(10):
            reader = socket.create_connection(("127.0.0.1", self.lab.port))
            reader.sendall(f"GET /jobs/{job}/proxy/web/endless HTTP/1.1\r\nHost: 127.0.0.1:{self.lab.port}\r\n\r\n".encode())
            readers.append(reader)
        for reader in readers:
            self.assertTrue(reader.recv(100))
        until(lambda: self.lab.get("/api/v1/jobs")["items"], what="an answer beside them")
        begin = time.monotonic()
        self.assertEqual(self.lab.request("GET", f"/jobs/{job}/proxy/web/echo")[0], 200)
        self.assertLess(time.monotonic() - begin, 5)
        after = self.memory_kib(self.lab.controller), self.memory_kib(self.lab.agent)
        for daemon, (old, new) in zip(("controller", "agent"), zip(before, after)):
            self.assertLess(new - old, 20_000, daemon)
        for reader in readers:
            reader.close()

    def test_nothing_follows_a_request_on_its_connection(self):
        job = self.serve()
        client = socket.create_connection(("127.0.0.1", self.lab.port), timeout=30)
        own = f"Host: 127.0.0.1:{self.lab.port}\r\n"
        client.sendall(f"GET /jobs/{job}/proxy/web/echo/first HTTP/1.1\r\n{own}\r\nGET /echo/smuggled HTTP/1.1\r\n{own}\r\n".encode())
        text = b""
        while piece := client.recv(65536):
            text += piece
        self.assertEqual(text.count(b"HTTP/1.1 200"), 1)
        self.assertIn(b"/echo/first", text)
        self.assertNotIn(b"smuggled", text)
        self.assertIn(b"Connection: close", text)
        for framing in ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 4\r\nContent-Length: 5\r\n"):
            client = socket.create_connection(("127.0.0.1", self.lab.port), timeout=30)
            client.sendall(f"POST /jobs/{job}/proxy/web/ HTTP/1.1\r\n{own}{framing}\r\n0\r\n\r\n".encode())
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 400"))

    def test_what_cannot_be_reached_is_said(self):
        silent = self.lab.submit("sleep 86.7123", ports={"web": 0})
        until(lambda: self.lab.job(silent)["state"] == "running")
        self.assertEqual(self.problem(f"/jobs/{silent}/proxy/web/"), (502, "port-closed"))
        self.assertEqual(self.problem(f"/jobs/{silent}/proxy/nothing/"), (404, "no-such-port"))
        self.assertEqual(self.problem("/jobs/999/proxy/web/"), (404, "job-not-found"))
        self.lab.cli("cancel", silent)
        self.lab.finished(silent)
        self.assertEqual(self.problem(f"/jobs/{silent}/proxy/web/"), (409, "job-not-running"))
        deaf = self.lab.submit(["/usr/bin/python3", "-c", "import os,socket\ns=socket.create_server(('127.0.0.1',int(os.environ['SCHEDULEARN_PORT_WEB'])))\nwhile True: s.accept()[0].sendall(b'SSH-2.0-x\\r\\n')"], ports={"web": 0})
        until(lambda: self.lab.job(deaf)["state"] == "running")
        until(lambda: "does not speak HTTP" in self.lab.request("GET", f"/jobs/{deaf}/proxy/web/")[2])
        self.assertEqual(self.problem(f"/jobs/{deaf}/proxy/web/"), (502, "port-closed"))
        status, code = self.problem(f"/jobs/{deaf}/proxy/web/", headers={"Origin": "http://evil.example"})
        self.assertEqual((status, code), (403, "foreign-origin"))

    def test_a_port_that_somebody_has_fails_the_job(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            job = self.lab.submit("sleep 86.7124", ports={"web": port})
            failure = self.lab.finished(job)["failure"]
        self.assertEqual(failure["kind"], "setup")
        self.assertIn(f"port {port} (web) is in use", failure["message"])
        first = self.lab.submit("sleep 86.7125", ports={"web": port})  # free again, and published before it listens
        until(lambda: self.lab.job(first)["state"] == "running")
        second = self.lab.submit("sleep 86.7126", ports={"web": port})
        self.assertEqual(self.lab.finished(second)["failure"]["kind"], "setup")
        for bad in ({"web": 80}, {"web": 70000}, {"a/b": 0}, {"web": "x"}, {"web": 5000, "two": 5000}, {"web": {"prot": 1}}):
            self.assertGreaterEqual(self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", "ports": bad})[0], 400, bad)

    def test_daemons_that_die_leave_it_usable(self):
        job = self.serve()
        self.lab.kill(self.lab.agent)
        self.assertIn(self.problem(f"/jobs/{job}/proxy/web/echo"), [(503, "server-unreachable")])
        self.lab.start_agent()
        until(lambda: self.lab.request("GET", f"/jobs/{job}/proxy/web/echo")[0] == 200, what="the port after a new agent")
        client = socket.create_connection(("127.0.0.1", self.lab.port), timeout=30)
        client.sendall(f"GET /jobs/{job}/proxy/web/endless HTTP/1.1\r\nHost: 127.0.0.1:{self.lab.port}\r\n\r\n".encode())
        self.assertTrue(client.recv(100))
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        until(lambda: self.lab.request("GET", f"/jobs/{job}/proxy/web/echo")[0] == 200, what="the port after a new controller")
        self.lab.agent.send_signal(signal.SIGSTOP)
        waiting = threading.Thread(target=lambda: self.lab.request("GET", f"/jobs/{job}/proxy/web/echo"))
        waiting.start()
        self.assertEqual(self.lab.request("GET", "/api/v1/jobs")[0], 200)
        self.lab.agent.send_signal(signal.SIGCONT)
        waiting.join(40)
        self.assertFalse(waiting.is_alive())


if __name__ == "__main__":
    unittest.main()
