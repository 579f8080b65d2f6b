#!/usr/bin/python3
"""Servers that fail jobs, and servers that are gone for good."""

import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import threading
import unittest

from lab import PROGRAM, Lab, LabTest, fill, small_disk, until


class FullDiskTest(unittest.TestCase):
    """Three servers with two GPUs each; the disk of one, a file system of its own, is full."""

    def setUp(self):
        self.lab = Lab(gpus=2)
        self.disk = small_disk(self, self.lab.folder / "small", "64m")
        self.addCleanup(self.lab.__exit__)
        self.lab.__enter__()
        for name in ("other", "small"):
            self.lab.start_another_agent(name, 2)

    def server(self, name):
        return self.lab.get(f"/api/v1/servers/{name}")

    def kinds(self):
        return [event["kind"] for event in self.lab.get("/api/v1/events?limit=1000")["items"]]

    def test_it_fails_no_job_and_takes_part_again_once_there_is_room(self):
        lab = self.lab
        fill(self.disk)
        jobs = [lab.submit("sleep 0.3") for _ in range(40)]
        self.assertEqual([lab.finished(job, 60)["state"] for job in jobs], ["succeeded"] * 40)
        self.assertNotIn("small", [lab.job(job)["placement"][0]["server"] for job in jobs])
        small = self.server("small")
        self.assertEqual(small["state"], "quarantined")
        self.assertIn("No space left on device", small["quarantine"]["reason"])
        self.assertIn("server.quarantined", self.kinds())
        self.assertIn("job.server_fault", self.kinds())
        status = lab.cli("status", check=False)
        self.assertEqual(status.returncode, 1)
        self.assertIn("quarantined until", status.stdout)
        self.assertIn("quarantined", lab.cli("gpus").stdout)

        lab.kill(lab.controller)  # it is not forgotten
        lab.start_controller()
        until(lambda: self.server("small")["state"] == "quarantined")

    def test_its_jobs_say_why_they_wait_and_an_admin_s_word_releases_it(self):
        lab = self.lab
        for agent in lab.more_agents[:1] + [lab.agent]:
            lab.kill(agent)
        until(lambda: self.server("lab")["state"] == self.server("other")["state"] == "down")
        fill(self.disk)
        job = lab.submit("true")
        until(lambda: self.server("small")["state"] == "quarantined")
        why = lab.cli("why", job).stdout
        self.assertIn("small is quarantined until", why)
        self.assertIn("No space left on device", why)
        self.assertEqual(lab.cli("servers", "release", "nowhere", check=False).returncode, 3)
        (self.disk / "filler").unlink()
        lab.cli("servers", "release", "small")
        self.assertEqual(lab.finished(job)["state"], "succeeded")
        self.assertEqual(self.server("small")["state"], "up")
        self.assertEqual(lab.cli("servers", "release", "small", check=False).returncode, 5)


