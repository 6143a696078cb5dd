#!/usr/bin/env python3
"""Runs a command to which io_uring is forbidden, by a seccomp filter as containers' runtimes have it: without_io_uring.py COMMAND [ARGUMENT...]

The process stays the same, its children inherit the filter, and nobody else notices.
"""

import ctypes
import errno
import os
import sys

# linux/prctl.h, linux/seccomp.h, linux/bpf_common.h
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
RETURN_ERRNO, RETURN_ALLOW = 0x0005_0000, 0x7FFF_0000
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
# io_uring_setup, io_uring_enter, io_uring_register: the same numbers on all architectures that TarnDB runs on.
FORBIDDEN = (425, 426, 427)


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("if_true", ctypes.c_ubyte), ("if_false", ctypes.c_ubyte), ("operand", ctypes.c_uint)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(Instruction))]


def forbid() -> None:
    """From here on the kernel answers EPERM to io_uring's calls."""
    checks = [(JUMP_IF_EQUAL, len(FORBIDDEN) - place, 0, number) for place, number in enumerate(FORBIDDEN)]
    rows = [(LOAD_WORD, 0, 0, 0), *checks, (RETURN, 0, 0, RETURN_ALLOW), (RETURN, 0, 0, RETURN_ERRNO | errno.EPERM)]
    program = Program(len(rows), (Instruction * len(rows))(*rows))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "the kernel takes no seccomp filter")


if __name__ == "__main__":
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])
