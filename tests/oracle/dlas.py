"""The policy dlas-gpu of SymbioticLab/Tiresias (run_sim.py): one pool of GPUs, three queues by GPU time, free preemption."""

NEVER = 1 << 62
LIMITS = [3_250, 7_200]  # GPU-seconds of the first two queues


class Oracle:
    def end(self, job, now):
        job["finished"], job["running"] = now, False
        self.unfinished.remove(job)
        self.queues[job["queue"]].remove(job)

    def fall(self):
        for job in self.unfinished:  # in order of submission; by one queue at most
            if job["running"] and job["queue"] < 2 and job["executed"] * job["gpus"] >= LIMITS[job["queue"]]:
                self.queues[job["queue"]].remove(job)
                job["queue"] += 1
                self.queues[job["queue"]].append(job)

    def decide(self, now):
        free = self.gpus
        for queue in self.queues:
            for job in queue:
                if job["gpus"] <= free:
                    free -= job["gpus"]
                    job["running"], job["started"] = True, job.get("started", now)
                elif job["running"]:
                    job["running"], job["preemptions"] = False, job["preemptions"] + 1
        self.queues = [sorted(queue, key=lambda job: not job["running"]) for queue in self.queues]

    def jump(self, job, now):  # an upper bound would multiply what was executed by the GPUs; the original does not
        return now - (job["executed"] - LIMITS[job["queue"]]) // job["gpus"] if job["queue"] < 2 else NEVER

    def run(self, jobs, nodes):
        self.gpus, self.queues, self.unfinished = 8 * nodes, [[], [], []], []
        coming, now, stale = list(jobs), 0, []
        while coming or self.unfinished:
            running = [job for job in self.unfinished if job["running"]]
            arrival = coming[0]["submitted"] if coming else NEVER
            end = min((now + job["left"] for job in running), default=NEVER)
            at = min(arrival, end, min((self.jump(job, now) for job in running), default=NEVER))
            # An end that is found together with an arrival stays with it, also if the job is preempted before.
            stale = [job for job in running if now + job["left"] == end] if arrival == end else stale
            for job in running:
                job["left"], job["executed"] = job["left"] - (at - now), job["executed"] + at - now
            now = at
            for job in [job for job in running if job["left"] == 0] or (stale if at == arrival else []):
                self.end(job, now)
            stale = [] if at == arrival else stale
            while coming and coming[0]["submitted"] == now:
                self.unfinished.append(coming.pop(0))
                self.queues[0].append(self.unfinished[-1])
            self.fall()
            self.decide(now)
