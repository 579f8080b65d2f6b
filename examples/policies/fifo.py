from schedulearn.policy import Policy


class Fifo(Policy):
    """First come, first served; the head of the line blocks all behind it."""

    blocking = True

    def order(self, jobs, cluster):
        return sorted(jobs, key=lambda job: (-job.priority, job.submitted_at_s, job.id))
