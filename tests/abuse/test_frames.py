"""Frames and segments that are wrong: an error of the protocol or a clean end, on that connection only."""

import random
import socket
import struct

import pytest

from sizes import LONG, sized
from wire import (
    ERROR, EXECUTE, INVALID, OPTIONS, PREPARE, PROTOCOL_ERROR, QUERY, READY, REGISTER, RESULT, STARTUP, SUPPORTED, SYNTAX_ERROR, Closed,
    error_in, execute, frame, long_string, parameters, query, segment, startup, string,
)

REPLY_BYTES_MAX = 1 << 20


@pytest.mark.sized
@pytest.mark.parametrize("seed", range(40, 400) if LONG else range(40))
def test_garbage_is_answered_with_an_end(victim, seed):
    """Also garbage that starts as a frame does."""
    dice = random.Random(seed)
    noise = dice.randbytes(dice.randrange(1, 200_000))
    start = [b"", b"\x04", b"\x04\x00\x00\x00\x07\x00\x00\x00\x20", startup()][seed % 4]
    with victim.wire() as wire:
        try:
            wire.send(start + noise)
            wire.socket.shutdown(socket.SHUT_WR)
        except (Closed, OSError):
            pass
        wire.rest(REPLY_BYTES_MAX)


def test_other_protocols_are_answered_and_ended(victim):
    requests = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        bytes(64),
        b"\xff" * 64,
    ]
    for request in requests:
        with victim.wire() as wire:
            wire.send(request)
            wire.rest(REPLY_BYTES_MAX)


@pytest.mark.parametrize("version", [0, 1, 2, 6, 7, 66, 127])
def test_unknown_versions_are_answered_so_that_drivers_downgrade(victim, version):
    with victim.wire() as wire:
        wire.send(startup(version))
        reply = error_in(wire.rest())
        assert reply.error == PROTOCOL_ERROR and b"nsupported protocol version" in reply.body, reply
        assert reply.version == 5


def test_a_response_is_not_a_request(victim):
    with victim.wire() as wire:
        wire.send(startup(0x84))
        assert error_in(wire.rest()).error == PROTOCOL_ERROR


def test_every_truncated_handshake_is_only_forgotten(victim):
    for version in (3, 4, 5):
        whole = frame(OPTIONS, version=version) + startup(version, "lz4" if version < 5 else None)
        for length in range(len(whole)):
            with victim.wire() as wire:
                wire.send(whole[:length])
    # Half-closed rather than closed: the server sees the end of the stream and must end too.
    whole = startup()
    for length in range(len(whole)):
        with victim.wire() as wire:
            wire.send(whole[:length])
            wire.socket.shutdown(socket.SHUT_WR)
            assert wire.rest() == b""


def test_requests_before_startup_are_refused(victim):
    with victim.wire() as wire:
        for request in (query("SELECT * FROM system.local"), frame(REGISTER, b"\x00\x00"), execute(bytes(16)), frame(PREPARE, long_string("x"))):
            assert wire.ask(request).error == PROTOCOL_ERROR
        assert wire.ask(frame(OPTIONS)).opcode == SUPPORTED
        assert wire.ask(startup()).opcode == READY
        assert wire.ask(startup()).error == PROTOCOL_ERROR


def test_startup_with_wrong_options_is_refused(victim):
    options = [
        {},
        {"CQL_VERSION": "2.9.9"},
        {"CQL_VERSION": ""},
        {"CQL_VERSION": "3.0.0", "COMPRESSION": "zstd"},
        {"CQL_VERSION": "3.0.0", "COMPRESSION": "lz4" * 20_000},
        {"X" * 60_000: "Y" * 60_000},
    ]
    for wrong in options:
        body = struct.pack(">H", len(wrong)) + b"".join(string(key) + string(text) for key, text in wrong.items())
        with victim.wire() as wire:
            assert wire.ask(frame(STARTUP, body)).error == PROTOCOL_ERROR
    for body in (b"", b"\x00", b"\xff\xff", b"\x00\x01\xff\xff", b"\x00\x01\x00\x0bCQL_VERSION", b"\x00\x01" + string(b"\xff\xfe") + string("3.0.0")):
        with victim.wire() as wire:
            assert wire.ask(frame(STARTUP, body)).error == PROTOCOL_ERROR
    with victim.wire() as wire:
        assert wire.ask(startup(5, "snappy")).error == PROTOCOL_ERROR


def test_unknown_opcodes_are_refused(victim):
    for opcode in (0x00, 0x02, 0x03, 0x04, 0x06, 0x08, 0x0C, 0x0E, 0x0F, 0x10, 0x11, 0x7F, 0xFF):
        with victim.ready() as wire:
            assert wire.ask(frame(opcode, bytes(4))).error == PROTOCOL_ERROR, hex(opcode)


