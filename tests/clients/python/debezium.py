"""Debezium's connector for MongoDB, by its embedded engine: `debezium.py COMMAND…`, to which the file of properties is added.

Each event is compared with the change that this client has made: its kind, its documents, its times and its transaction.
"""

import datetime
import sys

from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp, json_util
from connectors import CLOCKS_MS, Connector, Counter, Server, Writer, each_at_least_once, is_probe, running
from steps import equal, run, step

COMMAND = sys.argv[1:]
OPERATIONS = {"insert": "c", "update": "u", "replace": "u", "delete": "d"}
MODE = "change_streams"
FULL_WITH_BEFORE = "change_streams_update_full_with_pre_image"


def engine(server, name, **properties):
    """An engine that watches the database of this name. It takes no snapshot, unless the properties say so."""
    path = server.path.parent / f"{name}.offsets"
    own = {
        "name": name,
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "mongodb.connection.string": server.uri,
        "topic.prefix": "t",
        "database.include.list": name,
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": path,
        "offset.flush.interval.ms": 0,
        "snapshot.mode": "no_data",
        "capture.mode": MODE,
        "poll.interval.ms": 50,
        "mongodb.poll.interval.ms": 1000,
    }
    given = {key.replace("_", "."): value for key, value in properties.items()}
    return Connector(COMMAND, own | given, path)


def document(text):
    return None if text is None else json_util.loads(text)


def is_event_of(record, change, mode=MODE):
    """Fails unless the record says what was changed, as the mode of the engine wants it."""
    value, source = record["value"], record["value"]["source"]
    equal(value["op"], OPERATIONS[change.kind])
    equal(document(record["key"]["id"]), change.key)
    after = change.kind in ("insert", "replace") or (change.kind == "update" and "update_full" in mode)
    equal(document(value["after"]), change.after if after else None)
    before = change.kind != "insert" and "pre_image" in mode
    equal(document(value["before"]), change.before if before else None)
    equal((source["collection"], source["snapshot"]), (change.name, "false"))
    equal(Timestamp(record["offset"]["sec"], record["offset"]["ord"]), change.time)
    equal(source["ord"], change.time.inc)
    first, last = change.wall_ms
    assert first - CLOCKS_MS <= source["wallTime"] <= last + CLOCKS_MS, (source, change.wall_ms)
    equal(source["ts_ms"], source["wallTime"])


def are_events_of(connector, changes, mode=MODE):
    """Fails unless the next records are the events of these changes. Returns the values of the events."""
    values = []
    for change in changes:
        record = connector.next()
        is_event_of(record, change, mode)
        values.append(record["value"])
        if change.kind == "delete":
            tombstone = connector.next()
            equal((tombstone["key"], tombstone["value"]), (record["key"], None))
    return values


def every_type():
    """A document with a value of each type that JSON can tell."""
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, datetime.timezone.utc)
    return {
        "double": 1.5,
        "text": 'ä"\\\n',
        "document": {"a": {}},
        "array": [1, [], {"b": None}],
        "bytes": Binary(b"\0\1", 5),
        "id": ObjectId("0123456789abcdef01234567"),
        "yes": True,
        "date": moment,
        "none": None,
        "pattern": Regex("^a", "i"),
        "int": 7,
        "time": Timestamp(5, 6),
        "long": Int64(2**62),
        "decimal": Decimal128("1.10"),
        "least": MinKey(),
        "most": MaxKey(),
    }


