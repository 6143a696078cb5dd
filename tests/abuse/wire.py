"""CQL's native protocol by hand, so that it can be broken on purpose: frames, v5 segments, and a socket to send them on.

Nothing here checks what it sends. Lengths are those of the bytes unless a test says otherwise.
"""

import socket
import struct
import zlib

HEADER = struct.Struct(">BBhBI")
ERROR, STARTUP, READY, OPTIONS, SUPPORTED, QUERY, RESULT, PREPARE, EXECUTE, REGISTER, EVENT, BATCH = (
    0x00, 0x01, 0x02, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D,
)
PROTOCOL_ERROR, OVERLOADED, SYNTAX_ERROR, INVALID, UNPREPARED = 0x000A, 0x1001, 0x2000, 0x2200, 0x2500
ONE = 0x0001
SEGMENT_PAYLOAD_MAX = (1 << 17) - 1


def frame(opcode: int, body: bytes = b"", *, version: int = 4, flags: int = 0, stream: int = 0, length: int | None = None) -> bytes:
    """A request frame; `length` is what its header claims, if not the truth."""
    return HEADER.pack(version, flags, stream, opcode, len(body) if length is None else length) + body


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(raw)) + raw


def long_string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(">I", len(raw)) + raw


def value(raw: bytes | None) -> bytes:
    return struct.pack(">i", -1) if raw is None else struct.pack(">i", len(raw)) + raw


def startup(version: int = 4, compression: str | None = None) -> bytes:
    options = {"CQL_VERSION": "3.0.0"} | ({"COMPRESSION": compression} if compression else {})
    body = struct.pack(">H", len(options)) + b"".join(string(key) + string(text) for key, text in options.items())
    return frame(STARTUP, body, version=version)


def parameters(values=(), version: int = 4) -> bytes:
    """Consistency ONE and these values, without other flags."""
    flags = 1 if values else 0
    head = struct.pack(">HI", ONE, flags) if version >= 5 else struct.pack(">HB", ONE, flags)
    return head + (struct.pack(">H", len(values)) + b"".join(map(value, values)) if values else b"")


def query(text: str | bytes, values=(), *, version: int = 4, stream: int = 0) -> bytes:
    return frame(QUERY, long_string(text) + parameters(values, version), version=version, stream=stream)


def prepare(text: str, *, stream: int = 0) -> bytes:
    return frame(PREPARE, long_string(text), stream=stream)


def execute(statement_id: bytes, values=(), *, stream: int = 0) -> bytes:
    return frame(EXECUTE, string(statement_id) + parameters(values), stream=stream)


def crc24(data: bytes) -> int:
    """The checksum of a segment's header (native protocol v5, section 2.2)."""
    crc = 0x875060
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc = (crc << 1) ^ (0x1974F0B if crc & 0x800000 else 0)
    return crc & 0xFFFFFF


def segment(payload: bytes, *, self_contained: bool = True, length: int | None = None) -> bytes:
    """A v5 segment without compression; `length` is what its header claims, if not the truth."""
    header = ((len(payload) if length is None else length) | self_contained << 17).to_bytes(3, "little")
    checksum = zlib.crc32(payload, zlib.crc32(b"\xfa\x2d\x55\xca")).to_bytes(4, "little")
    return header + crc24(header).to_bytes(3, "little") + payload + checksum


class Reply:
    """A response frame."""

    def __init__(self, version: int, stream: int, opcode: int, body: bytes):
        self.version, self.stream, self.opcode, self.body = version & 0x7F, stream, opcode, body

    @property
    def error(self) -> int | None:
        """The code of an ERROR, else None."""
        return struct.unpack_from(">I", self.body)[0] if self.opcode == ERROR else None

    def __repr__(self):
        return f"Reply(v{self.version}, stream {self.stream}, opcode {self.opcode:#x}, {self.body[:200]!r})"


class Closed(Exception):
    """The server ended the connection."""


class Wire:
    """A socket to the server. Every wait ends: nothing received within `seconds_max` is a failure of the server."""

    def __init__(self, address, *, seconds_max: float = 120.0, receive_buffer: int | None = None):
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(seconds_max)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.received = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data: bytes):
        """Sends all; raises Closed if the server has ended the connection."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as gone:
            raise Closed from gone

    def start(self, version: int = 4, compression: str | None = None):
        """STARTUP up to READY."""
        self.send(startup(version, compression))
        reply = self.reply()
        assert reply.opcode == READY, reply
        return self

    def reply(self) -> Reply:
        """The next frame of a connection without segments."""
        version, _, stream, opcode, length = HEADER.unpack(self.take(HEADER.size))
        return Reply(version, stream, opcode, self.take(length))

    def take(self, count: int) -> bytes:
        """The next bytes; raises Closed at the end of the stream."""
        while len(self.buffer) < count:
            self.fill()
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def fill(self):
        try:
            chunk = self.socket.recv(1 << 18)
        except ConnectionResetError as gone:
            raise Closed from gone
        if not chunk:
            raise Closed
        self.received += len(chunk)
        self.buffer += chunk

    def segment(self) -> bytes:
        """The payload of the next v5 segment, its checksums compared."""
        header = self.take(6)
        assert crc24(header[:3]) == int.from_bytes(header[3:], "little"), "the header's checksum"
        payload = self.take(int.from_bytes(header[:3], "little") & SEGMENT_PAYLOAD_MAX)
        assert zlib.crc32(payload, zlib.crc32(b"\xfa\x2d\x55\xca")) == int.from_bytes(self.take(4), "little"), "the payload's checksum"
        return payload

    def ask(self, request: bytes) -> Reply:
        self.send(request)
        return self.reply()

    def rest(self, bytes_max: int = 1 << 20) -> bytes:
        """Everything until the server ends the connection; fails if it does not, or says more than `bytes_max`."""
        try:
            while True:
                assert len(self.buffer) <= bytes_max, "the server does not stop talking"
                self.fill()
        except Closed:
            return bytes(self.buffer)


def error_in(data: bytes) -> Reply | None:
    """The first frame of what a server said before it closed, if it is a whole one."""
    if len(data) < HEADER.size:
        return None
    version, _, stream, opcode, length = HEADER.unpack(data[: HEADER.size])
    body = data[HEADER.size : HEADER.size + length]
    return Reply(version, stream, opcode, body) if len(body) == length else None