@pytest.mark.parametrize("length", [(16 << 20) + 1, 256 << 20, (256 << 20) + 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_an_announced_length_beyond_the_limit_ends_the_connection(victim, length):
    with victim.ready() as wire:
        wire.send(frame(QUERY, stream=7, length=length))
        reply = error_in(wire.rest())
        assert reply.error == PROTOCOL_ERROR and reply.stream == 7, reply


def test_announced_lengths_cost_nothing_before_the_bytes_come(victim):
    """300 connections that promise 16 MiB each, and send a little of it."""
    before = victim.memory_bytes()
    wires = [victim.ready() for _ in range(300)]
    try:
        for wire in wires:
            wire.send(frame(QUERY, b"x" * 100, length=16 << 20))
        victim.fresh()
        assert victim.memory_bytes() - before < 16 << 20
    finally:
        for wire in wires:
            wire.close()


def test_bodies_shorter_than_their_lengths_are_refused_and_the_connection_goes_on(victim):
    """A length within the body that points beyond it; the frame itself is whole, so that the next one is found."""
    inner = [
        (QUERY, b""), (QUERY, b"\x00\x00\x00"), (QUERY, struct.pack(">I", 0xFFFFFFFF)), (QUERY, struct.pack(">I", 100) + b"SELECT"),
        (QUERY, long_string("SELECT * FROM system.local")), (QUERY, long_string("SELECT * FROM system.local") + b"\x00"),
        (QUERY, long_string("SELECT * FROM system.local") + b"\x00\x01\xff"),
        (QUERY, long_string("SELECT * FROM system.local") + b"\x00\x01\x01\xff\xff"),
        (QUERY, long_string("SELECT * FROM system.local") + b"\x00\x01\x01\x00\x01\x7f\xff\xff\xff"),
        (QUERY, long_string("SELECT * FROM system.local") + b"\x00\x01\x01\x00\x01\x80\x00\x00\x00"),
        (QUERY, long_string("SELECT * FROM system.local") + b"\x00\x01\x08\x7f\xff\xff\xffabc"),
        (PREPARE, struct.pack(">I", 1 << 31) + b"x"), (EXECUTE, b""), (EXECUTE, b"\xff\xff"), (EXECUTE, b"\x00\x10" + bytes(16)),
        (REGISTER, b"\xff\xff\xff\xff"), (0x0D, b"\x00\xff\xff"), (0x0D, b"\x00\x00\x01\x00\x7f\xff\xff\xff"), (0x0D, b"\x09\x00\x00"),
    ]
    with victim.ready() as wire:
        for number, (opcode, body) in enumerate(inner):
            reply = wire.ask(frame(opcode, body, stream=number))
            assert reply.opcode == ERROR and reply.stream == number, (opcode, body, reply)
        assert wire.ask(query("SELECT * FROM system.local")).opcode == RESULT


def test_invalid_utf_8_is_refused(victim):
    with victim.ready() as wire:
        for text in (b"\xff\xfe\xfd", b"SELECT '\xc3\x28' FROM x", b"\xed\xa0\x80", b"\x00" * 10, b"SELECT * FROM abuse.\x80"):
            assert wire.ask(query(text)).error in (PROTOCOL_ERROR, SYNTAX_ERROR, INVALID), text
        bad_text = query("INSERT INTO abuse.words (k, v) VALUES (?, ?)", [b"\x00\x00\x00\x01", b"\xff\xfe"])
        create = wire.ask(query("CREATE TABLE IF NOT EXISTS abuse.words (k int PRIMARY KEY, v text)"))
        assert create.opcode == RESULT, create
        assert wire.ask(bad_text).error == INVALID


def test_values_of_the_wrong_size_are_refused(victim):
    with victim.ready() as wire:
        for raw in (b"", b"\x00", b"\x00" * 3, b"\x00" * 5, b"\x00" * 100_000):
            reply = wire.ask(query("INSERT INTO abuse.witness (k, v) VALUES (?, ?)", [struct.pack(">i", 9), raw]))
            assert reply.opcode == RESULT if raw == b"" else reply.error == INVALID, (len(raw), reply)
        for count in (0, 1, 3, 1_000):
            reply = wire.ask(query("INSERT INTO abuse.witness (k, v) VALUES (?, ?)", [struct.pack(">i", 9)] * count))
            assert reply.error == INVALID, (count, reply)


def test_compression_that_was_not_agreed_or_is_broken_ends_the_connection(victim):
    body = long_string("SELECT * FROM system.local") + parameters()
    with victim.ready() as wire:
        wire.send(frame(QUERY, body, flags=1))
        assert error_in(wire.rest()).error == PROTOCOL_ERROR
    for name in ("lz4", "snappy"):
        for wrong in (b"", b"\x00", body, b"\x7f\xff\xff\xff" + body, b"\xff\xff\xff\xff\x0f" + body, b"\x00\x00\x00\x10" + b"\xf0" * 64):
            with victim.wire() as wire:
                wire.start(4, name)
                # One that inflates to nothing is only a bad request, and the connection goes on.
                assert wire.ask(frame(QUERY, wrong, flags=1)).error == PROTOCOL_ERROR, (name, wrong)
        # Without the flag a body is as it is.
        with victim.wire() as wire:
            wire.start(4, name)
            wire.send(frame(QUERY, body))
            assert wire.reply().opcode == RESULT


def test_a_bomb_of_compressed_bytes_is_refused_by_the_length_it_promises(victim):
    """An LZ4 body that promises 256 MiB out of 1 MiB, which is what LZ4 can do."""
    bomb = struct.pack(">I", 256 << 20) + b"\x1f\x00\x01\x00" + b"\xff" * (1 << 20)
    before = victim.memory_bytes()
    with victim.wire() as wire:
        wire.start(4, "lz4")
        wire.send(frame(QUERY, bomb, flags=1))
        assert error_in(wire.rest()).error == PROTOCOL_ERROR
    assert victim.memory_bytes() - before < 64 << 20


def test_corrupted_segments_end_the_connection(victim):
    request = query("SELECT key FROM system.local", version=5)
    whole = segment(request)
    with victim.wire() as wire:
        wire.start(5)
        wire.send(whole)
        assert wire.segment()[4] == RESULT
    for position in [*range(12), len(whole) // 2, len(whole) - 4, len(whole) - 1]:
        broken = bytearray(whole)
        broken[position] ^= 0x10
        with victim.wire() as wire:
            wire.start(5)
            wire.send(bytes(broken))
            # What it says is a segment too; that it says nothing but an error is what counts.
            said = wire.rest()
            assert not said or said[6 + 4] == ERROR, (position, said)


def test_segments_that_lie_about_frames_end_the_connection(victim):
    request = query("SELECT key FROM system.local", version=5)
    lies = [
        segment(request[:-1]),
        segment(request[:5]),
        segment(frame(QUERY, version=5, length=1 << 28), self_contained=False),
        segment(request, self_contained=False) + segment(request),
        segment(frame(QUERY, version=5, length=1000) + b"x", self_contained=False) + segment(b"x" * 2000, self_contained=False),
        segment(request + b"\x05"),
    ]
    for number, lie in enumerate(lies):
        with victim.wire() as wire:
            wire.start(5)
            wire.send(lie)
            wire.socket.shutdown(socket.SHUT_WR)
            said = wire.rest()
            assert len(said) < REPLY_BYTES_MAX, number
    # Empty segments are nothing at all, however many.
    with victim.wire() as wire:
        wire.start(5)
        wire.send((segment(b"") + segment(b"", self_contained=False)) * 20_000 + segment(request))
        assert wire.segment()[4] == RESULT


def test_a_version_that_changes_in_mid_connection_ends_it(victim):
    with victim.ready() as wire:
        wire.send(query("SELECT key FROM system.local", version=3))
        assert error_in(wire.rest()).error == PROTOCOL_ERROR


@pytest.mark.sized
def test_mutated_requests_never_harm(victim):
    """Whole handshakes and statements with a few bytes changed, many connections."""
    base = [
        startup(), query("SELECT v FROM abuse.witness WHERE k = 1", stream=1), query("SELECT k, c, v FROM abuse.wide WHERE k IN (1, 2)", stream=2),
        query("INSERT INTO abuse.wide (k, c, v) VALUES (?, ?, ?)", [b"\0\0\0\1", b"\0\0\0\2", b"x" * 50], stream=3), frame(OPTIONS, stream=4),
        frame(REGISTER, b"\x00\x01" + string("SCHEMA_CHANGE"), stream=5), frame(PREPARE, long_string("SELECT * FROM abuse.wide WHERE k = ?"), stream=6),
    ]
    dice = random.Random(sized(7, 8))
    for _ in range(sized(400, 4_000)):
        data = bytearray(b"".join([base[0], *dice.choices(base, k=4)]))
        for _ in range(dice.randrange(1, 6)):
            # The header of STARTUP is left alone mostly, or nothing else would ever be reached.
            position = dice.randrange(len(base[0]) if dice.random() < 0.9 else 0, len(data))
            data[position] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        with victim.wire() as wire:
            try:
                wire.send(bytes(data))
                wire.socket.shutdown(socket.SHUT_WR)
            except (Closed, OSError):
                pass
            wire.rest(REPLY_BYTES_MAX)
