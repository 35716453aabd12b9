"""FORMAT, entries, COMMITs and large files: sections 2 to 6 of docs/store-format.md."""

import struct

import zstandard
from blake3 import blake3

from cbor import Damage, need

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
HEADER = 64
ENTRY_MAGIC = b"\xb1ISO"
ARTIFACT, RECORD, COMMIT, BLOCK, FILLER, LARGE, DICTIONARY = 1, 2, 3, 4, 5, 6, 7
MAX_FRAME = MIB + 8 * KIB
MAX_MEMBERS = 1 << 14
MAX_BLOCK = 4 + 37 * MAX_MEMBERS + 4 * MIB + 17 * KIB


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def u16(data, at):
    return struct.unpack_from("<H", data, at)[0]


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def ident(data):
    return blake3(data).digest()


def read_format(data):
    """The store id, once it is certain that this reader may read the store."""
    need(len(data) == 1024, "FORMAT has another length")
    sound = [copy for copy in (data[:512], data[512:]) if u32(copy, 508) == crc32c(copy[:508])]
    need(sound and sound[0].startswith(b"\xb1isobox\n"), "FORMAT is damaged")
    copy = sound[0]
    lists, at = [], 28
    for _ in range(3):
        features, at = _features(copy, at)
        lists.append(features)
    need(not any(copy[at:508]), "FORMAT is damaged behind its features")
    need(u16(copy, 24) <= 1 and not lists[0], "the store needs a later reader")
    return copy[8:24]


def _features(copy, at):
    names, at, count = [], at + 1, copy[at]
    for _ in range(count):
        end = at + 1 + copy[at]
        need(end <= 508, "a feature that is too long")
        names.append(copy[at + 1:end].decode())
        at = end
    return names, at


