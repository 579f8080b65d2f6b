"""Conservative backfilling. Every job in line is promised a time and a server, the earliest at which none promised to
another is delayed; at every event the jobs move up in order, each to an earlier time if there is one, until none can."""

from easy import expected_end
from world import Policy


class Oracle(Policy):
    def wakes(self, world):
        ends = [expected_end(job, world.now, self.settings["overrun_grace"], self.settings["overrun_factor"]) for job in world.running()]
        return ends if sum(world.free) > 0 else []  # else no job can start before the next event

    def decide(self, world):
        promises = self.settings.setdefault("promises", {})  # by job: time and server
        queue = sorted(world.waiting(), key=lambda job: job.order())
        ends = [(expected_end(job, world.now, self.settings["overrun_grace"], self.settings["overrun_factor"]), job) for job in world.running()]
        self.busy = [(world.now, end, server, gpus) for end, job in ends for server, gpus in job.on.items()]
        self.promised = {}
        for job in queue:  # promises that can still be kept, up to the first one that cannot: those after it rest on it
            if job not in promises:
                continue
            if promises[job][0] < world.now or not self.has_room(world, job, *promises[job]):
                break
            self.promised[job] = promises[job]
        moved = True
        while moved:
            moved = False
            for job in queue:
                before = self.promised.pop(job, None)
                best = self.earliest(world, job)
                self.promised[job] = best if before is None or best[0] < before[0] else before
                moved = moved or self.promised[job] != before
        for job in queue:
            if self.promised[job][0] == world.now:
                world.start(job, {self.promised[job][1]: job.gpus})
        self.settings["promises"] = self.promised

    def free_at(self, world, server, at):
        booked = [(begin, begin + job.estimate, where, job.gpus) for job, (begin, where) in self.promised.items()]
        return world.servers[server][0] - sum(n for begin, end, s, n in self.busy + booked if s == server and begin <= at < end)

    def has_room(self, world, job, begin, server):
        changes = [begin] + [at for at, _ in self.promised.values() if begin < at < begin + job.estimate]
        return all(self.free_at(world, server, at) >= job.gpus for at in changes)

    def earliest(self, world, job):
        """The earliest time; among servers those with the fewest free GPUs then, then the first."""
        suits = [s for s, (_, kind) in enumerate(world.servers) if not job.types or kind in job.types]
        frees = [end for _, end, _, _ in self.busy] + [begin + other.estimate for other, (begin, _) in self.promised.items()]
        for at in sorted({world.now, *frees}):
            room = [s for s in suits if self.has_room(world, job, at, s)]
            if room:
                return at, min(room, key=lambda s: (self.free_at(world, s, at), s))
