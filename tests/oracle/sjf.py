"""Shortest job first: in order of the estimated length, jobs that fit start; others let the next ones pass or hold them back."""

from world import Policy


class Oracle(Policy):
    def decide(self, world):
        for job in sorted(world.waiting(), key=lambda job: (job.estimate, job.submitted, job.number)):
            where = world.place(job, job.gpus)
            if where is not None:
                world.start(job, where)
            elif self.settings["head"] == "block":
                return
