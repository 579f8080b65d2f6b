"""The simulator of S-Lab-System-Group/Lucid: nodes of 8 GPUs, a clock that ticks every second, a checkpoint that costs
40 s, or 60 s on more than one node. A job that starts at s with d seconds left is found to have ended at s + d + 1."""


class Oracle:
    def __init__(self, policy):
        self.policy = policy

    def place(self, count):
        if count <= 8:
            room = [node for node, free in enumerate(self.free) if free >= count]
            return {min(room, key=lambda node: self.free[node]): count} if room else None
        parts = [8] * (count // 8) + [count % 8] * (count % 8 > 0)
        order = sorted(range(len(self.free)), key=lambda node: -self.free[node])
        fits = len(parts) <= len(order) and all(self.free[node] >= part for node, part in zip(order, parts))
        return dict(zip(order, parts)) if fits else None

    def order(self):
        if self.policy == "srtf":
            return sorted(self.waiting + self.running, key=lambda job: job["left"])
        return sorted(self.running + self.waiting, key=lambda job: (job["service"] > 18_000, job["submitted"]))

    def leave(self, job):
        for node, gpus in job.pop("on").items():
            self.free[node] += gpus
        self.running.remove(job)

    def decide(self, now):
        quota, chosen, preempted = 8 * len(self.free), [], []
        for job in self.order():
            if job["gpus"] <= quota:
                quota -= job["gpus"]
                chosen += [job] if job in self.waiting else []
            elif job in self.running:
                preempted.append(job)
        for job in preempted:
            self.leave(job)
            self.waiting.append(job)
            job["left"], job["preemptions"] = job["left"] + (40 if job["gpus"] <= 8 else 60), job["preemptions"] + 1
        for job in chosen:
            if (where := self.place(job["gpus"])) is not None:
                self.waiting.remove(job)
                self.running.append(job)
                job["on"], job["started"] = where, job.get("started", now)
                for node, gpus in where.items():
                    self.free[node] -= gpus

    def run(self, jobs, nodes):
        self.free, self.waiting, self.running, now = [8] * nodes, [], [], jobs[0]["submitted"]
        while any("finished" not in job for job in jobs):
            for job in list(self.running):
                if job["left"] == 0:
                    self.leave(job)
                    job["finished"] = now
                else:
                    job["left"], job["service"] = job["left"] - 1, job["service"] + job["gpus"]
            self.waiting += [job for job in jobs if job["submitted"] == now]
            if self.policy == "srtf" or now % 60 == 0:
                self.decide(now)
            now += 1