@step
def a_snapshot_has_each_document_once_and_changes_follow(server):
    db = server.client.snapshot
    db.numbers.insert_many([{"_id": number, "n": number * 1.5} for number in range(700)])
    db.types.insert_one({"_id": {"a": 1, "b": [2]}, **every_type()})
    server.client.unwatched.numbers.insert_one({"_id": 1})
    with running(engine(server, "snapshot", snapshot_mode="initial", snapshot_fetch_size=64)) as connector:
        records = connector.take(701)
        equal({record["value"]["op"] for record in records}, {"r"})
        marks = [record["value"]["source"]["snapshot"] for record in records]
        equal((set(marks[:-1]), marks[-1]), ({"true"}, "last"))
        for name in ("numbers", "types"):
            read = [record for record in records if record["value"]["source"]["collection"] == name]
            equal({record["topic"] for record in read}, {f"t.snapshot.{name}"})
            by_key = {json_util.dumps(found["_id"]): found for found in db[name].find()}
            equal(len(read), len(by_key))
            for record in read:
                found = document(record["value"]["after"])
                key = json_util.dumps(found["_id"])
                equal(found, json_util.loads(json_util.dumps(by_key.pop(key))))
                equal(json_util.dumps(document(record["key"]["id"])), key)
        connector.watches(server.client.snapshot.probes)
        writer = Writer(db.numbers)
        are_events_of(connector, writer.all_kinds("changed"))
        server.client.unwatched.numbers.insert_one({"_id": 2})
        connector.has_no_more()


@step
def updates_are_described(server):
    writer = Writer(server.client.described.pets)
    with running(engine(server, "described")) as connector:
        connector.watches(server.client.described.probes)
        values = are_events_of(connector, writer.all_kinds(1))
        described = [value["updateDescription"] for value in values]
        equal([description is None for description in described], [True, False, False, True, True])
        equal(document(described[1]["updatedFields"]), {"n": 2, "new": {"field": "é"}})
        equal(described[1]["removedFields"], ["deep.er"])
        equal(document(described[2]["updatedFields"]), {})
        equal(described[2]["truncatedArrays"], [{"field": "tags", "size": 2}])


@step
def each_mode_has_the_documents_that_it_promises(server):
    for mode in (MODE, f"{MODE}_update_full", f"{MODE}_with_pre_image", FULL_WITH_BEFORE):
        db = server.client[mode]
        db.create_collection("pets", changeStreamPreAndPostImages={"enabled": True})
        with running(engine(server, mode, capture_mode=mode)) as connector:
            connector.watches(server.client[mode].probes)
            # An engine that looks documents up finds those of now, so each change waits for its event.
            writer = Writer(db.pets, lambda change: are_events_of(connector, [change], mode))
            writer.all_kinds(mode)


@step
def documents_after_an_update_are_those_of_that_time(server):
    db = server.client.images
    db.create_collection("pets", changeStreamPreAndPostImages={"enabled": True})
    kind = {"capture_mode": FULL_WITH_BEFORE, "capture_mode_full_update_type": "post_image"}
    connector = engine(server, "images", **kind)
    with running(connector):
        connector.watches(server.client.images.probes)
    writer = Writer(db.pets)
    writer.insert({"_id": 1, "n": 0})
    for _ in range(20):
        writer.update(1, {"$inc": {"n": 1}})
    writer.delete(1)
    # Each change was made before the engine reads it, so a look-up would find nothing.
    with running(connector):
        are_events_of(connector, writer.changes, FULL_WITH_BEFORE)


@step
def a_transaction_stays_together(server):
    db = server.client.transactions
    writer = Writer(db.pets)
    writer.insert({"_id": "old"})
    with running(engine(server, "transactions", provide_transaction_metadata="true")) as connector:
        connector.watches(server.client.transactions.probes)
        first = writer.insert({"_id": "before"})
        made = writer.transaction(*(("insert", {"_id": number}) for number in range(300)), ("delete", {"_id": "old"}))
        last = writer.insert({"_id": "after"})
        are_events_of(connector, [first])
        begin = connector.next()["value"]
        equal((begin["status"], begin["event_count"]), ("BEGIN", None))
        values = are_events_of(connector, made)
        end = connector.next()["value"]
        equal((end["status"], end["id"], end["event_count"]), ("END", begin["id"], 301))
        equal(end["data_collections"], [{"data_collection": "transactions.pets", "event_count": 301}])
        are_events_of(connector, [last])
        equal({value["transaction"]["id"] for value in values}, {begin["id"]})
        equal([value["transaction"]["total_order"] for value in values], list(range(1, 302)))
        equal({json_util.loads(value["source"]["lsid"])["id"] for value in values}, {made[0].session})
        equal(len({value["source"]["txnNumber"] for value in values}), 1)


