"""The world of the oracles: servers that are counts of GPUs, jobs that run for a while, and a clock that jumps from
event to event. Times are whole microseconds. At every event the policy is asked until it changes nothing more."""

import math

NEVER = 10**18


class Job:
    def __init__(self, number, row, servers):
        self.number, self.id, self.submitted, self.gpus = number, row["job_id"], row["submit_time"], row["gpus"]
        self.length = self.left = row["duration"]  # on as many GPUs as it asks for
        self.estimate = row.get("est_duration", self.length)
        self.least, self.most = row.get("gpus_min", self.gpus), row.get("gpus_max", self.gpus)
        self.priority, self.types = row.get("priority", 0), row.get("gpu_type", [])
        self.array, self.max_running = row.get("array"), row.get("max_running", NEVER)
        widest = max((gpus for gpus, kind in servers if not self.types or kind in self.types), default=0)
        self.single = self.most <= widest  # fits on one server that it may use, so it stays on one
        self.on = {}  # server: GPUs
        self.started = self.finished = self.last_start = self.works_from = None
        self.service = self.preemptions = 0

    def order(self):
        return (-self.priority, self.submitted, self.number)

    def has(self):
        return sum(self.on.values())

    def speed(self):
        return self.has() / self.gpus

    def left_at(self, now):
        return max(0, self.left - int(max(0, now - self.works_from) * self.speed())) if self.on else self.left

    def ends(self):
        return self.works_from + math.ceil(self.left / self.speed())

    def service_at(self, now):  # GPU-microseconds
        return self.service + (self.has() * (now - self.last_start) if self.on else 0)


class World:
    def __init__(self, rows, servers, restart=0):
        self.servers, self.restart = servers, restart  # servers: pairs of GPUs and type
        self.free = [gpus for gpus, _ in servers]
        rows = sorted(rows, key=lambda row: row["submit_time"])  # equal ones keep their order
        self.jobs = [Job(number, row, servers) for number, row in enumerate(rows)]
        self.now = 0

    def waiting(self):
        return [job for job in self.jobs if job.submitted <= self.now and not job.on and job.finished is None and self.may_run(job)]

    def may_run(self, job):
        """Of the jobs of its array that have not ended, it is one of the first `max_running`."""
        before = [other for other in self.jobs[:job.number] if job.array and other.array == job.array and other.finished is None]
        return len(before) < job.max_running

    def running(self):
        return [job for job in self.jobs if job.on]

    def place(self, job, count, free=None):
        """The server with the fewest free GPUs that suffice. If there is none and the job may span servers: whole
        servers, those with the most free GPUs first, and the rest where it fits best. Ties: the first server."""
        free = self.free if free is None else free
        suits = [server for server in range(len(free)) if not job.types or self.servers[server][1] in job.types]
        where, rest = {}, count
        if not job.single and not any(free[server] >= count for server in suits):
            for server in sorted(suits, key=lambda server: (-free[server], server)):
                if 0 < free[server] <= rest:
                    where[server], rest = free[server], rest - free[server]
                else:
                    break
        room = [server for server in suits if server not in where and free[server] >= rest]
        if rest > 0 and room:
            where[min(room, key=lambda server: (free[server], server))], rest = rest, 0
        return where if rest == 0 else None

    def start(self, job, where):
        """On these GPUs from now on. It waited, or it runs and changes its GPUs, which costs nothing."""
        cost = self.restart if job.started is not None and not job.on else 0
        self.leave(job)
        job.on, job.last_start, job.works_from = where, self.now, self.now + cost
        job.started = self.now if job.started is None else job.started
        for server, gpus in where.items():
            self.free[server] -= gpus
            assert self.free[server] >= 0

    def leave(self, job):
        job.left, job.service = job.left_at(self.now), job.service_at(self.now)
        for server, gpus in job.on.items():
            self.free[server] += gpus
        job.on = {}

    def preempt(self, job):
        self.leave(job)
        job.preemptions += 1

    def end_what_is_due(self):
        for job in self.running():
            if job.ends() <= self.now:
                self.leave(job)
                job.finished = self.now

    def next_event(self, policy):
        times = [job.submitted for job in self.jobs] + [job.ends() for job in self.running()] + policy.wakes(self)
        return min((at for at in times if at > self.now), default=NEVER)

    def run(self, policy):
        self.now = self.jobs[0].submitted
        while self.now < NEVER:
            self.end_what_is_due()
            before = None
            while before != (before := [(job.on, job.last_start) for job in self.jobs]):
                policy.decide(self)
            self.now = self.next_event(policy)
        return self.jobs


class Policy:
    def __init__(self, **settings):
        self.settings = settings

    def wakes(self, world):  # times at which something may change without an event
        return []

    def decide(self, world):
        raise NotImplementedError
