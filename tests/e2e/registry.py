"""A registry of images for tests, as much of its API as engines need to fetch one; and a way to the engine on which things can be made to happen."""

import gzip
import hashlib
import http.server
import json
import platform
import re
import socketserver
import threading

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "test"

    def log_message(self, *_):
        pass

    def answer(self, status, content=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


class Registry:
    """Images by "name:tag" and "name@digest", made by push(). `away`: it hangs up on everybody."""

    def __init__(self, port):
        self.files, self.types, self.asked, self.away = {}, {}, [], False
        registry = self

        class Handler(Quiet):
            def do_GET(self):
                registry.asked.append(self.path)
                if registry.away:
                    self.close_connection = True
                    return
                content = b"{}" if self.path == "/v2/" else registry.files.get(self.path)
                if content is None:
                    return self.answer(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}', Content_Type="application/json")
                self.answer(200, content, Content_Type=registry.types.get(self.path, "application/octet-stream"), Docker_Content_Digest=digest_of(content), Docker_Distribution_Api_Version="registry/2.0")

            do_HEAD = do_GET

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # engines hang up

        self.name = f"127.0.0.1:{port}"
        self.server = Server(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def push(self, image, files, environment=(), config=None):
        """Its digest. `files`: a tar."""
        name, tag = image.split(":")
        layer = gzip.compress(files, 1, mtime=0)
        about = json.dumps({"architecture": {"aarch64": "arm64"}.get(platform.machine(), "amd64"), "os": "linux", "config": config or {"Env": list(environment)}, "rootfs": {"type": "layers", "diff_ids": [digest_of(files)]}, "history": [{"created_by": "test"}]}).encode()
        parts = {"config": ("application/vnd.docker.container.image.v1+json", about), "layer": ("application/vnd.docker.image.rootfs.diff.tar.gzip", layer)}
        described = {key: {"mediaType": kind, "size": len(content), "digest": digest_of(content)} for key, (kind, content) in parts.items()}
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": described["config"], "layers": [described["layer"]]}).encode()
        for _, content in parts.values():
            self.files[f"/v2/{name}/blobs/{digest_of(content)}"] = content
        for reference in (tag, digest_of(manifest)):
            self.files[f"/v2/{name}/manifests/{reference}"], self.types[f"/v2/{name}/manifests/{reference}"] = manifest, MANIFEST
        return digest_of(manifest)


class Way:
    """A socket that leads to an engine. Once expect() has been called, the next request that matches calls `happens` with its path: before the engine has it,
    or after the engine has answered, before that answer is passed on."""

    def __init__(self, engine, socket):
        self.engine, self.socket = engine, str(socket)
        self.expected = None
        way = self

        class Handler(Quiet):
            def pass_on(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size) if size else None
                try:
                    way.look("before", self.command, self.path)
                    status, text = way.engine.call(self.command, self.path, body, {"Content-Type": "application/json"} if body else {})
                    way.look("after", self.command, self.path)
                except OSError:
                    self.close_connection = True
                    return
                self.answer(status, text.encode(), Content_Type="application/json")

            do_GET = do_POST = do_DELETE = pass_on

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # who asked may be dead

        self.server = Server(self.socket, Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def expect(self, moment, method, path, happens):
        """The event that it has happened."""
        done = threading.Event()
        self.expected = (moment, method, path, happens, done)
        return done

    def look(self, moment, method, path):
        expected = self.expected
        if not expected or expected[:2] != (moment, method) or not re.search(expected[2], path):
            return
        self.expected = None
        expected[3](path)
        expected[4].set()
