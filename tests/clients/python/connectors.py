"""Connectors that read change streams, as programs of their own: they and the server are started, ended and killed."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pymongo
from steps import equal

PROGRAM = os.environ["ALLUVIUM"]
SCRATCH = Path(os.environ["SCRATCH"])
# The longest time for records of a program that has to start first, beside others on the same cores.
PATIENCE_SECONDS = 180
# By how much the clocks of two processes of one machine may differ, with the rounding to milliseconds.
CLOCKS_MS = 5

# The beginning of the identifiers of documents that are only inserted to see whether a connector watches.
PROBE = "probe-"
probes = itertools.count()


def is_probe(record):
    """Whether a record is of such a document."""
    return PROBE in json.dumps(record)


class Server:
    """The program with a database of its own, which has the same port after each start."""

    def __init__(self):
        self.path = SCRATCH / "watched"
        self.port = 0
        self.process = None
        self.start()
        self.uri = f"mongodb://127.0.0.1:{self.port}/?replicaSet={self.name()}"
        self.client = pymongo.MongoClient(self.uri)

    def start(self):
        words = [PROGRAM, "serve", self.path, "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening at "), f"the server does not start: {line!r}"
        self.port = int(line.rsplit(":", 1)[1])

    def name(self):
        """The name of the replica set."""
        with pymongo.MongoClient(f"mongodb://127.0.0.1:{self.port}/?directConnection=true") as client:
            return client.admin.command("hello")["setName"]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(30), 0)

    def kill(self):
        """Ends the server as the kernel does: it writes nothing more."""
        self.process.kill()
        self.process.wait(30)


    def forget(self, name):
        """Stops the recording of changes, and loses those that are recorded."""
        self.end()
        # Everything is recorded, or the database of this name, or both.
        words = [PROGRAM, "changes", "stop", self.path]
        done = [subprocess.run([*words, *of], capture_output=True).returncode for of in ([], [name])]
        assert 0 in done, done
        self.start()


class Connector:
    """A program that prints a line of JSON for each record, and ends when its input does."""

    def __init__(self, command, properties, offsets):
        self.command, self.offsets = command, offsets
        self.folder = SCRATCH / f"connector-{properties['name']}"
        self.folder.mkdir()
        self.file = self.folder / "properties"
        self.write(properties)
        self.records, self.taken = [], 0
        self.changed = threading.Condition()

    def write(self, properties):
        lines = (f"{name}={str(value).replace(chr(92), chr(92) * 2)}\n" for name, value in properties.items())
        self.file.write_text("".join(lines))

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.command, self.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self.reader.start()
        return self

    def _read(self, process):
        for line in process.stdout:
            # The last line of a program that was killed may be a part of one.
            if line.endswith("\n"):
                with self.changed:
                    self.records.append(json.loads(line))
                    self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def whole_log(self):
        return (self.folder / "log").read_text()

    def log(self):
        """The end of the log of the program, for messages."""
        return self.whole_log()[-3000:]

    def watches(self, collection, **fields):
        """Waits until the program that was just started watches, by documents that are inserted for that."""
        until, made, begin = time.monotonic() + PATIENCE_SECONDS, [], self.taken
        while not any(made_one in json.dumps(self.records[begin:]) for made_one in made):
            assert self.process.poll() is None and time.monotonic() < until, f"no record of a probe:\n{self.log()}"
            made.append(f"{PROBE}{next(probes)}.")
            collection.insert_one({"_id": made[-1], **fields})
            time.sleep(0.2)
        self.next(lambda record: made[-1] in json.dumps(record))

    def next(self, wanted=lambda record: True):
        """The next record that is wanted. The others before it are passed over."""
        until = time.monotonic() + PATIENCE_SECONDS
        with self.changed:
            while True:
                while self.taken < len(self.records):
                    self.taken += 1
                    if wanted(self.records[self.taken - 1]):
                        return self.records[self.taken - 1]
                assert self.reader.is_alive(), f"the connector has ended:\n{self.log()}"
                left = until - time.monotonic()
                assert left > 0, f"no record; the last ones were {self.records[-2:]}\n{self.log()}"
                self.changed.wait(left)

    def take(self, count):
        """The next records, which are this many."""
        return [self.next() for _ in range(count)]

    def has_no_more(self, seconds=1.0):
        """Fails if there are further records, now or soon."""
        time.sleep(seconds)
        with self.changed:
            equal(self.records[self.taken :], [])

    def stop(self):
        self.process.stdin.close()
        status = self.process.wait(PATIENCE_SECONDS)
        self.reader.join()
        assert status == 0, f"the connector has ended with {status}:\n{self.log()}"

    def kill(self):
        """Ends the program as the kernel does, but not while it writes its offset: Kafka's file is then broken."""
        self.process.send_signal(signal.SIGSTOP)
        while self.offsets.exists() and time.time() - self.offsets.stat().st_mtime < 0.05:
            self.process.send_signal(signal.SIGCONT)
            time.sleep(0.02)
            self.process.send_signal(signal.SIGSTOP)
        self.process.kill()
        self.process.wait(30)
        self.process.stdin.close()
        self.reader.join()


