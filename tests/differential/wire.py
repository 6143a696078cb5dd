"""One blocking connection that speaks the native protocol, versions 3 to 5, and hides nothing of an answer.

Drivers retry, cache metadata and turn errors into classes of their own. A judge must see codes, texts, warnings and metadata as they are on
the wire, so frames are written and read here; of the driver only the framing of version 5 is used.

A request returns an *answer*, which is plain JSON:

    {"error": CODE, "message": TEXT, "fields": [...]}
    {"rows": [[HEX or null, ...], ...], "columns": COLUMNS, "state": BYTES or None}    `state` is taken off by the runner
    {"prepared": {"bind": COLUMNS, "keys": [INDEX, ...], "columns": COLUMNS}, "id": ..., "metadata_id": ...}
    {"change": [CHANGE, TARGET, KEYSPACE, NAME, ARGUMENT TYPES...]}
    {"keyspace": NAME}    {"void": true}    {"closed": TEXT}

each with "warnings": [TEXT, ...] when there are any. COLUMNS is a list of [keyspace, table, name, type]; types are as values.py has them.
"""

import io
import socket
import struct

from cassandra.segment import SegmentCodec

ANSWER_SECONDS_MAX = 120
FRAME_BYTES_MAX = 64 << 20

ERROR, STARTUP, QUERY, RESULT, PREPARE, EXECUTE = 0x00, 0x01, 0x07, 0x08, 0x09, 0x0A
RESPONSE, WARNING_FLAG, PAYLOAD_FLAG = 0x80, 0x08, 0x04
CONSISTENCIES = {
    "ANY": 0, "ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": 4, "ALL": 5, "LOCAL_QUORUM": 6, "EACH_QUORUM": 7, "SERIAL": 8, "LOCAL_SERIAL": 9,
    "LOCAL_ONE": 10,
}  # fmt: skip
SCALARS = {
    1: "ascii", 2: "bigint", 3: "blob", 4: "boolean", 5: "counter", 6: "decimal", 7: "double", 8: "float", 9: "int", 11: "timestamp", 12: "uuid",
    13: "text", 14: "varint", 15: "timeuuid", 16: "inet", 17: "date", 18: "time", 19: "smallint", 20: "tinyint", 21: "duration",
}  # fmt: skip
UNSET = object()


class Closed(Exception):
    """The server closed the connection, or did not answer in time."""


class Reader:
    """The notations of the protocol, read from one body."""

    def __init__(self, body: bytes):
        self.body, self.at = body, 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.body):
            raise Closed(f"a body of {len(self.body)} bytes ends within a value at {self.at}")
        self.at += count
        return self.body[self.at - count : self.at]

    def short(self) -> int:
        return struct.unpack(">H", self.take(2))[0]

    def int(self) -> int:
        return struct.unpack(">i", self.take(4))[0]

    def string(self) -> str:
        return self.take(self.short()).decode()

    def short_bytes(self) -> bytes:
        return self.take(self.short())

    def bytes(self):
        length = self.int()
        return None if length < 0 else self.take(length)

    def strings(self) -> list:
        return [self.string() for _ in range(self.short())]

    def type(self):
        number = self.short()
        if number in SCALARS:
            return SCALARS[number]
        match number:
            case 0x00:
                return ["custom", self.string()]
            case 0x20:
                return ["list", self.type()]
            case 0x21:
                return ["map", self.type(), self.type()]
            case 0x22:
                return ["set", self.type()]
            case 0x30:
                return ["udt", self.string(), self.string(), [[self.string(), self.type()] for _ in range(self.short())]]
            case 0x31:
                return ["tuple", [self.type() for _ in range(self.short())]]
        return ["unknown", number]

    def columns(self, flags: int, count: int) -> list:
        shared = (self.string(), self.string()) if flags & 1 else None
        columns = []
        for _ in range(count):
            keyspace, table = shared or (self.string(), self.string())
            columns.append([keyspace, table, self.string(), self.type()])
        return columns

    def result_columns(self) -> tuple:
        """The metadata of a result: columns, paging state."""
        flags, count = self.int(), self.int()
        state = self.bytes() if flags & 2 else None
        if flags & 8:
            self.short_bytes()
        return ([] if flags & 4 else self.columns(flags, count)), state, count


def string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def value(one) -> bytes:
    """A bound value: bytes, None or UNSET."""
    if one is UNSET:
        return struct.pack(">i", -2)
    return struct.pack(">i", -1) if one is None else struct.pack(">i", len(one)) + one


