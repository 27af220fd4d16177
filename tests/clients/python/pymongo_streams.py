"""Change streams with pymongo: steps of pymongo_sync.py."""

import threading
import time

from bson import Timestamp
from pymongo import errors
from steps import equal, fresh, raises, step


def take(stream, count):
    """The next events, for which there is no need to wait long."""
    found, until = [], time.monotonic() + 20
    while len(found) < count and time.monotonic() < until:
        event = stream.try_next()
        if event is not None:
            found.append(event)
    return found


def kinds(events):
    return [event["operationType"] for event in events]


@step
def streams_return_each_change(client, db):
    c = fresh(db, "watched", [{"_id": 0}])
    with c.watch() as stream:
        c.insert_one({"_id": 1, "n": 1, "tags": ["a", "b"]})
        c.update_one({"_id": 1}, {"$inc": {"n": 1}, "$pop": {"tags": 1}, "$set": {"deep.er": 1}})
        c.replace_one({"_id": 1}, {"n": 5})
        c.update_one({"_id": 1}, {"$set": {"n": 5}})
        c.delete_one({"_id": 1})
        events = take(stream, 4)
        equal(kinds(events), ["insert", "update", "replace", "delete"])
        equal([event["documentKey"] for event in events], [{"_id": 1}] * 4)
        equal(events[0]["ns"], {"db": db.name, "coll": "watched"})
        equal(events[0]["fullDocument"], {"_id": 1, "n": 1, "tags": ["a", "b"]})
        description = events[1]["updateDescription"]
        equal(description["updatedFields"], {"n": 2, "deep": {"er": 1}})
        equal(description["truncatedArrays"], [{"field": "tags", "newSize": 1}])
        equal(events[2]["fullDocument"], {"_id": 1, "n": 5})
        times = [event["clusterTime"] for event in events]
        equal(times, sorted(set(times)))
        assert all("wallTime" in event for event in events)
        assert stream.try_next() is None and stream.resume_token is not None


@step
def streams_resume_where_they_ended(client, db):
    c = fresh(db, "resumed")
    with c.watch() as stream:
        c.insert_many([{"_id": i} for i in range(10)])
        token = take(stream, 4)[3]["_id"]
    c.insert_one({"_id": 10})
    for options in ({"resume_after": token}, {"start_after": token}):
        with c.watch(**options) as stream:
            equal([event["documentKey"]["_id"] for event in take(stream, 7)], [4, 5, 6, 7, 8, 9, 10])
            place = stream.resume_token
    with c.watch(resume_after=place) as stream:
        equal(stream.try_next(), None)
        after_nothing = stream.resume_token
    c.insert_one({"_id": 11})
    with c.watch(resume_after=after_nothing) as stream:
        equal([event["documentKey"]["_id"] for event in take(stream, 1)], [11])
    with raises(errors.OperationFailure, 9):
        c.watch(resume_after={"_data": "no token"})
    with raises(errors.OperationFailure, 40647):
        c.watch(resume_after={"data": "82"})


@step
def streams_begin_at_a_time(client, db):
    c = fresh(db, "timed")
    with c.watch():
        pass
    c.insert_one({"_id": 1})
    with client.start_session() as session:
        c.insert_one({"_id": 2}, session=session)
        at = session.operation_time
    c.insert_one({"_id": 3})
    with c.watch(start_at_operation_time=at) as stream:
        events = take(stream, 2)
        equal([event["documentKey"]["_id"] for event in events], [2, 3])
        equal(events[0]["clusterTime"], at)
    with raises(errors.OperationFailure, 286):
        c.watch(start_at_operation_time=Timestamp(1, 1))


