"""The other end of a policy written in Python: the process Schedulearn starts for it (docs/formats/python-policy.md).

Reads frames from file descriptor 3 (four bytes of length, little-endian, then JSON) and answers each with one. What goes
wrong in the author's file is an answer too, with the line. Endless loops and crashes cannot be answered: for these the
interpreter itself writes where it was to descriptor 4, on SIGUSR1 or when it dies.
"""

import bisect
import faulthandler
import json
import os
import signal
import struct
import sys
import types

CHANNEL, TRACE = 3, 4
OUTPUT_MAX = 65536  # characters a policy may print in one decision ...
OUTPUT_MAX_IN_ALL = 16 << 20  # ... and while it runs


class Fault(Exception):
    """A mistake of the author; `line` is in their file."""

    def __init__(self, kind, message, line=0, function=""):
        super().__init__(message)
        self.answer = {"kind": kind, "message": message, "line": line, "function": function}


class Channel:
    def __init__(self):
        self.file = os.fdopen(CHANNEL, "rb", closefd=False)

    def receive(self):
        try:
            head = self.file.read(4)
            body = self.file.read(struct.unpack("<I", head)[0]) if len(head) == 4 else b""
        except OSError:
            body = b""
        if not body:
            os._exit(0)  # Schedulearn is gone or done with us
        return json.loads(body)

    def send(self, message):
        body = json.dumps(message, separators=(",", ":")).encode()
        rest = memoryview(struct.pack("<I", len(body)) + body)
        while rest:
            rest = rest[os.write(CHANNEL, rest):]


class BoundedOutput:
    """Standard output and error of the policy: go to the log, with a limit per decision."""

    def __init__(self):
        self.left_in_all = OUTPUT_MAX_IN_ALL
        self.renew()

    def renew(self):
        self.left = min(OUTPUT_MAX, self.left_in_all)

    def write(self, text):
        if self.left > 0:
            part = text[:self.left]
            self.left -= len(part)
            self.left_in_all -= len(part)
            os.write(2, part.encode(errors="replace"))
            if self.left == 0:
                os.write(2, b"\n... the policy prints no more in this decision\n")
        return len(text)

    def flush(self):
        pass


# ---- the author's file ----


def install_api(text):
    package, api = types.ModuleType("schedulearn"), types.ModuleType("schedulearn.policy")
    package.__path__ = []
    sys.modules.update({"schedulearn": package, "schedulearn.policy": api})
    package.policy = api
    exec(compile(text, "schedulearn/policy.py", "exec"), api.__dict__)
    return api


def fault_of(error, file):
    """The exception, with the last line of the author's file in its traceback."""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, Fault):
        return error
    if isinstance(error, SyntaxError) and error.filename == file:
        return Fault("exception", f"{type(error).__name__}: {error.msg}", error.lineno or 0)
    line, function, step = 0, "", error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line, function = step.tb_lineno, step.tb_frame.f_code.co_name
        step = step.tb_next
    return Fault("exception", message[:2000], line, "" if function == "<module>" else function)


def takes(function, count):
    """Whether it can be called with that many positional arguments."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    least = code.co_argcount - len(function.__defaults__ or ())
    return least <= count and (count <= code.co_argcount or bool(code.co_flags & 4)) and not (code.co_kwonlyargcount and not function.__kwdefaults__)


def load(api, file, source):
    """The author's class."""
    tree = compile(source, file, "exec", 0x400)  # as a syntax tree, for the lines of classes
    lines = {node.name: node.lineno for node in tree.body if type(node).__name__ == "ClassDef"}
    module = types.ModuleType("policy_file")
    module.__file__ = file
    sys.modules["policy_file"] = module
    exec(compile(source, file, "exec"), module.__dict__)
    found = [value for value in module.__dict__.values()
             if isinstance(value, type) and issubclass(value, api.Policy) and value.__module__ == "policy_file"]
    leaves = [one for one in dict.fromkeys(found) if not any(other is not one and issubclass(other, one) for other in found)]
    if not leaves:
        raise Fault("invalid", "it has no class that derives from schedulearn.policy.Policy", 1)
    if len(leaves) > 1:
        names = ", ".join(one.__name__ for one in leaves)
        raise Fault("invalid", f"it has several policies: {names}; a file has one", lines.get(leaves[1].__name__, 1))
    policy = leaves[0]
    policy.class_line = lines.get(policy.__name__, 1)
    check_methods(policy)
    return policy


