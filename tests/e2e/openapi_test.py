#!/usr/bin/python3
"""The OpenAPI document: every operation of it, with what it allows and with what it does not, against a living controller."""

import datetime
import json
import pathlib
import re
import shutil
import subprocess
import unittest
import urllib.parse

import jsonschema

from lab import LabTest, until

PROBLEM = "application/problem+json"
STREAMS = ("/api/v1/events/stream", "/api/v1/jobs/{id}/logs/stream")


def in_an_hour():
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Walk(LabTest):
    def setUp(self):
        super().setUp()
        self.document = self.lab.get("/api/v1/openapi.json")

    # ---- the document ----
    def operations(self):
        for path, verbs in self.document["paths"].items():
            for method, operation in verbs.items():
                yield method.upper(), path, operation

    def schema(self, schema):
        """The schema with every reference in it resolved against the document, and closed: no answer has keys that it does not name."""
        def closed(node):
            if isinstance(node, dict):
                node = {key: closed(value) for key, value in node.items()}
                if "properties" in node:
                    node.setdefault("additionalProperties", False)
            return [closed(each) for each in node] if isinstance(node, list) else node

        return {**closed(schema), "components": closed(self.document["components"])}

    def check(self, value, schema, what):
        validator = jsonschema.Draft202012Validator(self.schema(schema), format_checker=jsonschema.FormatChecker())
        faults = [f"{'/'.join(map(str, fault.path))}: {fault.message[:300]}" for fault in validator.iter_errors(value)]
        self.assertEqual(faults, [], what)

    def check_answer(self, method, path, operation, answer):
        status, headers, text = answer
        what = f"{method} {path}: {status} {text[:300]}"
        declared = operation["responses"].get(str(status), operation["responses"]["default"])
        kind = headers["Content-Type"].split(";")[0]
        self.assertIn(kind, declared["content"], what)
        if kind.endswith("json"):
            self.check(json.loads(text), declared["content"][kind]["schema"], what)
        if status >= 400:
            self.assertIn("default", operation["responses"], what)
            self.assertNotEqual(status, 500, what)
            self.assertTrue(json.loads(text)["code"] and json.loads(text)["detail"], what)

    def test_the_document_is_one(self):
        self.assertEqual(self.document["openapi"], "3.1.0")
        named = set(self.document["components"]["schemas"])
        used = {name for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(self.document))}
        self.assertEqual(used, named, "schemas that are used, and those that are described")
        ids = [operation["operationId"] for _, _, operation in self.operations()]
        self.assertEqual(len(ids), len(set(ids)))
        for schema in self.document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        for method, path, operation in self.operations():
            self.assertEqual({p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}, set(re.findall(r"{(\w+)}", path)), path)
            self.assertTrue(operation["summary"], path)
        listed = {(row["method"], row["path"]) for row in self.lab.get("/api/v1")["items"]}
        self.assertEqual(listed, {(method, path) for method, path, _ in self.operations()})

    @unittest.skipUnless(shutil.which("node"), "there is no Node.js")
    def test_the_types_of_the_web_page_are_made_from_it(self):
        web = pathlib.Path(__file__).resolve().parents[2] / "web"
        made = subprocess.run(["node", web / "tools" / "types.mjs"], input=json.dumps(self.document), capture_output=True, text=True, check=True).stdout
        self.assertEqual(made, (web / "src" / "lib" / "api.ts").read_text(), "make it again: curl http://127.0.0.1:5000/api/v1/openapi.json | node web/tools/types.mjs > web/src/lib/api.ts")

    # ---- requests that are as the document says ----
    def world(self):
        """Something of everything, and what the words in braces stand for."""
        lab = self.lab
        lab.start_another_agent("second", 2)
        self.done = lab.submit("echo hello; echo world", name="walk-done")
        lab.finished(self.done)
        self.removable = lab.submit("true", name="walk-removable")
        lab.finished(self.removable)
        self.running = lab.submit("trap '' USR1; sleep 86.4041", name="walk-running", gpus=4, ports={"board": 0})
        until(lambda: lab.job(self.running)["state"] == "running")
        self.waiting = lab.submit("true", name="walk-waiting", gpus=4, labels={"a": "b"}, env={"K": "V"}, time_limit_s=600, array="0-3")
        profile = {"schedulearn_profile": 1, "family": "walk", "origin": "a test", "speeds": [{"gpus": 1, "steps_per_s": 2}]}
        status, _, text = lab.request("POST", "/api/v1/profiles", profile)
        self.assertEqual(status, 200, text)
        lab.request("PUT", "/api/v1/policy", {"name": "srtf"})
        self.assertLess(lab.request("PUT", "/api/v1/secrets/walk", b"a value")[0], 300)
        self.assertEqual(lab.request("POST", "/api/v1/users", {"name": "walk", "role": "viewer"})[0], 201)
        self.token = json.loads(lab.request("POST", "/api/v1/tokens", {"name": "walk", "expires_in_s": 600})[2])["id"]
        self.announcement = json.loads(lab.request("POST", "/api/v1/announcements", {"text": "a walk", "until": "2100-01-01T00:00:00Z"})[2])["id"]
        self.profile = profile
        uploaded = lab.request("POST", "/api/v1/traces?name=walk", "job_id,submit_time_s,gpus,duration_s\n1,0,1,60\n", {"Content-Type": "text/csv"})
        self.assertEqual(uploaded[0], 200, uploaded[2])
        document = lab.get("/api/v1/openapi.json")
        self.check_answer("POST", "/api/v1/traces", document["paths"]["/api/v1/traces"]["post"], uploaded)
        wanted = {"trace": {"workload": "poisson", "parameters": {"jobs": 20}}, "servers": "2x4", "policies": [{"name": "tiresias", "parameters": {"promote_knob": [2, 8]}}]}
        self.simulation = json.loads(lab.request("POST", "/api/v1/simulations", wanted)[2])["id"]
        until(lambda: lab.get(f"/api/v1/simulations/{self.simulation}")["state"] == "succeeded")

    def good(self):
        """(method, path, body) of a request that succeeds, for every operation; in an order in which they all do."""
        waiting, running, done = self.waiting, self.running, self.done
        job = {"command": "true", "name": "walk", "gpus": 1}
        bodies = {
            ("POST", "/api/v1/jobs"): [("", job), ("?dry_run=true", job)],
            ("POST", "/api/v1/jobs/batch"): [("", {"jobs": [job, {**job, "gpus": 2}]})],
            ("GET", "/api/v1/jobs"): [("", None), ("?state=running,pending&limit=1", None), ("?fields=id,spec.gpus&q=walk", None), (f"?before={waiting}", None), ("?grouped=true", None), ("?sort=id&limit=1", None), ("?sort=-id", None), ("?server=lab&label=a=b&since=2026-01-01T00:00:00Z&until=2100-01-01T00:00:00Z", None)],
            ("GET", "/api/v1/events"): [("", None), ("?since=2026-01-01T00:00:00Z&until=2100-01-01T00:00:00Z&server=lab&limit=5", None)],
            ("GET", "/api/v1/jobs/{id}/attempts"): [(done, None), (f"{running}?limit=1", None), (waiting, None)],
            ("GET", "/api/v1/queue"): [("", None), ("?grouped=true", None), ("?user=nobody", None)],
            ("GET", "/api/v1/servers"): [("", None), ("?state=up&label=rack=a", None)],
            ("GET", "/api/v1/gpus"): [("", None), ("?server=lab&condition=allocated", None)],
            ("GET", "/api/v1/jobs/{id}/usage"): [(done, None), (running, None), (waiting, None)],
            ("GET", "/api/v1/jobs/{id}"): [(done, None), (running, None), (f"{waiting}?fresh_ms=200", None), (f"{waiting}_2", None)],
            ("PATCH", "/api/v1/jobs/{id}"): [(waiting, {"priority": 3, "labels": {"a": None, "c": "d"}}), (f"{waiting}?dry_run=true", {"priority": 4}), (f"{waiting}?dry_run=true", {"labels": {"c": "e"}}), (f"{waiting}?dry_run=true", {"notify": [{"to": "team", "on": []}]})],
            ("POST", "/api/v1/jobs/{id}/suspend"): [(f"{waiting}?dry_run=true", {}), (waiting, None)],
            ("POST", "/api/v1/jobs/{id}/resume"): [(waiting, {})],
            ("POST", "/api/v1/jobs/{id}/release"): [],  # needs a job that was held: see below
            ("POST", "/api/v1/jobs/{id}/migrate"): [],  # needs a checkpoint: interventions_test.py
            ("POST", "/api/v1/jobs/{id}/scale"): [],
            ("POST", "/api/v1/jobs/{id}/cancel"): [],   # last
            ("POST", "/api/v1/jobs/{id}/signal"): [(running, {"signal": "USR1"})],
            ("POST", "/api/v1/jobs/{id}/retry"): [(f"{done}?dry_run=true", None), (done, None)],
            ("GET", "/api/v1/jobs/{id}/files"): [(done, None)],
            ("GET", "/api/v1/jobs/{id}/metrics"): [(done, None), (f"{running}?hours=24", None), (waiting, None)],
            ("GET", "/api/v1/cluster/metrics"): [("", None), ("?hours=3", None), ("?by=server&hours=24", None)],
            ("GET", "/api/v1/doctor"): [("", None), ("?server=lab", None)],
            ("POST", "/api/v1/jobs/{id}/ports/{name}/session"): [(running, None)],
            ("GET", "/api/v1/servers/{name}/metrics"): [("lab", None)],
            ("PUT", "/api/v1/secrets/{name}"): [("walk", b"another value")],
            ("DELETE", "/api/v1/secrets/{name}"): [("walk", None)],
            ("PUT", "/api/v1/notifications/channels/{name}"): [("walk", {"kind": "slack", "secret": "walk", "on": ["failed"]})],
            ("POST", "/api/v1/notifications/channels/{name}/test"): [("walk", None), ("walk", {"to": "#room"})],
            ("GET", "/api/v1/notifications/deliveries"): [("", None), ("?channel=walk&limit=1", None)],
            ("DELETE", "/api/v1/notifications/channels/{name}"): [("walk", None)],
            ("GET", "/api/v1/snapshots/{id}"): [],  # need the code of a job: snapshot_test.py
            ("PUT", "/api/v1/snapshots/{id}"): [],
            ("GET", "/api/v1/jobs/{id}/diff"): [],
            ("GET", "/api/v1/jobs/{id}/explain"): [(done, None), (running, None), (waiting, None)],
            ("GET", "/api/v1/jobs/{id}/events"): [(done, None), (f"{done}?since=0&limit=2", None)],
            ("GET", "/api/v1/jobs/{id}/logs"): [(done, None), (f"{done}?tail=1", None)],
            ("GET", "/api/v1/servers/{name}"): [("lab", None)],
            ("POST", "/api/v1/servers"): [("", {"name": "third"}), ("", {"name": "fourth", "url": "http://lab:5000/", "expires_in_s": 60})],
            ("PATCH", "/api/v1/servers/{name}"): [("lab", {}), ("lab?dry_run=true", {"drained": True, "reason": "cleaning", "deadline": "2h", "migrate": True}), ("second", {"drained": True, "reason": "cleaning"}), ("second", {"reason": "still cleaning"}), ("second", {"drained": False})],
            ("DELETE", "/api/v1/servers/{name}"): [],  # needs one that is down: servers_test.py
            ("POST", "/api/v1/servers/{name}/lost"): [],  # takes the world away
            ("POST", "/api/v1/servers/{name}/drain"): [("lab?dry_run=true&reason=cleaning", None)],
            ("POST", "/api/v1/servers/{name}/undrain"): [],
            ("POST", "/api/v1/servers/{name}/release"): [],
            ("GET", "/api/v1/policies/{name}"): [("fifo", None), ("srtf", None)],
            ("PUT", "/api/v1/policy"): [("", {"name": "fifo", "parameters": {}})],
            ("PUT", "/api/v1/policy/planned"): [("", {"name": "sjf", "at": in_an_hour()})],
            ("PUT", "/api/v1/policy/shadow"): [("", {"name": "srtf"})],
            ("POST", "/api/v1/simulations"): [("", {"trace": {"workload": "poisson", "parameters": {"jobs": 20}}, "servers": "2x4", "policies": [{"name": "fifo", "parameters": {}}], "seeds": 2, "jobs": 10})],
            ("GET", "/api/v1/simulations/{id}"): [(str(self.simulation), None)],
            ("GET", "/api/v1/simulations/{id}/charts/{kind}"): [(f"{self.simulation}?theme=dark", None)],
            ("GET", "/api/v1/simulations/{id}/results"): [(str(self.simulation), None)],
            ("GET", "/api/v1/simulations/{id}/jobs"): [(f"{self.simulation}?result=0", None), (f"{self.simulation}?result=0&limit=2", None)],
            ("GET", "/api/v1/traces/{name}"): [("poisson", None), ("walk", None)],
            ("POST", "/api/v1/traces"): [],  # takes a file: traces_test.py
            ("DELETE", "/api/v1/traces/{name}"): [("walk", None)],
            ("GET", "/api/v1/traces/thesis/{name}"): [("keras-mnist", None)],
            ("DELETE", "/api/v1/simulations/{id}"): [(str(self.simulation), None)],
            ("POST", "/api/v1/policy/try"): [("", {"policies": [{"name": "srtf"}]}), ("", {"policies": [{"name": "sjf"}], "with_schedule": True}), ("", {"policies": [{"name": "sjf"}], "horizon_s": 3600})],
            ("POST", "/api/v1/policy/preview"): [("", {"policies": [{"name": "srtf"}]})],
            ("POST", "/api/v1/profiles"): [("", self.profile)],
            ("GET", "/api/v1/profiles/{family}"): [("walk", None)],
            ("DELETE", "/api/v1/profiles/{family}"): [("walk", None)],
            ("POST", "/api/v1/users"): [("", {"name": "another"})],
            ("PATCH", "/api/v1/users/{name}"): [("walk", {"role": "user"})],
            ("DELETE", "/api/v1/users/{name}"): [("walk", None)],
            ("GET", "/api/v1/tokens"): [("", None), ("?user=nobody-here", None)],
            ("POST", "/api/v1/tokens"): [("", {"name": "another", "user": "another", "role": "user", "expires_in_s": 60})],
            ("DELETE", "/api/v1/tokens/{id}"): [(self.token, None)],
            ("POST", "/api/v1/announcements"): [("", {"text": "another"})],
            ("DELETE", "/api/v1/announcements/{id}"): [(self.announcement, None)],
            ("POST", "/jobs"): [("", {"name": "old", "type": "pytorch", "command": "true", "required_gpus": 1})],
            ("GET", "/jobs/{id}"): [(done, None), (waiting, None)],
            ("DELETE", "/jobs/{id}"): [(done, None)],
            ("PUT", "/algorithm/{name}"): [("fifo", None)],
            ("POST", "/signin"): [("", {"email": "mei@lab.example", "password": (self.lab.folder / "controller" / "token").read_text().strip()})],
            ("GET", "/api/v1/estimates"): [("", None), ("?limit=1", None)],
            ("DELETE", "/api/v1/jobs/{id}"): [(self.removable, None)],
        }
        removals_last = sorted(self.operations(), key=lambda each: (each[0] == "DELETE", each[0] != "GET"))
        for method, path, operation in removals_last:
            if path in STREAMS:
                continue
            for detail, body in bodies.get((method, path), [("", None)]):
                name = re.search(r"{\w+}", path)
                word, _, query = str(detail).partition("?")
                address = path.replace(name.group(0), urllib.parse.quote(word)).replace("{kind}", "cdf").replace("{name}", "board") if name else path
                yield method, path, operation, address + ("?" + query if query else ""), body

    def test_every_answer_is_as_the_document_says(self):
        self.world()
        tried = set()
        for method, path, operation, address, body in self.good():
            answer = self.lab.request(method, address, body)
            self.assertLess(answer[0], 400, f"{method} {address}: {answer[2]}")
            self.check_answer(method, path, operation, answer)
            tried.add((method, path))
        untried = {(method, path) for method, path, _ in self.operations()} - tried
        self.assertEqual(untried - {("GET", path) for path in STREAMS}, {
            ("POST", "/api/v1/jobs/{id}/release"), ("POST", "/api/v1/jobs/{id}/migrate"), ("POST", "/api/v1/jobs/{id}/scale"), ("POST", "/api/v1/jobs/{id}/cancel"),
            ("DELETE", "/api/v1/servers/{name}"), ("POST", "/api/v1/servers/{name}/lost"), ("POST", "/api/v1/servers/{name}/undrain"), ("POST", "/api/v1/servers/{name}/release"),
            ("GET", "/api/v1/snapshots/{id}"), ("PUT", "/api/v1/snapshots/{id}"), ("GET", "/api/v1/jobs/{id}/diff"), ("POST", "/api/v1/traces")})
        cancel = self.document["paths"]["/api/v1/jobs/{id}/cancel"]["post"]
        self.check_answer("POST", "/api/v1/jobs/{id}/cancel", cancel, self.lab.request("POST", f"/api/v1/jobs/{self.running}/cancel", {"reason": "enough"}))

    # ---- requests that are not ----
    def wrong_values(self, schema):
        """Values that the schema does not allow."""
        for value in ("a text", -7.5, True, {"zzz": 1}, [[]]):
            if not jsonschema.Draft202012Validator(self.schema(schema)).is_valid(value):
                yield value

    def wrong_bodies(self, schema):
        resolved = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        yield "[1, 2", 400
        for value in ([], "text", 7):
            yield value if not isinstance(value, str) else json.dumps(value), 422
        yield {"no_such_key": 1}, 422
        for key, property in resolved.get("properties", {}).items():
            for value in self.wrong_values(property):
                yield {key: value}, 422

    def test_what_the_document_does_not_allow_is_refused_with_a_reason_and_changes_nothing(self):
        self.world()
        before = (len(self.lab.jobs()), self.lab.get("/api/v1/policy")["since"], self.lab.get("/api/v1/profiles"))
        stand_ins = {"{id}": str(self.waiting), "{name}": "lab", "{family}": "walk", "{kind}": "cdf"}
        for method, path, operation in self.operations():
            address = re.sub(r"{\w+}", lambda word: stand_ins[word.group(0)], path)

            def refuse(query, body, *allowed, headers=None):
                answer = self.lab.request(method, address + query, body, headers)
                what = f"{method} {address}{query} {json.dumps(body)[:200]}: {answer[0]} {answer[2][:300]}"
                self.assertIn(answer[0], allowed, what)
                self.check_answer(method, path, operation, answer)

            refuse("?no_such_parameter=1", None, 422)
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "query" and parameter["schema"]["type"] in ("integer", "boolean"):
                    refuse(f"?{parameter['name']}=wrong", None, 422)
            if "requestBody" in operation:
                for body, status in self.wrong_bodies(operation["requestBody"]["content"]["application/json"]["schema"]):
                    refuse("", body, status, *([409] if path.endswith(("suspend", "resume", "release", "migrate", "scale")) else []))
                refuse("", "{}", 415, 403, *([202, 409, 422] if not operation["requestBody"]["required"] or path.endswith("scale") else []), headers={"Content-Type": "text/plain"})
        after = (len(self.lab.jobs()), self.lab.get("/api/v1/policy")["since"], self.lab.get("/api/v1/profiles"))
        self.assertEqual(after, before)

    def test_what_is_not_there_is_404_and_other_verbs_are_405(self):
        for method, path, operation in self.operations():
            is_made_by_name = method == "PUT" or path == "/api/v1/snapshots/{id}"
            if "{" in path and not is_made_by_name:
                address = re.sub(r"{\w+}", "987654321", path)
                answer = self.lab.request(method, address, {"gpus": 1} if path.endswith("scale") else {"signal": "USR1"} if path.endswith("signal") else {"role": "user"} if path.startswith("/api/v1/users") else {} if method in ("POST", "PATCH") else None)
                self.assertEqual(answer[0], 404, f"{method} {address}: {answer[2]}")
                self.check_answer(method, path, operation, answer)
        for path, verbs in self.document["paths"].items():
            status, headers, _ = self.lab.request(next(verb for verb in ("DELETE", "PUT", "PATCH") if verb.lower() not in verbs), re.sub(r"{\w+}", "1", path))
            self.assertEqual(status, 405, path)
            self.assertEqual(set(headers["Allow"].lower().split(", ")), set(verbs), path)


