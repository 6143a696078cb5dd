"""The least of a GridDB client, and of this server's SQL as one: one container of LONG and STRING, one statement at a time."""

import hashlib
import socket
import struct

MAGIC = 65_021_048
CONNECT, LOGIN, PARTITION_ADDRESS, PUT_CONTAINER, GET_ROW, PUT_ROW = 100, 102, 104, 107, 120, 124
PARTITION = 5
# This server's own options with PUT_CONTAINER.
OWN_GROUP, RENAMING_OPTION = 29_000, 29_004
# Of a frame's header, and of the head of a reply: statement, number, status.
HEADER_BYTES, REPLY_HEAD_BYTES = 20, 13
SECONDS_MAX = 120


class Refused(Exception):
    """The error that answers a statement; its first argument is the number."""


class GridClient:
    """A connection that has logged in."""

    def __init__(self, address: str, port: int, user: str, password: str):
        self.socket = socket.create_connection((address, port), SECONDS_MAX)
        self.number = 0
        self._send(CONNECT, struct.pack("<i", 9), struct.pack("<iibb", 15, 2, 1, 0))
        self._receive(REPLY_HEAD_BYTES - 4)
        digest = hashlib.sha256(password.encode()).hexdigest()
        self.ask(LOGIN, struct.pack("<i", 0) + text(user) + text(digest) + struct.pack("<i?", 15, True) + text("TarnDB") + b"\0")

    def close(self):
        self.socket.close()

    def put_container(self) -> int:
        """Makes the container `t`, unless it is there; its number."""
        columns = struct.pack("<i", 2) + text("id") + b"\5\0" + text("text") + b"\0\0" + struct.pack("<hh", 1, 0)
        reply = self.ask(PUT_CONTAINER, struct.pack("<i", 0) + b"\x09\0\x03t\0" + b"\0\0" + columns + text(""))
        return struct.unpack_from("<q", reply, 4)[0]

    def rename(self, former: str, name: str) -> int:
        """Gives one of its columns another name, as SQL does; the version of its schema."""
        value = struct.pack("<h", RENAMING_OPTION) + text(former) + text(name)
        options = struct.pack("<hi", OWN_GROUP, len(value)) + value
        columns = struct.pack("<i", 2) + text("id") + b"\5\0" + text("text") + b"\0\0" + struct.pack("<hh", 1, 0)
        reply = self.ask(PUT_CONTAINER, struct.pack("<i", len(options)) + options + b"\x09\0\x03t\0" + b"\0\0" + columns + text(""))
        return struct.unpack_from("<i", reply)[0]

    def put(self, container: int, key: int):
        self.ask(PUT_ROW, head(container) + bytes(9) + struct.pack("<q", key) + b"\x03\x07one")

    def has(self, container: int, key: int, version: int = 0) -> bool:
        return self.ask(GET_ROW, head(container, version) + struct.pack("<q", key))[0] == 1

    def owner(self, partition: int) -> tuple[str, int]:
        """Where a partition's statements should go."""
        reply = self.ask(PARTITION_ADDRESS, bytes(4), partition)
        return socket.inet_ntoa(reply[5:9]), struct.unpack_from("<i", reply, 9)[0]

    def ask(self, statement: int, arguments: bytes, partition: int = PARTITION) -> bytes:
        """The results of a statement."""
        self.number += 1
        self._send(statement, struct.pack("<q", self.number), arguments, partition)
        return self._receive(REPLY_HEAD_BYTES)

    def _send(self, statement: int, number: bytes, arguments: bytes, partition: int = PARTITION):
        body = struct.pack("<ii", statement, partition) + number + arguments
        self.socket.sendall(struct.pack("<i12xi", MAGIC, len(body)) + body)

    def _receive(self, head_bytes: int) -> bytes:
        length = struct.unpack_from("<i", self._take(HEADER_BYTES), HEADER_BYTES - 4)[0]
        body = self._take(length)
        if body[head_bytes - 1] == 0:
            return body[head_bytes:]
        code, message_bytes = struct.unpack_from("<ii", body, head_bytes + 4)
        raise Refused(code, body[head_bytes + 12 :][:message_bytes].decode())

    def _take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            piece = self.socket.recv(count - len(taken))
            if not piece:
                raise ConnectionError("the server has ended the connection")
            taken += piece
        return taken


def text(of: str) -> bytes:
    data = of.encode()
    return struct.pack("<i", len(data)) + data


def head(container: int, version: int = 0) -> bytes:
    """What statements about rows begin with: no session, no transaction, no options."""
    return struct.pack("<q24xi6x", container, version)
