"""MongoDB's source connector for Kafka without a broker: `kafka_source.py COMMAND…`, to which the file of properties is
added.

Each record is compared with the change that this client has made.
"""

import json
import sys
import time

from bson import json_util
from connectors import CLOCKS_MS, Connector, Counter, Server, Writer, each_at_least_once, is_probe, running
from steps import equal, run, step

COMMAND = sys.argv[1:]


def source(server, name, **properties):
    """A task that watches the database of this name."""
    path = server.path.parent / f"{name}.offsets"
    own = {
        "name": name,
        "connection.uri": server.uri,
        "database": name,
        "output.format.key": "json",
        "output.format.value": "json",
        "output.json.formatter": "com.mongodb.kafka.connect.source.json.formatter.ExtendedJson",
        "poll.await.time.ms": 200,
        "offsets": path,
    }
    given = {key.replace("_", "."): value for key, value in properties.items()}
    return Connector(COMMAND, own | given, path)


def value_of(record):
    return json_util.loads(record["value"])


def is_event_of(record, change, full_document=None, before=False):
    """Fails unless the record has what was changed. `full_document` says what updates have: nothing, or the document."""
    event = value_of(record)
    equal(record["topic"], f"{event['ns']['db']}.{change.name}")
    equal((event["operationType"], event["documentKey"]), (change.kind, {"_id": change.key}))
    has_document = change.kind in ("insert", "replace") or (change.kind == "update" and full_document)
    equal(event.get("fullDocument"), change.after if has_document else None)
    equal(event.get("fullDocumentBeforeChange"), change.before if before else None)
    equal(event["clusterTime"], change.time)
    first, last = change.wall_ms
    wall = event["wallTime"].timestamp() * 1000
    assert first - CLOCKS_MS <= wall <= last + CLOCKS_MS, (event["wallTime"], change.wall_ms)
    equal(event.get("lsid", {}).get("id"), change.session)
    equal(json_util.loads(record["key"]), {"_id": change.key})
    equal(json.loads(record["offset"]["_id"]), event["_id"])
    return event


def are_events_of(connector, changes, **options):
    """Fails unless the next records are those of these changes."""
    return [is_event_of(connector.next(), change, **options) for change in changes]


@step
def what_exists_is_copied_and_changes_follow(server):
    db = server.client.copied
    db.numbers.insert_many([{"_id": number, "n": number * 1.5} for number in range(1500)])
    db.others.insert_many([{"_id": {"k": number}, "text": "x" * 1000} for number in range(300)])
    counter = Counter(server.uri, "copied", "numbers")
    connector = source(server, "copied", startup_mode="copy_existing", startup_mode_copy_existing_queue_size=100)
    connector.start()
    try:
        documents = {}

        def follow(record):
            event = value_of(record)
            key = (event["ns"]["coll"], json_util.dumps(event["documentKey"]["_id"]))
            if event["operationType"] == "insert":
                documents[key] = event["fullDocument"]
                equal(event["documentKey"]["_id"], event["fullDocument"]["_id"])
                equal("clusterTime" in event, "copyingData" not in event["_id"])
            else:
                documents[key] |= event["updateDescription"]["updatedFields"]
            return documents

        connector.next(lambda record: len(follow(record)) == 1801)
        counter.reaches(30)
        last = counter.end()
        connector.next(lambda record: follow(record)["numbers", '"counter"']["n"] == last)
        writer = Writer(db.numbers)
        are_events_of(connector, writer.all_kinds("changed"))
    finally:
        connector.stop()
    copied = [record for record in connector.records if "copyingData" in value_of(record)["_id"]]
    equal(len(copied), 1801)
    for name in ("numbers", "others"):
        found = {json_util.dumps(document["_id"]): document for document in db[name].find()}
        equal({key: document for (collection, key), document in documents.items() if collection == name}, found)
    # The copy is not repeated.
    writer.all_kinds("while it rests")
    with running(connector):
        are_events_of(connector, writer.changes[5:])
        connector.has_no_more()


