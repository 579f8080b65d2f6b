"""Fashion-MNIST as packaged by Debian: 60,000 training and 10,000 test pictures of clothes, 28 x 28, ten kinds.

The files are in IDX format: two zero bytes, the type (8 = unsigned byte), the number of dimensions, each dimension as a
big-endian 32-bit number, then the values.
"""

import gzip
import sys
from pathlib import Path

import numpy as np

FOLDER = Path("/usr/share/datasets/fashion-mnist")


def load(part, count=None, folder=FOLDER):
    """The first `count` pictures of `part` ("train" or "t10k") as float32 in 0..1, and their kinds 0..9 as int64."""
    pictures = _read_idx(Path(folder) / f"{part}-images-idx3-ubyte.gz", dimensions=3, count=count)
    kinds = _read_idx(Path(folder) / f"{part}-labels-idx1-ubyte.gz", dimensions=1, count=count)
    return pictures.astype(np.float32) / np.float32(255), kinds.astype(np.int64)


def _read_idx(path, dimensions, count):
    try:
        with gzip.open(path) as file:
            header = file.read(4 + 4 * dimensions)
            if header[:4] != bytes([0, 0, 8, dimensions]):
                sys.exit(f"error: {path} is not an IDX file of {dimensions} dimensions")
            shape = np.frombuffer(header, ">u4", offset=4).astype(int)
            shape[0] = min(shape[0], count or shape[0])
            return np.frombuffer(file.read(int(shape.prod())), np.uint8).reshape(shape)
    except (OSError, EOFError) as error:
        sys.exit(f"error: cannot read the pictures: {error}\n  hint: apt-get install dataset-fashion-mnist")
