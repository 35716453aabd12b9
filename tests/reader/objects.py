"""What objects say: section 7 of docs/store-format.md as checks on decoded CBOR."""

import cbor
from cbor import Damage, need

SANDBOX_KINDS = ("session", "tool_call", "verification")
OUTCOMES = ("success", "workload_command_exit", "preparation_failure", "launch_failure", "result_capture_failure",
            "interruption", "limit_exceeded")
BACKENDS = ("host", "bubblewrap", "landlock")
LIMITS = (
    "time", "idle_time", "memory", "cpu", "cpu_time", "processes", "disk", "inodes", "open_files", "file_size", "output",
)
CONTROLS = ("filesystem", "network", "processes", "privileges", "syscalls", "ipc", "environment", "credentials", "limits")
ENFORCEMENTS = {"enforced": 3, "partially_enforced": 4, "not_enforced": 3}
REUSE_KINDS = ("host_binary", "path", "env_var", "credential_ref", "local_integration")
MODES = ("file", "executable", "symlink", "submodule")


# Each of these takes a value, returns it or a part of it, and raises Damage if it is not what its name says.

def uint(value, limit=1 << 64):
    need(type(value) is int and 0 <= value < limit, "no unsigned integer in range")
    return value


def boolean(value):
    need(type(value) is bool, "neither true nor false")
    return value


def text(value):
    need(type(value) is str, "no text")
    return value


def data(value, length=None):
    need(type(value) is bytes and length in (None, len(value)), "no byte string of the right length")
    return value


def plain(value):
    need(b"\0" not in data(value), "NUL in plain bytes")
    return value


def ident(value):
    return data(value, 32)


def ref(value):
    identity, length = array(value, 2)
    return ident(identity), uint(length)


def oid(value):
    need(type(value) is bytes and len(value) in (20, 32), "no Git object id")
    return value


def time(value):
    need(946684800000 <= uint(value) < 7258118400000, "a time outside 2000 to 2199")
    return value


def path(value):
    need(1 <= len(plain(value)) <= 4095, "a path of the wrong length")
    for name in value.split(b"/"):
        need(name not in (b"", b".", b"..") and name.lower() != b".git", f"the path {value!r}")
    return value


def host_path(value):
    need(plain(value).startswith(b"/"), "a host path that is not absolute")
    return value


def array(value, length=None):
    need(type(value) is list and length in (None, len(value)), "no array of the right length")
    return value


def one_of(*words):
    def check(value):
        need(type(value) is str and value in words, f"none of {words}")
        return value
    return check


def list_of(check):
    return lambda value: [check(item) for item in array(value)]


def pair(first, second):
    def check(value):
        one, two = array(value, 2)
        return first(one), second(two)
    return check


def fields(table):
    """A checker of maps. `table` has a check for every key; a key as a negative number minus one may be absent."""
    checks = {key if key >= 0 else -key - 1: (check, key < 0) for key, check in table.items()}

    def check(value):
        need(type(value) is dict, "no map")
        need(set(value) <= set(checks), f"unknown keys {set(value) - set(checks)}")
        for key, (_, is_optional) in checks.items():
            need(key in value or is_optional, f"key {key} is missing")
        return {key: checks[key][0](item) for key, item in value.items()}
    return check


def may(key):
    return -key - 1


def load(kind, table, raw, schemas=(1,)):
    value = cbor.decode(raw)
    need(type(value) is dict and value.get(0) == kind, f"no {kind}")
    need(value.get(1) in schemas and type(value[1]) is int, f"{kind} of another schema")
    return fields({0: text, 1: uint, **table})(value)


def totals(value):
    return [uint(item) for item in array(value, 4)]


def change_set_ref(value):
    identity, length, counts = array(value, 3)
    return ident(identity), uint(length), totals(counts)


def argument(value):
    shown, *digest = array(value)
    need(len(digest) <= 1, "an argument of more than two parts")
    return plain(shown), [ident(item) for item in digest]


def command(value):
    arguments = list_of(argument)(value)
    need(arguments and arguments[0][0], "a command without a program")
    return arguments


def exit_of(value):
    word, number = array(value, 2)
    return one_of("code", "signal")(word), uint(number, 256)


def fate(value):
    word, *rest = array(value)
    if word == "retained":
        host_path(*array(rest, 1))
    else:
        need(one_of("never_created", "disposed")(word) and not rest, "a fate with too many parts")
    return word


def extensions(value):
    need(type(value) is dict, "no map")
    return {text(key): data(item) for key, item in value.items()}


def at_least_one(value, limit):
    need(uint(value, limit) >= 1, "zero")
    return value


