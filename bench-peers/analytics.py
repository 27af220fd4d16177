#!/usr/bin/env python3
"""Groups and sorts of generated comments by DuckDB and SQLite, for comparison with `alluvium-bench aggregate`.

Usage: alluvium-bench gen comments --docs 1000000 -o c.jsonl
       pip install duckdb pysqlite3-binary
       bench-peers/analytics.py c.jsonl FOLDER

DuckDB reads the JSON, a Parquet file of it, and its own table; SQLite a table of JSONB (of JSON before version 3.45;
pysqlite3 brings a newer one than Python has). Each question runs once over a connection that was just opened, and is
then measured again three times, of which the fastest counts: two times, and for each the CPU of the process in
microseconds for each comment. `sort-whole` hands on all documents as JSON text.
"""

import json
import os
import resource
import sys
import time

try:
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

QUESTIONS = {
    "group-few": "SELECT {subreddit} AS k, count(*), avg({score}) FROM {table} GROUP BY k",
    "group-many": "SELECT {author} AS k, count(*), avg({score}) FROM {table} GROUP BY k",
    "count": "SELECT count(*) FROM {table} WHERE {score} > 5",
    "match-group": "SELECT {author} AS k, count(*) AS n FROM {table} WHERE {subreddit} >= 'A' AND {subreddit} < 'C' "
    "GROUP BY k ORDER BY n DESC LIMIT 10",
    "sort": "SELECT last(s) FROM (SELECT {score} AS s FROM {table} ORDER BY s)",
    "sort-fields": "SELECT {score} AS s, {subreddit} FROM {table} ORDER BY s",
    "distinct": "SELECT count(DISTINCT {author}) FROM {table}",
    "top": "SELECT {score} AS s, {subreddit} FROM {table} ORDER BY s DESC LIMIT 10",
}


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(run, documents):
    before, start = cpu(), time.perf_counter()
    run()
    return time.perf_counter() - start, (cpu() - before) / documents * 1e6


def measured(connect, query, documents):
    """The first run over a new connection, and the fastest of three more."""
    connection = connect()

    def run():
        result = connection.execute(query)
        # DuckDB's results are not iterable; those of SQLite are read as they come.
        for _ in result if hasattr(result, "__iter__") else result.fetchall():
            pass

    first = timed(run, documents)
    best = min(timed(run, documents) for _ in range(3))
    connection.close()
    return first, best


def duckdb_questions(path, folder, documents):
    import duckdb

    def connect():
        connection = duckdb.connect(os.path.join(folder, "duck.db"))
        connection.execute("SET threads = 2")
        return connection

    source = f"read_json_auto('{path}', format='newline_delimited', maximum_object_size=134217728)"
    connection = connect()
    yield "duckdb", "load", (timed(lambda: connection.execute(f"CREATE TABLE comments AS SELECT * FROM {source}"), documents),)
    parquet = os.path.join(folder, "c.parquet")
    connection.execute(f"COPY comments TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)")
    connection.close()
    columns = {"subreddit": "subreddit", "author": "author", "score": "score"}
    for engine, table in (("duckdb", "comments"), ("duckdb-parquet", f"'{parquet}'"), ("duckdb-json", source)):
        for name, text in QUESTIONS.items():
            yield engine, name, measured(connect, text.format(table=table, **columns), documents)
        whole = f"COPY (SELECT * FROM {table} ORDER BY score) TO '/dev/null' (FORMAT json)"
        yield engine, "sort-whole", measured(connect, whole, documents)


def sqlite_questions(path, folder, documents):
    def connect():
        connection = sqlite3.connect(os.path.join(folder, "lite.db"))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA cache_size = -1000000")
        return connection

    has_jsonb = sqlite3.sqlite_version_info >= (3, 45)
    connection = connect()
    connection.execute("CREATE TABLE comments (id TEXT PRIMARY KEY, body BLOB)")
    convert = "jsonb(?)" if has_jsonb else "?"

    def load():
        with open(path, encoding="utf-8") as lines:
            rows = ((json.loads(line)["id"], line) for line in lines)
            connection.executemany(f"INSERT INTO comments VALUES (?, {convert})", rows)
        connection.commit()

    engine = "sqlite-jsonb" if has_jsonb else "sqlite-json"
    yield engine, "load", (timed(load, documents),)
    connection.close()
    columns = {name: f"body ->> '$.{name}'" for name in ("subreddit", "author", "score")}
    whole = "SELECT json(body) FROM {table} ORDER BY {score}"
    for name, text in (QUESTIONS | {"sort-whole": whole}).items():
        query = text.replace("last(s)", "max(s)").format(table="comments", **columns)
        yield engine, name, measured(connect, query, documents)


def main():
    path, folder = sys.argv[1:3]
    os.makedirs(folder)
    with open(path, "rb") as lines:
        documents = sum(1 for _ in lines)
    for questions in (duckdb_questions, sqlite_questions):
        for engine, name, runs in questions(path, folder, documents):
            figures = "; ".join(f"{seconds:8.3f} s {each:8.3f} us" for seconds, each in runs)
            print(f"{engine:16} {name:12} {figures}", flush=True)


if __name__ == "__main__":
    main()
