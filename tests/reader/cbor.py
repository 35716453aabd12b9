"""Deterministic CBOR, as section 7 of docs/store-format.md has it."""

MAX_OBJECT = 1 << 20
MAX_DEPTH = 16


class Damage(Exception):
    """Bytes break a rule of the format."""


def need(condition, message):
    if not condition:
        raise Damage(message)


def decode(data):
    """The one item that `data` is, provided that encoding it again gives the same bytes."""
    need(len(data) <= MAX_OBJECT, f"an object of {len(data)} bytes")
    item, end = _item(data, 0, 1)
    need(end == len(data), "bytes behind the object")
    need(encode(item) == data, "not the deterministic encoding")
    return item


def encode(item):
    if item is True or item is False:
        return b"\xf5" if item else b"\xf4"
    if isinstance(item, int):
        return _head(0, item)
    if isinstance(item, bytes):
        return _head(2, len(item)) + item
    if isinstance(item, str):
        return _head(3, len(item.encode())) + item.encode()
    if isinstance(item, list):
        return _head(4, len(item)) + b"".join(map(encode, item))
    pairs = sorted((encode(key), encode(value)) for key, value in item.items())
    return _head(5, len(pairs)) + b"".join(key + value for key, value in pairs)


def _head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    width = next(width for width in (0, 1, 2, 3) if argument < 1 << (8 << width))
    return bytes([major << 5 | 24 + width]) + argument.to_bytes(1 << width, "big")


def _item(data, at, depth):
    need(depth <= MAX_DEPTH, "too deep")
    need(at < len(data), "the end comes too early")
    major, small = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        need(small in (20, 21), "a float, null or undefined")
        return small == 21, at
    need(small < 28, "an indefinite length")
    argument = small
    if small >= 24:
        width = 1 << (small - 24)
        argument, at = int.from_bytes(_take(data, at, width), "big"), at + width
    if major == 0:
        return argument, at
    if major in (2, 3):
        return _string(major, _take(data, at, argument)), at + argument
    need(major in (4, 5), "a negative integer or a tag")
    need(argument <= len(data) - at, "a count that does not fit")
    return _list(data, at, argument, depth) if major == 4 else _map(data, at, argument, depth)


def _take(data, at, length):
    need(length <= len(data) - at, "the end comes too early")
    return data[at:at + length]


def _string(major, taken):
    if major == 2:
        return taken
    try:
        text = taken.decode("utf-8")
    except UnicodeDecodeError:
        raise Damage("a text that is no UTF-8") from None
    need("\0" not in text, "a text with NUL")
    return text


def _list(data, at, count, depth):
    items = []
    for _ in range(count):
        item, at = _item(data, at, depth + 1)
        items.append(item)
    return items, at


def _map(data, at, count, depth):
    pairs = {}
    for _ in range(count):
        key, at = _item(data, at, depth + 1)
        need(type(key) in (int, str) and key not in pairs, "a key that is repeated or no integer or text")
        pairs[key], at = _item(data, at, depth + 1)
    return pairs, at
