"""What can happen to a file, as functions on its path.

`older` and `another` are the same file as it was before, and of a node that was made in the same way. A fault that a file system does not know here
raises `NotPossible`.
"""

import os
import pathlib
import shutil

SEGMENT_BYTES = 8 << 20
# Before the segments of a device.
HEAD_BYTES = 1 << 20
BLOCK_BYTES = 4096
# Of the rows that are only in the stable memory when a node is killed.
LAST_TEXT = b"y" * 400
TEXT = b"x" * 3000


class NotPossible(Exception):
    """The fault cannot be made on this file."""


def missing(path: pathlib.Path, _older, _another):
    path.unlink()


def empty(path: pathlib.Path, _older, _another):
    os.truncate(path, 0)


def truncated(path: pathlib.Path, _older, _another):
    """Within a segment, or in the middle of a small file."""
    size = path.stat().st_size
    os.truncate(path, size // 2 if size < SEGMENT_BYTES else SEGMENT_BYTES + SEGMENT_BYTES // 2 + 100)


def truncated_at_segment(path: pathlib.Path, _older, _another):
    if path.stat().st_size <= SEGMENT_BYTES:
        raise NotPossible("it has no segments")
    os.truncate(path, SEGMENT_BYTES)


def longer(path: pathlib.Path, _older, _another):
    os.truncate(path, path.stat().st_size + SEGMENT_BYTES)


def one_bit(path: pathlib.Path, _older, _another):
    """In the middle of a small file; in a row of a large one."""
    if path.stat().st_size < SEGMENT_BYTES:
        return flip(path, path.stat().st_size // 2)
    text = LAST_TEXT if path.suffix == ".buffer" else TEXT
    with open(path, "rb") as file:
        for start in range(0, path.stat().st_size, SEGMENT_BYTES):
            file.seek(start)
            at = file.read(SEGMENT_BYTES).find(text)
            if at >= 0:
                return flip(path, start + at + 200)
    raise NotPossible("it has no rows")


def one_bit_of_header(path: pathlib.Path, _older, _another):
    """In one of the two copies of the first segment's header."""
    flip(path, 20)


def one_bit_of_checkpoint(path: pathlib.Path, _older, _another):
    with open(path, "rb") as file:
        for start in range(HEAD_BYTES if path.name == "device" else 0, path.stat().st_size, SEGMENT_BYTES):
            file.seek(start)
            header = file.read(16)
            if header[:8] == b"TARNSEG1" and header[14] == 3:
                return flip(path, start + BLOCK_BYTES + 50)
    raise NotPossible("it has no checkpoint")


def older(path: pathlib.Path, older, _another):
    if not older.exists():
        raise NotPossible("it was not there before")
    replace(path, older)


def of_another(path: pathlib.Path, _older, another):
    if not another.exists():
        raise NotPossible("the other node has none")
    replace(path, another)


def unreadable(path: pathlib.Path, _older, _another):
    """For whoever is not root: the node runs as nobody."""
    path.chmod(0)


def read_only(path: pathlib.Path, _older, _another):
    path.chmod(0o444)


def directory_instead(path: pathlib.Path, _older, _another):
    path.unlink()
    path.mkdir()


# Those for which a node must not be root.
FELT_BY_OTHERS = {unreadable, read_only}


def flip(path: pathlib.Path, offset: int):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def replace(path: pathlib.Path, source: pathlib.Path):
    path.unlink()
    shutil.copyfile(source, path)
