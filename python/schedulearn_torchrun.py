"""torchrun as jobs need it: the same options as torchrun, with three differences.

1. It starts on Debian 12. PyTorch 1.13 looks for a member of an enumeration by looping over it; since Python 3.11 the
   loop leaves out the members 0 and 3, so the plain program ends with "'NoneType' object has no attribute 'get'".
2. A stop signal goes to the whole process group. The trainings handle it by writing a checkpoint; torchrun would end
   them half-way with an exception, so here it waits for them.
3. It ends like its trainings: with 75 (start me again) if they did, 128+n for a signal, otherwise
   with their own exit status. Plain torchrun always returns 1.
"""

import logging
import re
import signal
import sys

import torch.distributed.elastic.multiprocessing.api as multiprocessing
import torch.distributed.run
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError


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


def main():
    multiprocessing.Std.from_str = classmethod(_std_from_str)
    multiprocessing._terminate_process_handler = _wait_for_the_trainings
    multiprocessing.log.setLevel(logging.CRITICAL)  # it calls every end but 0 an error; _end_like tells the real ones
    try:
        # The function inside torchrun's @record, which would report an asked-for stop as an error.
        torch.distributed.run.main.__wrapped__()
    except ChildFailedError as failed:
        _end_like(failed)


if __name__ == "__main__":
    main()
