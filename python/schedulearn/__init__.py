"""Schedulearn from Python: what a training script can tell the scheduler, and a small client of the REST API.

A script needs none of this to be scheduled. With it, the scheduler shows progress and can stop the job without losing
work. Standard library only. In a job the import works by itself; elsewhere `pip install` this folder's parent, or put it on
PYTHONPATH. Outside Schedulearn the functions for scripts work too, and do nothing.

In a training script:

    import schedulearn

    schedulearn.catch_stop()                      # from now on SIGTERM only asks for a checkpoint
    for epoch in range(first_epoch, epochs):
        for batch in batches:
            if schedulearn.should_checkpoint():
                save_checkpoint()
                schedulearn.requeue()             # ends the script: "start me again, I am not done"
            train(batch)
        schedulearn.report(epoch=epoch + 1, epochs=epochs, loss=loss, accuracy=accuracy)

From elsewhere:

    client = schedulearn.Client()                 # SCHEDULEARN_URL, or http://127.0.0.1:5000
    job = client.submit(command="python train.py", gpus=2, workdir="/home/mei/mnist")
    print(client.wait(job["id"])["state"])
"""

from __future__ import annotations

import dataclasses
import datetime
import errno
import http.client
import json
import math
import os
import re
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

__all__ = [
    "REQUEUE", "Job", "job", "checkpoint_folder", "report", "catch_stop", "should_checkpoint", "requeue",
    "Resize", "resize_request", "resized",
    "Client", "ApiError", "Unreachable",
]

# ---- in a job ----

REQUEUE = 75
"""Exit status that means: a checkpoint is written, start me again later. It never counts as a failure or a retry."""


@dataclasses.dataclass(frozen=True)
class Job:
    """Facts about the attempt that runs this process."""

    id: int
    name: str
    attempt: int            # 1 for the first execution of the job
    resuming: bool          # an earlier attempt was stopped or lost: continue from the checkpoint
    gpus: int
    server_rank: int
    time_limit_at: str | None


def job() -> Job | None:
    """The job this process belongs to; None outside Schedulearn."""
    number = os.environ.get("SCHEDULEARN_JOB_ID")
    if not number:
        return None
    return Job(
        id=int(number),
        name=os.environ.get("SCHEDULEARN_JOB_NAME", ""),
        attempt=int(os.environ.get("SCHEDULEARN_ATTEMPT") or 1),
        resuming=os.environ.get("SCHEDULEARN_RESUME") == "1",
        gpus=int(os.environ.get("SCHEDULEARN_NUM_GPUS") or 0),
        server_rank=int(os.environ.get("SCHEDULEARN_SERVER_RANK") or 0),
        time_limit_at=os.environ.get("SCHEDULEARN_TIME_LIMIT_AT") or None,
    )


def checkpoint_folder(default: str | os.PathLike[str]) -> Path:
    """Where this process keeps its checkpoints: the job's folder, or `default` outside Schedulearn. Not created here.

    In a job the folder has a name of its own, job-ID.BEGUN, so that jobs made from one file do not overwrite each other's
    work. BEGUN, when the job first began in microseconds since 1970, is never the same for two jobs; the ID may be, as
    jobs of another controller are numbered from 1 too.
    """
    root = Path(os.environ.get("SCHEDULEARN_CHECKPOINT_DIR") or default)
    this_job = job()
    if not this_job:
        return root
    old = root / f"job-{this_job.id}"  # as older versions named it
    own = root / os.environ.get("SCHEDULEARN_JOB_FOLDER", old.name)
    return old if this_job.resuming and not own.exists() and _changed_since(old, own.name) else own


def _changed_since(folder: Path, name: str) -> bool:
    """Whether something has come into the folder since the job of this name (job-ID.BEGUN) began."""
    try:
        return folder.stat().st_mtime >= int(name.partition(".")[2] or 0) // 1_000_000
    except (OSError, ValueError):
        return False


