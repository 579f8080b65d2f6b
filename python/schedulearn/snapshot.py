"""The code of a job as it is submitted, packed like `schedulearn submit --snapshot` packs it.

What git sees belongs to it: everything but what a .gitignore excludes, repositories inside included. Needs git.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["Code", "SnapshotError", "code_of", "cut_diff", "diff_of", "pack"]

CHANGED_MAX = 100  # files that differ from the commit and are named
DIFF_BYTES_MAX = 1 << 20


class SnapshotError(Exception):
    """The code cannot be packed; the text says why."""


@dataclasses.dataclass(frozen=True)
class Code:
    top: Path
    files: list[str]  # relative to `top`, in order: files and links
    spec: dict[str, Any]  # what the job says of it
    untracked: list[str]  # of the files that differ from the commit those that git has not been told of

    @property
    def bytes(self) -> int:
        return self.spec["bytes"]


def code_of(kind: str, workdir: Path) -> Code:
    """kind: "git" is the whole repository that `workdir` is in, "copy" that folder alone."""
    if kind not in ("git", "copy"):
        raise SnapshotError(f'snapshot is "git" or "copy", not {kind!r}')
    if not workdir.is_dir():
        raise SnapshotError(f"there is no folder {workdir} here to take a snapshot of")
    spec: dict[str, Any] = {"kind": kind}
    untracked: list[str] = []
    top = workdir
    if kind == "git":
        top = Path(os.fsdecode(_git(workdir, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
        subfolder = os.path.relpath(workdir.resolve(), top)
        changed, untracked = _changed(_git(top, "status", "--porcelain=v1", "-z", "--untracked-files=all"))
        spec |= {"commit": _commit(top), "dirty_files": len(changed), "subfolder": "" if subfolder == "." else subfolder,
                 "changed": [name for name in changed if _is_text(name)][:CHANGED_MAX]}
    files = sorted(_files(top, _listed(top)), key=os.fsencode)
    if not files:
        raise SnapshotError(f"there are no files in {top} that a snapshot would hold")
    sizes = [(top / name).lstat() for name in files]
    spec |= {"files": len(files), "bytes": sum(one.st_size for one in sizes if stat.S_ISREG(one.st_mode))}
    return Code(top, files, spec, untracked)


def pack(code: Code, into: BinaryIO) -> str:
    """Writes the code as a tar archive and returns its SHA-256. The same files give the same bytes."""
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in code.files:
            entry = archive.gettarinfo(str(code.top / name), arcname=name)
            if entry.islnk():  # a second name of a file that is packed already: here a file like any other
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", (code.top / name).stat().st_size
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            if entry.isreg():
                with open(code.top / name, "rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)
    into.seek(0)
    digest = hashlib.sha256()
    while piece := into.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def diff_of(code: Code, bytes_max: int = DIFF_BYTES_MAX) -> tuple[bytes, int]:
    """The differences from the commit as `git diff --binary` prints them, and how many files are left out of them.

    These are binary files above `bytes_max`. Files that git has not been told of are new ones. Nothing is written into the
    repository. Without a commit there are no differences.
    """
    if not code.spec.get("commit") or not code.spec["dirty_files"]:
        return b"", 0
    with tempfile.TemporaryDirectory(prefix="schedulearn-git.") as folder:
        index = Path(folder) / "index"
        original = code.top / os.fsdecode(_git(code.top, "rev-parse", "--git-path", "index").removesuffix(b"\n"))
        if original.exists():
            shutil.copyfile(original, index)
        nothing = _git(code.top, "hash-object", "-t", "blob", "--stdin").strip()
        # With nothing in them: then git compares what is in the folder.
        entries = b"".join(b"100644 %s\t%s\0" % (nothing, os.fsencode(name)) for name in code.untracked)
        _git(code.top, "update-index", "-z", "--index-info", reads=entries, index=index)
        large = _large_binaries(code, index, bytes_max)
        diff = _git(code.top, "-c", "core.quotePath=false", "diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv",
                    "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none", "--find-renames",
                    "--unified=3", "HEAD", "--", *(f":(exclude,top,literal){name}" for name in large), index=index)
        return diff, len(large)


def _large_binaries(code: Code, index: Path, bytes_max: int) -> list[str]:
    """What git would need as much memory for as they are large."""
    counts = _git(code.top, "diff", "--numstat", "-z", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
                  "--ignore-submodules=all", "HEAD", index=index)
    binaries = [entry[4:] for entry in _names(counts) if entry.startswith("-\t-\t")]  # instead of numbers of lines
    return [name for name in binaries if (code.top / name).exists() and (code.top / name).stat().st_size > bytes_max]


def cut_diff(diff: bytes, left_out: int = 0, bytes_max: int = DIFF_BYTES_MAX) -> bytes:
    """At most `bytes_max` of what diff_of() returns.

    Files for which there is no room are left out, binary ones before others, and the last line says how many are.
    """
    if left_out == 0 and len(diff) <= bytes_max:
        return diff
    files = re.split(rb"(?<=\n)(?=diff --)", diff) if diff else []
    room = bytes_max - 100  # for the last line
    for binary in (False, True):
        for i, file in enumerate(files):
            if (b"\nGIT binary patch\n" in file) != binary:
                continue
            if len(file) <= room:
                room -= len(file)
            else:
                files[i], left_out = b"", left_out + 1
    what = "more file differs" if left_out == 1 else "more files differ"
    return b"".join(files) + f"# {left_out} {what}; at most {bytes_max >> 10} KiB of a diff are kept\n".encode()


def _git(folder: Path, *words: str, reads: bytes = b"", index: Path | None = None) -> bytes:
    """What git prints. index: the file that takes the place of the repository's."""
    environment = os.environ | ({"GIT_INDEX_FILE": str(index)} if index else {})
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], input=reads, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        raise SnapshotError("a snapshot needs git, which says what a .gitignore excludes") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").split("\n")[0].removeprefix("fatal: ")
        raise SnapshotError(f"git says of {folder}: {said}")
    return done.stdout