@step
def an_engine_continues_behind_its_offset(server):
    writer = Writer(server.client.resumed.pets)
    connector = engine(server, "resumed")
    with running(connector):
        connector.watches(server.client.resumed.probes)
        are_events_of(connector, writer.all_kinds(1))
    for number in range(40):
        writer.insert({"_id": f"while it rests {number}"})
    server.end()
    server.start()
    writer.all_kinds(2)
    with running(connector):
        are_events_of(connector, writer.changes[5:])
        are_events_of(connector, writer.all_kinds(3))
        connector.has_no_more()


@step
def an_engine_continues_in_a_transaction(server):
    writer = Writer(server.client.middle.pets)
    connector = engine(server, "middle", max_batch_size=1, max_queue_size=2, offset_flush_interval_ms=100)
    with running(connector):
        connector.watches(server.client.middle.probes)
    connector.start()
    made = writer.transaction(*(("insert", {"_id": number, "text": "x" * 20_000}) for number in range(200)))
    are_events_of(connector, made[:20])
    connector.kill()
    assert len(connector.records) < 200, "the engine was killed too late"
    connector.taken = len(connector.records)
    with running(connector):
        last = connector.next(lambda record: document(record["key"]["id"]) == 199)
        is_event_of(last, made[-1])
    each_at_least_once([document(record["key"]["id"]) for record in connector.records if not is_probe(record)], list(range(200)))


@step
def an_engine_that_is_killed_loses_nothing(server):
    connector = engine(server, "killed", offset_flush_interval_ms=400)
    with running(connector):
        connector.watches(server.client.killed.probes)
    connector.start()
    counter = Counter(server.uri, "killed", "counters")
    for _ in range(3):
        counter.reaches(60)
        connector.kill()
        counter.reaches(30)
        connector.start()
        connector.taken = len(connector.records)
        connector.next()
    last = counter.end()
    connector.next(lambda record: counted(record) == last)
    connector.stop()
    found = [counted(record) for record in connector.records if not is_probe(record)]
    each_at_least_once(found, list(range(last + 1)))


def counted(record):
    """The number of the counter that an event has."""
    description = record["value"]["updateDescription"]
    return 0 if description is None else document(description["updatedFields"])["n"]


@step
def a_server_that_is_killed_loses_and_repeats_nothing(server):
    with running(engine(server, "crashes")) as connector:
        connector.watches(server.client.crashes.probes)
        counter = Counter(server.uri, "crashes", "counters")
        for _ in range(4):
            counter.reaches(40)
            server.kill()
            server.start()
        counter.reaches(40)
        last = counter.end()
        equal([counted(record) for record in connector.take(last + 1)], list(range(last + 1)))
        times = [(record["offset"]["sec"], record["offset"]["ord"]) for record in connector.records]
        equal(times, sorted(set(times)))
        connector.has_no_more()


@step
def a_server_is_killed_while_the_engine_rests(server):
    writer = Writer(server.client.both.pets)
    connector = engine(server, "both")
    with running(connector):
        connector.watches(server.client.both.probes)
        are_events_of(connector, writer.all_kinds(1))
    for number in (2, 3):
        writer.all_kinds(number)
        server.kill()
        server.start()
    with running(connector):
        are_events_of(connector, writer.changes[5:])
        are_events_of(connector, writer.all_kinds(4))
        connector.has_no_more()


@step
def heartbeats_bring_the_offset_forward(server):
    def is_heartbeat(record):
        return record["topic"] == "__debezium-heartbeat.t"

    connector = engine(server, "heartbeats", heartbeat_interval_ms=100)
    with running(connector):
        connector.watches(server.client.heartbeats.probes)
        Writer(server.client.heartbeats.pets).insert({"_id": 1})
        event = connector.next(lambda record: not is_heartbeat(record))
        server.client.unwatched.pets.insert_many([{} for _ in range(50)])
        beat = connector.next(lambda record: is_heartbeat(record) and record["offset"] != event["offset"])
        token = beat["offset"]["resume_token"]
        assert token != event["offset"]["resume_token"], beat
    with running(connector):
        connector.watches(server.client.heartbeats.probes)
        change = Writer(server.client.heartbeats.pets).insert({"_id": 2})
        is_event_of(connector.next(lambda record: not is_heartbeat(record)), change)


