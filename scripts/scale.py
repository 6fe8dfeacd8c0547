#!/usr/bin/env python3
"""Prints one table of the operations on one large table in Moonpool (from Lua), SQLite and DuckDB.

usage: scale.py MOONPOOL COUNT [FOLDER]      scripts/bench --scale COUNT [FOLDER] builds Moonpool and runs this

All have the same rows and indexes. The numbers are the processor time of all threads, and the memory of a process
without files. COUNT can end in M. DuckDB is left out where `import duckdb` fails; it comes from PyPI.
"""
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

TEXTS = 1000003
VALUES = ("{i}, 'name ' || ({i} * 7919 % 1000003), {i} * 31 % 100, {i} * 7919 % 1000003 / 1000.0, {i} % 2 = 0")
SERIES = "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) SELECT {values} FROM n"


class Times(dict):
    def timed(self, step, body):
        start = time.process_time()
        result = body()
        self[step] = time.process_time() - start
        return result


def command_seconds(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def moonpool(tool, folder, count):
    times, store = Times(), folder + "/dogs.moonpool"
    script = os.path.join(os.path.dirname(os.path.realpath(__file__)), "scale.lua")

    def run(*arguments):
        output = subprocess.run([tool, script, store, str(count), *arguments], check=True, capture_output=True, text=True)
        for line in output.stdout.splitlines():
            step, value = line.split("\t")
            times[step] = float(value)

    run()
    times["file"] = os.path.getsize(store) / 2**20
    run("open")
    times["backup"] = command_seconds([tool, "backup", store, folder + "/copy.moonpool"])
    os.remove(folder + "/copy.moonpool")
    times["check"] = command_seconds([tool, "check", store])
    times["compact"] = command_seconds([tool, "compact", store])
    run("migrate")
    return times


def queries(times, run, count):
    """The steps that are the same text in both SQL databases."""
    times.timed("count age > 50", lambda: run("SELECT count(*) FROM dog WHERE age > 50"))
    times.timed("sum of age", lambda: run("SELECT sum(age) FROM dog"))
    times.timed("first 100 by score", lambda: run("SELECT * FROM dog ORDER BY score LIMIT 100"))
    times.timed("1,000 look-ups by key", lambda: [
        run("SELECT age FROM dog WHERE id = ?", (n * 7919 % count,)) for n in range(1, 1001)])
    times.timed("100 look-ups by text", lambda: [
        run("SELECT count(*) FROM dog WHERE name = ?", (f"name {n * 7919 % TEXTS}",)) for n in range(1, 101)])
    times.timed("group by age", lambda: run("SELECT age, count(*) FROM dog GROUP BY age"))
    times.timed("update 1 %", lambda: run("UPDATE dog SET score = 1 WHERE age = 7"))
    times.timed("delete 1 %", lambda: run("DELETE FROM dog WHERE age = 8"))
    times["objects"] = run("SELECT count(*) FROM dog")[0][0]


def sqlite(folder, count):
    times, path = Times(), folder + "/dogs.sqlite"

    def connect():
        database = sqlite3.connect(path, isolation_level=None)
        for setting in ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -65536", "mmap_size = 1073741824"):
            database.execute("PRAGMA " + setting)
        return database

    database = connect()
    run = lambda text, values=(): database.execute(text, values).fetchall()
    run("CREATE TABLE dog (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, score REAL, active INTEGER)")
    run("CREATE INDEX dog_name ON dog (name)")

    def insert():
        for first in range(0, count, 1000000):
            last = min(first + 1000000, count) - 1
            run("INSERT INTO dog " + SERIES.format(first=first, last=last, values=VALUES.format(i="i")))

    times.timed("insert", insert)
    queries(times, run, count)
    run("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    times["file"] = os.path.getsize(path) / 2**20
    times.timed("open and read one object", lambda: connect().execute(
        "SELECT age FROM dog WHERE id = ?", (count // 2,)).fetchall())
    database = connect()

    def backup():
        with sqlite3.connect(folder + "/copy.sqlite") as copy:
            database.backup(copy)

    times.timed("backup", backup)
    os.remove(folder + "/copy.sqlite")
    times.timed("check", lambda: run("PRAGMA integrity_check"))
    times.timed("compact", lambda: run("VACUUM"))
    times.timed("new indexed property", lambda: (
        run("ALTER TABLE dog ADD COLUMN weight INTEGER NOT NULL DEFAULT 3"), run("CREATE INDEX w ON dog (weight)")))
    database.close()
    os.remove(path)
    return times


def duckdb(folder, count):
    try:
        import duckdb as module
    except ImportError:
        return {}
    times, path = Times(), folder + "/dogs.duckdb"
    database = module.connect(path)
    run = lambda text, values=(): database.execute(text, values).fetchall()
    run("CREATE TABLE dog (id BIGINT PRIMARY KEY, name VARCHAR, age BIGINT, score DOUBLE, active BOOLEAN)")

    def insert():
        for first in range(0, count, 1000000):
            last = min(first + 1000000, count)
            run(f"INSERT INTO dog SELECT {VALUES.format(i='i')} FROM range({first}, {last}) r(i)")
        run("CREATE INDEX dog_name ON dog (name)")

    times.timed("insert", insert)
    queries(times, run, count)
    run("CHECKPOINT")
    database.close()
    times["file"] = os.path.getsize(path) / 2**20
    times.timed("open and read one object", lambda: module.connect(path).execute(
        "SELECT age FROM dog WHERE id = ?", (count // 2,)).fetchall())
    return times


ROWS = [
    "insert", "count age > 50", "sum of age", "first 100 by score", "1,000 look-ups by key", "100 look-ups by text",
    "group by age", "observe a sorted half: first call", "a commit with three observers", "update 1 %", "delete 1 %",
    "open and read one object", "backup", "check", "compact", "new indexed property", "memory after inserting",
    "memory with observers", "memory after closing", "file",
]


def shown(row, value):
    if value is None:
        return "–"
    if row == "file" or row.startswith("memory"):
        return f"{value:,.0f} MiB"
    return f"{value:,.2f} s" if value >= 1 else f"{value * 1000:,.2f} ms"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    tool, count = os.path.abspath(sys.argv[1]), int(sys.argv[2].replace("M", "000000"))
    parent = sys.argv[3] if len(sys.argv) > 3 else "/var/tmp"
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        results = [moonpool(tool, folder, count), sqlite(folder, count), duckdb(folder, count)]
    if len({times["objects"] for times in results if times}) != 1:
        sys.exit("scale: the databases have different numbers of objects")
    print(f"{count:,} objects, processor time\n")
    print(f"| {'':35} | {'Moonpool':>12} | {'SQLite':>12} | {'DuckDB':>12} |")
    print("|---|---|---|---|")
    for row in ROWS:
        print(f"| {row:35} | " + " | ".join(f"{shown(row, times.get(row)):>12}" for times in results) + " |")


main()
