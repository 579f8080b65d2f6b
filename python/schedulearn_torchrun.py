"""torchrun as jobs need it: the same options as torchrun, with four differences.

1. It starts on Debian 12. PyTorch 1.13 looks for a member of an enumeration by looping over it; since Python 3.11 the
   loop leaves out the members 0 and 3, so the plain program ends with "'NoneType' object has no attribute 'get'".
2. A stop signal goes to the whole process group. The trainings handle it by writing a checkpoint; torchrun would end
   them half-way with an exception, so here it waits for them.
3. It ends like its trainings: with 75 (start me again) if they did, 128+n for a signal, otherwise
   with their own exit status. Plain torchrun always returns 1.
4. Asked to go over to other GPUs (`resize = "in_place"`), it has the trainings write a checkpoint, and starts as many as
   there are GPUs then. It stays itself, which saves what it takes to import PyTorch.
"""

import contextlib
import logging
import os
import re
import signal
import socket
import sys
import threading
import time

import torch.distributed.elastic.multiprocessing.api as multiprocessing
import torch.distributed.run
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

import schedulearn


def _std_from_str(_class, text):
    if re.fullmatch(r"[0-3]", text):
        return multiprocessing.Std(int(text))
    if re.fullmatch(r"(\d:[0-3],)*\d:[0-3]", text):
        return {int(rank): multiprocessing.Std(int(value)) for rank, value in (each.split(":") for each in text.split(","))}
    raise ValueError(f"{text} is neither 0..3 nor a list of RANK:0..3")


def _wait_for_the_trainings(_signal, _frame):
    """They have received the signal too; torchrun ends when they do."""


def _end_like(failed):
    rank, first = failed.get_first_failure()
    if first.exitcode == 75:
        sys.exit(75)
    how = f"status {first.exitcode}" if first.exitcode > 0 else f"signal {signal.Signals(-first.exitcode).name}"
    print(f"torchrun: process {rank} (pid {first.pid}) ended with {how}", file=sys.stderr)
    sys.exit(first.exitcode if first.exitcode > 0 else 128 - first.exitcode)


class _Resizing:
    """Has the trainings of this process end, and their successors begin on other GPUs, when the job is asked to."""

    def __init__(self):
        self._lock = threading.Lock()
        self._told = set()  # the trainings that were told to end
        self._signal = getattr(signal, "SIG" + os.environ.get("SCHEDULEARN_STOP_SIGNAL", "TERM").removeprefix("SIG"))
        if "SCHEDULEARN_RESIZE_FILE" in os.environ:
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while True:
            time.sleep(0.1)
            with self._lock:
                for pid in _children() - self._told if schedulearn.resize_request() else ():
                    self._told.add(pid)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, self._signal)

    def go_over(self):
        """All trainings have ended. Whether they were told to, so that others begin: then all is ready for these."""
        with self._lock:
            request = schedulearn.resize_request()
            if not request or not self._told or schedulearn.should_checkpoint():
                return False
            schedulearn.resized()
            self._told.clear()
        os.environ |= {"CUDA_VISIBLE_DEVICES": request.visible_devices, "SCHEDULEARN_NUM_GPUS": str(request.gpus),
                       "SCHEDULEARN_GPUS_PER_SERVER": str(request.gpus), "SCHEDULEARN_RESUME": "1"}
        sys.argv[sys.argv.index("--nproc_per_node") + 1] = str(request.gpus)
        _take_free_port()
        return True


def _children():
    """The processes that this one has started."""
    found = set()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children") as children:
            found |= {int(pid) for pid in children.read().split()}
    return found


def _take_free_port():
    """The trainings meet at a port that is free now: importing PyTorch has taken a second, in which another may have taken what was free before."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        sys.argv[sys.argv.index("--master_port") + 1] = str(one.getsockname()[1])


def main():
    multiprocessing.Std.from_str = classmethod(_std_from_str)
    multiprocessing._terminate_process_handler = _wait_for_the_trainings
    multiprocessing.log.setLevel(logging.CRITICAL)  # it calls every end but 0 an error; _end_like tells the real ones
    resizing = _Resizing()
    if sys.argv[sys.argv.index("--nnodes") + 1] == "1":
        _take_free_port()
    while True:
        failed = None
        try:
            # The function inside torchrun's @record, which would report an asked-for stop as an error.
            torch.distributed.run.main.__wrapped__()
        except ChildFailedError as failure:
            failed = failure
        if not resizing.go_over():
            break
    if failed:
        _end_like(failed)


if __name__ == "__main__":
    main()