def check_methods(policy):
    order, decide = getattr(policy, "order", None), getattr(policy, "decide", None)
    if (order is None) == (decide is None):
        what = "neither order(self, jobs, cluster) nor decide(self, snapshot)" if order is None else "both order() and decide(): leave out one"
        raise Fault("invalid", f"{policy.__name__} has {what}", policy.class_line)
    method, count, signature = (order, 3, "order(self, jobs, cluster)") if order else (decide, 2, "decide(self, snapshot)")
    if not takes(method, count):
        line = getattr(getattr(method, "__code__", None), "co_firstlineno", policy.class_line)
        raise Fault("invalid", f"the method must be {signature}", line)
    if decide and (policy.preemptive or policy.blocking):
        raise Fault("invalid", "preemptive and blocking belong to order(); decide() names its actions itself", policy.class_line)
    if policy.preemptive and policy.blocking:
        raise Fault("invalid", "a policy is preemptive or blocking, not both", policy.class_line)
    min_run = policy.min_run_s
    if isinstance(min_run, bool) or not isinstance(min_run, (int, float)) or not 0 <= min_run <= 1e9:
        raise Fault("invalid", "min_run_s is a number of seconds", policy.class_line)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def is_rising(default):
    return isinstance(default, (list, tuple)) and len(default) > 0 and all(map(is_number, default)) and all(a < b for a, b in zip(default, default[1:]))


def number_like(default, text):
    number = float(text)
    return int(number) if isinstance(default, int) and number.is_integer() else number


ATTRIBUTES = ("blocking", "preemptive", "work_conserving", "min_run_s")


def describe_parameter(policy, name, default):
    if name in ATTRIBUTES:
        raise Fault("invalid", f"{name} is an attribute of the class and no parameter: write {name} = {default!r} in the class", policy.class_line)
    if not isinstance(name, str) or not name.isidentifier() or name == "deadline_ms":
        raise Fault("invalid", f"{name!r} cannot be the name of a parameter", policy.class_line)
    if isinstance(default, bool):
        return {"name": name, "type": "boolean", "default": "true" if default else "false"}
    if is_number(default):
        return {"name": name, "type": "number", "default": repr(default)}
    if isinstance(default, (list, tuple)) and default and all(isinstance(word, str) for word in default):
        return {"name": name, "type": "choice", "default": default[0], "choices": list(default)}
    if is_rising(default):
        return {"name": name, "type": "ascending numbers", "default": ",".join(map(repr, default))}
    raise Fault("invalid", f"the default of parameter {name} must be a number, True or False, a list of words, or a list of rising numbers", policy.class_line)


def describe(policy):
    if not isinstance(policy.parameters, dict):
        raise Fault("invalid", "parameters must be a dictionary of names and defaults", policy.class_line)
    text = (policy.__doc__ or sys.modules["policy_file"].__doc__ or "").strip()
    return {
        "title": policy.__name__, "summary": " ".join(text.split("\n\n")[0].split())[:300], "kind": "order" if hasattr(policy, "order") else "decide",
        "blocking": bool(policy.blocking), "preemptive": bool(policy.preemptive), "work_conserving": bool(policy.work_conserving),
        "min_run_s": float(policy.min_run_s),
        "parameters": [describe_parameter(policy, name, default) for name, default in policy.parameters.items()],
    }


def values_of(policy, given):
    """The parameters, converted to the types of their defaults."""
    values = {}
    for name, default in policy.parameters.items():
        text = given.get(name)
        if text is None:
            values[name] = list(default) if is_rising(default) else default[0] if isinstance(default, (list, tuple)) else default
        elif isinstance(default, bool):
            values[name] = text == "true"
        elif isinstance(default, (int, float)):
            values[name] = number_like(default, text)
        elif is_rising(default):
            values[name] = [number_like(default[0], number) for number in text.split(",")]
        else:
            values[name] = text
    return values


# ---- the jobs and servers, as last received ----


def seconds(us):
    return None if us is None else us / 1e6