@step
def updates_are_described(server):
    db = server.client.described
    db.create_collection("pets", changeStreamPreAndPostImages={"enabled": True})
    options = {
        "collection": "pets",
        "change_stream_full_document": "updateLookup",
        "change_stream_full_document_before_change": "whenAvailable",
    }
    with running(source(server, "described", **options)) as connector:
        connector.watches(db.pets)
        seen = []

        def follow(change):
            has_before = change.kind != "insert"
            seen.extend(are_events_of(connector, [change], full_document=True, before=has_before))

        Writer(db.pets, follow).all_kinds(1)
        equal(seen[1]["updateDescription"]["updatedFields"], {"n": 2, "new": {"field": "é"}})
        equal(seen[1]["updateDescription"]["removedFields"], ["deep.er"])
        equal(seen[2]["updateDescription"]["truncatedArrays"], [{"field": "tags", "newSize": 2}])
        times = [(event["clusterTime"].time, event["clusterTime"].inc) for event in seen]
        equal(times, sorted(set(times)))


@step
def a_transaction_stays_together(server):
    writer = Writer(server.client.transactions.pets)
    writer.insert({"_id": "old"})
    with running(source(server, "transactions")) as connector:
        connector.watches(server.client.transactions.probes)
        first = writer.insert({"_id": "before"})
        made = writer.transaction(*(("insert", {"_id": number}) for number in range(300)), ("delete", {"_id": "old"}))
        last = writer.insert({"_id": "after"})
        events = are_events_of(connector, [first, *made, last])
        equal(len({event["txnNumber"] for event in events[1:-1]}), 1)
        connector.has_no_more()


@step
def a_task_continues_behind_its_offset(server):
    writer = Writer(server.client.resumed.pets)
    connector = source(server, "resumed")
    with running(connector):
        connector.watches(server.client.resumed.probes)
        are_events_of(connector, writer.all_kinds(1))
    for number in range(40):
        writer.insert({"_id": f"while it rests {number}"})
    server.end()
    server.start()
    writer.all_kinds(2)
    server.kill()
    server.start()
    writer.all_kinds(3)
    with running(connector):
        are_events_of(connector, writer.changes[5:])
        are_events_of(connector, writer.all_kinds(4))
        connector.has_no_more()


def counted(record):
    """The number of the counter that a record has."""
    event = value_of(record)
    return 0 if event["operationType"] == "insert" else event["updateDescription"]["updatedFields"]["n"]


@step
def a_task_that_is_killed_loses_nothing(server):
    connector = source(server, "killed", flush=17)
    connector.start()
    connector.watches(server.client.killed.probes)
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


@step
def a_server_that_is_killed_loses_and_repeats_nothing(server):
    with running(source(server, "crashes")) as connector:
        connector.watches(server.client.crashes.probes)
        counter = Counter(server.uri, "crashes", "counters")
        for _ in range(4):
            counter.reaches(40)
            server.kill()
            server.start()
        counter.reaches(40)
        last = counter.end()
        events = connector.take(last + 1)
        equal([counted(record) for record in events], list(range(last + 1)))
        times = [value_of(record)["clusterTime"] for record in events]
        equal(times, sorted(set(times)))
        connector.has_no_more()


@step
def heartbeats_bring_the_offset_forward(server):
    name = "heartbeats"
    connector = source(server, name, collection="pets", heartbeat_interval_ms=100, heartbeat_topic_name="beats")
    with running(connector):
        connector.watches(server.client.heartbeats.pets)
        server.client.heartbeats.others.insert_many([{} for _ in range(50)])
        first = connector.next(lambda record: record["topic"] == "beats")
        time.sleep(0.3)
        server.client.heartbeats.others.insert_one({})
        beat = connector.next(lambda record: record["topic"] == "beats" and record["offset"] != first["offset"])
        assert beat["offset"]["HEARTBEAT"] == "true" and beat["offset"]["_id"] > first["offset"]["_id"], (first, beat)
    writer = Writer(server.client.heartbeats.pets)
    writer.insert({"_id": 1})
    with running(connector):
        is_event_of(connector.next(lambda record: record["topic"] != "beats"), writer.changes[0])
        change = writer.insert({"_id": 2})
        is_event_of(connector.next(lambda record: record["topic"] != "beats"), change)


