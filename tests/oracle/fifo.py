"""Strict first come, first served: the first job that does not fit blocks those behind it."""

from world import Policy


class Oracle(Policy):
    def decide(self, world):
        for job in sorted(world.waiting(), key=lambda job: job.order()):
            where = world.place(job, job.gpus)
            if where is None:
                return
            world.start(job, where)
