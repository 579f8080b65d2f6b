"""Random cases: a cluster, a trace and a policy with its parameters, for the program and for its oracle. Times and
sizes come from few values, so that many things happen at once and many jobs are alike."""

import dataclasses

import conservative
import dlas
import easy
import elastic_fifo
import fifo
import first_fit
import gang
import las
import lucid
import sjf
import srtf

SECOND = 1_000_000  # microseconds


@dataclasses.dataclass
class Case:
    oracle: object
    policy: str  # as --policy names it
    servers: list  # pairs of GPUs and type
    rows: list
    parameters: dict = dataclasses.field(default_factory=dict)
    restart_s: int = 0
    blind: bool = False
    is_pool: bool = False  # its one server is a pool
    without_gpus: list = dataclasses.field(default_factory=list)  # rows of jobs that need no GPU
    semantics: str = ""  # of the published simulator that the oracle stands for; then times are whole seconds


def some_servers(random, most=4, types=True):
    kinds = random.choice(["", "AB"]) if types else ""
    sizes = random.choice([[4], [8], [1, 2, 4, 8]])
    return [(random.choice(sizes), random.choice(kinds) if kinds else "") for _ in range(random.randint(1, most))]


def has_room(row, servers, gpus, wide=True):
    """Whether the job could ever run: on one server if it fits on the widest of its type, else, if it may be `wide`, on several."""
    rooms = [n for n, kind in servers if not row.get("gpu_type") or kind in row["gpu_type"]]
    single = row.get("gpus_max", row["gpus"]) <= max(rooms, default=0) or not wide
    return (max(rooms, default=0) if single else sum(rooms)) >= gpus


def some_rows(random, servers, wide=True):
    """Jobs that these servers can hold, some of them of one type, with a priority, or wider than a server."""
    widest, rows = max(n for n, _ in servers), []
    most = sum(n for n, _ in servers) if wide and random.random() < 0.5 else widest
    lengths = [random.choice([1, 5, 10, 30, 100, 600]) * SECOND for _ in range(3)] + [random.randint(1, 300 * SECOND)]
    step, classes, jobs = random.choice([0, 1, 10, 60]), random.choice([1, 1, 3]), random.choice([2, 5, 10, 30])
    while len(rows) < jobs:
        row = {"job_id": f"j{len(rows)}", "submit_time": step * random.randint(0, 12) * SECOND,
               "gpus": min(most, random.choice([1, 1, 2, 3, 4, most])), "duration": random.choice(lengths)}
        if servers[0][1] and random.random() < 0.5:
            row["gpu_type"] = random.choice(servers)[1]
        if classes > 1:
            row["priority"] = random.randrange(classes)
        if has_room(row, servers, row["gpus"], wide):
            rows.append(row)
    return rows


