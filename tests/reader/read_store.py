#!/usr/bin/env python3
"""Reads a Task Store, written from docs/store-format.md alone, and verifies every hash, checksum and chain in it.

Usage: read_store.py STORE_DIRECTORY

Prints what it found. Exits 1 if anything is not as the format says, and 2 if the store cannot be read at all.
"""

import os
import re
import sys
from collections import Counter, defaultdict

import objects
import packs
from cbor import Damage, need

ROLES = {1: "policy", 2: "stdout", 3: "stderr", 4: "change set", 5: "patch", 6: "workspace git", 7: "v1 record", 8: "v1 files",
         9: "snapshot", 10: "host copies", 11: "timeline"}


class Store:
    def __init__(self, root):
        self.root, self.problems, self.counts = root, [], Counter()
        self.objects = {}  # id -> (kind, raw bytes); large artifacts as (LARGE, header)
        self.unsure = {}  # the same for what stands around damage
        self.loose = {}  # id of a sealed pack -> its entries after its last COMMIT
        self.chains = defaultdict(dict)  # lane -> sequence -> COMMIT
        self.has_blocks = False  # whether compaction wrote any pack
        self.commits = {}  # id of a COMMIT -> COMMIT
        with open(os.path.join(root, "FORMAT"), "rb") as file:
            self.id = packs.read_format(file.read())

    def check(self, subject, action, *arguments):
        """What `action` returns, or None and one more problem."""
        try:
            return action(*arguments)
        except Damage as damage:
            self.problems.append(f"{subject}: {damage}")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            self.problems.append(f"{subject}: not as specified ({error})")

    # --- packs ---

    def read_packs(self):
        for name in sorted(self._names("lanes")):
            if re.fullmatch(r"lane-(0\d|[12]\d|3[01])\.pack", name):
                self._read_pack(f"lanes/{name}", None)
        for name in sorted(self._names("packs")):
            if re.fullmatch(r"[0-9a-f]{64}\.pack", name):
                self._read_pack(f"packs/{name}", bytes.fromhex(name[:64]))
        # Compaction and pruning take packs away that COMMITs go on to name.
        is_as_written = not self.has_blocks and all(commit.kind != 3 for commit in self.commits.values())
        for commit in self.commits.values():
            for pack in commit.packs:
                if is_as_written and pack not in self.loose:
                    self.problems.append(f"COMMIT {commit.id.hex()}: pack {pack.hex()} is missing")
                self._admit(self.loose.get(pack, []))

    def _names(self, directory):
        return os.listdir(os.path.join(self.root, directory))

    def _read_pack(self, name, expected):
        with open(os.path.join(self.root, name), "rb") as file:
            data = file.read()
        self.counts["lanes" if expected is None else "sealed packs"] += 1
        if expected is not None and packs.ident(data) != expected:
            self.problems.append(f"{name}: its bytes have another id than its name")
        if len(data) > 64 * packs.MIB:
            self.problems.append(f"{name}: longer than 64 MiB")
        if expected is None:
            data = self._without_unwritten_tail(data)
        pending, at, is_certain, has_blocks, spans = [], 0, True, False, []
        dictionary = packs.find_dictionary(data)
        while at < len(data):
            header = self._header(data, at)
            if header is None and is_torn(data, at):
                self.counts["torn tails"] += 1
                break
            if header is None:
                end = self._resynchronise(data, at + 1)
                self.problems.append(f"{name}: bytes {at} to {end} are no entry")
                self._admit(pending, self.unsure)
                pending, at, is_certain = [], end, False
                continue
            end = at + packs.HEADER + header.stored
            self.counts["entries"] += 1
            payload, subject = data[at + packs.HEADER:end], f"{name} at {at}"
            if header.kind == packs.BLOCK:
                has_blocks, at = True, end
                members = self.check(subject, header.members, payload) or []
                self._admit_members(members, self.objects if is_certain else self.unsure)
                continue
            raw = self.check(subject, header.open, payload, dictionary)
            if header.kind == packs.COMMIT and raw is not None:
                commit = self.check(subject, self._commit, raw)
                if commit:
                    is_certain = True
                    spans.append((at, commit.span))
                    self._admit(pending)
                    pending = []
            elif raw is not None and header.kind not in (packs.FILLER, packs.DICTIONARY):
                pending.append((header, raw))
            at = end
        self.has_blocks |= has_blocks
        # What compaction wrote anew stands somewhere else than it once did.
        if not has_blocks:
            wrong = [at for at, span in spans if span > at]
            self.problems.extend(f"{name} at {at}: a span that starts before the pack" for at in wrong)
        if expected is not None:
            self.loose[expected] = pending
        self.counts["entries without a COMMIT"] += len(pending)

    def _without_unwritten_tail(self, data):
        """A lane without what follows its last COMMIT, if all that is damaged there was never written."""
        at, end, damaged, records, commits = 0, 0, [], 0, 0
        while at < len(data):
            start, header = at, self._header(data, at)
            if header is None:
                if is_torn(data, at):
                    break
                at = self._resynchronise(data, at + 1)
                damaged.append((start, at))
                continue
            at += packs.HEADER + header.stored
            if header.kind == packs.COMMIT:
                try:
                    self._commit(header.open(data[start + packs.HEADER:at]))
                    end, damaged, records, commits = at, [], 0, 0
                except Damage:
                    commits += 1
                    damaged.append((start, at))
            elif header.kind == packs.RECORD:
                records += 1
        is_one_put = records <= 1 and commits <= 1
        is_unwritten = is_one_put and len(data) <= 64 * packs.MIB and all(has_hole(data, *stretch) for stretch in damaged)
        if damaged and is_unwritten:
            self.counts["torn tails"] += 1
            return data[:end]
        return data

    def _header(self, data, at):
        """The header at `at`, if it is sound and its payload ends within the pack."""
        try:
            header = packs.Header(data[at:at + packs.HEADER], "pack") if len(data) - at >= packs.HEADER else None
        except Damage:
            return None
        return header if header and at + packs.HEADER + header.stored <= len(data) else None

    def _resynchronise(self, data, at):
        while (at := data.find(packs.ENTRY_MAGIC, at)) >= 0:
            header = self._header(data, at)
            payload = header and data[at + packs.HEADER:at + packs.HEADER + header.stored]
            if header and packs.crc32c(payload) == header.crc:
                return at
            at += 1
        return len(data)

    def _commit(self, raw):
        commit = packs.Commit(raw)
        need(commit.store == self.id, "a COMMIT of another store")
        known = self.chains[commit.lane].setdefault(commit.sequence, commit)
        need(known.id == commit.id, f"a second COMMIT {commit.sequence} in lane {commit.lane}")
        self.commits[commit.id] = commit
        return commit

    def _admit(self, entries, objects=None):
        for header, raw in entries:
            identity = raw[8:40] if header.kind == packs.LARGE else header.id
            (self.objects if objects is None else objects).setdefault(identity, (header.kind, raw))

    def _admit_members(self, members, objects):
        for kind, identity, raw in members:
            objects.setdefault(identity, (kind, raw))
            self.counts["members of blocks"] += 1

    # --- chains, and what COMMITs refer to ---

    def check_chains(self):
        for lane, chain in sorted(self.chains.items()):
            previous = None
            for sequence, commit in sorted(chain.items()):
                if sequence != (previous.sequence + 1 if previous else 1):
                    self.problems.append(f"lane {lane}: something is missing before COMMIT {sequence}")
                elif previous and (commit.previous != previous.id or commit.time < previous.time):
                    self.problems.append(f"lane {lane}: COMMIT {sequence} does not follow the one before")
                previous = commit

    def object(self, identity, length, kinds):
        found = self.objects.get(identity) or self.unsure.get(identity)
        need(found, f"{identity.hex()} is missing")
        kind, raw = found
        need(kind in kinds, f"{identity.hex()} is of another kind")
        if kind == packs.LARGE:
            raw = self._large(identity, raw)
        need(len(raw) == length, f"{identity.hex()} has {len(raw)} bytes, not {length}")
        return raw

    def _large(self, identity, reference):
        packs.Header(reference, "large")
        name = identity.hex()
        path = os.path.join(self.root, "large", name[:2], name[2:])
        need(os.path.isfile(path), f"large/{name[:2]}/{name[2:]} is missing")
        with open(path, "rb") as file:
            raw = packs.read_large(file.read(), reference)
        self.counts["large artifacts"] += 1
        return raw

    def artifact(self, identity, length):
        return self.object(identity, length, (packs.ARTIFACT, packs.LARGE))

    def check_commits(self):
        events = defaultdict(dict)
        pruned = {commit.subject for commit in self.commits.values() if commit.kind == 3}
        for commit in self.commits.values():
            if commit.kind == 1 and commit.record in pruned:
                self.counts["pruned records"] += 1
            elif commit.kind == 1:
                self.check(f"record {commit.record.hex()}", self._record, commit)
            else:
                event = self.check(f"event {commit.record.hex()}", self._event, commit)
                events[commit.subject][commit.record] = event
        records = {commit.record for commit in self.commits.values() if commit.kind == 1}
        for subject, found in events.items():
            if subject not in records:
                self.problems.append(f"record {subject.hex()}: there are events about it, but it is missing")
            self.check(f"events about {subject.hex()}", check_events, found)

    def _record(self, commit):
        record = objects.record(self.object(commit.record, commit.record_length, (packs.RECORD,)))
        need((record[2], record[3]) == (commit.task, commit.attempt), "its COMMIT names another attempt")
        children = objects.children(record)
        need([(role, *ref) for role, ref in sorted(children.items())] == commit.children, "its COMMIT lists other children")
        objects.policy(self.artifact(*children[1]))
        for role, ref in children.items():
            self.check(f"{ROLES[role]} of record {commit.record.hex()}", self.artifact, *ref)
        for role, key in ((4, 2), (9, 7), (10, 8)):
            if role in children:
                self.check(f"{ROLES[role]} of record {commit.record.hex()}", self._change_set, record[16][key])
        self.counts["records"] += 1

    def _change_set(self, reference):
        identity, length, totals = reference
        index = objects.change_set_index(self.artifact(identity, length))
        need(index[2] == totals, "the record has other totals")
        counted, last, has_change = [0, 0, 0, 0], None, False
        for chunk in index[3]:
            for path, is_change, column, content in objects.chunk(self.artifact(*chunk)):
                is_same = path == last
                need(last is None or last <= path, f"{path!r} is out of order")
                need(not (is_same and is_change and has_change), f"{path!r} is changed twice")
                last, has_change = path, is_change or (is_same and has_change)
                counted[column] += 1
                if content:
                    self.artifact(*content)
        need(counted == totals, "other totals than its lines")
        self.counts["lines of change sets"] += sum(counted)

    def _event(self, commit):
        event = objects.event(self.object(commit.record, commit.record_length, (packs.RECORD,)))
        need((event[2], event[3]) == (commit.task, commit.subject), "its COMMIT names another task or record")
        need(commit.attempt == 0 and not commit.children, "its COMMIT has an attempt or children")
        need((commit.kind == 3) == (event[6] == "pruned"), "its COMMIT says something else")
        self.counts["events"] += 1
        return event


