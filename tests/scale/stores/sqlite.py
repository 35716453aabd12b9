#!/usr/bin/env python3
"""SQLite as a store of tasks: WAL, every transaction flushed, one transaction a task.

sqlite.py put DATABASE PART...        awaits a line, then puts the tasks of files that gen.py made; contents are keyed by hash
sqlite.py put-rowid DATABASE PART...  the same with contents in the order in which they come, and an index of hashes
sqlite.py list DATABASE               prints every task with its record's hash
sqlite.py verify DATABASE             compares every content with its hash
sqlite.py vacuum DATABASE             stores what is there in less room

Contents are stored once, compressed by zstd level 3; both happen before the transaction, so that writers wait for each
other as briefly as can be.
"""
import ctypes
import hashlib
import sqlite3
import struct
import sys

zstd = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_createCCtx", "ZSTD_createDCtx"):
    getattr(zstd, name).restype = ctypes.c_void_p
for name in ("ZSTD_compressBound", "ZSTD_compressCCtx", "ZSTD_decompressDCtx"):
    getattr(zstd, name).restype = ctypes.c_size_t
zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
zstd.ZSTD_compressCCtx.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
zstd.ZSTD_decompressDCtx.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
MOST = 1 << 20
LEVEL = 3
buffer = ctypes.create_string_buffer(zstd.ZSTD_compressBound(MOST))
compressor = zstd.ZSTD_createCCtx()
decompressor = zstd.ZSTD_createDCtx()


def compress(raw):
    length = zstd.ZSTD_compressCCtx(compressor, buffer, len(buffer), raw, len(raw), LEVEL)
    assert length <= len(buffer), "zstd"
    return buffer[:length]


def decompress(stored, length):
    assert zstd.ZSTD_decompressDCtx(decompressor, buffer, len(buffer), stored, len(stored)) == length, "zstd"
    return buffer[:length]


def digest(raw):
    return hashlib.blake2b(raw, digest_size=32).digest()


def tasks(path):
    with open(path, "rb", buffering=1 << 18) as file:
        assert file.read(8) == b"ISOGEN1\n"
        while start := file.read(2):
            name = file.read(*struct.unpack("<H", start)).decode()
            contents = []
            for _ in range(file.read(1)[0]):
                _, length = struct.unpack("<BI", file.read(5))
                contents.append(file.read(length))
            yield name, contents


def connect(path):
    database = sqlite3.connect(path, timeout=600, isolation_level=None)
    database.execute("pragma synchronous=full")
    return database


KEYED = "(hash blob primary key, length integer, stored blob) without rowid"
ROWID = "(hash blob unique, length integer, stored blob)"


def create(path, contents):
    database = connect(path)
    database.execute("pragma journal_mode=wal")
    database.execute(f"create table if not exists contents {contents}")
    database.execute("create table if not exists tasks (name text primary key, record blob, stdout blob, patch blob)")
    return database


def put(database, name, contents):
    hashes = [digest(content) for content in contents]
    stored = []
    for hash, content in zip(hashes, contents):
        if not database.execute("select 1 from contents where hash = ?", (hash,)).fetchone():
            stored.append((hash, len(content), compress(content)))
    database.execute("begin immediate")
    database.executemany("insert or ignore into contents values (?, ?, ?)", stored)
    database.execute("insert into tasks values (?, ?, ?, ?)", (name, *hashes))
    database.execute("commit")


def put_all(path, contents, parts):
    database = create(path, contents)
    print("ready", flush=True)
    sys.stdin.readline()
    for part in parts:
        for name, contents in tasks(part):
            put(database, name, contents)
    print("done", flush=True)
    database.close()


def verify(database):
    assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    for hash, length, stored in database.execute("select hash, length, stored from contents"):
        assert digest(decompress(stored, length)) == hash


def main():
    what, path, *rest = sys.argv[1:]
    if what == "put":
        put_all(path, KEYED, rest)
    elif what == "put-rowid":
        put_all(path, ROWID, rest)
    elif what == "list":
        for name, record in connect(path).execute("select name, record from tasks"):
            print(name, record.hex())
    elif what == "verify":
        verify(connect(path))
    elif what == "vacuum":
        connect(path).execute("vacuum")


main()
