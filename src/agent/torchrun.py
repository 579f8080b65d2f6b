"""Starts torch.distributed.run for `launch = "torchrun"`, also where the installed torch is older than its Python.

torch 1.13 parses its --redirects option by walking over an IntFlag; Python 3.11 no longer lists the members NONE and ALL
there, and torchrun ends with an AttributeError before it has started anything. The parser is replaced by one that does
not walk. Versions of torch that parse correctly give the same answers with it.
"""
import re

import torch.distributed.elastic.multiprocessing.api as api
from torch.distributed.run import main


def parse_std(cls, text):
    """"3" means the same streams for every rank, "0:1,1:3" names them rank by rank."""
    if re.fullmatch(r"[0-3]", text):
        return cls(int(text))
    pairs = (pair.split(":") for pair in text.split(","))
    return {int(rank): cls(int(value)) for rank, value in pairs}


if hasattr(api, "Std"):
    api.Std.from_str = classmethod(parse_std)

if __name__ == "__main__":
    main()
