"""What happens in a cluster, told line by line from its events."""

import datetime
import time

FINISHED = ("succeeded", "failed", "cancelled")


class Story:
    def __init__(self, cluster):
        self._cluster, self._seen, self._began = cluster, 0, time.time()
        self._jobs = {}  # latest document, by id
        self._servers = {}  # state by name
        self._starts = {}  # how often a job was started

    def say(self, who, what, at=None):
        """`at`: the event's time; default: now."""
        passed = max(0, int((at or time.time()) - self._began))
        print(f"{passed // 60:3}:{passed % 60:02}  {who:<19} {what}", flush=True)

    def follow(self):
        """Tells what is new."""
        for event in self._cluster.events(self._seen):
            self._seen = event["seq"]
            at = datetime.datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp()
            if event["kind"] == "job.state":
                self._tell_of_job(event["job_id"], event["from"], event["to"], at)
            elif event["kind"] == "server.state":
                before, self._servers[event["server"]] = self._servers.get(event["server"], "up"), event["to"]
                if event["to"] != before:
                    self.say(event["server"], f"is {event['to']}", at)
            elif event["kind"] == "server.declared_lost":
                self.say(event["server"], "will not come back, says the administrator", at)
            elif event["kind"] == "policy.changed":
                self.say(f"policy {event['to']}", f"replaces {event['from']}", at)

    def jobs(self):
        return self._jobs

    def _tell_of_job(self, job_id, before, after, at):
        job = self._jobs[job_id] = self._cluster.client.get(job_id)
        what = None
        if after == "starting":
            self._starts[job_id] = self._starts.get(job_id, 0) + 1
        elif after == "running":
            what = self._start(job)
        elif after in ("stopping", "migrating", "resizing"):
            what = {"stopping": "stops to make room", "migrating": "stops to be moved", "resizing": "stops to be resized"}[after] + _progress(job)
        elif after == "pending" and before != "stopping":
            what = "is to start elsewhere from its checkpoint"
        elif after in FINISHED:
            what = f"{after}{_progress(job)}"
        if what:
            self.say(job["name"], what, at)

    def _start(self, job):
        number = self._starts.get(job["id"], 1)
        now, before = (place(job, attempt) for attempt in (number, number - 1))
        if not before:
            return f"starts on {now}"
        return f"continues on {now}" + (f", before on {before}" if before != now else "")


def place(job, attempt):
    parts = [part for part in job["attempts"] if part["attempt"] == attempt]
    return " and ".join(f"{part['server']} ({len(part['gpus'])} GPU{'s' if len(part['gpus']) > 1 else ''})" for part in parts)


def _progress(job):
    progress = job["progress"]
    return f", epoch {progress['epoch']} of {progress['epochs']}" if progress and progress["epoch"] else ""
