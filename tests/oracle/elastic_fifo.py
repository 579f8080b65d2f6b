"""Elastic first come, first served, on one server and with nothing to pay for a resize: in order, every job for which
enough GPUs are left gets its minimum; then, round by round, one more for each that is below its maximum. GPUs are taken
from running jobs only for jobs that start: those that these leave go back before others grow. Which GPU is whose counts."""

from world import Policy


def lowest(gpus, count):
    return set(sorted(gpus)[:count])


class Oracle(Policy):
    def decide(self, world):
        has = {job: gpus for job, gpus in self.settings.get("has", {}).items() if job.on}  # sets of GPUs, by running job
        gets, free = self.divide(world), set(range(world.servers[0][0])).difference(*has.values())
        kept = {job: lowest(gpus, gets.get(job, 0)) for job, gpus in has.items()}
        free.update(*(has[job] - kept[job] for job in has))
        for job in sorted((job for job in gets if not job.on), key=lambda job: -gets[job]):
            kept[job] = lowest(free, gets[job])
            free -= kept[job]
        for job in sorted(has, key=lambda job: job.order()):
            if has[job] - kept[job] <= free:
                free -= has[job] - kept[job]
                kept[job] = has[job]
        for job in gets:
            grown = lowest(free, gets[job] - len(kept[job])) if gets[job] > len(kept[job]) else set()
            kept[job], free = kept[job] | grown, free - grown
        self.carry_out(world, kept)

    def divide(self, world):
        left, gets = world.servers[0][0], {}
        for job in sorted(world.waiting() + world.running(), key=lambda job: job.order()):
            if job.least <= left:
                gets[job], left = job.least, left - job.least
            elif self.settings["admit"] == "strict":
                break
        while left > 0 and any(gets[job] < job.most for job in gets):
            for job in gets:
                if left > 0 and gets[job] < job.most:
                    gets[job], left = gets[job] + 1, left - 1
        return gets

    def carry_out(self, world, kept):
        for job in sorted(kept, key=lambda job: len(kept[job]) - job.has()):  # first those that give GPUs up
            if not kept[job]:
                world.preempt(job)
            elif len(kept[job]) != job.has():
                world.start(job, {0: len(kept[job])})
        self.settings["has"] = {job: gpus for job, gpus in kept.items() if gpus}
