#!/usr/bin/env python3
"""Transactions and change streams of servers of MongoDB's protocol beside each other, driven by pymongo.

    bench-peers/transactions.py [--documents 20000] [--clients 1,8,64] [--seconds 5] [--only NAME] [--parts PARTS] [--json FILE]

Starts the servers that `wire.py` starts and that have transactions, `alluvium` and secantusdb, anew for each part:

    updates  One client adds 1 to a field of random documents: one in a request; then ten in each transaction, which has
             a request for each and one for the commit. Prints updates in a second, and the server's processor time for each.
    hot      Clients add 1 to two of 100 documents in each transaction, and repeat it at once after a conflict. Prints
             committed transactions in a second, conflicts for each, and the server's processor time for each. The
             sum of the documents must be that of all committed transactions.
    events   A stream reads beside `insert_many` of 1,000 documents of 1.1 KB each. Prints events in a second, by how
             much the last is later than the last reply, and the server's processor time for each document.
    lag      Inserts of one document, at most --rate in a second, with `j: true` and without. Prints the times from the
             reply until a stream in another process returns the event. Each event must come once, in order.
"""

import argparse
import json
import multiprocessing as mp
import random
import sys
import time

import pymongo
import pymongo.errors
from pymongo.write_concern import WriteConcern

import wire

SERVERS = ["alluvium", "secantusdb"]
PARTS = ["updates", "hot", "events", "lag"]
TOGETHER = 10
HOT = 100
# A stream that has waited this long for an event lacks it.
PATIENCE = 30


