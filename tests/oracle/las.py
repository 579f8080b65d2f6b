"""Discretized 2D-LAS (Tiresias): a job's queue is the number of thresholds that its GPU time has reached; within a
queue those that started first go first, those that never started last. Preemption is that of srtf.py."""

import srtf
from world import NEVER


class Oracle(srtf.Oracle):
    def rank(self, world, job):
        queue = sum(job.service_at(world.now) >= threshold for threshold in self.settings["thresholds"])
        return (queue, NEVER if job.started is None else job.started)

    def claim(self, world, job):
        return self.rank(world, job)

    def wakes(self, world):
        falls = [job.last_start - (job.service - threshold) // job.has() for job in world.running()
                 for threshold in self.settings["thresholds"]]  # rounded up
        return falls + super().wakes(world)