class Pages(LabTest):
    def test_jobs_are_listed_from_either_end_and_a_cursor_is_of_one_order(self):
        lab = self.lab
        jobs = [lab.submit("true", hold=True) for _ in range(5)]
        array = lab.submit("true", hold=True, array="0-2")
        numbers = lambda query: [job["id"] for job in lab.get(f"/api/v1/jobs?{query}")["items"]]
        self.assertEqual(numbers("sort=id"), jobs + [array])
        self.assertEqual(numbers("sort=-id"), numbers(""))
        self.assertEqual(numbers(f"sort=id&before={jobs[3]}"), jobs[:3])
        for sort in ("id", "-id"):
            found, query = [], f"sort={sort}&limit=2"
            while query:
                page = lab.get(f"/api/v1/jobs?{query}")
                found += [job["id"] for job in page["items"]]
                query = page["next_cursor"] and f"sort={sort}&limit=2&cursor={page['next_cursor']}"
            self.assertEqual(found, numbers(f"sort={sort}"))
        cursors = {sort: lab.get(f"/api/v1/jobs?sort={sort}&limit=2")["next_cursor"] for sort in ("id", "-id")}
        for sort, other in (("id", "-id"), ("-id", "id")):
            status, _, text = lab.request("GET", f"/api/v1/jobs?sort={sort}&cursor={cursors[other]}")
            self.assertEqual((status, json.loads(text)["code"]), (422, "bad-cursor"), text)
        for query, code in (("jobs?sort=name", "bad-parameter"), ("jobs?sort=ID", "bad-parameter"), ("queue?sort=id", "unknown-parameter")):
            status, _, text = lab.request("GET", f"/api/v1/{query}")
            self.assertEqual((status, json.loads(text)["code"]), (422, code), text)

    def test_every_list_has_cursors_that_only_it_takes(self):
        lab = self.lab
        for i in range(5):
            lab.submit("true", hold=True, name=f"page-{i}")
        for policy in ("srtf", "fifo", "sjf"):
            lab.request("PUT", "/api/v1/policy", {"name": policy})
        for family in "abc":
            lab.request("POST", "/api/v1/profiles", {"schedulearn_profile": 1, "family": family, "origin": "a test", "speeds": [{"gpus": 1, "steps_per_s": 2}]})
        for name in "abc":
            lab.request("PUT", f"/api/v1/secrets/{name}", b"a value")
            lab.request("POST", "/api/v1/users", {"name": name})
            lab.request("POST", "/api/v1/tokens", {"name": name})
            lab.request("POST", "/api/v1/announcements", {"text": name})
            lab.request("PUT", f"/api/v1/notifications/channels/{name}", {"kind": "slack", "secret": name})
            lab.request("POST", f"/api/v1/notifications/channels/{name}/test")  # "a value" is no URL: it fails
        until(lambda: len(lab.get("/api/v1/notifications/deliveries")["items"]) == 3)
        for _ in range(2):
            lab.request("POST", "/api/v1/simulations", {"trace": {"workload": "poisson", "parameters": {"jobs": 5}}, "policies": [{"name": "fifo"}], "seeds": 2})
        until(lambda: all(each["finished_at"] for each in lab.get("/api/v1/simulations")["items"]))
        lab.start_another_agent("second", 2)
        document = lab.get("/api/v1/openapi.json")["paths"]
        lists = [path for path, verbs in document.items() if any(p["name"] == "cursor" for p in verbs.get("get", {}).get("parameters", []))]
        self.assertGreaterEqual(set(lists), {"/api/v1/jobs", "/api/v1/queue", "/api/v1/events", "/api/v1/servers", "/api/v1/gpus", "/api/v1/policies", "/api/v1/policy/history", "/api/v1/profiles", "/api/v1/jobs/{id}/events"})
        cursors = {}
        for path in lists:
            path = path.replace("{id}", "1")
            since = "&since=0" if path.endswith("events") else ""
            which = "&result=0" if path.endswith("simulations/1/jobs") else ""
            whole = lab.get(f"{path}?limit=10000{since}{which}")["items"]
            if path in ("/api/v1/queue", "/api/v1/estimates", "/api/v1/jobs/1/attempts"):  # what waits here is held, and nothing was foreseen of it
                continue
            self.assertTrue(whole, path)
            parts, cursor = [], None
            while len(parts) < len(whole):
                page = lab.get(f"{path}?limit=1{which}{since if cursor is None else ''}" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""))
                self.assertEqual(len(page["items"]), 1, path)
                parts += page["items"]
                cursor = page["next_cursor"]
                if cursor:
                    cursors.setdefault(path, cursor)
            moving = ("wait_s", "sampled_at", "last_contact_at", "memory_used_bytes", "cpu_utilization_pct", "gpus", "job_files_bytes", "disk_free_bytes", "estimate", "reason", "utilization_pct", "power_watts", "temperature_celsius")
            still = lambda items: [{key: value for key, value in item.items() if key not in moving} for item in items]
            self.assertEqual(still(parts), still(whole), path)
        self.assertEqual(len(cursors), len(lists) - 3, cursors)
        for path, cursor in cursors.items():
            for other in cursors:
                if other == path:
                    continue
                status, _, text = lab.request("GET", f"{other}?cursor={urllib.parse.quote(cursor)}")
                self.assertEqual((status, json.loads(text)["code"]), (422, "bad-cursor"), f"the cursor of {path} at {other}")
                self.assertTrue(json.loads(text)["hints"])

    def test_a_change_of_what_has_changed_meanwhile_is_refused(self):
        lab = self.lab
        job = lab.submit("true", hold=True, name="etag")
        for path, method, body, other in ((f"/api/v1/jobs/{job}", "PATCH", {"priority": 2}, {"priority": 3}), ("/api/v1/policy", "PUT", {"name": "srtf"}, {"name": "sjf"})):
            etag = lab.request("GET", path)[1]["ETag"]
            self.assertEqual(lab.request("GET", path)[1]["ETag"], etag, "an ETag lasts until something changes")
            status, headers, text = lab.request(method, path, body, {"If-Match": etag})
            self.assertLess(status, 300, text)
            now = lab.request("GET", path)[1]["ETag"]
            self.assertNotEqual(now, etag)
            if method == "PATCH":
                self.assertEqual(headers["ETag"], now)
            status, _, text = lab.request(method, path, other, {"If-Match": etag})
            self.assertEqual((status, json.loads(text)["code"]), (412, "stale-etag"))
            self.assertTrue(json.loads(text)["hints"])
            self.assertEqual(lab.request("GET", path)[1]["ETag"], now, "a refused change changes nothing")
            self.assertLess(lab.request(method, path, other, {"If-Match": f'"zzz", {now}'})[0], 300)
            self.assertLess(lab.request(method, path, body, {"If-Match": "*"})[0], 300)
        self.assertEqual(lab.job(job)["priority"], 2)

    def test_a_job_s_events_are_all_there_however_many_came_after(self):
        lab = self.lab
        old = lab.submit("true", name="old")
        lab.finished(old)
        until(lambda: lab.get(f"/api/v1/jobs/{old}/events")["items"][-1]["to"] == "succeeded", what="its last event in the database")
        first = lab.get(f"/api/v1/jobs/{old}/events")["items"]
        self.assertEqual([event["kind"] for event in first][:1] + [first[-1]["to"]], ["job.submitted", "succeeded"])
        noise = lab.submit("true", hold=True)
        for priority in range(400):
            lab.request("PATCH", f"/api/v1/jobs/{noise}", {"priority": priority})
        for _ in range(2):
            self.assertEqual(lab.get(f"/api/v1/jobs/{old}/events")["items"], first)
            lab.kill(lab.controller)
            lab.start_controller()
        self.assertGreater(lab.get("/api/v1/events")["items"][0]["seq"], first[-1]["seq"])

    def test_the_readable_form_needs_nothing_but_this_program(self):
        status, headers, page = self.lab.request("GET", "/api/docs")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotRegex(page, r"<script|style=|https?://|//[a-z]")
        for target in re.findall(r'(?:href|src)="([^#"][^"]*)"', page):
            self.assertEqual(self.lab.request("GET", urllib.parse.urljoin("/api/docs", target))[0], 200, target)
        for target in re.findall(r'href="#([^"]+)"', page):
            self.assertIn(f'id="{target}"', page)
        for path in self.lab.get("/api/v1/openapi.json")["paths"]:
            self.assertIn(path, page)