class Span:
    """The time and the server's processor time of a `with` block."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.cpu, self.began = wire.cpu_seconds(self.server.pid), time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.began
        self.cpu = wire.cpu_seconds(self.server.pid) - self.cpu

    def record(self, count):
        return {"rate": count / self.seconds, "cpu_us": self.cpu / count * 1e6}


def fill(client, documents):
    for at in range(0, documents, 1000):
        batch = [wire.document(0, n) for n in range(at, min(at + 1000, documents))]
        client.bench.comments.insert_many(batch, ordered=False)


def updates(server, arguments):
    client = pymongo.MongoClient(server.uri)
    fill(client, arguments.documents)
    comments, increment = client.bench.comments, {"$inc": {"score": 1}}
    for together in (1, TOGETHER):
        chosen, count, errors = random.Random(1), 0, 0
        score = sum(one["score"] for one in comments.find({}, {"score": 1}))
        with Span(server) as span, client.start_session() as session:
            until = time.monotonic() + arguments.seconds
            while time.monotonic() < until:
                some = [chosen.randrange(arguments.documents) for _ in range(together)]
                if together == 1:
                    comments.update_one({"_id": some[0]}, increment)
                else:
                    with session.start_transaction():
                        for one in some:
                            comments.update_one({"_id": one}, increment, session=session)
                count += together
        errors = sum(one["score"] for one in comments.find({}, {"score": 1})) - score - count
        assert errors == 0, f"{count} updates, and the sum differs by {errors}"
        yield {"what": "single updates" if together == 1 else f"updates, {together} in a transaction"} | span.record(count)


def hot_client(uri, seed, seconds, ready, start, done):
    client, chosen = pymongo.MongoClient(uri), random.Random(seed)
    committed = conflicts = 0
    client.admin.command("ping")
    ready.put(seed)
    start.wait()
    until = time.monotonic() + seconds
    with client.start_session() as session:
        while time.monotonic() < until:
            pair = chosen.sample(range(HOT), 2)
            while True:
                try:
                    with session.start_transaction():
                        for one in pair:
                            client.bench.hot.update_one({"_id": one}, {"$inc": {"n": 1}}, session=session)
                    committed += 1
                    break
                except pymongo.errors.PyMongoError as error:
                    if not error.has_error_label("TransientTransactionError"):
                        raise
                    conflicts += 1
    done.put((committed, conflicts))


def hot(server, arguments):
    client = pymongo.MongoClient(server.uri)
    for clients in map(int, arguments.clients.split(",")):
        client.bench.hot.delete_many({})
        client.bench.hot.insert_many([{"_id": n, "n": 0} for n in range(HOT)])
        ready, done, start = mp.Queue(), mp.Queue(), mp.Event()
        others = (arguments.seconds, ready, start, done)
        workers = [mp.Process(target=hot_client, args=(server.uri, seed, *others), daemon=True) for seed in range(clients)]
        for worker in workers:
            worker.start()
        for _ in workers:
            ready.get(timeout=120)
        with Span(server) as span:
            start.set()
            parts = [done.get(timeout=300) for _ in workers]
        for worker in workers:
            worker.join()
        committed = sum(committed for committed, _ in parts)
        conflicts = sum(conflicts for _, conflicts in parts)
        total = sum(one["n"] for one in client.bench.hot.find())
        assert total == 2 * committed, f"{committed} transactions of two, and the sum is {total}"
        yield {"what": f"hot, {clients} clients", "conflicts": conflicts / committed} | span.record(committed)


def read_events(uri, name, count, ready, done):
    """The time at which each of the inserts was returned, by the number in its document."""
    client, times = pymongo.MongoClient(uri), {}
    with client.bench[name].watch(max_await_time_ms=500) as stream:
        stream.try_next()
        ready.put(None)
        until = time.monotonic() + PATIENCE
        while len(times) < count and time.monotonic() < until:
            event = stream.try_next()
            if event is not None:
                now, number = time.monotonic(), event["documentKey"]["_id"]
                assert number == len(times), f"the event of {number} is at place {len(times)}"
                times[number], until = now, now + PATIENCE
    done.put([times[number] for number in sorted(times)])


def beside_stream(server, name, count, write):
    """Runs `write` beside a stream. Returns its result, the times of the events, and the span of both."""
    client = pymongo.MongoClient(server.uri)
    client.bench.create_collection(name)
    ready, done = mp.Queue(), mp.Queue()
    reader = mp.Process(target=read_events, args=(server.uri, name, count, ready, done), daemon=True)
    reader.start()
    ready.get(timeout=60)
    with Span(server) as span:
        result = write(client.bench[name])
        times = done.get(timeout=600)
    reader.join()
    assert len(times) == count, f"{count} writes, and {len(times)} events"
    return result, times, span


def events(server, arguments):
    count = arguments.documents
    batches = [[wire.document(0, n) for n in range(at, min(at + 1000, count))] for at in range(0, count, 1000)]

    def write(collection):
        for batch in batches:
            collection.insert_many(batch)
        return time.monotonic()

    ended, times, span = beside_stream(server, "events", count, write)
    yield {"what": "events beside inserts", "late_ms": (times[-1] - ended) * 1e3} | span.record(count)


def lag(server, arguments):
    for journal in (False, True):
        # Without an option, the server's own default holds.
        concern = WriteConcern(w=1, j=True) if journal else None

        def write(collection, concern=concern):
            collection, replied, began = collection.with_options(write_concern=concern), [], time.monotonic()
            for n in range(arguments.writes):
                time.sleep(max(0, began + n / arguments.rate - time.monotonic()))
                collection.insert_one({"_id": n, "text": "a" * 300})
                replied.append(time.monotonic())
            return replied

        replied, times, span = beside_stream(server, f"lag{int(journal)}", arguments.writes, write)
        lags = sorted(max(0, seen - reply) * 1e3 for seen, reply in zip(times, replied))
        shares = {f"p{share}_ms": lags[len(lags) * share // 100] for share in (50, 99)} | {"max_ms": lags[-1]}
        yield {"what": f"lag, {'j: true' if journal else 'default'}"} | span.record(arguments.writes) | shares


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--writes", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--only")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    parts = {"updates": updates, "hot": hot, "events": events, "lag": lag}
    records = []
    for name, command in wire.servers():
        if name not in SERVERS or arguments.only not in (None, name):
            continue
        for part in arguments.parts.split(","):
            port = wire.free_port()
            server = None
            try:
                server = wire.Server(name, command(port), port)
                for record in parts[part](server, arguments):
                    records.append({"server": name, **record})
                    print("{server:12} {what:30} {rate:9.0f}/s {cpu_us:9.1f} us".format(**records[-1]), end="")
                    more = (f", {key} {value:.2f}" for key, value in record.items() if key not in ("what", "rate", "cpu_us"))
                    print(*more, sep="", flush=True)
            except (AssertionError, pymongo.errors.PyMongoError) as error:
                print(f"{name}: {part} failed: {str(error)[:200]}", flush=True)
                records.append({"server": name, "what": part, "error": str(error)[:500]})
            finally:
                if server:
                    server.stop()
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    return 1 if any("error" in record for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
