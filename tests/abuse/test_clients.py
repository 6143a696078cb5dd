"""Clients that misbehave as clients do: too many, too slow, too greedy, gone in the middle."""

import random
import socket
import struct
import time

import pytest

from wire import EVENT, OVERLOADED, PREPARE, QUERY, REGISTER, RESULT, Closed, execute, frame, long_string, parameters, prepare, query, startup, string

STREAMS = 32_768


def int4(number: int) -> bytes:
    return struct.pack(">i", number)


def test_thousands_of_half_open_connections_do_not_keep_others_out(victim, descriptors_max):
    """Some say nothing, some half a header, some half a STARTUP, some everything but their first request."""
    count = min(4_000, descriptors_max // 3)
    assert count >= 300, f"a limit of {descriptors_max} open files is too few for this test"
    before = victim.descriptors()
    beginnings = [b"", b"\x04\x00", startup()[:15], startup(), startup() + query("SELECT v FROM abuse.witness WHERE k = 1")[:20]]
    wires = []
    try:
        for number in range(count):
            wire = victim.wire()
            wires.append(wire)
            wire.send(beginnings[number % len(beginnings)])
        victim.fresh()
        # Connections of the test before may still have been closing, and each core takes its own.
        wait_until(lambda: victim.descriptors() >= before + count - 8, "all of them are connected")
    finally:
        for wire in wires:
            wire.close()
    wait_until(lambda: victim.descriptors() <= before + 8, "the connections are closed on the server too")


def test_connections_that_come_and_go_leave_nothing(victim):
    before = victim.descriptors()
    reset = struct.pack("ii", 1, 0)
    for number in range(3_000):
        wire = victim.wire()
        if number % 3:
            wire.send(startup()[: number % 40])
        if number % 2:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        wire.close()
    wait_until(lambda: victim.descriptors() <= before + 8, "the connections are closed on the server too")


def wait_until(holds, what: str, seconds_max: float = 120):
    deadline = time.monotonic() + seconds_max
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_requests_byte_by_byte_are_answered(victim):
    request = startup() + query("SELECT v FROM abuse.witness WHERE k = 1", stream=5)
    wires = [victim.wire() for _ in range(200)]
    for position in range(len(request)):
        for wire in wires:
            wire.send(request[position : position + 1])
    for wire in wires:
        wire.reply()
        reply = wire.reply()
        assert (reply.opcode, reply.stream) == (RESULT, 5)
        wire.close()


def test_connections_dropped_in_mid_frame_are_forgotten(victim):
    """With requests under way: their replies find nobody."""
    dice = random.Random(3)
    whole = b"".join(query(f"SELECT * FROM abuse.wide WHERE k = {key} ", stream=key) for key in range(50))
    reset = struct.pack("ii", 1, 0)
    for number in range(500):
        wire = victim.wire()
        wire.send(startup() + whole[: dice.randrange(len(whole))])
        if number % 2:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        wire.close()


def test_large_frames_of_many_clients_that_never_end_stay_within_memory(victim):
    """A hundred clients send all but the last byte of 15 MiB."""
    part = frame(QUERY, length=15 << 20) + bytes((15 << 20) - 1)
    wires = []
    try:
        for _ in range(100):
            wire = victim.ready()
            wires.append(wire)
            wire.socket.settimeout(2)
            try:
                wire.send(part)
            except (Closed, TimeoutError):
                pass
    finally:
        for wire in wires:
            wire.close()


def test_all_streams_in_flight_are_answered_each_once(victim):
    with victim.ready() as wire:
        statement = wire.ask(prepare("SELECT v FROM abuse.witness WHERE k = ?")).body
        statement_id = statement[6 : 6 + struct.unpack_from(">H", statement, 4)[0]]
        requests = [execute(statement_id, [int4(stream)], stream=stream) for stream in range(STREAMS)]
        answered = send_and_count(wire, requests)
        assert answered == {stream: 1 for stream in range(STREAMS)}


def send_and_count(wire, requests) -> dict:
    """Sends everything while reading everything, and counts the replies of each stream."""
    data, sent, answered, left = memoryview(b"".join(requests)), 0, {}, len(requests)
    wire.socket.setblocking(False)
    deadline = time.monotonic() + 120
    while left:
        assert time.monotonic() < deadline, f"{left} replies are missing"
        try:
            sent += wire.socket.send(data[sent : sent + (1 << 16)])
        except BlockingIOError:
            pass
        try:
            wire.fill()
        except BlockingIOError:
            time.sleep(0.0005)
        position = 0
        while len(wire.buffer) - position >= 9:
            length = struct.unpack_from(">I", wire.buffer, position + 5)[0]
            if len(wire.buffer) - position < 9 + length:
                break
            _, _, stream, opcode, _ = struct.unpack_from(">BBhBI", wire.buffer, position)
            assert opcode == RESULT, bytes(wire.buffer[position : position + 200])
            answered[stream] = answered.get(stream, 0) + 1
            left -= 1
            position += 9 + length
        del wire.buffer[:position]
    wire.socket.setblocking(True)
    return answered


def test_thousands_of_requests_on_one_stream_are_all_answered(victim):
    with victim.ready() as wire:
        requests = [query("SELECT v FROM abuse.witness WHERE k = 1", stream=9) for _ in range(20_000)]
        assert send_and_count(wire, requests) == {9: 20_000}


def push(wires, data: bytes, seconds: float):
    """Sends `data` again and again on all, never reading, until nobody takes a byte for a second or the time is over."""
    for wire in wires:
        wire.socket.setblocking(False)
    left = {wire: memoryview(data) for wire in wires}
    last, deadline = time.monotonic(), time.monotonic() + seconds
    while time.monotonic() < min(deadline, last + 1):
        for wire in wires:
            try:
                sent = wire.socket.send(left[wire])
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                continue
            last = time.monotonic()
            left[wire] = left[wire][sent:] or memoryview(data)
        time.sleep(0.001)


@pytest.mark.parametrize("row_bytes", [100, 10_000, 1 << 20])
def test_clients_that_never_read_stay_within_memory(victim, session, row_bytes):
    """They ask for rows of this size as fast as they can, by key and by scan, and take nothing."""
    key = 5_000 + row_bytes
    session.execute("INSERT INTO abuse.wide (k, c, v) VALUES (%s, 0, %s)", (key, bytes(row_bytes)))
    wires = [victim.ready(receive_buffer=4096) for _ in range(20)]
    try:
        statement = wires[0].ask(prepare("SELECT v FROM abuse.wide WHERE k = ? AND c = 0")).body
        statement_id = statement[6 : 6 + struct.unpack_from(">H", statement, 4)[0]]
        by_key = execute(statement_id, [int4(key)])
        by_scan = query(f"SELECT * FROM abuse.wide WHERE k = {key}")
        push(wires, (by_key * 9 + by_scan) * 300, 4)
        victim.fresh()
    finally:
        for wire in wires:
            wire.close()


def test_replies_to_a_slow_reader_are_complete_and_in_order_of_its_requests(victim, session):
    """Reading is stopped while the client does not take its replies, and goes on when it does."""
    session.execute("INSERT INTO abuse.wide (k, c, v) VALUES (6000, 0, %s)", (bytes(200_000),))
    with victim.ready() as wire:
        statement = wire.ask(prepare("SELECT v FROM abuse.wide WHERE k = ? AND c = 0")).body
        statement_id = statement[6 : 6 + struct.unpack_from(">H", statement, 4)[0]]
        requests = [execute(statement_id, [int4(6000)], stream=stream) for stream in range(1_000)]
        wire.send(b"".join(requests))
        time.sleep(0.3)
        streams = [wire.reply().stream for _ in range(1_000)]
        assert sorted(streams) == list(range(1_000))


def test_writers_faster_than_the_device_stay_within_memory(victim):
    """Forty clients push inserts of 1 MiB without reading replies."""
    wires = [victim.ready() for _ in range(40)]
    try:
        for number, wire in enumerate(wires):
            statement = wire.ask(prepare("INSERT INTO abuse.wide (k, c, v) VALUES (?, ?, ?)")).body
            statement_id = statement[6 : 6 + struct.unpack_from(">H", statement, 4)[0]]
        push(wires, execute(statement_id, [int4(7000), int4(1), bytes(1 << 20)]), 4)
    finally:
        for wire in wires:
            wire.close()


def test_listeners_of_events_that_never_read_stay_within_memory(victim, session):
    wires = [victim.ready(receive_buffer=4096) for _ in range(50)]
    try:
        for wire in wires:
            assert wire.ask(frame(REGISTER, b"\x00\x01" + string("SCHEMA_CHANGE"))).opcode != 0
        for number in range(20):
            session.execute(f"CREATE TABLE abuse.told{number} (k int PRIMARY KEY)")
            session.execute(f"DROP TABLE abuse.told{number}")
        event = wires[0].reply()
        assert event.opcode == EVENT and event.stream == -1
    finally:
        for wire in wires:
            wire.close()


def test_a_flood_of_schema_changes_is_answered(victim):
    wires = [victim.ready() for _ in range(10)]
    for number, wire in enumerate(wires):
        wire.send(b"".join(query(f"CREATE TABLE IF NOT EXISTS abuse.flood{stream} (k int PRIMARY KEY)", stream=stream) for stream in range(30)))
    for wire in wires:
        replies = {wire.reply().stream for _ in range(30)}
        assert replies == set(range(30))
        wire.close()