def has_hole(data, at, stop):
    """Whether a sector of this stretch was never written."""
    while at < stop:
        end = min((at // 512 + 1) * 512, stop)
        if end - at >= 32 and not any(data[at:end]):
            return True
        at = end
    return False


def is_torn(data, at):
    """Whether an entry starts at `at` that the end of the pack cuts off."""
    rest = data[at:at + packs.HEADER]
    if len(rest) < packs.HEADER:
        return packs.ENTRY_MAGIC.startswith(rest[:4])
    try:
        return at + packs.HEADER + packs.Header(rest, "pack").stored > len(data)
    except Damage:
        return False


def check_events(events):
    """One list: one event without a previous one, and every other one named once."""
    previous, left = None, dict(events)
    while left:
        follow = [identity for identity, event in left.items() if event and event.get(4) == previous]
        need(len(follow) == 1, "they are no single list")
        previous = follow[0]
        del left[previous]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        store = Store(arguments[0])
        store.read_packs()
    except (OSError, Damage) as error:
        print(f"cannot read the store: {error}", file=sys.stderr)
        return 2
    store.check_chains()
    store.check_commits()
    print(f"store {store.id.hex()}")
    for name, count in sorted(store.counts.items()):
        print(f"{name}: {count}")
    for commit in sorted(store.commits.values(), key=lambda commit: (commit.time, commit.lane, commit.sequence)):
        kind = f"attempt {commit.attempt}" if commit.kind == 1 else "event"
        print(f"lane {commit.lane:02} commit {commit.sequence}: task-{commit.task.hex()} {kind} b3:{commit.record.hex()}")
    for problem in store.problems:
        print(f"damage: {problem}")
    return 1 if store.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