class Mirror:
    """Jobs are kept in the order of submission, so that the order of messages never matters."""

    def __init__(self, api):
        self.api = api
        self.cluster = api.Cluster()
        self.by_slot = {}
        self.ordered = []
        self.ranks = []

    def update(self, message):
        self.cluster._now_us = message["now"]
        for slot in message["gone"]:
            self.remove(slot)
        for row in message["jobs"]:
            self.put(row)
        for row in message["servers"]:
            self.put_server(row)
        if message["servers"]:
            self.cluster.free_gpus = sum(server.free_gpus for server in self.cluster.servers)
            self.cluster.gpus = sum(server.gpus for server in self.cluster.servers if server.state == "up")

    def remove(self, slot):
        job = self.by_slot.pop(slot, None)
        if job is not None:
            at = bisect.bisect_left(self.ranks, job._rank)
            del self.ranks[at], self.ordered[at]

    def put(self, row):
        slot, number, submitted = row[0], row[1], row[2]
        job = self.by_slot.get(slot)
        if job is None or job.id != number or job._rank[0] != submitted:
            self.remove(slot)
            job = self.by_slot[slot] = self.api.Job()
            job._slot, job.id, job._cluster, job._rank = slot, number, self.cluster, (submitted, number)
            at = bisect.bisect_left(self.ranks, job._rank)
            self.ranks.insert(at, job._rank)
            self.ordered.insert(at, job)
            job.submitted_at_s = submitted / 1e6
        (_, _, _, job.state, job.user, job.priority, job.gpus, job.gpus_min, job.gpus_max, job.can_preempt, job.one_server, job.attempt, job.preemptions,
         waiting, first, last, deadline, estimate, job._run_us, job._attained_us, job._accounted_us, job.gpus_held, servers) = row
        job.waiting_since_at_s, job.first_start_at_s, job.last_start_at_s = seconds(waiting) or 0.0, seconds(first), seconds(last)
        job.deadline_at_s, job.estimate_s, job.servers = seconds(deadline), estimate, tuple(servers)

    def put_server(self, row):
        servers = self.cluster.servers
        while len(servers) <= row[0]:
            servers.append(self.api.Server())
        server = servers[row[0]]
        server.index, server.name, server.state, server.gpus, server.free_gpus = row


# ---- decisions, and the rules they must keep ----


def named(thing):
    return f"job {thing.id}" if hasattr(thing, "id") and hasattr(thing, "_slot") else repr(thing)[:100]