def _names(text: bytes) -> list[str]:
    return [os.fsdecode(name) for name in text.split(b"\0") if name]


def _listed(folder: Path) -> list[str]:
    """What git sees in the folder, whether it is in a repository or not."""
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    try:
        _git(folder, "rev-parse", "--is-inside-work-tree")
    except SnapshotError:
        with tempfile.TemporaryDirectory(prefix="schedulearn-git.") as empty:
            _git(Path(empty), "init", "--quiet", "--bare")
            return _names(_git(folder, f"--git-dir={empty}", "--work-tree=.", *words))
    return _names(_git(folder, *words))


def _files(top: Path, names: list[str], prefix: str = "") -> set[str]:
    """Of the listed names those that are packed; a folder among them is a repository of its own."""
    found: set[str] = set()
    for name in names:
        path = prefix + name.rstrip("/")
        try:
            mode = (top / path).lstat().st_mode
        except OSError:
            continue  # removed, and git does not know yet
        if stat.S_ISDIR(mode) and (top / path / ".git").exists():
            found |= _files(top, _listed(top / path), path + "/")
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            found.add(path)
    return found


def _commit(top: Path) -> str:
    try:
        return _git(top, "rev-parse", "--verify", "--quiet", "--short=12", "HEAD").decode().strip()
    except SnapshotError:
        return ""  # there is none yet


def _changed(status: bytes) -> tuple[list[str], list[str]]:
    """Of "XY path", after a renamed one its old name; and which of them are untracked files."""
    changed, untracked = [], []
    entries = iter(_names(status))
    for entry in entries:
        changed.append(entry[3:])
        if entry.startswith("??") and not entry.endswith("/"):
            untracked.append(entry[3:])
        if entry[0] in "RC":
            next(entries, None)
    return changed, untracked


def _is_text(name: str) -> bool:
    return name.encode(errors="ignore").decode() == name
