"""Programs with pymongo that follow `local.oplog.rs`: the server shows it."""

import itertools
import os
import re
import threading
import time

import pymongo
from bson import SON, Timestamp
from pymongo import CursorType, errors
from steps import equal, fresh, raises, run, step

NAME = "clients_oplog"


def last(oplog):
    """The last entry."""
    return oplog.find().sort("$natural", pymongo.DESCENDING).limit(-1).next()


def follow(oplog, after, **more):
    """A cursor over the entries of this database after a time."""
    chosen = {"ts": {"$gt": after}, "ns": re.compile(rf"^({NAME}\.|admin\.\$cmd)"), **more}
    return oplog.find(chosen, cursor_type=CursorType.TAILABLE_AWAIT, oplog_replay=True, no_cursor_timeout=True)


def take(cursor, count):
    """The next entries, for which there is no need to wait long."""
    found, until = [], time.monotonic() + 20
    while len(found) < count and time.monotonic() < until and cursor.alive:
        # The iterator ends when the cursor finds nothing for a while.
        found.extend(itertools.islice(cursor, count - len(found)))
    return found


@step
def each_write_is_an_entry(client, db):
    oplog = client.local["oplog.rs"]
    c = fresh(db, "written")
    after = last(oplog)["ts"]
    c.insert_one({"_id": 1, "n": 1, "tags": ["a", "b"], "deep": {"er": 1}})
    c.update_one({"_id": 1}, {"$inc": {"n": 1}, "$pop": {"tags": 1}, "$set": {"deep.er": 2, "new": 1}})
    c.replace_one({"_id": 1}, {"n": 5})
    c.delete_one({"_id": 1})
    c.insert_many([{"_id": 2}, {"_id": 3}])
    c.create_index("n")
    c.rename("renamed")
    db.renamed.drop()
    entries = list(oplog.find({"ts": {"$gt": after}}))
    equal([entry["op"] for entry in entries], ["c", "i", "u", "u", "d", "i", "i", "c", "c", "c"])
    equal(entries[1]["o"], {"_id": 1, "n": 1, "tags": ["a", "b"], "deep": {"er": 1}})
    diff = {"u": {"n": 2}, "i": {"new": 1}, "stags": {"a": True, "l": 1}, "sdeep": {"u": {"er": 2}}}
    equal((entries[2]["o"], entries[2]["o2"]), ({"$v": 2, "diff": diff}, {"_id": 1}))
    equal((entries[3]["o"], entries[3]["o2"]), ({"_id": 1, "n": 5}, {"_id": 1}))
    equal(entries[4]["o"], {"_id": 1})
    equal([next(iter(entry["o"])) for entry in entries[7:]], ["createIndexes", "renameCollection", "drop"])
    times = [entry["ts"] for entry in entries]
    equal(times, sorted(set(times)))
    assert all(entry["v"] == 2 and entry["t"] == 1 and "wall" in entry and "ui" in entry for entry in entries)


@step
def a_cursor_follows_the_writes_of_others(client, db):
    oplog = client.local["oplog.rs"]
    c = fresh(db, "followed", [{"_id": -1}])
    cursor = follow(oplog, last(oplog)["ts"], op={"$in": ["i", "u", "d"]})
    times = {}

    def write(first):
        with client.start_session() as session:
            for i in range(first, first + 30):
                c.insert_one({"_id": i}, session=session)
                times[i] = session.operation_time

    threads = [threading.Thread(target=write, args=(100 * i,)) for i in range(4)]
    [thread.start() for thread in threads]
    entries = take(cursor, 120)
    [thread.join() for thread in threads]
    equal({entry["o"]["_id"]: entry["ts"] for entry in entries}, times)
    equal([entry["ts"] for entry in entries], sorted(times.values()))
    began = time.monotonic()
    equal(take(follow(oplog, last(oplog)["ts"]).max_await_time_ms(300), 0), [])
    assert time.monotonic() - began < 10
    c.delete_many({})
    equal(sorted(entry["o"]["_id"] for entry in take(cursor, 121)), sorted([-1, *times]))


@step
def a_transaction_is_one_entry(client, db):
    oplog = client.local["oplog.rs"]
    a, b = fresh(db, "a", [{"_id": 0}]), fresh(db, "b", [{"_id": 0}])
    after = last(oplog)["ts"]
    with client.start_session() as session, session.start_transaction():
        a.insert_one({"_id": 1}, session=session)
        b.update_one({"_id": 0}, {"$set": {"n": 1}}, session=session)
        of_session = session.session_id["id"]
    entries = list(oplog.find({"ts": {"$gt": after}}))
    equal([(entry["op"], entry["ns"]) for entry in entries], [("c", "admin.$cmd")])
    operations = entries[0]["o"]["applyOps"]
    equal([(it["op"], it["ns"]) for it in operations], [("i", f"{NAME}.a"), ("u", f"{NAME}.b")])
    equal(entries[0]["lsid"]["id"], of_session)


@step
def tools_find_the_begin_and_the_end(client, db):
    local = client.local
    first = local["oplog.rs"].find().sort("$natural", pymongo.ASCENDING).limit(-1).next()
    equal((first["op"], first["ns"]), ("n", ""))
    assert first["ts"] < last(local["oplog.rs"])["ts"]
    equal(list(local["oplog.rs"].find({"ts": {"$lt": first["ts"]}})), [])
    equal(local["oplog.rs"].find_one({"ts": {"$gte": Timestamp(1, 1)}})["ts"], first["ts"])
    listed = local.list_collections(filter={"name": "oplog.rs"}).next()
    assert listed["options"]["capped"]
    stats = local.command("collStats", "oplog.rs")
    assert stats["capped"] and stats["maxSize"] > 0 and stats["count"] > 0
    assert local["oplog.rs"].count_documents({"op": "i"}) > 0 and local["oplog.rs"].estimated_document_count() > 0
    group = {"$group": {"_id": "$op", "n": {"$sum": 1}}}
    assert {found["_id"] for found in local["oplog.rs"].aggregate([group])} >= {"i", "u", "d", "c", "n"}


@step
def writes_are_refused(client, db):
    oplog = client.local["oplog.rs"]
    for write in (lambda: oplog.insert_one({}), lambda: oplog.delete_many({}), lambda: oplog.create_index("ts")):
        with raises(errors.OperationFailure, 73):
            write()
    with raises(errors.OperationFailure, 20):
        client.local.command(SON([("drop", "oplog.rs")]))


if __name__ == "__main__":
    opened = pymongo.MongoClient(os.environ["MONGODB_URI"], serverSelectionTimeoutMS=5000)
    run(opened, opened[NAME])