class Batches(LabTest):
    def post(self, jobs, headers=None):
        status, _, text = self.lab.request("POST", "/api/v1/jobs/batch", {"jobs": jobs}, headers)
        return status, json.loads(text)

    def test_all_jobs_of_a_batch_or_none(self):
        job = {"command": "true", "hold": True}
        status, answer = self.post([{**job, "name": f"b{i}"} for i in range(50)], {"Idempotency-Key": "batch-1"})
        self.assertEqual((status, [row["name"] for row in answer["items"]], answer["total"]), (201, [f"b{i}" for i in range(50)], 50))
        again, repeated = self.post([{**job, "name": f"b{i}"} for i in range(50)], {"Idempotency-Key": "batch-1"})
        self.assertEqual((again, [row["id"] for row in repeated["items"]]), (201, [row["id"] for row in answer["items"]]))
        for jobs, code, pointer in (([], "bad-batch", "/jobs"), ([job, {"command": ""}], "empty-command", "/jobs/1/command"), ([job, 5], "wrong-type", "/jobs/1"),
                                    ([job, job, {**job, "gpus": 99}], "gpus-unsatisfiable", "/jobs/2/gpus"), ([{**job, "after": [4711]}], "dependency-not-found", "/jobs/0/after"),
                                    ([{**job, "user": "x\ny"}], None, None), ([job] * 1001, "bad-batch", "/jobs")):
            status, problem = self.post(jobs)
            self.assertGreaterEqual(status, 400, problem)
            if code:
                self.assertEqual((problem["code"], problem["errors"][0]["pointer"]), (code, pointer), problem)
        status, problem = self.post([{**job, "name": f"c{i}"} for i in range(50)], {"Idempotency-Key": "batch-1"})
        self.assertEqual(status, 422, problem)
        self.assertEqual(self.lab.get("/api/v1/jobs?limit=1")["total"], 50)


