"""Gangs: in order, a job starts with its minimum of members or not at all, and the first that does not fit blocks those
behind it; on one server, an empty one if possible, else where it fits best, else over empty servers and those with the
most room. When no job waits, members are added on the servers where a job runs, to older jobs first."""

from world import Policy


class Oracle(Policy):
    def wakes(self, world):
        return [job.last_start + self.settings["settle"] for job in world.running()]

    def decide(self, world):
        queue = sorted(world.waiting(), key=lambda job: job.order())
        starting = []
        while queue and (where := self.place_gang(world, queue[0])) is not None:
            world.start(queue[0], where)
            starting.append(queue.pop(0))
        if queue:
            return
        settled = [job for job in world.running() if job.last_start + self.settings["settle"] <= world.now]
        older = sorted((job for job in settled if job not in starting), key=lambda job: (job.submitted, job.number))
        for job in older + starting:
            self.grow(world, job)

    def place_gang(self, world, job):
        suits = [s for s, (_, kind) in enumerate(world.servers) if not job.types or kind in job.types]
        is_used = {s: world.free[s] < world.servers[s][0] for s in suits}
        room = [s for s in suits if world.free[s] >= job.least]
        if room:
            return {min(room, key=lambda s: (is_used[s], world.free[s], s)): job.least}
        where, rest = {}, job.least
        for s in sorted(suits, key=lambda s: (is_used[s], -world.free[s], s)) if not job.single else []:
            if min(rest, world.free[s]) > 0:
                where[s], rest = min(rest, world.free[s]), rest - min(rest, world.free[s])
        return where if rest == 0 else None

    def grow(self, world, job):
        where = dict(sorted(job.on.items()))
        for server in where:
            more = min(job.gpus - sum(where.values()), world.free[server])
            where[server] += more
        if where != job.on:
            world.start(job, where)