@step
def writers_get_the_times_of_their_events(client, db):
    c = fresh(db, "timed_by_many")
    times = {}

    def write(first):
        with client.start_session() as session:
            for i in range(first, first + 20):
                c.insert_one({"_id": i}, session=session)
                times[i] = session.operation_time

    with c.watch() as stream:
        threads = [threading.Thread(target=write, args=(100 * i,)) for i in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        equal({event["documentKey"]["_id"]: event["clusterTime"] for event in take(stream, 120)}, times)


@step
def streams_of_databases_and_of_everything(client, db):
    a, b = fresh(db, "watched_a"), fresh(db, "watched_b")
    other = fresh(client[f"{db.name}_streams"], "watched")
    chosen = [{"$match": {"operationType": "insert", "ns.coll": {"$regex": "^watched"}}}, {"$unset": "wallTime"}]
    with db.watch(chosen) as of_database, client.watch(chosen) as of_all:
        for c in (a, b, other):
            c.insert_one({"_id": 1})
            c.delete_one({"_id": 1})
        equal([event["ns"]["coll"] for event in take(of_database, 2)], ["watched_a", "watched_b"])
        events = take(of_all, 3)
        equal([event["ns"]["coll"] for event in events], ["watched_a", "watched_b", "watched"])
        assert all("wallTime" not in event for event in events)
    with db.watch() as stream:
        a.drop()
        equal(kinds(take(stream, 1)), ["drop"])
    client.drop_database(other.database.name)


@step
def streams_end_with_their_collection(client, db):
    c = fresh(db, "dropped", [{"_id": 1}])
    with c.watch() as stream:
        c.drop()
        equal(kinds(take(stream, 2)), ["drop", "invalidate"])
        token = stream.resume_token
        with raises(StopIteration):
            stream.next()
    c.insert_one({"_id": 2})
    with raises(errors.OperationFailure, 260):
        c.watch(resume_after=token)
    with c.watch(start_after=token) as stream:
        equal(kinds(take(stream, 1)), ["insert"])


@step
def streams_wait_for_changes(client, db):
    c = fresh(db, "awaited")
    with c.watch(max_await_time_ms=20_000) as stream:
        writer = threading.Timer(0.3, lambda: c.insert_one({"_id": 1}))
        writer.start()
        began = time.monotonic()
        equal(stream.next()["documentKey"], {"_id": 1})
        assert time.monotonic() - began < 15
        writer.join()


@step
def streams_have_documents_of_updates(client, db):
    db.drop_collection("with_images")
    c = db.create_collection("with_images", changeStreamPreAndPostImages={"enabled": True})
    c.insert_one({"_id": 1, "n": 1})
    images = {"full_document": "required", "full_document_before_change": "required"}
    with c.watch(**images) as stream, c.watch(full_document="updateLookup") as looking:
        c.update_one({"_id": 1}, {"$set": {"n": 2}})
        c.update_one({"_id": 1}, {"$set": {"n": 3}})
        c.delete_one({"_id": 1})
        events = take(stream, 3)
        equal([event.get("fullDocument", {}).get("n") for event in events], [2, 3, None])
        equal([event["fullDocumentBeforeChange"]["n"] for event in events], [1, 2, 3])
        equal([event.get("fullDocument", "none") for event in take(looking, 3)], [None, None, "none"])
    plain = fresh(db, "without_images", [{"_id": 1}])
    with plain.watch(**images) as stream, raises(errors.OperationFailure, 47):
        plain.update_one({"_id": 1}, {"$set": {"n": 2}})
        take(stream, 1)


@step
def streams_keep_transactions_together(client, db):
    a, b = fresh(db, "together_a"), fresh(db, "together_b")
    with db.watch() as stream, client.start_session() as session:
        with session.start_transaction():
            a.insert_one({"_id": 1}, session=session)
            b.insert_one({"_id": 1}, session=session)
            a.update_one({"_id": 1}, {"$set": {"n": 1}}, session=session)
            equal(stream.try_next(), None)
        events = take(stream, 3)
        equal(kinds(events), ["insert", "insert", "update"])
        equal(len({event["clusterTime"] for event in events}), 1)
        equal(len({event["txnNumber"] for event in events}), 1)
        equal({event["lsid"]["id"] for event in events}, {session.session_id["id"]})


@step
def streams_show_changes_of_collections(client, db):
    db.drop_collection("expanded")
    with db.watch(show_expanded_events=True) as stream:
        c = db.create_collection("expanded")
        c.create_index("a")
        c.drop_index("a_1")
        c.rename("expanded_again", dropTarget=True)
        db.expanded_again.drop()
        events = take(stream, 5)
        equal(kinds(events), ["create", "createIndexes", "dropIndexes", "rename", "drop"])
        equal(events[1]["operationDescription"]["indexes"][0]["name"], "a_1")
        equal(events[3]["to"], {"db": db.name, "coll": "expanded_again"})
        assert all("collectionUUID" in event for event in events)


@step
def streams_refuse_other_stages(client, db):
    c = fresh(db, "refused")
    with raises(errors.OperationFailure, 20):
        c.watch([{"$group": {"_id": None}}])
    with raises(errors.OperationFailure, 40602):
        c.aggregate([{"$match": {}}, {"$changeStream": {}}])
    with c.watch([{"$unset": "_id"}]) as stream:
        c.insert_one({"_id": 1})
        with raises(errors.OperationFailure, 280):
            take(stream, 1)
    for internal in (client.admin, client.config, client.local):
        with raises(errors.OperationFailure, 73):
            internal.watched.watch()