SOURCE = fields({0: host_path, may(1): oid, 2: oid, may(3): plain, may(4): path})
USAGE = fields({may(0): uint, may(1): uint, may(2): uint, may(3): one_of("largest_process", "tree")})
ARTIFACTS = fields({may(0): ref, may(1): ref, may(2): change_set_ref, may(3): ref, may(4): ref, may(5): ref, may(6): ref,
                    may(7): change_set_ref, may(8): change_set_ref, may(9): ref})
def probe(value):
    control, tried, outcome, words = array(value, 4)
    need(outcome in ("held", "got_through", "not_tried"), "an unknown outcome of a probe")
    return text(control), text(tried), outcome, text(words)


def exceeded(value):
    limit, most, observed, evidence, effect = array(value, 5)
    one_of(*LIMITS)(limit), at_least_one(most, 1 << 64), uint(observed), text(evidence)
    return one_of("ended", "refused", "unnoticed")(effect)


def at_least_one_of(check):
    def checked(value):
        need(array(value), "an empty list")
        return list_of(check)(value)
    return checked


RECORD = {
    2: lambda value: data(value, 8), 3: lambda value: at_least_one(value, 1 << 32), 4: one_of(*SANDBOX_KINDS), 5: time,
    may(6): time, 7: time, 8: command, 9: SOURCE, 10: ref, 11: one_of(*OUTCOMES), may(12): text, may(13): exit_of,
    14: USAGE, may(15): ref, 16: ARTIFACTS, may(17): uint, 18: fate, 19: list_of(text), 20: list_of(pair(text, text)),
    21: lambda value: data(value, 16), 22: list_of(ident), 23: extensions,
    may(25): list_of(probe),
    may(24): at_least_one_of(exceeded),
    may(26): pair(lambda value: uint(value, 1 << 16), lambda value: uint(value, 1 << 16)),
}


def record(raw):
    value = load("isobox.record", RECORD, raw, (1, 2, 3, 4))
    is_newest = 9 in value[16] or value[4] == "verification"
    is_extended = value.keys() & {24, 25, 26} or 8 in value[16]
    schema = 4 if is_newest else 3 if is_extended else 2 if 7 in value[16] else 1
    need(value[1] == schema, "a record of the wrong schema")
    return value


def children(value):
    """The objects that a record names directly, by role, in the order of the roles."""
    artifacts = value[16]
    found = {1: value[10]}
    for key, role in ((0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7), (6, 8), (7, 9), (8, 10), (9, 11)):
        if key in artifacts:
            found[role] = artifacts[key][:2]
    return found


def control(value):
    name, word, *words = array(value)
    need(ENFORCEMENTS.get(word) == len(value), "no enforcement")
    list_of(text)(words)
    return CONTROLS.index(one_of(*CONTROLS)(name))


def controls(value):
    order = list_of(control)(value)
    need(order == sorted(set(order)), "controls out of order")
    return order


def in_order(known):
    def check(value):
        found = list_of(one_of(*known))(value)
        order = [known.index(name) for name in found]
        need(order and order == sorted(set(order)), "names out of order, or none")
        return found
    return check


def some_of(check):
    def check_all(value):
        need(value, "a list that should be absent")
        return list_of(check)(value)
    return check_all


def reuse_input(value):
    kind, name, *digest = array(value)
    one_of(*REUSE_KINDS)(kind)
    text(name)
    need(len(digest) < 2, "more than a kind, a value and a digest")
    list_of(ident)(digest)
    return [kind, name, *digest]


def exposure(value):
    what, control_name, why = array(value)
    list_of(text)([what, why])
    one_of(*CONTROLS)(control_name)


def limits(value):
    need(type(value) is dict and value, "no map, or an empty one")
    return {uint(key, len(LIMITS)): at_least_one(most, 1 << 64) for key, most in value.items()}


def limit_report(value):
    limit, asked, applied, held = array(value, 4)
    word, *words = array(held)
    need(ENFORCEMENTS.get(word) == len(held) + 1, "no enforcement")
    list_of(text)(words), at_least_one(asked, 1 << 64), uint(applied)
    return LIMITS.index(one_of(*LIMITS)(limit))


def limit_reports(value):
    order = at_least_one_of(limit_report)(value)
    need(order == sorted(set(order)), "limits out of order")
    return order


