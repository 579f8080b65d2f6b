#!/usr/bin/python3
"""Compares policies from Python, one of them written in Python. From a checkout:

    PYTHONPATH=python SCHEDULEARN_PROGRAM=build/release/bin/schedulearn python3 examples/sim_from_python.py
"""

import pathlib

import schedulearn.sim

LAS = pathlib.Path(__file__).resolve().parent / "policies" / "las.py"

# Which threshold suits this load? Every value is a separate simulation; all of them run at once.
with schedulearn.sim.run(
    trace="poisson:jobs=1000,load=0.9",
    servers="4x8",
    policies=["fifo", "srtf", str(LAS)],
    parameters={"las.py.threshold_gpu_s": [900, 3600, 14400]},
) as results:
    print(f"{'policy':10} {'threshold':>10} {'mean JCT, h':>12} {'95 %, h':>10} {'preempted':>10}")
    for row in results.rows:
        threshold = row.get("threshold_gpu_s", "")
        print(f"{row['policy']:10} {threshold:>10} {row['avg_jct_s'] / 3600:12.2f} {row['p95_jct_s'] / 3600:10.2f} {row['preemptions']:10}")

    # The same as a pandas table, if pandas is installed. jobs() returns one row per job.
    try:
        import pandas
    except ImportError:
        raise SystemExit
    jobs = pandas.DataFrame(results.jobs())
    print(jobs.groupby("policy")["wait_s"].describe(percentiles=[0.5, 0.95]).round(1))
