#!/usr/bin/python3
"""FIFO on one pool of GPUs as one would write it in an afternoon: the yardstick that bench/sim/run.py compares with `sim run`.

usage: event_loop.py TRACE.csv.gz GPUS JOBS_OUT.csv
"""

import csv
import gzip
import heapq
import sys

trace, gpus, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with gzip.open(trace, "rt") as file:
    rows = csv.DictReader(file)
    jobs = [(float(r["submit_time_s"]), r["job_id"], int(r["gpus"]), min(max(float(r["duration_s"]), 1), 172800)) for r in rows if r["gpus"] and 0 < int(r["gpus"]) <= 32]
jobs.sort(key=lambda job: job[0])
running, free, now = [], gpus, 0.0
with open(out, "w") as file:
    file.write("job_id,submit_s,start_s,finish_s\n")
    for submitted, job, width, duration in jobs:
        now = max(now, submitted)
        while running and (running[0][0] <= now or free < width):
            end, width_of = heapq.heappop(running)
            now, free = max(now, end), free + width_of
        free -= width
        heapq.heappush(running, (now + duration, width))
        file.write(f"{job},{submitted},{now},{now + duration}\n")
