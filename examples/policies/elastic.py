"""The full kind: decide() returns one action after the other."""

from schedulearn.policy import Policy, resize, start


class Elastic(Policy):
    """Every job gets its minimum of GPUs, in order of arrival; the remaining GPUs go to jobs that can use
    more, and are taken back when a job waits for them."""

    parameters = {"resize_after_s": 120}

    def decide(self, snapshot):
        cluster, actions = snapshot.cluster, []
        free = cluster.free_gpus
        needed = 0
        for job in snapshot.waiting:
            if job.gpus_min <= free and cluster.fits(job, job.gpus_min):
                actions.append(start(job, job.gpus_min))
                free -= job.gpus_min
            else:
                needed += job.gpus_min
        for job in snapshot.running:
            settled = snapshot.now_s - job.last_start_at_s
            if not job.can_preempt or job.gpus_min == job.gpus_max:
                continue
            if settled < self.parameters["resize_after_s"]:
                self.wake_in(self.parameters["resize_after_s"] - settled)
            elif needed > 0 and job.gpus_held > job.gpus_min:
                actions.append(resize(job, job.gpus_min))
                needed -= job.gpus_held - job.gpus_min
            elif needed <= 0 and free > 0 and job.gpus_held < job.gpus_max:
                more = min(free, job.gpus_max - job.gpus_held)
                actions.append(resize(job, job.gpus_held + more))
                free -= more
        return actions
