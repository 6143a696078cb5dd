"""Values of the protocol: from JSON to bytes for bound values, from bytes to text for people.

A type is a name ("int") or a list: ["list", T], ["set", T], ["map", K, V], ["tuple", [T, ...]], ["udt", KEYSPACE, NAME, [[FIELD, T], ...]],
["custom", CLASS].

JSON of a bound value: numbers, strings and booleans; "0x…" for a blob; a list for a list, set, tuple or user type; an object or a list of pairs
for a map; null; {"hex": "…"} for any bytes, {"unset": true} for no value.
"""

import datetime
import decimal
import ipaddress
import struct
import uuid

from wire import UNSET

NUMBERS = {"bigint": ">q", "counter": ">q", "timestamp": ">q", "time": ">q", "int": ">i", "smallint": ">h", "tinyint": ">b", "double": ">d",
           "float": ">f", "date": ">I", "boolean": ">?"}  # fmt: skip


def encode(kind, json):
    """The bytes of a bound value; raises ValueError or struct.error when the JSON does not fit the type."""
    if json is None:
        return None
    if isinstance(json, dict) and "hex" in json:
        return bytes.fromhex(json["hex"])
    if isinstance(json, dict) and "unset" in json:
        return UNSET
    if isinstance(kind, str):
        return encode_scalar(kind, json)
    match kind[0]:
        case "list" | "set":
            return struct.pack(">i", len(json)) + b"".join(sized(kind[1], one) for one in json)
        case "map":
            pairs = list(json.items()) if isinstance(json, dict) else json
            return struct.pack(">i", len(pairs)) + b"".join(sized(kind[1], key) + sized(kind[2], one) for key, one in pairs)
        case "tuple":
            return b"".join(sized(part, one) for part, one in zip(kind[1], json))
        case "udt":
            return b"".join(sized(part, one) for (_, part), one in zip(kind[3], json))
    raise ValueError(f"values of {text_of_type(kind)} are given as hex")


def sized(kind, json) -> bytes:
    encoded = encode(kind, json)
    return struct.pack(">i", -1) if encoded is None else struct.pack(">i", len(encoded)) + encoded


def encode_scalar(kind: str, json) -> bytes:
    if kind in ("text", "ascii"):
        return json.encode()
    if kind in NUMBERS:
        return struct.pack(NUMBERS[kind], json)
    match kind:
        case "blob":
            return bytes.fromhex(json.removeprefix("0x"))
        case "uuid" | "timeuuid":
            return uuid.UUID(json).bytes
        case "inet":
            return ipaddress.ip_address(json).packed
        case "varint":
            return varint(int(json))
        case "decimal":
            sign, digits, exponent = decimal.Decimal(str(json)).as_tuple()
            return struct.pack(">i", -exponent) + varint(int("".join(map(str, digits))) * (-1 if sign else 1))
    raise ValueError(f"values of {kind} are given as hex")


def varint(number: int) -> bytes:
    return number.to_bytes((number.bit_length() if number >= 0 else (number + 1).bit_length()) // 8 + 1, "big", signed=True)


def text_of(kind, raw) -> str:
    """A value for a person to read; bytes that are not of the type are shown as hex."""
    if raw is None:
        return "null"
    try:
        return decode(kind, bytes.fromhex(raw) if isinstance(raw, str) else raw)
    except (ValueError, struct.error, IndexError, OverflowError):
        return f"0x{raw if isinstance(raw, str) else raw.hex()}"


def decode(kind, raw: bytes) -> str:
    if isinstance(kind, str):
        return decode_scalar(kind, raw)
    match kind[0]:
        case "list" | "set":
            parts, end = elements(raw, 4, 1)
            inner = ", ".join(text_of(kind[1], part) for part in parts)
            return f"[{inner}]" if kind[0] == "list" else f"{{{inner}}}"
        case "map":
            parts, end = elements(raw, 4, 2)
            return "{" + ", ".join(f"{text_of(kind[1], key)}: {text_of(kind[2], one)}" for key, one in zip(parts[::2], parts[1::2])) + "}"
        case "tuple":
            return "(" + ", ".join(text_of(part, one) for part, one in zip(kind[1], fields(raw))) + ")"
        case "udt":
            return "{" + ", ".join(f"{name}: {text_of(part, one)}" for (name, part), one in zip(kind[3], fields(raw))) + "}"
    return "0x" + raw.hex()


def elements(raw: bytes, at: int, each: int) -> tuple:
    count, parts = struct.unpack_from(">i", raw)[0] * each, []
    for _ in range(count):
        length = struct.unpack_from(">i", raw, at)[0]
        parts.append(None if length < 0 else raw[at + 4 : at + 4 + length])
        at += 4 + max(length, 0)
    return parts, at


def fields(raw: bytes) -> list:
    at, parts = 0, []
    while at < len(raw):
        length = struct.unpack_from(">i", raw, at)[0]
        parts.append(None if length < 0 else raw[at + 4 : at + 4 + length])
        at += 4 + max(length, 0)
    return parts


def decode_scalar(kind: str, raw: bytes) -> str:
    if kind in ("text", "ascii"):
        return repr(raw.decode())
    if kind == "blob" or not raw:
        return "0x" + raw.hex()
    if kind == "timestamp":
        millis = struct.unpack(">q", raw)[0]
        return (datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=millis)).isoformat(timespec="milliseconds") + "Z"
    if kind == "date":
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=struct.unpack(">I", raw)[0] - (1 << 31))).isoformat()
    if kind in NUMBERS:
        return str(struct.unpack(NUMBERS[kind], raw)[0]).lower()
    match kind:
        case "uuid" | "timeuuid":
            return str(uuid.UUID(bytes=raw))
        case "inet":
            return str(ipaddress.ip_address(raw))
        case "varint":
            return str(int.from_bytes(raw, "big", signed=True))
        case "decimal":
            scale, digits = struct.unpack_from(">i", raw)[0], int.from_bytes(raw[4:], "big", signed=True)
            return str(decimal.Decimal(digits).scaleb(-scale)) if abs(scale) < 50 else f"{digits}e{-scale}"
    return "0x" + raw.hex()


def text_of_type(kind) -> str:
    if isinstance(kind, str):
        return kind
    match kind:
        case ["udt", keyspace, name, parts]:
            return f"{keyspace}.{name}{{{', '.join(f'{field} {text_of_type(part)}' for field, part in parts)}}}"
        case ["tuple", parts]:
            return f"tuple<{', '.join(map(text_of_type, parts))}>"
        case ["custom", name]:
            return f"'{name}'"
    return f"{kind[0]}<{', '.join(text_of_type(part) if isinstance(part, (str, list)) else str(part) for part in kind[1:])}>"
