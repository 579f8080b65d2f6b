from schedulearn.policy import Policy


class Las(Policy):
    """2D-LAS, as in Tiresias: jobs that have had little GPU time go first, in two queues; needs no estimates."""

    preemptive = True
    work_conserving = True
    parameters = {"threshold_gpu_s": 3600}

    def order(self, jobs, cluster):
        threshold = self.parameters["threshold_gpu_s"]

        def rank(job):
            served = job.attained_gpu_s >= threshold
            started = float("inf") if job.first_start_at_s is None else job.first_start_at_s
            return served, started, job.is_waiting, job.submitted_at_s, job.id

        left = [(threshold - job.attained_gpu_s) / job.gpus for job in jobs]
        if any(seconds > 0 for seconds in left):
            self.wake_in(min(seconds for seconds in left if seconds > 0))  # when the next one falls to the second queue
        return sorted(jobs, key=rank)
