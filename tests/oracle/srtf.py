"""Shortest remaining time first. In order of the time left, each job takes free GPUs, or else those of running jobs
that have more left, those with the most first and as few as needed; on the server where it harms the least urgent."""

from world import Policy


class Oracle(Policy):
    def ripe_at(self, job):  # of those that start at one instant none is stopped at the same instant
        return job.last_start + max(1, self.settings["min_quantum"])

    def rank(self, world, job):  # lower: more urgent. What it owes for its last interruption counts.
        owed = max(0, job.works_from - world.now) if job.on else world.restart if job.started is not None else 0
        return (job.left_at(world.now) + owed, 0)

    def claim(self, world, job):  # a running job gives way if its rank is above this
        return (self.rank(world, job)[0] + self.settings["preempt_margin"], 0)

    def wakes(self, world):
        return [self.ripe_at(job) for job in world.running()]

    def decide(self, world):
        may_stop = [job for job in world.running() if self.ripe_at(job) <= world.now]
        for job in sorted(world.waiting(), key=lambda job: (self.rank(world, job), job.submitted, job.number)):
            where = world.place(job, job.gpus) or self.make_room(world, job, may_stop)
            if where is not None:
                world.start(job, where)

    def make_room(self, world, job, may_stop):
        claim = self.claim(world, job)
        less_urgent = sorted((other for other in may_stop if other.on and self.rank(world, other) > claim),
                             key=lambda other: (self.rank(world, other), other.number), reverse=True)
        choices = []
        for server in range(len(world.servers)) if job.single else [None]:
            there = [other for other in less_urgent if server is None or server in other.on]
            for count in range(1, len(there) + 1):
                if self.room(world, job, there[:count], server):
                    choices.append((self.rank(world, there[count - 1]), -(server or 0), there[:count], server))
                    break
        if not choices:
            return None
        _, _, stopped, server = max(choices, key=lambda choice: choice[:2])
        for other in list(reversed(stopped))[1:]:  # spare those that are not needed, the most urgent first
            if self.room(world, job, [one for one in stopped if one is not other], server):
                stopped.remove(other)
        where = self.room(world, job, stopped, server)
        for other in stopped:
            world.preempt(other)
            may_stop.remove(other)
        return where

    def room(self, world, job, without, only_on):
        free = list(world.free)
        for other in without:
            for server, gpus in other.on.items():
                free[server] += gpus
        return world.place(job, job.gpus, [n if only_on in (None, s) else 0 for s, n in enumerate(free)])