@step
def a_scope_of_a_database_and_of_a_collection(server):
    writer = Writer(server.client.scopes.pets)
    for scope, target in (("database", "scopes"), ("collection", "scopes.pets")):
        options = {"database_include_list": "scopes", "capture_scope": scope, "capture_target": target}
        connector = engine(server, scope, **options)
        with running(connector):
            connector.watches(server.client.scopes.pets)
            server.client.scopes_other.pets.insert_one({"_id": scope})
            are_events_of(connector, writer.all_kinds(scope))
            if scope == "database":
                are_events_of(connector, [Writer(server.client.scopes.others).insert({"_id": 1})])
            connector.has_no_more()


@step
def collections_that_are_dropped_and_renamed_end_nothing(server):
    db = server.client.dropped
    with running(engine(server, "dropped")) as connector:
        connector.watches(server.client.dropped.probes)
        are_events_of(connector, [Writer(db.pets).insert({"_id": 1})])
        db.pets.drop()
        are_events_of(connector, [Writer(db.pets).insert({"_id": 2})])
        db.pets.rename("animals")
        are_events_of(connector, [Writer(db.animals).insert({"_id": 3})])
        server.client.drop_database("dropped")
        are_events_of(connector, [Writer(db.pets).insert({"_id": 4})])
        connector.has_no_more()


@step
def fields_are_left_out_and_literal_names_match(server):
    db = server.client.chosen
    options = {
        "collection_include_list": "chosen.pets",
        "filters_match_mode": "literal",
        "field_exclude_list": "chosen.pets.secret",
        "cursor_pipeline": '[{"$match": {"fullDocument.skip": {"$exists": false}}}]',
        "skipped_operations": "d",
    }
    with running(engine(server, "chosen", **options)) as connector:
        connector.watches(db.pets)
        db.pets_other.insert_one({"_id": 1})
        db.pets.insert_one({"_id": 2, "skip": True})
        db.pets.insert_one({"_id": 3, "secret": 1, "open": 2})
        db.pets.delete_one({"_id": 3})
        db.pets.insert_one({"_id": 4})
        found = [document(record["value"]["after"]) for record in connector.take(2)]
        equal(found, [{"_id": 3, "open": 2}, {"_id": 4}])
        connector.has_no_more()


@step
def an_event_above_the_limit_is_split(server):
    db = server.client.large
    db.create_collection("pets", changeStreamPreAndPostImages={"enabled": True})
    options = {"capture_mode": FULL_WITH_BEFORE, "cursor_oversize_handling_mode": "split"}
    with running(engine(server, "large", **options)) as connector:
        connector.watches(server.client.large.probes)
        writer = Writer(db.pets, lambda change: are_events_of(connector, [change], FULL_WITH_BEFORE))
        writer.insert({"_id": 1, "text": "a" * 12_000_000, "n": 0})
        writer.update(1, {"$set": {"n": 1}})
        writer.replace(1, {"text": "b" * 12_000_000})
        writer.delete(1)


@step
def an_offset_from_before_the_recorded_changes_begins_anew(server):
    writer = Writer(server.client.lost.pets)
    connector = engine(server, "lost", snapshot_mode="when_needed")
    with running(connector):
        connector.watches(server.client.lost.probes)
        are_events_of(connector, writer.all_kinds(1))
    for number in range(3):
        writer.insert({"_id": number})
    server.forget("lost")
    with running(connector):
        records = connector.take(3)
        equal([(record["value"]["op"], document(record["key"]["id"])) for record in records], [("r", n) for n in range(3)])
        connector.watches(server.client.lost.probes)
        are_events_of(connector, [writer.insert({"_id": 4})])


if __name__ == "__main__":
    server = Server()
    try:
        run(server)
    finally:
        server.end()