class Runner:
    def __init__(self, api, policy_class, parameters):
        self.api = api
        self.mirror = Mirror(api)
        policy_class.parameters = values_of(policy_class, parameters)
        self.policy = policy_class()
        self.policy._cluster = self.mirror.cluster
        self.with_running = policy_class.preemptive
        self.method = getattr(self.policy, "order", None) or self.policy.decide
        self.line = self.method.__func__.__code__.co_firstlineno
        self.decides = not hasattr(self.policy, "order")

    def step(self, message):
        self.mirror.update(message)
        self.policy._wake_us = None
        answer = self.decide(message) if self.decides else self.order()
        answer["wake"] = self.policy._wake_us
        return answer

    def known(self, job, where, line):
        if not isinstance(job, self.api.Job):
            raise Fault("rules", f"{where} has {repr(job)[:100]}, which is not a job", line)
        if self.mirror.by_slot.get(job._slot) is not job:
            raise Fault("rules", f"{where} has job {job.id}, which is gone or unknown", line)

    def order(self):
        if self.with_running:
            jobs = [job for job in self.mirror.ordered if job.state in ("pending", "suspended", "running")]
        else:
            jobs = [job for job in self.mirror.ordered if job.state == "pending" or job.state == "suspended"]
        listed = self.method(list(jobs), self.mirror.cluster)
        if listed is None or isinstance(listed, (str, bytes)) or not hasattr(listed, "__iter__"):
            raise Fault("rules", f"order() must return a list of jobs, not {type(listed).__name__}", self.line, "order")
        listed = list(listed)
        by_slot = self.mirror.by_slot
        try:
            slots = [job._slot for job in listed]
            fine = len(set(slots)) == len(slots) and all(by_slot.get(job._slot) is job for job in listed)
        except (AttributeError, TypeError):
            fine = False
        if not fine:
            self.complain_of_order(listed)
        if not self.with_running:
            for job in listed:
                if not job.is_waiting:
                    raise Fault("rules", f"order() has job {job.id}, which is {job.state} and does not wait", self.line, "order")
        return {"order": slots}

    def complain_of_order(self, listed):
        seen = set()
        for job in listed:
            self.known(job, "order()", self.line)
            if job._slot in seen:
                raise Fault("rules", f"order() has job {job.id} twice", self.line, "order")
            seen.add(job._slot)

    def decide(self, message):
        listed = self.method(self.api.Snapshot(list(self.mirror.ordered), self.mirror.cluster, message["trigger"]))
        if listed is None:
            listed = ()
        if isinstance(listed, (str, bytes)) or not hasattr(listed, "__iter__"):
            raise Fault("rules", f"decide() must return a list of actions, not {type(listed).__name__}", self.line, "decide")
        actions = list(listed)
        seen = set()
        for action in actions:
            self.check(action, seen)
        self.check_sum(actions)
        return {"actions": [[action.kind, action.job._slot, action.gpus or 0] for action in actions]}

    def check(self, action, seen):
        if not isinstance(action, self.api.Action):
            raise Fault("rules", f"decide() has {repr(action)[:100]}, which is not an action", self.line, "decide")
        job, gpus, line = action.job, action.gpus, action.line
        where = f"{action.kind}()"
        self.known(job, where, line)
        if job._slot in seen:
            raise Fault("rules", f"{where}: there are two actions for job {job.id}", line)
        seen.add(job._slot)
        if action.kind == "start" and not job.is_waiting:
            raise Fault("rules", f"{where}: job {job.id} is {job.state} and does not wait", line)
        if action.kind != "start" and not job.is_running:
            raise Fault("rules", f"{where}: job {job.id} is {job.state} and does not run", line)
        if action.kind != "start" and not job.can_preempt:
            raise Fault("rules", f"{where}: job {job.id} cannot be interrupted; see job.can_preempt", line)
        if action.kind == "preempt":
            return
        if isinstance(gpus, bool) or not isinstance(gpus, int) or not job.gpus_min <= gpus <= job.gpus_max:
            wanted = f"{job.gpus_min}" if job.gpus_min == job.gpus_max else f"{job.gpus_min} to {job.gpus_max}"
            raise Fault("rules", f"{where}: job {job.id} runs on {wanted} GPUs, not on {gpus!r}", line)

    def check_sum(self, actions):
        """Asking for more GPUs than are free is a mistake of the author; free GPUs too scattered for a job are not."""
        free = self.mirror.cluster.free_gpus
        for action in actions:
            if action.kind == "preempt":
                free += action.job.gpus_held
            elif action.kind == "resize":
                free += max(0, action.job.gpus_held - action.gpus)
        for action in actions:
            wanted = action.gpus if action.kind == "start" else max(0, action.gpus - action.job.gpus_held) if action.kind == "resize" else 0
            free -= wanted
            if free < 0:
                raise Fault("rules", f"{action.kind}(): job {action.job.id} is given {wanted} GPUs, {wanted + free} are left by the actions before it", action.line)


def run(channel, output):
    hello = channel.receive()
    file = hello["file"]
    try:
        api = install_api(hello["api"])
        policy_class = load(api, file, hello["source"])
        channel.send({"info": describe(policy_class)})
        runner = Runner(api, policy_class, channel.receive()["parameters"])
        channel.send({})
        while True:
            message = channel.receive()
            output.renew()
            channel.send(runner.step(message))
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the author's too
        fault = fault_of(error, file)
        error.__traceback__ = None
        channel.send({"fault": fault.answer})
    os._exit(0)


def main():
    trace = os.fdopen(TRACE, "wb", buffering=0, closefd=False)
    faulthandler.enable(file=trace, all_threads=False)
    faulthandler.register(signal.SIGUSR1, file=trace, all_threads=False, chain=False)
    sys.path[:] = [folder for folder in sys.path if folder]  # one file: nothing is imported from where we were started
    output = BoundedOutput()
    sys.stdout = sys.stderr = output
    run(Channel(), output)


main()