def some_without_gpus(random, case):
    """Jobs that need no GPU, where there are CPUs enough: each runs at once, and nothing else changes."""
    if case.semantics or random.random() < 0.7:
        return []
    last = max(row["submit_time"] for row in case.rows)
    return [{"job_id": f"cpu{n}", "submit_time": random.randint(0, last // SECOND) * SECOND, "gpus": 0, "duration": random.choice([1, 30, 600]) * SECOND,
             **({"priority": random.choice([-5, 5])} if random.random() < 0.5 else {})} for n in range(random.choice([1, 3, 20]))]


def with_estimates(random, rows):
    factors = random.choice([[1, 2, 10], [0.5, 1, 2], [1]])
    return [{**row, "est_duration": max(1, int(row["duration"] * random.choice(factors)))} for row in rows]


def in_order(module, policy):
    def make(random):
        servers = some_servers(random)
        return Case(module.Oracle(), policy, servers, some_rows(random, servers))
    return make


def make_arrays(random):
    """Some of the jobs are arrays: their members ask for the same and differ in length."""
    case = in_order(fifo, "fifo")(random)
    for row in list(case.rows):
        if random.random() < 0.5:
            at, limit = case.rows.index(row), random.choice([0, 1, 1, 2, 3, 10])
            shared = {"array": "of " + row["job_id"]} | ({"max_running": limit} if limit else {})
            case.rows[at:at + 1] = [row | shared | {"job_id": f"{row['job_id']}_{n}", "duration": random.choice([1, 5, 30, 100]) * SECOND}
                                    for n in range(random.choice([1, 2, 5, 20]))]
    return case


def make_first_fit(random):
    servers, limit = some_servers(random), random.choice([1, 2, 5, 1000])
    return Case(first_fit.Oracle(skip_limit=limit), "fifo_first_fit", servers, some_rows(random, servers), {"skip_limit": limit})


def make_sjf(random):
    servers, head = some_servers(random), random.choice(["skip", "block"])
    return Case(sjf.Oracle(head=head), "sjf", servers, with_estimates(random, some_rows(random, servers)), {"head": head}, blind=True)


def backfilling(module, policy, wide):
    def make(random):
        kind = random.choice(["pool", "server", "servers"])
        servers = some_servers(random) if kind == "servers" else [(random.choice([4, 16, 64] + [100, 128, 320] * (kind == "pool")), "")]
        rows, grace = with_estimates(random, some_rows(random, servers, wide)), random.choice([1, 60])
        factor = random.choice([1, 2, 3])
        return Case(module.Oracle(overrun_grace=grace * SECOND, overrun_factor=factor), policy, servers, rows, {"overrun_grace_s": grace, "overrun_factor": factor}, blind=True, is_pool=kind == "pool")
    return make


def make_srtf(random):
    servers, margin, quantum = some_servers(random), random.choice([0, 0, 1, 60]), random.choice([0, 0, 1, 60])
    return Case(srtf.Oracle(preempt_margin=margin * SECOND, min_quantum=quantum * SECOND), "srtf", servers, some_rows(random, servers),
                {"preempt_margin_s": margin, "min_quantum_s": quantum}, restart_s=random.choice([0, 0, 1, 30]))


def make_las(random):
    servers, quantum = some_servers(random), random.choice([0, 0, 1, 60])
    thresholds = sorted(random.sample([1, 10, 20, 60, 100, 300, 1000], random.randint(1, 3)))
    return Case(las.Oracle(thresholds=[t * SECOND for t in thresholds], min_quantum=quantum * SECOND), "tiresias", servers, some_rows(random, servers),
                {"thresholds_gpu_s": ",".join(map(str, thresholds)), "min_quantum_s": quantum}, restart_s=random.choice([0, 0, 1, 30]))


def elastic(random, rows, most):
    """On powers of two of GPUs, so that every speed is exact."""
    for row in rows:
        row["gpus"] = random.choice([n for n in (1, 2, 4, 8) if n <= row["gpus"]])
        row["gpus_min"] = random.randint(1, row["gpus"]) if random.random() < 0.8 else row["gpus"]
        row["gpus_max"] = random.randint(row["gpus"], most)
    return rows


def make_elastic_fifo(random):
    servers, admit = some_servers(random, 1, False), random.choice(["skip", "strict"])
    rows = elastic(random, some_rows(random, servers), servers[0][0])
    for row in rows if admit == "strict" else []:
        row.pop("priority", None)  # then nothing that runs stands behind a job that blocks
    return Case(elastic_fifo.Oracle(admit=admit), "elastic_fifo", servers, rows,
                {"admit": admit, "resize_min_run_s": 0, "resize_min_rem_s": 0, "restart_cost_s": 0}, restart_s=random.choice([0, 0, 1, 30]))


def make_gang(random):
    servers, settle = some_servers(random), random.choice([0, 1, 60])
    rows = some_rows(random, servers)
    for row in rows:
        row["gpus"] = random.choice([n for n in (1, 2, 4, 8) if n <= row["gpus"]])
        row["gpus_min"] = random.randint(1, row["gpus"])
    return Case(gang.Oracle(settle=settle * SECOND), "gang", servers, rows, {"when_blocked": "strict", "settle_s": settle})


def published(oracle, semantics, policy, lengths, sizes):
    """Equal submissions and lengths that are multiples of each other, so that ends, arrivals and limits meet."""
    def make(random):
        nodes, jobs, step = random.randint(1, 4), random.randint(2, 14), random.choice([0, 10, 60, 250])
        rows = [{"job_id": f"j{n}", "submit_time": step * random.randint(0, 12) * SECOND, "gpus": min(8 * nodes, random.choice(sizes)),
                 "duration": random.choice(lengths) * SECOND} for n in range(jobs)]
        return Case(oracle, policy, [(8, "")] * nodes, rows, semantics=semantics)
    return make


MAKERS = [in_order(fifo, "fifo"), make_arrays, make_first_fit, make_sjf, backfilling(easy, "fifo_easy", True), backfilling(conservative, "fifo_conservative", False),
          make_srtf, make_las, make_elastic_fifo, make_gang,
          published(dlas.Oracle(), "tiresias", "tiresias", [10, 60, 250, 500, 1000, 3250], [1, 2, 4, 8, 12, 16]),
          published(lucid.Oracle("srtf"), "lucid", "srtf", [10, 59, 60, 300, 600], [1, 2, 4, 8, 12, 16, 20]),
          published(lucid.Oracle("tiresias"), "lucid", "tiresias", [10, 59, 60, 600, 2500], [1, 2, 4, 8, 12, 16, 20])]
