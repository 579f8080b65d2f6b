"""A scheduling policy of your own, in one file.

The simple kind returns the order in which jobs are served; Schedulearn starts them, finds their GPUs and makes room:

    from schedulearn.policy import Policy

    class ShortestFirst(Policy):
        def order(self, jobs, cluster):
            return sorted(jobs, key=lambda job: job.estimate_s or 0)

The full kind returns the actions to take:

    from schedulearn.policy import Policy, start

    class Greedy(Policy):
        def decide(self, snapshot):
            free = snapshot.cluster.free_gpus
            ...
            return [start(job), ...]

The same file is used as `schedulearn sim run --policy ./mine.py`, `schedulearn policy check mine.py` and, for a running
cluster, `schedulearn policy set ./mine.py`. Three rules:

  1. Decide from what you are given. The clock is `cluster.now_s`; what you keep in `self` is lost when the policy is
     restarted, and a policy that relies on it decides differently afterwards.
  2. Be quick: 50 ms per decision on a running cluster, 10 s in a simulation (parameter `deadline_ms`).
  3. Use the standard library. print() goes to the terminal, or to the controller's log.

All times are seconds; `now_s` and those that end in `_at_s` count from one origin: 1970 on a cluster, the trace's own in a
simulation.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

__all__ = ["Policy", "Job", "Server", "Cluster", "Snapshot", "Action", "start", "preempt", "resize"]


class Job:
    """A job that waits or holds GPUs. Read it, do not change it."""

    __slots__ = ("id", "user", "priority", "gpus", "gpus_min", "gpus_max", "state", "submitted_at_s", "waiting_since_at_s",
                 "first_start_at_s", "last_start_at_s", "deadline_at_s", "estimate_s", "attempt", "preemptions", "can_preempt",
                 "one_server", "gpus_held", "servers", "_slot", "_run_us", "_attained_us", "_accounted_us", "_cluster", "_rank")

    id: int
    user: str  #: who submitted it; "" in a trace that does not tell
    priority: int  #: higher is more important
    gpus: int  #: that it asks for
    gpus_min: int  #: an elastic job runs on any number from here ...
    gpus_max: int  #: ... to here; both equal gpus for others
    state: str  #: pending, suspended (both wait), starting, running, migrating, resizing, stopping
    submitted_at_s: float
    waiting_since_at_s: float
    first_start_at_s: Optional[float]  #: None: it has never run
    last_start_at_s: Optional[float]
    deadline_at_s: Optional[float]
    estimate_s: Optional[float]  #: run time on `gpus` GPUs from its beginning to its end, where somebody told it
    attempt: int  #: number of the present or last one; 0 before the first
    preemptions: int
    can_preempt: bool  #: it has a checkpoint to go on from, and may be stopped
    one_server: bool  #: all its GPUs must be on one server
    gpus_held: int
    servers: Tuple[int, ...]  #: indexes of the servers it holds GPUs of

    @property
    def is_waiting(self) -> bool:
        return self.state == "pending" or self.state == "suspended"

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def run_s(self) -> float:
        """How long it has run so far, over all attempts."""
        return (self._run_us + self._running_us()) / 1e6

    @property
    def attained_gpu_s(self) -> float:
        """GPU-seconds it has had so far: run time times GPUs."""
        return (self._attained_us + self._running_us() * self.gpus_held) / 1e6

    @property
    def remaining_s(self) -> Optional[float]:
        """What is left of the estimate; None if there is none."""
        return None if self.estimate_s is None else max(0.0, self.estimate_s - self.run_s)

    @property
    def waited_s(self) -> float:
        """How long it has waited this time; 0 if it does not wait."""
        return self._cluster.now_s - self.waiting_since_at_s if self.is_waiting else 0.0

    def _running_us(self) -> int:
        return self._cluster._now_us - self._accounted_us if self.state == "running" else 0

    def __repr__(self) -> str:
        return f"<job {self.id}: {self.state}, {self.gpus} GPUs>"


class Server:
    """A machine with GPUs."""

    __slots__ = ("index", "name", "state", "gpus", "free_gpus")

    index: int
    name: str
    state: str  #: up, draining, drained, down, joining, quarantined, removed; jobs start only on one that is up
    gpus: int
    free_gpus: int  #: that can be given to jobs now

    def __repr__(self) -> str:
        return f"<server {self.name}: {self.free_gpus} of {self.gpus} GPUs free>"


class Cluster:
    """All servers, and the time."""

    def __init__(self) -> None:
        self.servers: List[Server] = []
        self.free_gpus = 0  #: on all servers together
        self.gpus = 0  #: of servers that are up
        self._now_us = 0

    @property
    def now_s(self) -> float:
        return self._now_us / 1e6

    def fits(self, job: Job, gpus: Optional[int] = None) -> bool:
        """Whether this many GPUs (default: what the job asks for) are free for it, by number."""
        wanted = job.gpus if gpus is None else gpus
        if not job.one_server:
            return wanted <= self.free_gpus
        return any(server.free_gpus >= wanted for server in self.servers)


class Snapshot:
    """Everything a decision is based on."""

    def __init__(self, jobs: List[Job], cluster: Cluster, trigger: str) -> None:
        self.jobs = jobs  #: all, by submission
        self.cluster = cluster
        self.trigger = trigger  #: why you are asked: arrival, ending, cluster, timer, policy, progress

    @property
    def now_s(self) -> float:
        return self.cluster.now_s

    @property
    def waiting(self) -> List[Job]:
        return [job for job in self.jobs if job.is_waiting]

    @property
    def running(self) -> List[Job]:
        return [job for job in self.jobs if job.state == "running"]


class Action:
    """What start(), preempt() and resize() return."""

    __slots__ = ("kind", "job", "gpus", "line")

    def __init__(self, kind: str, job: Job, gpus: Optional[int]) -> None:
        self.kind = kind
        self.job = job
        self.gpus = gpus
        self.line = sys._getframe(2).f_lineno  # where the author wrote it, for a complaint about it

    def __repr__(self) -> str:
        return f"{self.kind}({self.job!r}, {self.gpus})"


def start(job: Job, gpus: Optional[int] = None) -> Action:
    """Start a waiting job on this many GPUs (default: what it asks for). If they are too scattered for it, it keeps waiting."""
    return Action("start", job, job.gpus if gpus is None and isinstance(job, Job) else gpus)


def preempt(job: Job) -> Action:
    """Stop a running job at a checkpoint and put it back in line. Only if `job.can_preempt`."""
    return Action("preempt", job, None)


def resize(job: Job, gpus: int) -> Action:
    """Continue a running job on another number of GPUs, from gpus_min to gpus_max. It restarts from a checkpoint."""
    return Action("resize", job, gpus)


class Policy:
    """Derive one class from this and define order() or decide()."""

    #: What --param may set, with defaults: numbers, booleans, a list of words (the first is the default), or a
    #: list of rising numbers. Read them as self.parameters["name"].
    parameters: Dict[str, Any] = {}

    #: With order(): the first job that does not fit blocks all behind it.
    blocking: bool = False

    #: With order(): `jobs` includes running jobs, and one that does not fit takes the place of jobs behind it that
    #: can_preempt. Running jobs that you leave out are left alone.
    preemptive: bool = False

    #: With preemptive: a job runs at least this long before it is stopped for another.
    min_run_s: float = 60.0

    #: You promise that no GPU stays idle that a waiting job could take. `policy check` checks this.
    work_conserving: bool = False

    # order(self, jobs: Sequence[Job], cluster: Cluster) -> Iterable[Job]
    #     The jobs in the order in which to serve them. A waiting job that you leave out is not started now.
    # decide(self, snapshot: Snapshot) -> Iterable[Action]
    #     The actions to take now: those that free GPUs come first, then the rest in your order.

    def wake_in(self, seconds: float) -> None:
        """Ask me again after this many seconds, at least a hundredth, even if nothing happens. Of several calls in one decision the earliest counts."""
        us = max(10_000, math.ceil(seconds * 1e6 - 1e-3))
        wake = getattr(self, "_wake_us", None)
        self._wake_us: Optional[int] = us if wake is None else min(wake, us)

    def wake_at(self, time_s: float) -> None:
        """The same with a time instead of a delay."""
        self.wake_in(time_s - self._cluster.now_s)

    _cluster: Cluster
