#!/usr/bin/python3
"""What Schedulearn adds to the start of a container: its start minus that by the engine's own command, in one run.

Both start the same command in the same image, as the same user and on the server's network, in turn, on an engine of this program's own.
A start is the time from the request, or from the start of the engine's command, until the container's command has said that it runs.
Needs root and `tools/install containers`; SCHEDULEARN_PROGRAM names the program."""

import argparse
import json
import os
import pathlib
import select
import statistics
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))

import engines
from lab import Lab, until


def timed(pipe, begin):
    """Milliseconds from begin() until something is written into the pipe, and what begin() returned."""
    began = time.monotonic()
    begun = begin()
    if not select.select([pipe], [], [], 60)[0]:
        sys.exit("error: a container has not started in a minute")
    took = (time.monotonic() - began) * 1000
    os.read(pipe, 100)
    return took, begun


def own_command(engine):
    if engine.name == "docker":
        return ["docker", "-H", f"unix://{engine.socket}", "run"]
    return ["podman", "--root", engine.folder / "root", "--runroot", engine.folder / "run", "--tmpdir", engine.folder / "tmp", "run"]


def measure(engine, rounds):
    with_schedulearn, alone = [], []
    lab = Lab(gpus=1)
    try:
        lab.folder.chmod(0o755)
        place = lab.folder / "said"
        place.mkdir()
        os.mkfifo(place / "here")
        for path in (place, place / "here"):
            path.chmod(0o777)
        pipe = os.open(place / "here", os.O_RDWR)  # so that its other end is always open
        command = f"echo runs > {place}/here"
        lab.start_controller()
        lab.start_agent("--container-socket", str(engine.socket), "--allow-mount", str(place))
        keys = {"image": engines.BUSYBOX, "user": "nobody", "command": ["sh", "-c", command], "mounts": [f"{place}:{place}:rw"]}
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]
        own = [*own_command(engine), "--rm", "--network", "host", *limits, "--user", "65534:65534", "--cap-drop", "ALL", "-v", f"{place}:{place}", engines.BUSYBOX, "sh", "-c", command]
        for number in range(rounds + 1):
            took, (status, _, text) = timed(pipe, lambda: lab.request("POST", "/api/v1/jobs", keys))
            lab.finished(json.loads(text)["id"])
            until(lambda: not engine.containers(), what="the container being removed")
            took_alone, process = timed(pipe, lambda: subprocess.Popen(own, env=engine.environment()))
            process.wait()
            if number > 0:  # the first warms up
                with_schedulearn.append(took)
                alone.append(took_alone)
    finally:
        lab.__exit__()
    return with_schedulearn, alone


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    for engine_class in (engines.Podman, engines.Docker):
        engine = engine_class()
        try:
            with_schedulearn, alone = measure(engine, options.rounds)
        finally:
            engine.close()
        more = statistics.median(ours - theirs for ours, theirs in zip(with_schedulearn, alone))
        print(f"{engine.name}: through Schedulearn p50 {statistics.median(with_schedulearn):.0f} ms, by its own command p50 {statistics.median(alone):.0f} ms, "
              f"difference p50 {more:+.0f} ms", flush=True)


if __name__ == "__main__":
    main()