class RequestLog(LabTest):
    def lines(self):
        return [line for line in (self.lab.folder / "controller.log").read_text().splitlines() if "request=" in line]

    def test_what_changes_something_or_is_refused_has_a_line_with_the_id_of_its_answer(self):
        lab = self.lab
        _, created, _ = lab.request("POST", "/api/v1/jobs", {"command": "secret-word", "env": {"KEY": "secret-word"}})
        _, read, _ = lab.request("GET", "/api/v1/jobs?q=secret-word")
        status, refused, text = lab.request("POST", "/api/v1/jobs", {"command": ""})
        self.assertEqual((status, json.loads(text)["request_id"]), (422, refused["X-Request-Id"]))
        status, foreign, _ = lab.request("POST", "/api/v1/jobs/1/cancel", {}, {"Origin": "http://evil.example"})
        self.assertEqual(status, 403)
        _, given, _ = lab.request("POST", "/api/v1/jobs/1%0Alevel=info%20request=forged/cancel", {}, {"X-Request-Id": "from-a-proxy.7"})
        self.assertEqual(given["X-Request-Id"], "from-a-proxy.7")
        ids = [answer["X-Request-Id"] for answer in (created, read, refused, foreign, given)]
        self.assertEqual(len(set(ids)), 5)
        until(lambda: len(self.lines()) >= 4)
        logged = self.lines()
        self.assertEqual([re.search(r" request=(\S+)", line)[1] for line in logged], [ids[0], ids[2], ids[3], ids[4]])
        self.assertRegex(logged[0], r'^\S+Z level=info request=\S+ user="\w+" method=POST path="/api/v1/jobs" status=201 took_ms=[\d.]+$')
        self.assertRegex(logged[1], r'level=warning .* status=422 .* code=empty-command detail="')
        self.assertIn("code=foreign-origin", logged[2])
        self.assertIn(r'path="/api/v1/jobs/1\nlevel=info request=forged/cancel"', logged[3])
        self.assertNotIn("secret-word", (lab.folder / "controller.log").read_text())


if __name__ == "__main__":
    unittest.main()