class Connection:
    """A connection that has been started; a keyspace may be used on it."""

    def __init__(self, endpoint: tuple, version: int):
        self.version = version
        self.codec = None
        self.segments = b""
        self.socket = socket.create_connection(endpoint, timeout=ANSWER_SECONDS_MAX)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.incoming = self.socket.makefile("rb")
        options = {"CQL_VERSION": "3.0.0"}
        body = struct.pack(">H", len(options)) + b"".join(string(name) + string(text) for name, text in options.items())
        started = self.request(STARTUP, body)
        if "error" in started:
            raise Closed(f"STARTUP was refused: {started['message']}")
        if version >= 5:
            self.codec = SegmentCodec()

    def close(self):
        self.incoming.close()
        self.socket.close()

    # --- Requests --------------------------------------------------------------------------------------------------------------------

    def query(self, statement: str, **parameters) -> dict:
        encoded = statement.encode()
        return self.request(QUERY, struct.pack(">i", len(encoded)) + encoded + self.parameters(**parameters))

    def prepare(self, statement: str) -> dict:
        encoded = statement.encode()
        return self.request(PREPARE, struct.pack(">i", len(encoded)) + encoded + (struct.pack(">i", 0) if self.version >= 5 else b""))

    def execute(self, prepared: dict, values: list, **parameters) -> dict:
        ids = struct.pack(">H", len(prepared["id"])) + prepared["id"]
        if self.version >= 5:
            ids += struct.pack(">H", len(prepared["metadata_id"])) + prepared["metadata_id"]
        return self.request(EXECUTE, ids + self.parameters(values=values, **parameters))

    def parameters(self, values=(), consistency="ONE", serial=None, page=None, state=None, timestamp=None, now=None) -> bytes:
        flags, tail = 0, b""
        if values:
            flags |= 0x01
            tail += struct.pack(">H", len(values)) + b"".join(map(value, values))
        if page is not None:
            flags |= 0x04
            tail += struct.pack(">i", page)
        if state is not None:
            flags |= 0x08
            tail += value(state)
        if serial is not None:
            flags |= 0x10
            tail += struct.pack(">H", CONSISTENCIES[serial])
        if timestamp is not None:
            flags |= 0x20
            tail += struct.pack(">q", timestamp)
        if now is not None:
            flags |= 0x100
            tail += struct.pack(">i", now)
        return struct.pack(">HI" if self.version >= 5 else ">HB", CONSISTENCIES[consistency], flags) + tail

    # --- Frames ----------------------------------------------------------------------------------------------------------------------

    def request(self, opcode: int, body: bytes) -> dict:
        """Sends one frame and waits for its answer. Raises Closed."""
        try:
            frame = struct.pack(">BBHBI", self.version, 0, 0, opcode, len(body)) + body
            if self.codec:
                segments = io.BytesIO()
                self.codec.encode(segments, frame)
                frame = segments.getvalue()
            self.socket.sendall(frame)
            version, flags, _, opcode, length = struct.unpack(">BBHBI", self.read(9))
            if length > FRAME_BYTES_MAX:
                raise Closed(f"a frame of {length} bytes")
            return self.answer(version, flags, opcode, Reader(self.read(length)))
        except (OSError, struct.error) as failure:
            raise Closed(f"the connection was lost: {failure}") from failure

    def read(self, count: int) -> bytes:
        if not self.codec:
            return self.received(count)
        while len(self.segments) < count:
            header = self.codec.decode_header(io.BytesIO(self.received(6)))
            self.segments += self.codec.decode(io.BytesIO(self.received(header.payload_length + 4)), header).payload
        taken, self.segments = self.segments[:count], self.segments[count:]
        return taken

    def received(self, count: int) -> bytes:
        read = self.incoming.read(count)
        if len(read) < count:
            raise Closed("the server closed the connection")
        return read

    def answer(self, version: int, flags: int, opcode: int, body: Reader) -> dict:
        if flags & 0x02:
            body.take(16)
        warnings = body.strings() if flags & WARNING_FLAG else []
        if flags & PAYLOAD_FLAG:
            for _ in range(body.short()):
                body.string(), body.bytes()
        if opcode == ERROR:
            answer = self.error(body)
        elif opcode == RESULT:
            answer = self.result(body)
        else:
            answer = {"void": True}
        if warnings:
            answer["warnings"] = warnings
        return answer

    def error(self, body: Reader) -> dict:
        code, message = body.int() & 0xFFFFFFFF, body.string()
        answer = {"error": code, "message": message}
        if code == 0x2400:
            answer["fields"] = [body.string(), body.string()]
        elif code == 0x1400:
            answer["fields"] = [body.string(), body.string(), body.strings()]
        return answer

    def result(self, body: Reader) -> dict:
        match body.int():
            case 2:
                columns, state, count = body.result_columns()
                rows = []
                for _ in range(body.int()):
                    cells = (body.bytes() for _ in range(count))
                    rows.append([None if cell is None else cell.hex() for cell in cells])
                return {"rows": rows, "columns": columns, "state": state}
            case 3:
                return {"keyspace": body.string()}
            case 4:
                identity = body.short_bytes()
                metadata_id = body.short_bytes() if self.version >= 5 else None
                flags, count = body.int(), body.int()
                keys = [body.short() for _ in range(body.int())] if self.version >= 4 else []
                bind = body.columns(flags, count)
                columns, _, _ = body.result_columns()
                return {"prepared": {"bind": bind, "keys": keys, "columns": columns}, "id": identity, "metadata_id": metadata_id}
            case 5:
                change, target = body.string(), body.string()
                names = [body.string()] if target == "KEYSPACE" else [body.string(), body.string()]
                return {"change": [change, target, *names, *(body.strings() if target in ("FUNCTION", "AGGREGATE") else [])]}
        return {"void": True}