ASKED = fields({
    0: one_of("auto", *BACKENDS), 1: one_of("deny", "inherited"), 2: list_of(text), 3: one_of("backend_default", "inherited"),
    4: one_of("read_write", "read_only"), 5: list_of(data), 6: list_of(reuse_input),
    may(7): limits,
    may(8): some_of(pair(data, one_of("discard", "capture"))), may(9): some_of(text), may(10): some_of(path),
    may(11): in_order(("cargo", "npm", "pip", "go")),
    may(12): in_order(CONTROLS), may(13): in_order(("backend", "path_mode", "network", "workspace")), may(14): some_of(data),
})


def policy(raw):
    table = {
        2: one_of(*BACKENDS), 3: ASKED, 4: controls, 5: list_of(text), may(6): one_of("copy", "overlay"), may(7): limit_reports,
        may(8): some_of(exposure),
        may(9): text,
    }
    value = load("isobox.policy", table, raw, (1, 2))
    is_extended = 7 in value or 8 in value or 9 in value or any(key > 6 for key in value[3]) or any(len(entry) > 2 for entry in value[3][6])
    need(value[1] == (2 if is_extended else 1), "a policy of the wrong schema")
    return value


def part(value):
    value = fields({may(0): list_of(path), may(1): list_of(path)})(value)
    need(value and all(value.values()), "a part that leaves nothing out")
    return value


PROMOTED = fields({0: host_path, 1: oid, may(2): plain, 3: one_of("interactive", "piped", "explicit_flag", "unknown"), 4: uint,
                   may(5): part, may(6): one_of("index", "commit", "branch"), may(7): oid, may(8): plain, may(9): uint})
REJECTED = fields({0: text})


def event(raw):
    value = load("isobox.event", {
        2: lambda item: data(item, 8), 3: ident, may(4): ident, 5: time, 6: one_of("promoted", "rejected", "pinned", "unpinned", "pruned", "undone"), may(7): dict,
    }, raw, (1, 2))
    detail = {"promoted": PROMOTED, "rejected": REJECTED, "pruned": REJECTED}.get(value[6])
    need((detail is None) == (7 not in value), "details that do not fit what happened")
    if detail:
        value[7] = detail(value[7])
    promoted = value[7] if detail is PROMOTED else {}
    need((value[1] == 2) == (value[6] == "undone" or any(key in promoted for key in (5, 6, 7, 8, 9))), "a schema that does not fit")
    made = {"commit": {7}, "branch": {7, 8}}.get(promoted.get(6), set())
    need({7, 8} & set(promoted) == made, "a commit that does not fit where it went")
    return value


def change_set_index(raw):
    value = load("isobox.change_set", {2: totals, 3: list_of(ref)}, raw)
    need(value[3], "a change set without chunks")
    return value


def chunk(raw):
    """The lines of a chunk: (path, whether it is a change, column of the totals, ref to stored content or None)."""
    lines = load("isobox.changes", {2: list_of(line)}, raw)[2]
    need(lines, "a chunk without lines")
    return lines


def line(value):
    number, *rest = array(value)
    if type(number) is int and number == 1:
        return change(*array(rest, 1))
    need(type(number) is int and number == 2, "a line of another kind")
    workspace_path, reason = array(rest, 2)
    check_reason(array(reason))
    return plain(workspace_path), False, 3, None


BEFORE = fields({0: one_of(*MODES), 1: oid, may(2): ref})
AFTER = fields({0: one_of("file", "executable", "symlink"), 1: ref, 2: boolean})
CHANGE = fields({0: path, may(1): BEFORE, may(2): AFTER, may(3): path, may(4): path})


def change(value):
    value = CHANGE(value)
    before, after = value.get(1), value.get(2)
    need(before or after, "neither before nor after")
    if before:
        need(before[0] != "submodule" or 2 not in before, "content of a submodule")
        need(3 not in value, "a rename that has a before")
    if before and after:
        need((before[0], before.get(2)) != (after[0], after[1]), "before and after are equal")
    if 4 in value:
        need(value[0] == value[4] or value[0].startswith(value[4] + b"/"), "outside of its submodule")
    column = 0 if not before else 2 if not after else 1
    return value[0], True, column, after and after[1]


REASONS = {
    "ignored": (data, path, one_of("commit", "workload")), "empty_directory": (), "nested_repository": (), "fifo": (),
    "socket": (), "device": (), "unreadable": (text,), "special_mode_bits": (lambda bits: uint(bits, 1 << 32),),
    "too_large": (uint,), "unsupported_name": (text,), "other_file_system": (),
}


def check_reason(value):
    need(value and type(value[0]) is str and value[0] in REASONS, "an unknown reason")
    checks = REASONS[value[0]]
    for check, item in zip(checks, array(value[1:], len(checks))):
        check(item)


__all__ = ["Damage", "record", "children", "policy", "event", "change_set_index", "chunk"]