def report(**values: Any) -> None:
    """Tells the scheduler how far the job has come, as one line of the metrics file.

    After an epoch: report(epoch=3, epochs=10, loss=0.41, accuracy=0.87), where `epoch` counts from 1 and `loss` is the
    mean of that epoch. Within one: report(step=1407, steps=4690), counted over the whole training; a loss given with a
    step is only displayed and never counts as the loss of an epoch. Steps give a more exact speed, so report both if you
    can, as often as you like: the scheduler reads the file a few times a second. Other values stay in the file.

    The line also says when it was written (`time`). With several processes (RANK set by torchrun) only the first one
    reports. Numbers may be of any kind (numpy's, tensors, Decimal); of a loss that is not finite, `show` and the job's
    events say so. Never ends a training: if the metrics file cannot be written, or a value is no JSON, it prints a
    warning, once until it can again.
    """
    global _is_cut_off, _has_warned
    path = os.environ.get("SCHEDULEARN_METRICS_FILE")
    if not path or os.environ.get("RANK", "0") != "0":
        return
    try:
        told = {name: _number(value) for name, value in values.items()}
        line = json.dumps({**told, "time": told.get("time", time.time())}) + "\n"
        written = (("\n" if _is_cut_off else "") + line).encode()
        # One write to a file opened for appending: readers never see half a line mixed with another.
        with open(path, "ab", buffering=0) as file:
            _is_cut_off = file.write(written) < len(written)
        if _is_cut_off:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        _has_warned = False
    except Exception as error:  # also what a library's number raises when it is converted
        if not _has_warned:
            print(f"schedulearn: progress not reported: {error}", file=sys.stderr)
        _has_warned = True


_is_cut_off = False  # a full disk has taken the end of the last line, with its newline
_has_warned = False  # and no report has succeeded since


def _number(value: Any) -> Any:
    """A number of a library, such as a tensor with one element, as Python's own; anything else as it is."""
    if isinstance(value, (bool, int, float, str, list, dict, tuple, type(None))):
        return value
    return float(value)


_stop_requested = False
_caught: set[signal.Signals] = set()


def _on_stop(_signal: int, _frame: object) -> None:
    global _stop_requested
    _stop_requested = True


def catch_stop(*signals: signal.Signals) -> None:
    """From now on these signals (SIGTERM if none is named) make should_checkpoint() true instead of ending the process.

    Name the signal of `[checkpoint] signal` when the job file sets one. Call it from the main thread.
    """
    for one in signals or (signal.SIGTERM,):
        signal.signal(one, _on_stop)
        _caught.add(one)


def should_checkpoint() -> bool:
    """True if the scheduler wants the job to write a checkpoint and end: it has sent a signal or left a notice.

    Cheap enough (a few microseconds) to call before every step.
    """
    if _stop_requested:
        return True
    notice = os.environ.get("SCHEDULEARN_NOTICE_FILE")
    return bool(notice) and os.path.exists(notice)


def requeue() -> None:
    """Ends this process with the exit status that asks to be started again."""
    # Python drops its handlers when it ends, and torchrun or an impatient user may signal twice: with the checkpoint
    # written, that must not turn the request into a death by signal.
    for one in _caught:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(REQUEUE)


@dataclasses.dataclass(frozen=True)
class Resize:
    """The GPUs that a job with `resize = "in_place"` is asked to go over to."""

    gpus: int
    visible_devices: str  # CUDA_VISIBLE_DEVICES of the workers it starts for them


def resize_request() -> Resize | None:
    """The GPUs this job is asked to go over to; None if there is no such request.

    Cheap enough to call before every step. A program that waits is woken by SIGWINCH, which others ignore. Once the job
    uses these GPUs and no others, it says so with resized(); without an answer within its grace time it is stopped.
    """
    path = os.environ.get("SCHEDULEARN_RESIZE_FILE")
    if not path:
        return None
    try:
        return Resize(**json.loads(Path(path).read_text()))
    except FileNotFoundError:
        return None


def resized() -> None:
    """Answers resize_request(): from now on this job uses the GPUs it was asked to use, and no others."""
    path = os.environ.get("SCHEDULEARN_RESIZE_FILE")
    if path and os.path.exists(path):
        os.replace(path, path + ".done")


# ---- from elsewhere ----

FINISHED = frozenset({"succeeded", "failed", "cancelled"})
DEFAULT_URL = "http://127.0.0.1:5000"
RESTART_S = 60.0  # what a controller may take to be started again
AWAY = frozenset({502, 503, 504})  # statuses of a controller that is starting, or of a proxy that cannot reach it
LAST_LOOK_S = 0.2  # what a request of wait() may take at least, however little time is left


