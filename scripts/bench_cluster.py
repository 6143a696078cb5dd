"""Two nodes of a cluster under benchmark, and what a client of CQL needs to talk to them."""

import ctypes
import os
import socket
import struct
import subprocess
import time

MASK = (1 << 64) - 1
SCHED_SETATTR = 314  # on x86-64


def murmur3(key: bytes) -> int:
    """The token of a key: the first half of MurmurHash3 x64 128, whose tail takes bytes as signed."""
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0
    rotate = lambda x, r: ((x << r) | (x >> (64 - r))) & MASK

    def final(k):
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            k = ((k ^ (k >> 33)) * factor) & MASK
        return k ^ (k >> 33)

    whole = len(key) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", key, at)
        h1 ^= rotate(k1 * c1 & MASK, 31) * c2 & MASK
        h1 = ((rotate(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= rotate(k2 * c2 & MASK, 33) * c1 & MASK
        h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    k1 = k2 = 0
    for index, byte in enumerate(key[whole:]):
        signed = byte - 256 if byte > 127 else byte
        if index < 8:
            k1 ^= signed << 8 * index
        else:
            k2 ^= signed << 8 * (index - 8)
    h2 ^= rotate((k2 & MASK) * c2 & MASK, 33) * c1 & MASK
    h1 ^= rotate((k1 & MASK) * c1 & MASK, 31) * c2 & MASK
    h1, h2 = h1 ^ len(key), h2 ^ len(key)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    h1, h2 = final(h1), final(h2)
    return (h1 + h2) & MASK


def slot_of(token: int) -> int:
    return ((token & MASK) ^ (1 << 63)) >> 52


class Connection:
    """One of CQL, protocol version 4."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        options = b"\0\1" + b"\0\x0bCQL_VERSION" + b"\0\x053.0.0"
        self.request(1, options)

    def exactly(self, count):
        bytes_ = b""
        while len(bytes_) < count:
            more = self.socket.recv(count - len(bytes_))
            if not more:
                raise SystemExit("the node has closed the connection")
            bytes_ += more
        return bytes_

    def replies(self, count):
        """Takes so many replies, which must be results."""
        buffer, at = b"", 0
        while count:
            while len(buffer) - at < 9 or len(buffer) - at < 9 + struct.unpack_from(">I", buffer, at + 5)[0]:
                buffer, at = buffer[at:] + self.socket.recv(1 << 18), 0
            if buffer[at + 4] != 8:
                raise SystemExit(f"a request failed: {buffer[at : at + 200]!r}")
            at += 9 + struct.unpack_from(">I", buffer, at + 5)[0]
            count -= 1

    def request(self, opcode, body):
        self.socket.sendall(frame(opcode, body))
        head = self.exactly(9)
        body = self.exactly(struct.unpack(">I", head[5:])[0])
        if head[4] == 0:
            raise SystemExit(f"error of the node: {body!r}")
        return body

    def query(self, text):
        return self.request(7, long_string(text) + struct.pack(">HB", 1, 0))

    def prepare(self, text):
        body = self.request(9, long_string(text))
        length = struct.unpack(">H", body[4:6])[0]
        return body[6 : 6 + length]


def frame(opcode, body, stream=0):
    return struct.pack(">BBhBI", 4, 0, stream, opcode, len(body)) + body


def long_string(text):
    return struct.pack(">I", len(text)) + text.encode()


def execute(prepared, values, consistency):
    bound = b"".join(struct.pack(">I", len(value)) + value for value in values)
    return struct.pack(">H", len(prepared)) + prepared + struct.pack(">HBH", consistency, 1, len(values)) + bound


def take_turns(*cpus, nice=0):
    """This process is to run on CPUs that it shares: it takes turns of 100 us there, not of several milliseconds, where Linux can (6.12)."""
    os.sched_setaffinity(0, cpus)
    size, policy, flags, priority, slice_ns, deadline, period = 48, 0, 0, 0, 100_000, 0, 0
    attributes = struct.pack("<IIQiIQQQ", size, policy, flags, nice, priority, slice_ns, deadline, period)
    ctypes.CDLL(None).syscall(SCHED_SETATTR, 0, attributes, 0)


def start_node(binary, directory, number, flags=(), prepare=lambda: os.sched_setaffinity(0, {0}), memory="1GiB"):
    """A member on 127.0.0.NUMBER; the first founds the cluster."""
    command = [binary, "start", "--data-dir", directory / f"node{number}", "--listen", f"127.0.0.{number}"]
    command += ["--cql-port", "29042", "--cql-shard-aware-port", "29142", "--aerospike-namespaces", "", "--http-port", "28080"]
    command += ["--node-port", "27000", "--cores", "1", "--pin", "off", "--memory-limit", memory, "--capacity", "4GiB"]
    command += ["--join", "127.0.0.1:27000"] if number > 1 else []
    log = (directory / f"node{number}.log").open("w")
    node = subprocess.Popen([*command, *flags], stdout=log, stderr=log, preexec_fn=prepare)
    deadline = time.monotonic() + 30
    while "tarndb ready" not in (directory / f"node{number}.log").read_text():
        if time.monotonic() > deadline:
            raise SystemExit(f"node {number} does not become ready: " + (directory / f"node{number}.log").read_text()[-500:])
        time.sleep(0.1)
    return node


def start_two(binary, directory, flags=lambda address: [], prepare=lambda number: os.sched_setaffinity(0, {0}), memory="1GiB"):
    """Two members, with more flags for each address; on the first CPU both, if their processes are not prepared in another way."""
    nodes = [start_node(binary, directory, number, flags(f"127.0.0.{number}"), lambda number=number: prepare(number), memory) for number in (1, 2)]
    time.sleep(2)
    return nodes