class JoinTest(LabTest):
    def test_a_server_joins_once_and_its_agent_runs_from_then_on(self):
        lab, data = self.lab, self.lab.folder / "joined"
        refused = lab.cli("agent", "run", "--data", data, "--simulate", 1, check=False)
        self.assertEqual((refused.returncode, "[not-joined]" in refused.stderr), (3, True), refused.stderr)
        self.assertIn(f"schedulearn agent join URL --data {data}", refused.stderr)
        said = lab.cli("agent", "join", lab.url.removeprefix("http://") + "/", "--data", data, "--name", "new").stdout
        self.assertIn(f"schedulearn agent run --data {data}", said)
        self.assertEqual(json.loads((data / "joined.json").read_text()), {"url": lab.url, "name": "new", "token_file": ""})
        self.assertEqual([each.name for each in data.iterdir()], ["joined.json"], "no token is needed here, and none is kept")
        agent = lab._daemon("new", "agent", "run", "--data", str(data), "--simulate", "1")
        lab.more_agents.append(agent)
        until(lambda: (lab.try_get("/api/v1/servers/new") or {}).get("state") == "up")
        self.assertEqual(lab.cli("agent", "leave", "--data", data, check=False).returncode, 5, "its agent runs")
        self.assertTrue((data / "joined.json").exists())
        lab.kill(agent)
        until(lambda: lab.get("/api/v1/servers/new")["state"] == "down")
        lab.cli("agent", "leave", "--data", data)
        self.assertEqual(lab.request("GET", "/api/v1/servers/new")[0], 404)
        self.assertFalse((data / "joined.json").exists())
        self.assertEqual(lab.cli("agent", "leave", "--data", data, check=False).returncode, 3)

    def test_what_is_given_is_checked(self):
        lab, data = self.lab, self.lab.folder / "checked"

        def join(*words, said=""):
            environment = {**os.environ, "SCHEDULEARN_URL": lab.url, "NO_COLOR": "1"}
            return subprocess.run([PROGRAM, "agent", *map(str, words)], input=said, capture_output=True, text=True, env=environment, timeout=60)

        address = lab.url.removeprefix("http://")
        for words, code in ((("join", address, "--name", "rack/1"), "server-name"), (("run", "--join", address, "--name", ".."), "server-name"),
                            (("join", address, "--token-file", data / "none"), "bad-token-file"), (("run", "--join", address, "--token-file", data / "none"), "bad-token-file"),
                            (("join", address, "--token-file", "-"), "bad-token-file"), (("run", "--join", "http://a b"), "bad-url")):
            refused = join(*words, "--data", data)
            self.assertEqual((refused.returncode in (2, 4), f"[{code}]" in refused.stderr, data.exists()), (True, True, False), refused.stderr)
        shared = join("run", "--join", address, "--data", lab.folder / "controller")
        self.assertIn("[data-directory-in-use]", shared.stderr)
        secret = json.loads(lab.request("POST", "/api/v1/servers", {"name": "new"})[2])["token"]
        self.assertIn("[not-your-server]", join("join", address, "--data", data, "--name", "other", "--token-file", "-", said=secret).stderr)
        self.assertIn("Server new joins", join("join", address, "--data", data, "--token-file", "-", said=secret + "\n").stdout)
        self.assertEqual((data / "controller-token").read_text(), secret + "\n")

    def test_a_token_that_was_revoked_can_be_replaced_while_the_agent_runs_and_both_sides_say_what_is_wrong(self):
        lab, data = self.lab, self.lab.folder / "joined"
        made = lambda: json.loads(lab.request("POST", "/api/v1/servers", {"name": "new"})[2])["token"]
        state = lambda: lab.try_get("/api/v1/servers/new") or {}
        join = lambda secret: subprocess.run([PROGRAM, "agent", "join", lab.url, "--data", data, "--token-file", "-"], input=secret, text=True, capture_output=True, check=True, timeout=60)
        join(made())
        lab.more_agents.append(lab._daemon("new", "agent", "run", "--data", str(data), "--simulate", "1"))
        until(lambda: state().get("state") == "up")
        lab.cli("token", "rm", "new")
        until(lambda: state()["state"] == "down")
        join(made())
        until(lambda: state()["state"] == "up", what="the agent with its new token")
        second = lab._daemon("second", "agent", "run", "--data", str(lab.folder / "second"), "--simulate", "1", "--name", "new", "--join", lab.url)
        lab.more_agents.append(second)
        refusals = lambda: [event["text"] for event in lab.get("/api/v1/events?limit=1000")["items"] if event["kind"] == "server.refused"]
        until(lambda: refusals() == ["an agent that calls as new may not join: another agent is connected as server new"])
        log = lambda: (lab.folder / "second.log").read_text()
        before = lab.get("/api/v1/servers/new")["last_contact_at"]
        until(lambda: lab.get("/api/v1/servers/new")["last_contact_at"] != before)
        self.assertEqual((log().count("refused by the controller"), len(refusals())), (1, 1), "it calls again and again")

    def test_an_agent_on_a_copy_of_a_data_directory_runs_no_job_again(self):
        lab = self.lab
        copy, runs = lab.folder / "copy", lab.folder / "runs"
        shutil.copytree(lab.folder / "agent", copy, ignore=lambda _, names: [name for name in names if name.endswith((".sock", ".lock"))])
        job = lab.submit(f"echo run >> {runs}; sleep 1000")
        until(lambda: lab.get(f"/api/v1/jobs/{job}")["state"] == "running")
        lab.more_agents.append(lab._daemon("copied", "agent", "run", "--join", lab.url, "--data", str(copy), "--name", "lab", "--simulate", "4"))
        until(lambda: "or from a copy of it, is connected as server lab" in (lab.folder / "copied.log").read_text())
        before = lab.get("/api/v1/servers/lab")["last_contact_at"]
        until(lambda: lab.get("/api/v1/servers/lab")["last_contact_at"] != before)
        self.assertEqual((lab.get(f"/api/v1/jobs/{job}")["state"], runs.read_text()), ("running", "run\n"))
        lab.kill(lab.agent)
        lab.start_agent()  # at once, from its own directory
        until(lambda: lab.get(f"/api/v1/jobs/{job}")["state"] == "running")
        self.assertEqual(runs.read_text(), "run\n")

    def test_only_admins_add_servers_and_what_they_type_is_kept_for_the_agent(self):
        lab = self.lab
        lab.request("POST", "/api/v1/users", {"name": "mei"})
        new_token = lambda **of: json.loads(lab.request("POST", "/api/v1/tokens", {"name": "t", **of})[2])["token"]
        (lab.folder / "mei").write_text(new_token(user="mei") + "\n")
        refused = lab.cli("agent", "join", lab.url, "--data", lab.folder / "no", "--token-file", lab.folder / "mei", check=False)
        self.assertEqual((refused.returncode, "[admins-only]" in refused.stderr), (4, True), refused.stderr)
        self.assertEqual(lab.cli("agent", "join", "http://127.0.0.1:9", "--data", lab.folder / "no", check=False).returncode, 6)
        self.assertFalse((lab.folder / "no").exists())
        if os.getuid() != 0:
            self.skipTest("only root can be another user")
        other = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-test-"))
        self.addCleanup(shutil.rmtree, other)
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(other, nobody, -1)
        secret = new_token()
        join = lambda said: subprocess.run([PROGRAM, "agent", "join", lab.url, "--data", other / "data", "--name", "theirs"], input=said, capture_output=True, text=True, user=nobody, env={**os.environ, "HOME": str(other)}, timeout=60)
        wrong = join("nonsense\n")
        self.assertEqual((wrong.returncode, (other / "data").exists()), (4, False), wrong.stderr)
        done = join(secret + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = other / "data" / "controller-token"
        self.assertEqual((kept.read_text(), kept.stat().st_mode & 0o777), (secret + "\n", 0o600))
        self.assertNotIn(secret, done.stdout + done.stderr + (other / "data" / "joined.json").read_text())


class LetInTest(LabTest):
    def refused(self, code, body, **headers):
        status, _, text = self.lab.request("POST", "/api/v1/servers", body, headers)
        problem = json.loads(text)
        self.assertEqual((problem["code"], status >= 400), (code, True), text)
        return problem

    @unittest.skipUnless(os.getuid() == 0, "only root can be another user")
    def test_the_line_that_is_printed_makes_a_server_of_a_machine(self):
        lab = self.lab
        other = pathlib.Path(tempfile.mkdtemp(prefix="schedulearn-test-"))
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(other, nobody, -1)
        said = lab.cli("servers", "add", "theirs", "--expires", "1h").stdout
        line = next(each for each in said.splitlines() if "agent join" in each).strip()
        data = other / "data"
        line = line.replace("/var/lib/schedulearn-agent", str(data)).replace("schedulearn agent", f"{PROGRAM} agent").removesuffix("\n")
        agent = subprocess.Popen(["sh", "-c", line.replace(" && ", " && exec ") + " --simulate 2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=nobody, env={**os.environ, "HOME": str(other)})
        lab.more_agents.append(agent)
        until(lambda: (lab.try_get("/api/v1/servers/theirs") or {}).get("state") == "up")
        token = lab.get("/api/v1/tokens")["items"][0]
        self.assertEqual((token["name"], token["role"], token["expires_at"] is not None), ("theirs", "agent", True))
        self.assertEqual(json.loads((data / "joined.json").read_text())["name"], "theirs")
        self.assertEqual((data / "controller-token").stat().st_mode & 0o777, 0o600)
        job = lab.submit("id -un", resources={"on": ["theirs"]}, workdir="/")
        self.assertEqual(lab.finished(job)["state"], "succeeded")
        self.assertEqual(lab.output(job).strip(), "nobody")
        leave = lambda: subprocess.run([PROGRAM, "agent", "leave", "--data", data], capture_output=True, text=True, user=nobody, env={**os.environ, "HOME": str(other)}, timeout=60)
        self.assertIn("[server-connected]", leave().stderr)
        lab.kill(agent)
        until(lambda: lab.get("/api/v1/servers/theirs")["state"] == "down")
        self.assertEqual((left := leave()).returncode, 0, left.stderr)
        self.assertEqual(lab.request("GET", "/api/v1/servers/theirs")[0], 404)
        lab.cli("token", "rm", "theirs")
        again = subprocess.run(["sh", "-c", line], capture_output=True, text=True, user=nobody, env={**os.environ, "HOME": str(other)}, timeout=60)
        self.assertIn("[wrong-token]", again.stderr)

    def test_a_token_joins_as_its_own_server_only(self):
        lab = self.lab
        status, _, text = lab.request("POST", "/api/v1/servers", {"name": "gpu4"})
        (lab.folder / "gpu4").write_text(json.loads(text)["token"] + "\n")
        join = lambda *more: lab.cli("agent", "join", lab.url, "--data", lab.folder / "joined", "--token-file", lab.folder / "gpu4", *more, check=False)
        refused = join("--name", "gpu5")
        self.assertEqual((refused.returncode, "[not-your-server]" in refused.stderr), (4, True), refused.stderr)
        self.assertFalse((lab.folder / "joined").exists())
        self.assertEqual(join().returncode, 0)
        self.assertEqual(json.loads((lab.folder / "joined" / "joined.json").read_text())["name"], "gpu4")
        agent = lab._daemon("other", "agent", "run", "--data", str(lab.folder / "joined"), "--name", "gpu5", "--simulate", "1")
        lab.more_agents.append(agent)
        until(lambda: "refused by the controller: this token was made for the server gpu4, not for gpu5" in (lab.folder / "other.log").read_text())
        self.assertEqual(lab.request("GET", "/api/v1/servers/gpu5")[0], 404)

    def test_what_no_server_can_be_called_and_no_address_can_be(self):
        lab = self.lab
        for name in ("", "-x", ".", "..", "a b", "a;reboot", "$(reboot)", "a/b", "ä", "a\nb", "x" * 65):
            self.refused("bad-token-name", {"name": name})
        for url in ("", "lab", "ftp://lab", "http://", "http://lab:5000;reboot", "http://lab/$(reboot)", "http://lab/a b", "http://lab/`x`", "ws://lab:5000", "http://lab:70000000", "http://mei@lab", "http://lab/?a=b", "http://lab\nreboot"):
            self.refused("bad-url", {"name": "gpu4", "url": url})
        self.refused("https-unsupported", {"name": "gpu4", "url": "https://lab"})
        for seconds in (0, -1, 10**18):
            self.refused("bad-expiry", {"name": "gpu4", "expires_in_s": seconds})
        self.assertIn("choose another name", self.refused("server-name-taken", {"name": "lab"})["hints"][0]["text"])
        self.refused("media-type", '{"name": "gpu4"}', **{"Content-Type": "text/plain"})
        self.refused("body-too-large", json.dumps({"name": "gpu4", "url": "http://" + "x" * (4 << 20)}))
        self.assertEqual(lab.get("/api/v1/tokens")["items"], [])
        nameless = lab.cli("servers", "add", check=False)
        self.assertEqual((nameless.returncode, "[usage]" in nameless.stderr), (2, True), nameless.stderr)

    def test_it_joins_at_the_address_that_was_asked_unless_another_is_given(self):
        made = lambda name, host, **more: json.loads(self.lab.request("POST", "/api/v1/servers", {"name": name, **more}, {"Host": host})[2])
        self.assertEqual(made("a", "localhost")["url"], self.lab.url)
        given = made("b", "localhost", url="http://lab.example:80/below/")
        self.assertEqual(given["url"], "http://lab.example:80/below")
        self.assertEqual(given["command"], f"echo {given['token']} | schedulearn agent join {given['url']} --name b --data /var/lib/schedulearn-agent --token-file - && schedulearn agent run --data /var/lib/schedulearn-agent")

    def test_of_many_at_once_for_one_name_one_gets_it(self):
        lab, codes = self.lab, []
        ask = lambda: codes.append(json.loads(lab.request("POST", "/api/v1/servers", {"name": "gpu4"})[2]).get("code", "made"))
        threads = [threading.Thread(target=ask) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(codes), ["made"] + ["token-exists"] * 19)
        self.assertIn("schedulearn token rm gpu4", self.refused("token-exists", {"name": "gpu4"})["hints"][0]["text"])


class EditTest(LabTest):
    def setUp(self):
        super().setUp()
        self.lab.start_another_agent("far", 2)

    def edit(self, body, name="far", query="", **headers):
        status, headers, text = self.lab.request("PATCH", f"/api/v1/servers/{name}{query}", body, headers)
        return status, headers, json.loads(text)

    def refused(self, code, *of, **more):
        status, _, problem = self.edit(*of, **more)
        self.assertEqual((problem.get("code"), bool(problem.get("hints"))), (code, True), problem)
        return status

    def test_a_server_is_drained_and_put_back_as_by_the_commands(self):
        lab = self.lab
        job = lab.submit("trap '' TERM; sleep 90.0645", name="stays", resources={"on": ["far"]}, checkpoint={"dir": "saved"})
        until(lambda: lab.job(job)["state"] == "running")
        body = {"drained": True, "reason": "new PSU", "deadline": "2h"}
        status, _, preview = self.edit(body, query="?dry_run=true")
        by_command = json.loads(lab.request("POST", "/api/v1/servers/far/drain?dry_run=true&reason=new+PSU&deadline=2h")[2])
        masked = lambda view: [{**each, "then": each["then"][:20]} for each in view["jobs"]]
        self.assertEqual((status, masked(preview)), (200, masked(by_command)))
        self.assertEqual([each["id"] for each in preview["jobs"]], [job])
        self.assertEqual(lab.get("/api/v1/servers/far")["state"], "up", "a dry run changes nothing")
        status, headers, server = self.edit(body)
        self.assertEqual((status, server["state"]), (200, "draining"))
        self.assertIn("new PSU, 1 job is left there until", server["state_reason"])
        status, changed, server = self.edit({"reason": "new fans"})
        self.assertIn("new fans, 1 job is left there until", server["state_reason"], "the deadline stays")
        self.assertNotEqual(headers["ETag"], changed["ETag"])
        self.assertEqual(self.edit({"drained": False}, query="?dry_run=true")[2], {"name": "far", "jobs": []})
        self.assertEqual(lab.get("/api/v1/servers/far")["state"], "draining")
        self.assertEqual(self.edit({"drained": False})[2]["state"], "up")
        self.assertEqual(lab.job(job)["state"], "running")
        self.assertEqual(self.edit({"drained": True, "migrate": True})[0], 200)
        until(lambda: lab.job(job)["state"] != "running", what="the job to stop at a checkpoint")
        kinds = [event["kind"] for event in lab.get("/api/v1/events?since=0&server=far&limit=1000")["items"] if "drain" in event["kind"]]
        self.assertEqual([kind for kind in kinds if kind in ("server.drain_requested", "server.undrained")], ["server.drain_requested", "server.undrained", "server.drain_requested"])
        lab.cli("cancel", job, "--now")

    def test_what_was_read_before_it_changed_is_stale(self):
        status, headers, _ = self.lab.request("GET", "/api/v1/servers/far")
        read = headers["ETag"]
        self.assertEqual(self.lab.request("GET", "/api/v1/servers/far")[1]["ETag"], read)
        self.lab.cli("servers", "drain", "far", "--reason", "by another")
        self.assertEqual(self.refused("stale-etag", {"drained": False}, **{"If-Match": read}), 412)
        self.assertEqual(self.refused("stale-etag", {}, **{"If-Match": '"nonsense"'}), 412)
        self.assertEqual(self.lab.get("/api/v1/servers/far")["state"], "draining")
        fresh = self.lab.request("GET", "/api/v1/servers/far")[1]["ETag"]
        self.assertEqual(self.edit({"drained": False}, **{"If-Match": fresh})[0], 200)
        self.assertEqual(self.edit({}, **{"If-Match": "*"})[0], 200)

    def test_what_cannot_be_is_refused_and_changes_nothing(self):
        self.refused("server-not-found", {"drained": True}, name="nowhere")
        self.refused("server-not-drained", {"drained": False})
        self.refused("server-not-drained", {"drained": False}, query="?dry_run=true")
        self.refused("server-not-drained", {"reason": "none"})
        self.refused("server-not-drained", {"drained": False, "migrate": True})
        for deadline in ("", "0", "-1h", "soon", "2026-11-25T00:00:00Z"):
            self.refused("bad-deadline", {"drained": True, "deadline": deadline})
        for reason in ("x" * 201, "two\nlines", "\x1b[31m"):
            self.refused("bad-reason", {"drained": True, "reason": reason})
        self.refused("unknown-key", {"drain": True})
        self.refused("wrong-type", {"drained": "yes"})
        self.assertEqual({server["state"] for server in self.lab.get("/api/v1/servers")["items"]}, {"up"})
        self.assertEqual(self.edit({"drained": True})[0], 200)
        self.refused("last-server", {"drained": True}, name="lab")
        self.refused("last-server", {"drained": True}, name="lab", query="?dry_run=true")

    def test_of_two_at_once_who_names_what_was_read_one_is_late(self):
        read, answers = self.lab.request("GET", "/api/v1/servers/far")[1]["ETag"], []
        ask = lambda reason: answers.append(self.edit({"drained": True, "reason": reason}, **{"If-Match": read})[0])
        threads = [threading.Thread(target=ask, args=(f"reason {i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), [200] + [412] * 7)


class ChosenFromListsTest(LabTest):
    def test_servers_gpus_and_the_queue_are_listed_in_part(self):
        lab = self.lab
        lab.start_another_agent("far", 2, "--label", "rack=a")
        job = lab.submit("sleep 90.0643", gpus=1, resources={"on": ["far"]})
        until(lambda: lab.job(job)["state"] == "running")
        waits = lab.submit("true", gpus=2, resources={"on": ["far"]})
        lab.request("POST", "/api/v1/servers/lab/drain")
        names = lambda query: [server["name"] for server in lab.get(f"/api/v1/servers?{query}")["items"]]
        self.assertEqual(names("state=up"), ["far"])
        self.assertEqual((names("label=rack"), names("label=rack=a"), names("label=rack=b"), names("label=rack=a&state=down")), (["far"], ["far"], [], []))
        gpus = lambda query: [gpu["identifier"] for gpu in lab.get(f"/api/v1/gpus?{query}")["items"]]
        self.assertEqual((gpus("server=far"), gpus("condition=allocated"), gpus("server=none")), (["far-0", "far-1"], ["far-0"], []))
        self.assertEqual(lab.get("/api/v1/gpus?server=far&condition=free")["total"], 1)
        user = lab.get("/api/v1/whoami")["user"]
        self.assertIn(waits, [each["id"] for each in lab.get(f"/api/v1/queue?user={user}")["items"]])
        self.assertEqual(lab.get("/api/v1/queue?user=somebody")["total"], 0)
        for path, hint in (("servers?state=upp", "did you mean up?"), ("gpus?condition=fre", "did you mean free?"), ("servers?label==", None)):
            status, _, text = lab.request("GET", f"/api/v1/{path}")
            self.assertEqual((status, json.loads(text)["code"]), (422, "bad-parameter"), path)
            self.assertIn(hint or "", "".join(each["text"] for each in json.loads(text)["hints"]))


class GoneServerTest(LabTest):
    def test_a_dead_server_is_removed_and_status_is_well_again(self):
        lab = self.lab
        lab.start_another_agent("old", 1)
        job = lab.submit("sleep 300", gpus=1)
        until(lambda: lab.job(job)["state"] == "running")
        self.assertEqual(lab.cli("servers", "rm", "old", check=False).returncode, 5)
        lab.kill(lab.more_agents[0])
        until(lambda: lab.get("/api/v1/servers/old")["state"] == "down")
        self.assertEqual(lab.cli("status", check=False).returncode, 1)
        if lab.job(job)["placement"][0]["server"] == "old":
            self.assertEqual(lab.cli("servers", "rm", "old", "--confirm", "old", check=False).returncode, 5)
            lab.cli("servers", "lost", "old", "--yes")
        unsure = lab.cli("servers", "rm", "old", "--yes", "--confirm", "odl", check=False)
        self.assertEqual((unsure.returncode, "[confirmation-needed]" in unsure.stderr), (2, True), unsure.stderr)
        self.assertIn("--confirm old", unsure.stderr)
        lab.cli("servers", "rm", "old", "--confirm", "old")
        self.assertEqual(lab.cli("status").returncode, 0)
        self.assertNotIn("old", lab.cli("gpus").stdout)
        self.assertEqual(lab.request("GET", "/api/v1/servers/old")[0], 404)
        lab.kill(lab.controller)
        lab.start_controller()
        until(lambda: lab.cli("status", check=False).returncode == 0)
        lab.start_another_agent("old", 1)
        self.assertEqual(lab.get("/api/v1/servers/old")["state"], "up")

    def test_lost_looks_at_the_server_before_it_asks(self):
        unknown = self.lab.cli("servers", "lost", "nowhere", check=False)
        self.assertEqual((unknown.returncode, "there is no server nowhere" in unknown.stderr), (3, True), unknown)
        connected = self.lab.cli("servers", "lost", "lab", check=False)
        self.assertEqual((connected.returncode, "is connected" in connected.stderr), (5, True), connected)


class ManyServersTest(LabTest):
    def test_fifty_servers_join_at_once_and_all_of_them_run_jobs(self):
        names = {f"s{number:02}" for number in range(50)}
        for name in sorted(names):
            folder = str(self.lab.folder / name)
            self.lab.more_agents.append(self.lab._daemon(name, "agent", "run", "--join", self.lab.url, "--data", folder, "--name", name, "--simulate", "2"))

        def up():
            return {server["name"] for server in self.lab.get("/api/v1/servers")["items"] if server["state"] == "up"}

        until(lambda: up() >= names)
        self.assertEqual(self.lab.get("/api/v1/cluster")["gpus"]["total"], 2 * 50 + 4)
        array = self.lab.submit("while [ ! -e all ]; do sleep 0.0607; done", gpus=2, array="1-52")
        until(lambda: self.lab.get("/api/v1/cluster")["jobs"].get("running") == 52)
        (self.lab.folder / "all").touch()
        self.assertEqual(self.lab.finished(array)["state"], "succeeded")


if __name__ == "__main__":
    unittest.main()
