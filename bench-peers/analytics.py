#!/usr/bin/env python3
"""Groups and sorts of generated comments by DuckDB and SQLite, for comparison with `alluvium-bench aggregate`.

Usage: alluvium-bench gen comments --docs 1000000 -o c.jsonl
       pip install duckdb
       bench-peers/analytics.py c.jsonl FOLDER

DuckDB reads the JSON, a Parquet file of it, and its own table; SQLite a table of JSONB. Each question runs once before
it is measured; the fastest of three runs counts. CPU is that of the process, in microseconds for each comment.
"""

import json
import os
import resource
import sqlite3
import sys
import time

QUESTIONS = {
    "group-few": "SELECT {subreddit} AS k, count(*), avg({score}) FROM {table} GROUP BY k",
    "group-many": "SELECT {author} AS k, count(*), avg({score}) FROM {table} GROUP BY k",
    "count": "SELECT count(*) FROM {table} WHERE {score} > 5",
    "match-group": "SELECT {author} AS k, count(*) AS n FROM {table} WHERE {subreddit} >= 'A' AND {subreddit} < 'C' "
    "GROUP BY k ORDER BY n DESC LIMIT 10",
    "sort": "SELECT last(s) FROM (SELECT {score} AS s FROM {table} ORDER BY s)",
    "top": "SELECT {score} AS s, {subreddit} FROM {table} ORDER BY s DESC LIMIT 10",
}


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measured(run, documents):
    run()
    best = None
    for _ in range(3):
        before, start = cpu(), time.perf_counter()
        run()
        took = (time.perf_counter() - start, cpu() - before)
        best = min(best, took) if best else took
    return {"seconds": round(best[0], 3), "cpu_us": round(best[1] / documents * 1e6, 3)}


def duckdb_questions(path, folder, documents):
    import duckdb

    connection = duckdb.connect(os.path.join(folder, "duck.db"))
    connection.execute("SET threads = 2")
    source = f"read_json_auto('{path}', format='newline_delimited', maximum_object_size=134217728)"
    start, before = time.perf_counter(), cpu()
    connection.execute(f"CREATE TABLE comments AS SELECT * FROM {source}")
    loaded = {"seconds": round(time.perf_counter() - start, 3), "cpu_us": round((cpu() - before) / documents * 1e6, 3)}
    yield "duckdb", "load", loaded
    parquet = os.path.join(folder, "c.parquet")
    connection.execute(f"COPY comments TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)")
    columns = {"subreddit": "subreddit", "author": "author", "score": "score"}
    for engine, table in (("duckdb", "comments"), ("duckdb-parquet", f"'{parquet}'"), ("duckdb-json", source)):
        for name, text in QUESTIONS.items():
            query = text.format(table=table, **columns)
            yield engine, name, measured(lambda: connection.execute(query).fetchall(), documents)


def sqlite_questions(path, folder, documents):
    connection = sqlite3.connect(os.path.join(folder, "lite.db"))
    has_jsonb = sqlite3.sqlite_version_info >= (3, 45)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA cache_size = -1000000")
    connection.execute("CREATE TABLE comments (id TEXT PRIMARY KEY, body BLOB)")
    start, before = time.perf_counter(), cpu()
    convert = "jsonb(?)" if has_jsonb else "?"
    with open(path, encoding="utf-8") as lines:
        rows = ((json.loads(line)["id"], line) for line in lines)
        connection.executemany(f"INSERT INTO comments VALUES (?, {convert})", rows)
    connection.commit()
    loaded = {"seconds": round(time.perf_counter() - start, 3), "cpu_us": round((cpu() - before) / documents * 1e6, 3)}
    engine = "sqlite-jsonb" if has_jsonb else "sqlite-json"
    yield engine, "load", loaded
    columns = {name: f"body ->> '$.{name}'" for name in ("subreddit", "author", "score")}
    for name, text in QUESTIONS.items():
        query = text.replace("last(s)", "max(s)").format(table="comments", **columns)
        yield engine, name, measured(lambda: connection.execute(query).fetchall(), documents)


def main():
    path, folder = sys.argv[1:3]
    os.makedirs(folder)
    with open(path, "rb") as lines:
        documents = sum(1 for _ in lines)
    for questions in (duckdb_questions, sqlite_questions):
        for engine, name, figures in questions(path, folder, documents):
            print(f"{engine:16} {name:14} {figures['seconds']:9.3f} s {figures['cpu_us']:9.3f} us of CPU a comment", flush=True)


if __name__ == "__main__":
    main()
