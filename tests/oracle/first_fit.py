"""First come, first served; a job that does not fit lets others pass, `skip_limit` of them. Of jobs that ask for the
same, only the first counts: the others wait for it in any case."""

from collections import Counter

from world import Policy


class Oracle(Policy):
    def decide(self, world):
        passed = self.settings.setdefault("passed", Counter())  # by job: how many have passed it
        skipped = []
        for job in sorted(world.waiting(), key=lambda job: job.order()):
            if sum(world.free) == 0 or any(passed[other] >= self.settings["skip_limit"] for other in skipped):
                return
            if any((job.gpus, job.single, job.types) == (other.gpus, other.single, other.types) for other in skipped):
                continue
            where = world.place(job, job.gpus)
            if where is None:
                skipped.append(job)
            else:
                world.start(job, where)
                passed.update(skipped)