@contextlib.contextmanager
def running(connector):
    """A connector that runs, and ends with this."""
    try:
        yield connector.start()
        connector.stop()
    finally:
        if connector.process.poll() is None:
            connector.kill()


class Change:
    """A change that the server has acknowledged, as this client knows it without change streams."""

    def __init__(self, kind, name, before, after, time_of, wall_ms, session):
        self.kind, self.name, self.before, self.after = kind, name, before, after
        self.time, self.wall_ms, self.session = time_of, wall_ms, session
        self.key = (after or before)["_id"]

    def __repr__(self):
        return f"{self.kind} of {self.key!r} at {self.time}"


class Writer:
    """Changes a collection, and keeps each change; `after_each` is called with each one."""

    def __init__(self, collection, after_each=lambda change: None):
        self.collection, self.changes, self.after_each = collection, [], after_each

    def insert(self, document):
        return self._change("insert", document["_id"], lambda c, session: c.insert_one(document, session=session))

    def update(self, key, update):
        return self._change("update", key, lambda c, session: c.update_one({"_id": key}, update, session=session))

    def replace(self, key, document):
        return self._change("replace", key, lambda c, session: c.replace_one({"_id": key}, document, session=session))

    def delete(self, key):
        return self._change("delete", key, lambda c, session: c.delete_one({"_id": key}, session=session))

    def _change(self, kind, key, change):
        c = self.collection
        before = c.find_one({"_id": key})
        with c.database.client.start_session() as session:
            began = time.time()
            change(c, session)
            time_of, wall_ms = session.operation_time, (began * 1000, time.time() * 1000)
        return self.add(Change(kind, c.name, before, c.find_one({"_id": key}), time_of, wall_ms, None))

    def add(self, change):
        self.changes.append(change)
        self.after_each(change)
        return change

    def all_kinds(self, key):
        """Five changes of one document."""
        self.insert({"_id": key, "n": 1, "tags": ["a", "b", "c"], "deep": {"er": [1, {"x": 2}]}})
        self.update(key, {"$inc": {"n": 1}, "$unset": {"deep.er": 1}, "$set": {"new.field": "é"}})
        self.update(key, {"$pop": {"tags": 1}})
        self.replace(key, {"other": None})
        self.delete(key)
        return self.changes[-5:]

    def transaction(self, *writes):
        """A transaction of inserts and deletes, each a pair of the kind and a document."""
        c = self.collection
        with c.database.client.start_session() as session:
            with session.start_transaction():
                began = time.time()
                for kind, document in writes:
                    if kind == "insert":
                        c.insert_one(document, session=session)
                    else:
                        c.delete_one({"_id": document["_id"]}, session=session)
            wall_ms = (began * 1000, time.time() * 1000)
            made, time_of = [], session.operation_time
            for kind, document in writes:
                before, after = (None, document) if kind == "insert" else (document, None)
                made.append(Change(kind, c.name, before, after, time_of, wall_ms, session.session_id["id"]))
            return [self.add(change) for change in made]


class Counter:
    """A thread that counts in one document without an end, whatever happens to the server: each number is written once."""

    def __init__(self, uri, database, name):
        self.client = pymongo.MongoClient(uri, w=1, journal=True)
        self.collection = self.client[database][name]
        self.collection.insert_one({"_id": "counter", "n": 0})
        self.acknowledged, self.ending, self.errors = 0, threading.Event(), []
        self.thread = threading.Thread(target=self._count, daemon=True)
        self.thread.start()

    def _count(self):
        while not self.ending.is_set():
            try:
                self.collection.update_one({"_id": "counter"}, {"$inc": {"n": 1}})
                self.acknowledged += 1
            except pymongo.errors.ConnectionFailure as error:
                # It may have been written or not.
                self.errors.append(error)

    def reaches(self, count):
        """Waits until this many more numbers are acknowledged."""
        count += self.acknowledged
        until = time.monotonic() + PATIENCE_SECONDS
        while self.acknowledged < count:
            assert time.monotonic() < until, f"the counter stays at {self.acknowledged}: {self.errors}"
            time.sleep(0.01)

    def end(self):
        """Ends the thread. Returns the last number, which is in the database."""
        self.ending.set()
        self.thread.join()
        last = self.collection.find_one({"_id": "counter"})["n"]
        assert self.acknowledged <= last <= self.acknowledged + len(self.errors), (self.acknowledged, last, self.errors)
        return last


def each_at_least_once(found, expected):
    """Fails unless the list has all that is expected, in order, where it may begin again at earlier ones."""
    reached = 0
    for value in found:
        assert value in expected, f"{value!r} is not expected"
        place = expected.index(value)
        assert place <= reached, f"{expected[reached]!r} is lost, {value!r} was found"
        reached = max(reached, place + 1)
    assert reached == len(expected), f"{expected[reached:]} are lost"