class Header:
    def __init__(self, data, place):
        need(data[:4] == ENTRY_MAGIC and u32(data, 60) == crc32c(data[:60]), "no header")
        need(data[4] == 1 and data[7] == 0, "a header of another version or with flags")
        self.bytes, self.kind, self.codec, self.id = data, data[5], data[6], data[8:40]
        self.raw, self.stored, self.crc = u64(data, 40), u64(data, 48), u32(data, 56)
        need(self.kind in (ARTIFACT, RECORD, COMMIT, BLOCK, FILLER, LARGE, DICTIONARY), "an unknown kind")
        need(self.codec in (0, 1, 2, 3), "an unknown codec")
        need(self._fits(place), f"lengths {self.raw} and {self.stored} are not accepted")

    def _fits(self, place):
        if place == "large":
            frames = -(-self.raw // MIB)
            return self.kind == ARTIFACT and self.codec == 1 and MIB <= self.raw <= 64 * GIB and self.stored <= frames * MAX_FRAME
        if self.kind == BLOCK or self.codec == 2:
            return self.kind == BLOCK and self.codec == 2 and self.raw <= 4 * MIB and 4 <= self.stored <= MAX_BLOCK
        if self.kind == DICTIONARY and self.raw > 16 * KIB:
            return False
        if self.codec == 3:
            return self.kind == RECORD and self.stored < self.raw <= MIB
        if self.codec == 1:
            return self.kind not in (COMMIT, LARGE) and self.stored < self.raw <= MIB
        limit = {COMMIT: 64 * KIB, LARGE: HEADER}.get(self.kind, MIB)
        return self.raw == self.stored <= limit and (self.kind != LARGE or self.raw == HEADER)

    def open(self, payload, dictionary=None):
        """The raw bytes of an entry in a pack that has this dictionary."""
        need(crc32c(payload) == self.crc, "a payload with a wrong CRC")
        raw = payload
        if self.codec == 1:
            need(frame_length(payload) == len(payload), "something behind the frame")
            raw = read_frame(payload)
        if self.codec == 3:
            need(dictionary is not None, "a record without the dictionary of its pack")
            need(frame_length(payload) == len(payload), "something behind the frame")
            raw = read_frame(payload, dictionary=dictionary)
        need(len(raw) == self.raw and ident(raw) == self.id, "raw bytes of another id or length")
        return raw


    def members(self, payload):
        """What a block holds: kind, id and raw bytes of each member."""
        need(crc32c(payload) == self.crc, "a payload with a wrong CRC")
        count = u32(payload, 0)
        start = 4 + 37 * count
        need(1 <= count <= MAX_MEMBERS and start <= len(payload), "a table of a wrong length")
        need(ident(payload[:start]) == self.id, "a table of another id")
        frame = payload[start:]
        need(frame_length(frame) == len(frame), "something behind the frame")
        raw, at, members = read_frame(frame, 4 * MIB), 0, []
        for row in (payload[at:at + 37] for at in range(4, start, 37)):
            kind, identity, length = row[0], row[1:33], u32(row, 33)
            need(kind in (ARTIFACT, RECORD, LARGE) and length <= MIB, "a member out of range")
            member = raw[at:at + length]
            named = Header(member, "large").id if kind == LARGE else ident(member)
            need(len(member) == length and named == identity, "a member of another id or length")
            members.append((kind, identity, member))
            at += length
        need(at == len(raw) == self.raw, "members of another length")
        return members


def frame_length(data):
    """Length of the zstd frame at the start of `data`: RFC 8878, section 3.1.1, walked block by block."""
    need(len(data) >= 6 and data[:4] == b"\x28\xb5\x2f\xfd", "no zstd frame")
    descriptor = data[4]
    single_segment, checksum, dictionary = descriptor >> 5 & 1, descriptor >> 2 & 1, descriptor & 3
    need(checksum and not dictionary, "a frame without checksum or with dictionary")
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    need(content_size, "a frame without content size")
    at, is_last = 5 + (not single_segment) + content_size, False
    while not is_last:
        need(at + 3 <= len(data), "a frame that is cut off")
        block = int.from_bytes(data[at:at + 3], "little")
        is_last, kind, size = block & 1, block >> 1 & 3, block >> 3
        need(kind != 3, "a reserved block")
        at += 3 + (1 if kind == 1 else size)
    need(at + 4 <= len(data), "a frame that is cut off")
    return at + 4


def find_dictionary(data):
    """The dictionary that a pack begins with, or None."""
    data, at = data[:64 * KIB], 0
    while (at := data.find(ENTRY_MAGIC, at)) >= 0:
        try:
            header = Header(data[at:at + HEADER], "pack")
        except Damage:
            at += 1
            continue
        end = at + HEADER + header.stored
        if header.kind != DICTIONARY or end > len(data):
            return None
        try:
            raw = header.open(data[at + HEADER:end])
            need(raw[:4] != b"\x37\xa4\x30\xec", "a dictionary of another kind")
            return raw
        except Damage:
            at = end
    return None


def read_frame(data, most=MIB, dictionary=None):
    """The raw bytes of one frame, at most `most`; zstandard checks the frame's own checksum."""
    parameters = zstandard.get_frame_parameters(data)
    need(parameters.content_size <= most, "a frame that is too large")
    need(data[4] >> 5 & 1 or parameters.window_size <= 8 * MIB, "a window of more than 8 MiB")
    try:
        content = dictionary and zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        raw = zstandard.ZstdDecompressor(dict_data=content, max_window_size=8 * MIB).decompress(data, max_output_size=most)
    except zstandard.ZstdError as error:
        need(False, f"a frame that is damaged: {error}")
    need(len(raw) == parameters.content_size, "a frame of another length than it says")
    return raw


def read_large(data, reference):
    """Checks a large file against the header that refers to it, and returns the raw bytes."""
    header = Header(data[:HEADER], "large")
    need(header.bytes == reference, "a large file with another header than its reference")
    payload = data[HEADER:]
    need(len(payload) == header.stored and crc32c(payload) == header.crc, "a large file of wrong length or CRC")
    raw, at = [], 0
    while at < len(payload):
        length = frame_length(payload[at:])
        need(length <= MAX_FRAME, "a frame that is too long")
        raw.append(read_frame(payload[at:at + length]))
        at += length
    need(all(len(piece) == MIB for piece in raw[:-1]) and raw and raw[-1], "frames of other lengths")
    raw = b"".join(raw)
    need(len(raw) == header.raw and ident(raw) == header.id, "a large artifact of another id or length")
    return raw


class Commit:
    def __init__(self, data):
        need(170 <= len(data) <= 64 * KIB, "a COMMIT of a wrong length")
        self.id, self.store, self.task = ident(data), data[:16], data[16:24]
        self.attempt, self.kind, self.lane, children, zero = struct.unpack_from("<IBBBB", data, 24)
        self.record, self.record_length = data[32:64], u64(data, 64)
        self.time, self.sequence, self.span = u64(data, 72), u64(data, 80), u64(data, 88)
        self.previous, self.subject, packs = data[96:128], data[128:160], u16(data, 160)
        need(self.kind in (1, 2, 3) and self.lane < 32 and children <= 64 and zero == 0, "a COMMIT with a field out of range")
        need(946684800000 <= self.time < 7258118400000 and self.sequence >= 1, "a COMMIT with a wrong time or sequence")
        need((self.sequence == 1) == (self.previous == bytes(32)), "a COMMIT whose previous does not fit its sequence")
        need(self.kind != 1 or self.subject == bytes(32), "a COMMIT of a record with a subject")
        need(len(data) == 162 + 32 * packs + 41 * children + 8, "a COMMIT of a wrong length")
        need(u32(data, len(data) - 8) == len(data) and data[-4:] == b"TIMC", "a COMMIT with a wrong end")
        self.packs = [data[at:at + 32] for at in range(162, 162 + 32 * packs, 32)]
        start = 162 + 32 * packs
        parts = [data[at:at + 41] for at in range(start, start + 41 * children, 41)]
        self.children = [(part[0], part[1:33], u64(part, 33)) for part in parts]
