"""EASY backfilling. The first job that does not fit is promised the earliest time at which it will, if running jobs end
as expected; another may start before it if it ends by then or takes only GPUs that are left over then.
A job that any GPUs suit, on any servers, is promised a number of GPUs; another one GPUs of certain servers."""

from world import NEVER, Policy


end_delay = 5_000_000  # µs


def expected_end(job, now, grace, factor=1):
    """A job that has reached its estimate may be about to end, for 5 s. One that outlives it is given `grace` more, then
    each time `factor` times as much."""
    end = job.started + job.estimate
    if end <= now < end + end_delay:
        return end + end_delay
    while end <= now:
        end, grace = end + grace, grace * factor
    return end


class Oracle(Policy):
    def wakes(self, world):
        return [expected_end(job, world.now, self.settings["overrun_grace"], self.settings["overrun_factor"]) for job in world.running()]

    def decide(self, world):
        queue = sorted(world.waiting(), key=lambda job: job.order())
        while queue and (where := world.place(queue[0], queue[0].gpus)) is not None:
            world.start(queue.pop(0), where)
        if not queue:
            return
        promised, extra = self.promise(world, queue[0])
        anywhere, left = not queue[0].single and not queue[0].types, sum(extra)
        for job in queue[1:]:
            in_time = world.now + job.estimate <= promised
            if not in_time and anywhere and job.gpus > left:
                continue
            where = world.place(job, job.gpus, world.free if in_time or anywhere else [min(both) for both in zip(world.free, extra)])
            if where is not None:
                world.start(job, where)
                left -= 0 if in_time else job.gpus
                for server, gpus in where.items():
                    extra[server] -= 0 if in_time else gpus

    def promise(self, world, head):
        """When the head starts, and what each server has left over then."""
        free = list(world.free)
        ends = {job: expected_end(job, world.now, self.settings["overrun_grace"], self.settings["overrun_factor"]) for job in world.running()}
        for at in sorted(set(ends.values())):
            for job in (job for job in ends if ends[job] == at):
                for server, gpus in job.on.items():
                    free[server] += gpus
            if (where := world.place(head, head.gpus, free)) is not None:
                return at, [free[server] - where.get(server, 0) for server in range(len(free))]
        return NEVER, [0] * len(free)
