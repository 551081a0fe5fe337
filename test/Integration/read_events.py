"""Prints the scalars of event files: read_events.py FOLDER

Checks every record's length and checksums, with a CRC-32C of its own.
"""

import pathlib
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        body, rest = data[12 : 12 + length], data[12 + length :]
        assert len(body) == length
        assert struct.unpack("<I", rest[:4])[0] == masked(body)
        yield body
        data = rest[4:]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a message; bytes as they are, numbers by their wire type."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            size, form = {1: (8, "<d"), 5: (4, "<f")}[wire]
            value, at = struct.unpack(form, data[at : at + size])[0], at + size
        yield key >> 3, value


def main(folder):
    assert crc32c(b"123456789") == 0xE3069283
    for path in sorted(pathlib.Path(folder).iterdir()):
        assert ".tfevents." in path.name, path.name
        for record in records(path.read_bytes()):
            event = dict(fields(record))
            assert event[1] > 1.6e9  # seconds since 1970
            if 3 in event:
                print("version", event[3].decode())
            if 7 in event:
                print("start", event[2], dict(fields(event[7])))
            for _, value in fields(event.get(5, b"")):
                scalar = dict(fields(value))
                print(event[2], scalar[1].decode(), f"{scalar[2]:.9g}")


main(*sys.argv[1:])