class ApiError(Exception):
    """The controller refused. `code` is stable (the same the command line prints), `detail` is for people.

    `retry_after_s`: the seconds to wait before asking again; None if the answer does not say.
    """

    def __init__(self, status: int, code: str, detail: str, problem: dict[str, Any], retry_after_s: int | None = None):
        super().__init__(f"{detail} [{code}]" if code else detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.problem = problem
        self.retry_after_s = retry_after_s


class Unreachable(Exception):
    """No controller answers at this address."""


class Client:
    """The jobs of one controller. Every method is one request and returns the JSON document of the REST API unchanged.

    url: SCHEDULEARN_URL if not given. token: SCHEDULEARN_TOKEN, or the text in SCHEDULEARN_TOKEN_FILE.
    Raises ApiError if the controller refuses and Unreachable if none answers. Follows no redirects: the token is meant for
    this address only. Not for several threads at once.
    """

    def __init__(self, url: str | None = None, token: str | None = None, timeout_s: float = 30.0):
        self.url = _full_url(url or os.environ.get("SCHEDULEARN_URL") or DEFAULT_URL)
        self._token = _checked_token(token or _token_of_environment())
        self._timeout_s = timeout_s
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if _is_loopback(self.url):
            # A proxy to the outside cannot reach this machine's own loopback.
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def submit(self, file: str | os.PathLike[str] | None = None, **spec: Any) -> dict[str, Any]:
        """Submits a job: a job file (TOML), its keys as arguments, or a file with some keys replaced.

        If a lost connection makes it send twice, there is still only one job. A relative workdir starts at the file's
        folder, or at the current folder if there is no file. What only the command line looks up, `env_file` and names of
        jobs in `after`, is refused. The job runs in the environment of this program (PATH,
        an active virtual or conda environment, PYTHONPATH, LD_LIBRARY_PATH), unless `env` sets these. A file needs
        Python 3.11; the rest of this library runs on 3.9.

        With snapshot="git" (the repository that workdir is in) or "copy" (that folder) the code is packed and sent now, and
        that is what runs. Raises schedulearn.snapshot.SnapshotError if it cannot be packed.
        """
        folder = Path(file).resolve().parent if file else Path.cwd()
        document = _read_job_file(Path(file)) if file else {}
        document |= spec
        document["workdir"] = str(folder / Path(document.get("workdir", ".")).expanduser())
        document["env"] = _own_environment() | document.get("env", {})
        if document.get("snapshot") in ("git", "copy"):
            document["snapshot"] = self._send_code(document["snapshot"], Path(document["workdir"]))
        return self._create_once("/jobs", document)

    def _create_once(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """One job, however often this has to be sent: the key says that it is the same."""
        key = {"Idempotency-Key": str(uuid.uuid4())}
        deadline = math.inf
        while True:
            try:
                return self._json("POST", path, body=document, headers=key, attempts=3)
            except ApiError as error:
                # In flight: an earlier answer was lost, and the controller has accepted the job but is still writing it.
                deadline = min(deadline, time.monotonic() + self._timeout_s)
                if error.code != "submission-in-flight" or time.monotonic() >= deadline:
                    raise
            time.sleep(0.5)

    def _send_code(self, kind: str, workdir: Path) -> dict[str, Any]:
        # Not at the top: a job has no use for them.
        import hashlib
        import io
        import warnings

        from . import snapshot

        code = snapshot.code_of(kind, workdir)
        limit = self._json("GET", "/snapshots", attempts=3)["limit_bytes"]
        if code.bytes > limit:
            raise snapshot.SnapshotError(f"the code in {code.top} has {code.bytes} bytes, and a snapshot may have {limit}; "
                                         "name what does not belong to the code in .gitignore")
        with tempfile.TemporaryFile(prefix="schedulearn-code.") as archive:
            spec = code.spec | {"id": snapshot.pack(code, archive)}
            self._send_blob(spec["id"], archive)
        try:
            diff = snapshot.cut_diff(*snapshot.diff_of(code))
        except snapshot.SnapshotError as error:
            warnings.warn(f"what was changed is not kept with the job: {error}", stacklevel=3)
            diff = b""
        if diff:
            spec["diff"] = hashlib.sha256(diff).hexdigest()
            self._send_blob(spec["diff"], io.BytesIO(diff))
        return spec

    def _send_blob(self, identity: str, blob: BinaryIO) -> None:
        """Unless the controller has what has this SHA-256."""
        for attempt in range(3):
            try:
                return self._send_anew(identity, blob)
            except ApiError as error:  # others may be sending the same, or have sent what is damaged
                if error.code not in ("snapshot-offset", "snapshot-damaged") or attempt == 2:
                    raise

    def _send_anew(self, identity: str, blob: BinaryIO) -> None:
        try:
            self._json("GET", f"/snapshots/{identity}", attempts=3)
            return  # it is there
        except ApiError as error:
            if error.status != 404:
                raise
        size = blob.seek(0, os.SEEK_END)
        offset = 0
        while offset < size:
            blob.seek(offset)
            piece = blob.read(512 << 10)
            offset = self._json("PUT", f"/snapshots/{identity}", query={"offset": offset, "size": size}, body=piece)["bytes_here"]

    def get(self, job_id: int) -> dict[str, Any]:
        """The job in its current state."""
        return self._json("GET", self._of(job_id), attempts=3)

    def jobs(self, **query: str | int) -> Iterator[dict[str, Any]]:
        """All jobs that match the query (state="running", user="mei", ...), page by page."""
        cursor: str | None = None
        while True:
            page = self._json("GET", "/jobs", query=query | ({"cursor": cursor} if cursor else {}), attempts=3)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def set(self, job_id: int, **change: int | str) -> dict[str, Any]:
        """Changes `priority`, `gpus` (only while it waits) or `time_limit_s` of a job that has not ended."""
        return self._json("PATCH", self._of(job_id), body=change)

    def cancel(self, job_id: int) -> dict[str, Any]:
        """Requests that the job be stopped."""
        return self._json("POST", self._of(job_id, "/cancel"), body={})

    def suspend(self, job_id: int, dry_run: bool = False) -> dict[str, Any]:
        """Takes the job's GPUs away until resume(): frozen, stopped at a checkpoint, or out of the queue."""
        return self._intervene(job_id, "suspend", {}, dry_run)

    def resume(self, job_id: int, dry_run: bool = False) -> dict[str, Any]:
        """Lets a suspended job, or one submitted with `hold`, go on."""
        return self._intervene(job_id, "resume", {}, dry_run)

    def migrate(self, job_id: int, to: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Moves a running job with a checkpoint folder to another server."""
        return self._intervene(job_id, "migrate", {} if to is None else {"to": to}, dry_run)

    def scale(self, job_id: int, gpus: int | str, dry_run: bool = False) -> dict[str, Any]:
        """Gives the job another number of GPUs, 2 or "1..4"."""
        return self._intervene(job_id, "scale", {"gpus": gpus}, dry_run)

    def retry(self, job_id: int, dry_run: bool = False) -> dict[str, Any]:
        """Submits a job that has ended again, as a new job."""
        return self._intervene(job_id, "retry", {}, True) if dry_run else self._create_once(self._of(job_id, "/retry"), {})

    def _intervene(self, job_id: int, verb: str, body: dict[str, Any], dry_run: bool) -> dict[str, Any]:
        query = {"dry_run": "true"} if dry_run else None
        return self._json("POST", self._of(job_id, f"/{verb}"), body=body, query=query)

    def wait(self, job_id: int, timeout_s: float | None = None, poll_s: float = 0.5) -> dict[str, Any]:
        """Waits for the job to end and returns it. Raises TimeoutError if that takes longer than timeout_s.

        A controller that is being restarted is waited for, a minute at most. One that refuses because it is asked too often
        is asked again when it says (Retry-After).
        """
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        is_away = False
        while True:
            asked = time.monotonic()
            if not is_away:
                back_by = asked + RESTART_S
            try:
                limit_s = max(min(deadline, back_by) - asked, LAST_LOOK_S)
                document = self._json("GET", self._of(job_id), timeout_s=limit_s)
                if document["state"] in FINISHED:
                    return document
                is_away, pause_s, news = False, poll_s, f"it is still {document['state']}"
            except (Unreachable, ApiError) as error:
                now = time.monotonic()
                is_away = isinstance(error, Unreachable) or error.status in AWAY
                may_recover = is_away or error.status == http.HTTPStatus.TOO_MANY_REQUESTS
                patience_s = back_by - now if is_away else math.inf
                if not may_recover or patience_s <= 0 and now < deadline:
                    raise
                pause_s = min(max(poll_s, getattr(error, "retry_after_s", None) or 0.2), patience_s)
                news = str(error)
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError(f"waited {timeout_s:g} s for job {job_id}: {news}")
            time.sleep(min(pause_s, left_s))

    def logs(self, job_id: int) -> str:
        """Everything the job has written so far."""
        answer = self._send("GET", self._of(job_id, "/logs"), headers={"Accept": "text/plain"}, attempts=3)
        return answer.decode("utf-8", errors="replace")

    def diff(self, job_id: int) -> str:
        """What the job's code differs in from its commit, as `git diff` prints it (of a job with snapshot="git")."""
        return self._send("GET", self._of(job_id, "/diff"), attempts=3).decode("utf-8", errors="replace")

    @staticmethod
    def _of(job_id: int, more: str = "") -> str:
        return f"/jobs/{urllib.parse.quote(str(job_id), safe='')}{more}"

    def _json(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = self._send(method, path, **more)
        try:
            return json.loads(answer)
        except ValueError:
            raise Unreachable(f"what answers at {self.url} is no controller: it sends no JSON") from None

    def _send(self, method: str, path: str, *, body: Any = None, query: dict[str, Any] | None = None,
              headers: dict[str, str] | None = None, attempts: int = 1, timeout_s: float = math.inf) -> bytes:
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in (query or {}).items()}
        address = f"{self.url}/api/v1{path}" + (f"?{urllib.parse.urlencode(texts)}" if texts else "")
        request = urllib.request.Request(address, method=method, headers=headers or {})
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        if body is not None:
            is_file = isinstance(body, bytes)
            request.data = body if is_file else json.dumps(body, default=_as_text).encode()
            request.add_header("Content-Type", "application/octet-stream" if is_file else "application/json")
        for attempt in range(1, attempts + 1):
            try:
                with self._opener.open(request, timeout=min(self._timeout_s, timeout_s)) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                raise _api_error(error, self.url) from None
            except (OSError, http.client.HTTPException) as error:  # no connection, or half an answer
                if attempt == attempts:
                    raise Unreachable(f"no answer from {self.url}: {getattr(error, 'reason', error)}") from error
                time.sleep(0.2 * attempt)
        raise AssertionError("attempts is at least 1")


def _read_job_file(path: Path) -> dict[str, Any]:
    import tomllib  # not at the top: a training may run on an older Python, which has none

    return tomllib.loads(path.read_text(encoding="utf-8"))


def _as_text(value: Any) -> str:
    """What JSON has no kind for, as job files have it in quotation marks: times, local unless they say more, and durations."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():.6f}s"
    if isinstance(value, (datetime.date, datetime.time, os.PathLike)):
        return str(value)
    raise TypeError(f"{value!r} is not a value of a job's description")


def _own_environment() -> dict[str, str]:
    """What a job takes over from its submitter, as with `schedulearn submit`. What is no UTF-8 text cannot travel."""
    names = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH")
    values = {name: os.environ.get(name, "") for name in names}
    return {name: value for name, value in values.items() if value and value.encode(errors="ignore").decode() == value}


def _token_of_environment() -> str | None:
    if token := os.environ.get("SCHEDULEARN_TOKEN"):
        return token
    path = os.environ.get("SCHEDULEARN_TOKEN_FILE")
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path else []
    return lines[0].strip() if lines else None  # the first line, as the command line reads it


def _checked_token(token: str | None) -> str | None:
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("the token of the controller has characters that no token has")  # without the token itself
    return token


def _full_url(typed: str) -> str:
    """As the command line understands it: also without http://, and as copied from any page."""
    scheme, _, rest = (typed if "://" in typed else f"http://{typed}").partition("://")
    authority, slash, path = rest.partition("/")
    path = re.split("/ui(?=[/?#]|$)", slash + path, maxsplit=1)[0].rstrip("/")
    url = f"{scheme.lower()}://{authority}{path}"
    is_http = url.startswith(("http://", "https://"))
    if not is_http or not _has_host(url) or any(character.isspace() for character in url):
        raise ValueError(f"not a controller's address: {typed} (an address looks like {DEFAULT_URL})")
    return url


def _has_host(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # its port is no number, or above 65535
        return False


def _is_loopback(url: str) -> bool:
    return urllib.parse.urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the answer; followed, the token would go to whatever host it names."""

    def http_error_302(self, *_: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _api_error(error: urllib.error.HTTPError, url: str) -> ApiError:
    try:
        problem = json.loads(error.read())
    except (ValueError, OSError, http.client.HTTPException):
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    detail = problem.get("detail") or problem.get("title") or f"HTTP status {error.code}"
    if 300 <= error.code < 400 and (target := error.headers.get("Location")):
        address = target.removesuffix(error.filename.removeprefix(url)) or target
        detail = (f"{url} redirects to {address!r}, and redirects are not followed; "
                  "if the controller is there, give that address to the client")
    return ApiError(error.code, problem.get("code", ""), detail, problem, _seconds(error.headers.get("Retry-After")))


def _seconds(text: str | None) -> int | None:
    """The number of seconds in a Retry-After. None if it has a date, which proxies may send."""
    return int(text) if text and re.fullmatch("[0-9]{1,9}", text) else None