@step
def documents_alone_with_tombstones(server):
    options = {
        "publish_full_document_only": "true",
        "publish_full_document_only_tombstone_on_delete": "true",
        "topic_prefix": "mongo",
        "pipeline": '[{"$match": {"$or": [{"fullDocument.n": {"$gte": 2}}, {"operationType": "delete"}]}}, '
        '{"$set": {"fullDocument": {"$cond": [{"$eq": ["$operationType", "delete"]}, "$$REMOVE", '
        '{"$mergeObjects": ["$fullDocument", {"kind": {"$concat": ["$operationType", "!"]}}]}]}}}]',
    }
    with running(source(server, "documents", collection="pets", **options)) as connector:
        db = server.client.documents
        connector.watches(db.pets, n=2)
        db.pets.insert_one({"_id": 1, "n": 1})
        db.pets.insert_one({"_id": 2, "n": 2})
        db.pets.delete_one({"_id": 2})
        made, deleted = connector.take(2)
        equal((made["topic"], json_util.loads(made["key"])), ("mongo.documents.pets", {"_id": 2}))
        equal((value_of(made), deleted["value"]), ({"_id": 2, "n": 2, "kind": "insert!"}, None))
        equal(json_util.loads(deleted["key"]), {"_id": 2})


@step
def everything_is_watched_and_copied(server):
    options = {"startup_mode": "copy_existing", "startup_mode_copy_existing_namespace_regex": r"^every.*\.pets$"}
    for name in ("every_a", "every_b"):
        server.client[name].pets.insert_one({"_id": name})
        server.client[name].others.insert_one({"_id": name})
    with running(source(server, "everything", database="", **options)) as connector:
        copied = [value_of(record)["fullDocument"]["_id"] for record in connector.take(2)]
        equal(sorted(copied), ["every_a", "every_b"])
        connector.watches(server.client.every_c.probes)
        for name in ("every_a", "every_d"):
            are_events_of(connector, Writer(server.client[name].pets).all_kinds("new"))


@step
def a_collection_that_is_dropped_ends_the_stream_and_another_begins(server):
    db = server.client.dropped
    # An event in the first reply of a stream that has ended with it is passed over by the connector, so each reply has
    # one event.
    connector = source(server, "dropped", collection="pets", batch_size=1)
    with running(connector):
        connector.watches(db.pets)
        are_events_of(connector, [Writer(db.pets).insert({"_id": 1})])
        db.pets.drop()
        # The invalidation that follows has no name of a collection, so the connector has no topic for it.
        equal(value_of(connector.next())["operationType"], "drop")
        connector.watches(db.pets)
        are_events_of(connector, [Writer(db.pets).insert({"_id": 2})])
        connector.has_no_more()
    db.pets.drop()
    with running(connector):
        equal(value_of(connector.next())["operationType"], "drop")
        connector.watches(db.pets)
        are_events_of(connector, [Writer(db.pets).insert({"_id": 3})])


@step
def a_time_is_a_start(server):
    writer = Writer(server.client.times.pets)
    with running(source(server, "times")) as connector:
        connector.watches(server.client.times.probes)
        writer.all_kinds(1)
        are_events_of(connector, writer.changes)
    since = writer.changes[2].time
    options = {"startup_mode": "timestamp", "database": "times", "collection": "pets"}
    text = f'{{"$timestamp": {{"t": {since.time}, "i": {since.inc}}}}}'
    with running(source(server, "since", startup_mode_timestamp_start_at_operation_time=text, **options)) as connector:
        are_events_of(connector, writer.changes[2:])
        connector.has_no_more()


@step
def a_lost_offset_is_an_error_or_a_new_begin(server):
    writer = Writer(server.client.lost.pets)
    connector = source(server, "lost")
    with running(connector):
        connector.watches(server.client.lost.probes)
        are_events_of(connector, writer.all_kinds(1))
    writer.insert({"_id": "lost"})
    server.forget("lost")
    connector.start()
    equal(connector.process.wait(60), 1)
    assert "ResumeToken not found" in connector.whole_log(), connector.log()
    connector.file.write_text(connector.file.read_text() + "errors.tolerance=all\n")
    with running(connector):
        connector.watches(server.client.lost.probes)
        are_events_of(connector, writer.all_kinds(2))


if __name__ == "__main__":
    server = Server()
    try:
        run(server)
    finally:
        server.end()
