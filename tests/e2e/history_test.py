"""Every job that was accepted, its events and its output can be asked for, however many have ended since, until the
retention rule removes them; and then that is said."""

import concurrent.futures
import http.client
import json
import unittest

from lab import LabTest, until

MORE_THAN_IN_MEMORY = 1_300


def end_many(lab, count):
    """Submits and cancels that many jobs. Returns their ids."""

    def some(number):
        connection = http.client.HTTPConnection("127.0.0.1", lab.port)

        def post(path, body):
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status in (201, 202), text
            return json.loads(text)

        ids = [post("/api/v1/jobs", {"command": "true", "workdir": "/", "hold": True, "name": "many"})["id"] for _ in range(number)]
        for job in ids:
            post(f"/api/v1/jobs/{job}/cancel", {})
        connection.close()
        return ids

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        return sorted(sum(pool.map(some, [count // 10] * 10), []))


def pages(lab, query):
    """The ids of all pages, and what the first page says of the total."""
    found, total, cursor = [], None, ""
    while cursor is not None:
        page = lab.get(f"/api/v1/jobs?limit=170{query}{cursor}")
        total = page["total"] if total is None else total
        found += [job["id"] for job in page["items"]]
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    return found, total


class OldJobs(LabTest):
    def setUp(self):
        super().setUp()
        self.first = self.lab.submit("echo here I was; exit 3", name="first")
        self.lab.finished(self.first)
        self.many = end_many(self.lab, MORE_THAN_IN_MEMORY)
        self.waiting = self.lab.submit("true", hold=True, name="waiting")

    def check(self):
        lab, first = self.lab, self.first
        job = lab.job(first)
        self.assertEqual((job["name"], job["state"], job["exit"]["code"]), ("first", "failed", 3))
        self.assertEqual([(run["attempt"], run["server"]) for run in job["attempts"]], [(1, "lab")])
        self.assertEqual(lab.get(f"/jobs/{first}")["status"], "Error")
        self.assertEqual(lab.output(first), "here I was\n")
        self.assertIn("here I was", lab.request("GET", f"/api/v1/jobs/{first}/logs/stream")[2])
        self.assertIn("has ended: failed", lab.get(f"/api/v1/jobs/{first}/explain")["summary"])
        events = [(event["kind"], event["to"]) for event in lab.get(f"/api/v1/jobs/{first}/events")["items"]]
        self.assertEqual(events, [("job.submitted", None), ("job.state", "starting"), ("job.state", "running"), ("job.state", "failed")])
        actors = [event["actor"] for event in lab.get(f"/api/v1/jobs/{first}/events")["items"]]
        self.assertEqual(actors, [{"type": "user", "name": job["user"]}] + 3 * [{"type": "system", "name": "scheduler"}])
        status, _, text = lab.request("POST", f"/api/v1/jobs/{first}/cancel", {})
        self.assertEqual((status, json.loads(text)["code"]), (409, "job-finished"))
        self.assertEqual(lab.request("GET", "/api/v1/jobs/99999")[0], 404)

        every = [self.waiting, *reversed(self.many), first]
        self.assertEqual(pages(lab, ""), (every, len(every)))
        self.assertEqual([job["id"] for job in lab.get("/jobs")], every)
        self.assertEqual(pages(lab, "&state=cancelled"), (every[1:-1], len(self.many)))
        self.assertEqual(pages(lab, "&state=failed,held"), ([self.waiting, first], 2))
        self.assertEqual(pages(lab, "&q=irs"), ([first], 1))
        self.assertEqual(pages(lab, "&sort=id"), (every[::-1], len(every)))
        self.assertEqual(pages(lab, "&sort=id&state=cancelled"), (self.many, len(self.many)))
        self.assertEqual(pages(lab, "&sort=id&q=irs"), ([first], 1))
        self.assertEqual(pages(lab, f"&sort=id&before={self.many[1]}")[0], [first, self.many[0]])
        self.assertEqual(pages(lab, "&user=nobody-at-all"), ([], 0))
        self.assertEqual(pages(lab, f"&user={job['user']}"), (every, len(every)))
        counts = lab.get("/api/v1/cluster")["jobs"]
        self.assertEqual((counts["cancelled"], counts["failed"], counts["held"], counts["pending"]), (len(self.many), 1, 1, 0))

    def test_everything_of_them_can_be_asked_for_also_after_a_restart(self):
        self.check()
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        until(lambda: self.lab.get("/api/v1/servers")["items"][0]["state"] == "up")
        self.check()

    def test_the_same_key_is_the_same_job_however_many_have_ended_since(self):
        body = {"command": "true", "workdir": "/", "hold": True}
        keyed = json.loads(self.lab.request("POST", "/api/v1/jobs", body, {"Idempotency-Key": "k"})[2])["id"]
        self.lab.request("POST", f"/api/v1/jobs/{keyed}/cancel", {})
        end_many(self.lab, MORE_THAN_IN_MEMORY)
        status, _, text = self.lab.request("POST", "/api/v1/jobs", body, {"Idempotency-Key": "k"})
        self.assertEqual((status, json.loads(text)["id"], json.loads(text)["state"]), (201, keyed, "cancelled"))

    def test_events_are_read_from_any_point_also_of_before_a_restart(self):
        before = self.lab.get("/api/v1/events?since=0&limit=10000")["items"]
        self.assertEqual([event["seq"] for event in before], list(range(1, len(before) + 1)))
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()
        self.assertEqual(self.lab.get("/api/v1/events?since=0&limit=10000")["items"][: len(before)], before)
        latest = self.lab.get("/api/v1/events?limit=3")
        self.assertEqual(latest["next_cursor"], f"events:{latest['items'][-1]['seq']}")
        self.assertEqual(self.lab.get(f"/api/v1/events?cursor={latest['next_cursor']}")["items"], [])


class Retention(LabTest):
    def restart(self, controller=(), agent=()):
        for daemon in (self.lab.controller, self.lab.agent):
            self.lab.kill(daemon)
        self.lab.start_controller(*controller)
        self.lab.start_agent(*agent)

    def gone(self, path):
        status, _, text = self.lab.request("GET", path)
        return (status, json.loads(text)["code"]) if status != 200 else status

    def test_of_a_limited_number_of_jobs_the_oldest_go_and_it_is_said(self):
        jobs, held = [], 0
        for i in range(6):  # one after the other: the rule counts from the end of a job
            job = self.lab.submit("echo out", hold=i == 1)
            if i == 1:
                held = job
            else:
                jobs.append(self.lab.finished(job)["id"])
        self.restart(("--keep-jobs", "2"))
        until(lambda: self.lab.get("/api/v1/cluster")["jobs"]["succeeded"] == 2)
        self.assertEqual([job["id"] for job in self.lab.jobs()], [*reversed(jobs[-2:]), held])
        for path in ("", "/logs", "/events", "/explain"):
            self.assertEqual(self.gone(f"/api/v1/jobs/{jobs[0]}{path}"), (410, "job-removed"), path)
        shown = self.lab.cli("show", jobs[0], check=False)
        self.assertEqual(shown.returncode, 3)
        self.assertRegex(shown.stderr, rf"job {jobs[0]} was removed by the retention rule on \d{{4}}-\d\d-\d\d")
        removals = [event for event in self.lab.get("/api/v1/events")["items"] if event["kind"] == "history.removed"]
        self.assertEqual(sum((event["data"]["jobs"] for event in removals), []), jobs[:3])
        self.assertEqual(self.gone("/api/v1/jobs/999"), (404, "job-not-found"))
        self.assertGreater(self.lab.submit("true"), jobs[-1], "ids are not used again")
        self.assertIn("at most 2 jobs", self.lab.cli("status").stdout)

    def test_all_that_ended_long_ago_goes_and_ids_go_on(self):
        last = [self.lab.submit("true") for _ in range(3)][-1]
        self.lab.finished(last)
        self.restart(("--keep", "1s"))
        until(lambda: not self.lab.jobs())
        self.restart(("--keep", "1s"))
        self.assertEqual(self.lab.submit("true"), last + 1)
        self.assertEqual(self.gone(f"/api/v1/jobs/{last}"), (410, "job-removed"))

    def test_a_limited_disk_keeps_the_latest(self):
        # Each on all GPUs, so that they end in the order of their submission.
        jobs = [self.lab.submit("true", gpus=self.lab.gpus, env={"PADDING": str(i) * 20_000}) for i in range(60)]
        for job in jobs:
            self.lab.finished(job)
        self.restart(("--keep-size", "700KiB"))
        until(lambda: self.lab.get("/api/v1/cluster")["history"]["bytes"] <= 700 << 10)
        left = [job["id"] for job in self.lab.jobs()]
        self.assertEqual(left, jobs[: -len(left) - 1 : -1])
        self.assertGreater(len(left), 3)

    def files(self):
        """The jobs that have files on the server."""
        return {int(path.name.split(".")[0]) for room in ("attempts", "jobs") for path in (self.lab.folder / "agent" / room).glob("[0-9]*")}

    def test_files_of_the_oldest_jobs_go_from_the_server_and_it_is_said(self):
        lab = self.lab
        ended = [lab.finished(lab.submit("echo out; echo model > $SCHEDULEARN_CHECKPOINT_DIR/model"))["id"] for _ in range(4)]
        running = lab.submit("sleep 600")
        until(lambda: lab.job(running)["state"] == "running")
        self.assertEqual(self.files(), {*ended, running})
        self.restart(agent=("--keep-jobs", "2"))
        until(lambda: self.files() == {*ended[2:], running})
        self.assertEqual(lab.job(running)["state"], "running")
        self.assertEqual(lab.output(ended[2]), "out\n")
        self.assertEqual(self.gone(f"/api/v1/jobs/{ended[0]}/logs"), (410, "output-removed"))
        self.assertIn("was removed from lab on", lab.request("GET", f"/api/v1/jobs/{ended[0]}/logs/stream")[2])
        logs = lab.cli("logs", ended[0], check=False)
        self.assertEqual(logs.returncode, 3)
        self.assertRegex(logs.stderr, rf"the output of job {ended[0]} was removed from lab on \d{{4}}-\d\d-\d\d")
        self.assertIn("more jobs had ended than the server keeps files of", logs.stderr)
        self.assertIn("job.files_removed", lab.cli("events", ended[0]).stdout)
        self.assertEqual(lab.job(ended[0])["state"], "succeeded", "the controller's rule is another one")
        until(lambda: lab.get("/api/v1/servers/lab")["job_files_bytes"])
        status = lab.cli("status").stdout
        self.assertIn("Their files are kept for 90 days, at most 2 jobs", status)
        self.assertIn("JOB FILES", status)

    def test_files_of_jobs_that_the_controller_has_removed_go_too(self):
        first, last = (self.lab.finished(self.lab.submit("echo out"))["id"] for _ in range(2))
        self.restart(("--keep-jobs", "1"))
        until(lambda: self.gone(f"/api/v1/jobs/{first}") == (410, "job-removed"))
        self.lab.kill(self.lab.agent)
        self.lab.start_agent("--keep", "0")
        until(lambda: self.files() == {last})

    def test_a_removal_that_was_interrupted_goes_on_after_a_restart_even_without_a_controller(self):
        lab = self.lab
        job = lab.finished(lab.submit("echo out"))["id"]
        for daemon in (lab.agent, lab.controller):
            lab.kill(daemon)
        data = lab.folder / "agent"
        attempt = next((data / "attempts").glob(f"{job}.*"))
        aside = attempt.with_name(".removed." + attempt.name)
        attempt.rename(aside)
        lab.agent = lab._daemon("agent", "agent", "run", "--join", lab.url, "--data", str(data), "--name", "lab", "--simulate", "4")
        until(lambda: not aside.exists())

    def test_files_of_a_job_that_waits_to_continue_stay(self):
        lab = self.lab
        waits = lab.submit("echo model > $SCHEDULEARN_CHECKPOINT_DIR/model; exit 75")  # asks to be started again
        ended = lab.finished(lab.submit("true"))["id"]
        until(lambda: lab.job(waits)["state"] not in ("running", "starting"))
        self.restart(agent=("--keep-size", "1KiB"))
        until(lambda: ended not in self.files())
        self.assertIn(waits, self.files())

    def test_bad_limits_are_refused(self):
        for flag, value in (("--keep", "soon"), ("--keep", "90"), ("--keep", "0.5"), ("--keep-jobs", "-1"), ("--keep-size", "much")):
            done = self.lab.cli("controller", "run", "--data", "/nowhere", flag, value, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(flag, done.stderr)
        self.assertIn("needs a unit: 90d for days", self.lab.cli("up", "--data", "/nowhere", "--keep", "90", check=False).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
