"""What programs with pymongo do."""

import datetime
import os
import re
import threading
import time
import uuid

import bson
import gridfs
import pymongo
import pymongo_streams  # Its steps run first.
import pymongo_transactions  # These, too.
from bson import Binary, Decimal128, Int64, ObjectId, Regex, Timestamp
from bson.codec_options import CodecOptions
from pymongo import DeleteMany, DeleteOne, IndexModel, InsertOne, ReplaceOne, UpdateMany, UpdateOne
from pymongo import errors
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern
from steps import equal, fresh, raises, run, step

NAME = "clients_pymongo"


@step
def hello_describes_a_primary(client, db):
    hello = client.admin.command("hello")
    assert hello["isWritablePrimary"] and hello["maxWireVersion"] >= 21
    assert client.server_info()["versionArray"][0] >= 7
    equal(client.admin.command("ping")["ok"], 1.0)
    assert client.is_primary


@step
def one_document_is_written_and_read(client, db):
    pets = fresh(db, "pets")
    done = pets.insert_one({"name": "rex", "age": 3})
    assert done.acknowledged and isinstance(done.inserted_id, ObjectId)
    equal(pets.find_one({"_id": done.inserted_id}), {"_id": done.inserted_id, "name": "rex", "age": 3})
    changed = pets.update_one({"name": "rex"}, {"$inc": {"age": 1}, "$set": {"tags": ["dog"]}})
    equal((changed.matched_count, changed.modified_count, changed.upserted_id), (1, 1, None))
    unchanged = pets.update_one({"name": "rex"}, {"$set": {"age": 4}})
    equal((unchanged.matched_count, unchanged.modified_count), (1, 0))
    equal(pets.replace_one({"name": "rex"}, {"name": "rex", "age": 5}).modified_count, 1)
    equal(pets.delete_one({"name": "rex"}).deleted_count, 1)
    equal(pets.find_one({}), None)


@step
def upserts_report_their_ids(client, db):
    pets = fresh(db, "pets")
    done = pets.update_one({"_id": 7}, {"$set": {"a": 1}, "$setOnInsert": {"b": 2}}, upsert=True)
    equal((done.matched_count, done.modified_count, done.upserted_id), (0, 0, 7))
    assert done.did_upsert
    made = pets.replace_one({"name": "new"}, {"name": "new"}, upsert=True)
    assert isinstance(made.upserted_id, ObjectId)
    equal(pets.find_one({"_id": 7}), {"_id": 7, "a": 1, "b": 2})
    none = pets.update_one({"_id": None}, {"$set": {"a": 1}}, upsert=True)
    equal(none.raw_result["upserted"], None)
    equal(none.raw_result["n"], 1)


@step
def bulk_writes_count_and_continue(client, db):
    c = fresh(db, "bulk")
    done = c.bulk_write([
        InsertOne({"_id": 1}), InsertOne({"_id": 2}), UpdateOne({"_id": 1}, {"$set": {"x": 1}}),
        UpdateMany({}, {"$set": {"y": 1}}), ReplaceOne({"_id": 9}, {"z": 1}, upsert=True),
        DeleteOne({"_id": 2}), DeleteMany({"none": 1}),
    ])
    equal((done.inserted_count, done.matched_count, done.modified_count), (2, 3, 3))
    equal((done.deleted_count, done.upserted_count, done.upserted_ids), (1, 1, {4: 9}))
    with raises(errors.BulkWriteError, 65) as failed:
        c.bulk_write([InsertOne({"_id": 3}), InsertOne({"_id": 1}), InsertOne({"_id": 4})], ordered=False)
    details = failed.error.details
    equal((details["nInserted"], len(details["writeErrors"])), (2, 1))
    wrong = details["writeErrors"][0]
    equal((wrong["index"], wrong["code"], wrong["keyPattern"], wrong["keyValue"]), (1, 11000, {"_id": 1}, {"_id": 1}))
    with raises(errors.BulkWriteError, 65) as failed:
        c.insert_many([{"_id": 10}, {"_id": 10}, {"_id": 11}])
    equal(failed.error.details["nInserted"], 1)
    equal(c.count_documents({"_id": {"$gte": 10}}), 1)


@step
def bulk_writes_span_collections(client, db):
    fresh(db, "bulk_a")
    fresh(db, "bulk_b")
    a, b = f"{NAME}.bulk_a", f"{NAME}.bulk_b"
    done = client.bulk_write([
        InsertOne({"_id": 1}, namespace=a), InsertOne({"_id": 1}, namespace=b),
        UpdateOne({"_id": 1}, {"$set": {"x": 1}}, namespace=a),
        UpdateOne({"_id": 2}, {"$set": {"x": 1}}, upsert=True, namespace=b), DeleteOne({"_id": 1}, namespace=b),
    ], verbose_results=True)
    equal((done.inserted_count, done.modified_count, done.upserted_count, done.deleted_count), (2, 1, 1, 1))
    equal(done.update_results[3].upserted_id, 2)
    with raises(errors.ClientBulkWriteException) as failed:
        client.bulk_write([InsertOne({"_id": 1}, namespace=a), InsertOne({"_id": 5}, namespace=a)])
    equal(failed.error.write_errors[0]["code"], 11000)
    equal(db.bulk_a.count_documents({}), 1)


@step
def large_batches_are_split(client, db):
    c = fresh(db, "large")
    c.insert_many([{"_id": i, "text": "x" * 1000} for i in range(60_000)], ordered=False)
    equal(c.estimated_document_count(), 60_000)
    equal(sum(1 for _ in c.find({}, {"_id": 1}, batch_size=1000)), 60_000)
    equal(c.delete_many({"_id": {"$lt": 50_000}}).deleted_count, 50_000)
    equal(c.count_documents({}), 10_000)
    with raises(errors.DocumentTooLarge):
        c.insert_one({"text": "x" * (17 << 20)})
    c.insert_many([{"_id": -i, "text": "y" * (6 << 20)} for i in range(1, 6)])
    equal([len(d["text"]) for d in c.find({"_id": {"$lt": 0}})], [6 << 20] * 5)
    c.drop()


@step
def finds_sort_skip_limit_and_project(client, db):
    c = fresh(db, "numbers", [{"_id": i, "even": i % 2 == 0, "n": {"a": i, "b": -i}, "l": [i, i + 1]} for i in range(20)])
    found = c.find({"even": True}, {"n.a": 1}).sort([("n.b", 1)]).skip(2).limit(3)
    equal(list(found), [{"_id": 14, "n": {"a": 14}}, {"_id": 12, "n": {"a": 12}}, {"_id": 10, "n": {"a": 10}}])
    equal([d["_id"] for d in c.find().sort("_id", -1).limit(2)], [19, 18])
    equal(c.find_one({"l": {"$all": [3, 4]}}, {"_id": 0, "l": {"$slice": 1}, "even": 1}), {"even": False, "l": [3]})
    equal(c.find_one({"_id": 1}, {"n": 0, "l": 0}), {"_id": 1, "even": False})
    equal(c.find_one({"_id": 2}, {"_id": 0, "sum": {"$add": ["$n.a", 40]}}), {"sum": 42})
    equal(c.find_one({"l": {"$elemMatch": {"$gt": 18, "$lt": 20}}}, {"_id": 1}), {"_id": 18})
    equal(c.find({"_id": {"$gte": 5}}).limit(-3).to_list(), c.find({"_id": {"$gte": 5}}).limit(3).to_list())
    with raises(errors.OperationFailure, 31254):
        c.find_one({}, {"even": 1, "n": 0})


@step
def cursors_fetch_batches_and_are_closed(client, db):
    c = fresh(db, "batches", [{"_id": i} for i in range(500)])
    cursor = c.find(batch_size=10)
    next(cursor)
    number = cursor.cursor_id
    assert number
    equal(len(cursor.to_list(99)), 99)
    cursor.close()
    with raises(errors.OperationFailure, 43):
        db.command("getMore", Int64(number), collection="batches")
    equal(db.command("killCursors", "batches", cursors=[Int64(number)])["cursorsNotFound"], [number])
    equal(len(list(c.find(batch_size=1))), 500)
    equal(len(list(c.find().batch_size(2).limit(7))), 7)
    empty = db.command("find", "batches", batchSize=0)
    equal(empty["cursor"]["firstBatch"], [])
    more = db.command("getMore", empty["cursor"]["id"], collection="batches", batchSize=3)
    equal(len(more["cursor"]["nextBatch"]), 3)
    with raises(errors.OperationFailure, 13):
        db.command("getMore", empty["cursor"]["id"], collection="other")
    equal([d["_id"] for d in c.find().max_await_time_ms(5).limit(1)], [0])
    rest = c.find(no_cursor_timeout=True).rewind()
    equal(sum(1 for _ in rest), 500)


@step
def array_filters_and_update_operators(client, db):
    c = fresh(db, "arrays", [{"_id": 1, "grades": [{"g": 80, "m": 1}, {"g": 95, "m": 2}], "tags": ["a"], "n": 5}])
    c.update_one({"_id": 1}, {"$set": {"grades.$[big].m": 9}}, array_filters=[{"big.g": {"$gte": 90}}])
    c.update_one({"_id": 1, "grades.g": 80}, {"$set": {"grades.$.m": 7}})
    c.update_one({"_id": 1}, {"$push": {"tags": {"$each": ["c", "b"], "$sort": 1, "$slice": 2}}, "$mul": {"n": 2}})
    equal(c.find_one(), {"_id": 1, "grades": [{"g": 80, "m": 7}, {"g": 95, "m": 9}], "tags": ["a", "b"], "n": 10})
    c.update_one({"_id": 1}, {"$addToSet": {"tags": "z"}, "$pull": {"grades": {"g": 80}}, "$rename": {"n": "m"}})
    c.update_one({"_id": 1}, {"$currentDate": {"at": True}, "$unset": {"grades": ""}, "$bit": {"m": {"or": Int64(1)}}})
    found = c.find_one()
    equal((found["tags"], found["m"]), (["a", "b", "z"], 11))
    assert isinstance(found["at"], datetime.datetime) and "grades" not in found
    c.update_many({}, [{"$set": {"total": {"$sum": ["$m", 1]}}}, {"$unset": ["at"]}])
    equal(c.find_one()["total"], 12)
    with raises(errors.WriteError, 40):
        c.update_one({}, {"$set": {"a": 1}, "$inc": {"a": 1}})
    with raises(errors.WriteError, 66):
        c.update_one({"_id": 1}, {"$set": {"_id": 2}})
    with raises(errors.WriteError, 14):
        c.update_one({"_id": 1}, {"$inc": {"tags": 1}})
    with raises(errors.WriteError, 9):
        c.update_one({}, {"$nonsense": {"a": 1}})


@step
def aggregation_joins_groups_and_writes(client, db):
    fresh(db, "orders", [{"_id": i, "customer": i % 3, "total": i * 10} for i in range(9)])
    fresh(db, "customers", [{"_id": i, "name": n} for i, n in enumerate(["ann", "bob", "cid"])])
    stages = [
        {"$match": {"total": {"$gt": 0}}},
        {"$group": {"_id": "$customer", "sum": {"$sum": "$total"}, "n": {"$sum": 1}, "all": {"$push": "$_id"}}},
        {"$lookup": {"from": "customers", "localField": "_id", "foreignField": "_id", "as": "who"}},
        {"$unwind": "$who"}, {"$sort": {"sum": -1}},
        {"$project": {"_id": 0, "name": "$who.name", "sum": 1, "n": 1}},
    ]
    equal(list(db.orders.aggregate(stages))[0], {"sum": 150, "n": 3, "name": "cid"})
    equal(list(db.orders.aggregate(stages + [{"$out": "totals"}])), [])
    equal(db.totals.count_documents({}), 3)
    merge = {"$merge": {"into": "totals2", "on": "_id", "whenMatched": "replace", "whenNotMatched": "insert"}}
    db.totals2.drop()
    db.orders.aggregate([{"$match": {"_id": {"$lt": 4}}}, merge])
    db.orders.aggregate([{"$match": {"_id": {"$lt": 6}}}, merge])
    equal(db.totals2.count_documents({}), 6)
    facet = list(db.orders.aggregate([{"$facet": {
        "n": [{"$count": "n"}], "by": [{"$sortByCount": "$customer"}, {"$limit": 1}],
        "bucket": [{"$bucket": {"groupBy": "$total", "boundaries": [0, 50, 100], "output": {"n": {"$sum": 1}}}}],
    }}]))[0]
    equal((facet["n"], len(facet["by"])), ([{"n": 9}], 1))
    equal(facet["bucket"], [{"_id": 0, "n": 5}, {"_id": 50, "n": 4}])
    piped = {"$lookup": {"from": "orders", "let": {"c": "$_id"}, "as": "orders",
                         "pipeline": [{"$match": {"$expr": {"$eq": ["$customer", "$$c"]}}}, {"$count": "n"}]}}
    equal([d["orders"] for d in db.customers.aggregate([piped])], [[{"n": 3}]] * 3)
    equal(len(list(db.orders.aggregate([{"$match": {}}], batchSize=2))), 9)
    equal(list(db.aggregate([{"$documents": [{"a": 1}]}])), [{"a": 1}])
    with raises(errors.OperationFailure, 40324):
        db.orders.aggregate([{"$nonsense": {}}])


@step
def variables_of_commands(client, db):
    fresh(db, "vars", [{"_id": 1, "n": 5}, {"_id": 2, "n": 50}])
    found = db.vars.find({"$expr": {"$gt": ["$n", "$$least"]}}, let={"least": 10})
    equal([d["_id"] for d in found], [2])
    done = db.vars.aggregate([{"$match": {"$expr": {"$lt": ["$n", "$$most"]}}}], let={"most": 10})
    equal([d["_id"] for d in done], [1])
    equal(db.vars.update_one({"$expr": {"$eq": ["$n", "$$v"]}}, [{"$set": {"n": "$$w"}}], let={"v": 5, "w": 6}).modified_count, 1)
    equal(db.vars.delete_many({"$expr": {"$eq": ["$n", "$$v"]}}, let={"v": 6}).deleted_count, 1)


@step
def distinct_and_counts(client, db):
    c = fresh(db, "distinct", [{"_id": i, "k": i % 3, "tags": ["a", "b"] if i else []} for i in range(7)])
    equal(sorted(c.distinct("k")), [0, 1, 2])
    equal(sorted(c.distinct("tags")), ["a", "b"])
    equal(c.distinct("k", {"_id": {"$lt": 2}}), [0, 1])
    equal((c.count_documents({"k": 1}), c.count_documents({}, skip=2, limit=3)), (2, 3))
    equal((c.estimated_document_count(), db.nothing.estimated_document_count()), (7, 0))
    equal(db.command("count", "distinct", query={"k": 0}, limit=2)["n"], 2)


@step
def indexes_are_created_listed_and_dropped(client, db):
    c = fresh(db, "indexed", [{"_id": i, "a": i, "b": i % 5} for i in range(50)])
    equal(c.create_index("a"), "a_1")
    equal(c.create_index([("b", pymongo.DESCENDING), ("a", 1)], name="both"), "both")
    equal(c.create_indexes([IndexModel("c", sparse=True), IndexModel([("d", 1)], unique=True, sparse=True)]), ["c_1", "d_1"])
    equal(c.create_index("a"), "a_1")
    listed = c.index_information()
    equal(listed["_id_"], {"v": 2, "key": [("_id", 1)]})
    equal(listed["both"]["key"], [("b", -1), ("a", 1)])
    equal(listed["c_1"], {"v": 2, "key": [("c", 1)], "sparse": True})
    equal([d["_id"] for d in c.find({"a": 3}).hint("a_1")], [3])
    with raises(errors.OperationFailure, 2):
        c.find_one({"a": 3}, hint="none_1")
    with raises(errors.OperationFailure, 85):
        c.create_index("a", name="other")
    with raises(errors.OperationFailure, 86):
        c.create_index("a", unique=True)
    with raises(errors.OperationFailure, 27):
        c.drop_index("none_1")
    with raises(errors.OperationFailure, 67):
        c.create_index([("a", "wrong")])
    c.drop_index("both")
    c.drop_index([("a", 1)])
    equal(sorted(c.index_information()), ["_id_", "c_1", "d_1"])
    c.drop_indexes()
    equal(list(c.index_information()), ["_id_"])
    with raises(errors.OperationFailure, 72):
        c.drop_index("_id_")


@step
def unique_indexes_refuse_duplicates(client, db):
    c = fresh(db, "unique", [{"_id": 1, "email": "a@x", "n": {"m": 1}}])
    c.create_index("email", unique=True)
    c.create_index([("n.m", 1), ("email", 1)], unique=True)
    with raises(errors.DuplicateKeyError, 11000) as failed:
        c.insert_one({"email": "a@x"})
    details = failed.error.details
    equal((details["keyPattern"], details["keyValue"], details["index"]), ({"email": 1}, {"email": "a@x"}, 0))
    assert re.search(r"^E11000 duplicate key error collection: clients_pymongo\.unique index: email_1 dup key: \{ email: \"a@x\" \}", details["errmsg"]), details
    c.insert_one({"_id": 2, "email": "b@x"})
    with raises(errors.DuplicateKeyError, 11000):
        c.update_one({"_id": 2}, {"$set": {"email": "a@x"}})
    with raises(errors.DuplicateKeyError, 11000) as failed:
        c.find_one_and_update({"_id": 2}, {"$set": {"email": "a@x"}})
    equal(failed.error.details["keyValue"], {"email": "a@x"})
    with raises(errors.DuplicateKeyError, 11000):
        c.insert_one({"_id": 2})
    d = fresh(db, "not_unique", [{"a": 1}, {"a": 1}])
    with raises(errors.DuplicateKeyError, 11000):
        d.create_index("a", unique=True)
    equal(list(d.index_information()), ["_id_"])


@step
def ttl_and_partial_indexes(client, db):
    c = fresh(db, "partial")
    c.create_index("at", expireAfterSeconds=3600)
    c.create_index("code", unique=True, partialFilterExpression={"active": True})
    listed = c.index_information()
    equal(listed["at_1"]["expireAfterSeconds"], 3600)
    equal(listed["code_1"]["partialFilterExpression"], {"active": True})
    c.insert_many([{"code": 1, "active": False}, {"code": 1, "active": False}, {"code": 1, "active": True}])
    with raises(errors.DuplicateKeyError, 11000):
        c.insert_one({"code": 1, "active": True})
    db.command("collMod", "partial", index={"name": "at_1", "expireAfterSeconds": 60})
    equal(c.index_information()["at_1"]["expireAfterSeconds"], 60)


@step
def find_one_and_change(client, db):
    c = fresh(db, "modify", [{"_id": 1, "n": 1, "s": "b"}, {"_id": 2, "n": 2, "s": "a"}])
    after = pymongo.ReturnDocument.AFTER
    equal(c.find_one_and_update({}, {"$inc": {"n": 10}}, sort=[("s", 1)]), {"_id": 2, "n": 2, "s": "a"})
    equal(c.find_one_and_update({"_id": 2}, {"$inc": {"n": 1}}, {"n": 1, "_id": 0}, return_document=after), {"n": 13})
    equal(c.find_one_and_replace({"_id": 1}, {"x": 1}, return_document=after), {"_id": 1, "x": 1})
    equal(c.find_one_and_update({"_id": 3}, {"$set": {"y": 1}}, upsert=True), None)
    equal(c.find_one_and_update({"_id": 4}, {"$set": {"y": 1}}, upsert=True, return_document=after), {"_id": 4, "y": 1})
    equal(c.find_one_and_delete({"_id": 3}), {"_id": 3, "y": 1})
    equal(c.find_one_and_delete({"_id": 3}), None)
    raw = db.command("findAndModify", "modify", query={"_id": 4}, update={"$set": {"y": 2}}, new=True)
    equal((raw["lastErrorObject"], raw["value"]), ({"n": 1, "updatedExisting": True}, {"_id": 4, "y": 2}))
    raw = db.command("findAndModify", "modify", query={"_id": 5}, update={"$set": {"y": 2}}, upsert=True)
    equal(raw["lastErrorObject"], {"n": 1, "updatedExisting": False, "upserted": 5})


@step
def sessions_carry_operations(client, db):
    c = fresh(db, "sessions")
    with client.start_session(causal_consistency=True) as session:
        c.insert_many([{"_id": i} for i in range(300)], session=session)
        equal(c.count_documents({}, session=session), 300)
        equal(len(list(c.find({}, session=session).batch_size(50))), 300)
    with client.start_session() as session:
        equal(c.find_one({"_id": 5}, session=session), {"_id": 5})
    made = client.admin.command("startSession")
    equal(made["timeoutMinutes"], 30)
    equal(client.admin.command("endSessions", [made["id"]])["ok"], 1.0)


@step
def concerns_are_accepted(client, db):
    c = fresh(db, "concerns")
    c.with_options(write_concern=WriteConcern(w="majority", j=True)).insert_one({"_id": 1})
    for level in ("local", "available", "majority", "linearizable"):
        equal(c.with_options(read_concern=ReadConcern(level)).find_one()["_id"], 1)
    silent = c.with_options(write_concern=WriteConcern(w=0))
    assert not silent.insert_one({"_id": 2}).acknowledged
    silent.insert_one({"_id": 2})
    equal(c.count_documents({}), 2)
    with raises(errors.WriteConcernError, 100):
        c.with_options(write_concern=WriteConcern(w=3)).insert_one({"_id": 3})
    equal(c.count_documents({}), 3)
    secondary = c.with_options(read_preference=pymongo.ReadPreference.SECONDARY_PREFERRED)
    equal(secondary.count_documents({}), 3)


@step
def gridfs_stores_files(client, db):
    client.drop_database("clients_files")
    bucket = gridfs.GridFSBucket(client.clients_files, chunk_size_bytes=1000)
    data = os.urandom(12_345)
    number = bucket.upload_from_stream("a.bin", data, metadata={"kind": "noise"})
    bucket.upload_from_stream("a.bin", data[:10])
    equal(bucket.open_download_stream(number).read(), data)
    equal(bucket.open_download_stream_by_name("a.bin", revision=0).read(), data)
    equal(bucket.open_download_stream_by_name("a.bin").read(), data[:10])
    equal(sorted(f.length for f in bucket.find({"filename": "a.bin"})), [10, 12_345])
    bucket.rename(number, "b.bin")
    equal([f.filename for f in bucket.find({"metadata.kind": "noise"})], ["b.bin"])
    bucket.delete(number)
    with raises(gridfs.NoFile):
        bucket.open_download_stream(number)
    equal(client.clients_files["fs.chunks"].count_documents({}), 1)
    names = client.clients_files["fs.chunks"].index_information()
    assert names["files_id_1_n_1"]["unique"]
    client.drop_database("clients_files")


@step
def regular_expressions(client, db):
    c = fresh(db, "regex", [{"_id": 1, "s": "Hello\nworld"}, {"_id": 2, "s": "größe"}, {"_id": 3, "s": "a.b"}])
    ids = lambda query: [d["_id"] for d in c.find(query)]
    equal(ids({"s": re.compile("^hello", re.I)}), [1])
    equal(ids({"s": re.compile("^world", re.M)}), [1])
    equal(ids({"s": re.compile("hello.world", re.I | re.S)}), [1])
    equal(ids({"s": {"$regex": "gr ö ß e", "$options": "x"}}), [2])
    equal(ids({"s": {"$in": [re.compile("^a\\."), "größe"]}}), [2, 3])
    equal(ids({"s": {"$not": re.compile("l")}}), [2, 3])
    equal(ids({"s": {"$regex": Regex("^A", "i")}}), [3])
    c.insert_one({"_id": 4, "r": Regex("a+", "im")})
    equal(c.find_one({"_id": 4})["r"], Regex("a+", "im"))
    with raises(errors.OperationFailure, 51091):
        ids({"s": {"$regex": "("}})
    with raises(errors.OperationFailure, 51108):
        ids({"s": {"$regex": "a", "$options": "q"}})


@step
def values_of_all_types(client, db):
    c = fresh(db, "types")
    at = datetime.datetime(2026, 11, 26, 12, 30, 15, 123000)
    document = {
        "_id": ObjectId(), "double": 1.5, "string": "ünï\0code", "document": {"b": 1, "a": {}}, "array": [1, [2], {}],
        "binary": b"\x00\xff", "subtype": Binary(b"abc", 128), "uuid": Binary.from_uuid(uuid.uuid4()), "true": True,
        "date": at, "null": None, "regex": Regex("^a", "i"), "code": bson.Code("f()"), "int": 1 << 30,
        "timestamp": Timestamp(5, 6), "long": Int64(1 << 40), "decimal": Decimal128("1234567890.123456789"),
        "min": bson.MinKey(), "max": bson.MaxKey(), "nan": Decimal128("NaN"), "inf": float("-inf"),
    }
    c.insert_one(document)
    equal(c.find_one(), document)
    equal(c.find_one({"date": {"$gte": at, "$lt": at + datetime.timedelta(milliseconds=1)}})["_id"], document["_id"])
    equal(c.count_documents({"decimal": {"$gt": 1234567890}}), 1)
    equal(c.count_documents({"binary": b"\x00\xff"}), 1)
    aware = c.with_options(CodecOptions(tz_aware=True)).find_one()["date"]
    equal(aware, at.replace(tzinfo=datetime.timezone.utc))
    for name, kind in [("double", "double"), ("decimal", "decimal"), ("uuid", "binData"), ("timestamp", "timestamp")]:
        equal(c.count_documents({name: {"$type": kind}}), 1)
    early = datetime.datetime(1, 1, 1)
    c.insert_one({"_id": 1, "date": early})
    equal(c.find_one({"_id": 1})["date"], early)
    sums = list(c.aggregate([{"$match": {"int": 1 << 30}}, {"$project": {"_id": 0, "y": {"$year": "$date"}, "d": {"$add": ["$decimal", 1]}}}]))
    equal(sums, [{"y": 2026, "d": Decimal128("1234567891.123456789")}])


@step
def databases_collections_and_indexes_are_listed(client, db):
    for name in ("x1", "x2"):
        fresh(db, name, [{"a": 1}])
    names = db.list_collection_names()
    assert "x1" in names and "x2" in names
    equal(sorted(db.list_collection_names(filter={"name": {"$regex": "^x[12]$"}})), ["x1", "x2"])
    entry = next(iter(db.list_collections(filter={"name": "x1"})))
    equal((entry["name"], entry["type"], entry["options"]), ("x1", "collection", {}))
    assert entry["info"]["readOnly"] is False and entry["info"]["uuid"]
    equal(entry["idIndex"], {"v": 2, "key": {"_id": 1}, "name": "_id_"})
    assert NAME in client.list_database_names()
    sizes = {d["name"]: d for d in client.list_databases()}
    assert sizes[NAME]["sizeOnDisk"] >= 0 and not sizes[NAME]["empty"]
    equal([d["name"] for d in client.list_databases(filter={"name": NAME})], [NAME])
    equal([d["name"] for d in db.x1.list_indexes()], ["_id_"])
    with raises(errors.OperationFailure, 26):
        db.command("listIndexes", "not_there")
    equal(list(db.not_there.list_indexes()), [])


@step
def collections_are_created_renamed_and_dropped(client, db):
    for name in ("old", "new", "taken"):
        db.drop_collection(name)
    db.create_collection("old")
    with raises(errors.CollectionInvalid):
        db.create_collection("old")
    db.command("create", "old")
    db.taken.insert_one({"_id": 1})
    db.old.insert_one({"_id": 2})
    with raises(errors.OperationFailure, 48):
        db.old.rename("taken")
    with raises(errors.OperationFailure, 26):
        db.nothing_here.rename("new")
    db.old.rename("new")
    db.new.rename("taken", dropTarget=True)
    equal(list(db.taken.find()), [{"_id": 2}])
    db.taken.drop()
    db.taken.drop()
    assert "taken" not in db.list_collection_names()
    client.clients_dropped.a.insert_one({})
    client.drop_database("clients_dropped")
    assert "clients_dropped" not in client.list_database_names()
    with raises(errors.OperationFailure, 73):
        db.command("create", "wrong$name")


@step
def explanations_name_the_plan(client, db):
    c = fresh(db, "explained", [{"_id": i, "a": i} for i in range(100)])
    c.create_index("a")
    plan = c.find({"a": {"$gt": 90}}).explain()
    equal(plan["queryPlanner"]["winningPlan"]["stage"], "FETCH")
    equal(plan["queryPlanner"]["winningPlan"]["inputStage"]["stage"], "IXSCAN")
    equal(plan["executionStats"]["nReturned"], 9)
    equal(plan["queryPlanner"]["namespace"], f"{NAME}.explained")
    scan = c.find({"b": 1}).explain()
    equal(scan["queryPlanner"]["winningPlan"]["stage"], "COLLSCAN")
    assert db.command("aggregate", "explained", pipeline=[{"$match": {"a": 1}}], explain=True)["ok"]
    assert db.command("explain", {"update": "explained", "updates": [{"q": {"a": 1}, "u": {"$set": {"b": 1}}}]})["ok"]
    equal(c.count_documents({"b": 1}), 0)


@step
def wrong_commands_are_refused_by_code(client, db):
    with raises(errors.OperationFailure, 59):
        db.command("nonsense")
    with raises(errors.OperationFailure, 14):
        db.command("find", "pets", filter=1)
    with raises(errors.OperationFailure, 40414):
        db.command("insert", "pets")
    with raises(errors.OperationFailure, 2):
        db.pets.find_one({"a": {"$nonsense": 1}})
    with raises(errors.OperationFailure, 13):
        db.command("listDatabases")
    with raises(errors.OperationFailure, 2):
        db.command("find", "pets", maxTimeMS=-1)
    with raises(errors.OperationFailure, 9):
        db.command("aggregate", "pets", pipeline=[])
    with raises(errors.OperationFailure, 73):
        db.command("find", "")


@step
def validators_refuse_documents(client, db):
    db.drop_collection("validated")
    schema = {"$jsonSchema": {"bsonType": "object", "required": ["name"], "properties": {"name": {"bsonType": "string"}}}}
    c = db.create_collection("validated", validator=schema)
    c.insert_one({"name": "rex"})
    with raises(errors.WriteError, 121) as failed:
        c.insert_one({"_id": 5, "name": 7})
    info = failed.error.details["errInfo"]
    equal(info["failingDocumentId"], 5)
    equal(info["details"]["operatorName"], "$jsonSchema")
    with raises(errors.WriteError, 121):
        c.update_one({"name": "rex"}, {"$unset": {"name": 1}})
    with raises(errors.OperationFailure, 121):
        c.find_one_and_update({"name": "rex"}, {"$set": {"name": 1}})
    entry = next(iter(db.list_collections(filter={"name": "validated"})))
    equal(entry["options"]["validator"], schema)
    c.insert_one({"_id": 8, "name": 8}, bypass_document_validation=True)
    c.bulk_write([UpdateOne({"_id": 8}, {"$set": {"name": 9}})], bypass_document_validation=True)
    db.command("collMod", "validated", validator={}, validationLevel="off")
    c.insert_one({"name": 9})


@step
def views_are_read(client, db):
    fresh(db, "base", [{"_id": i, "a": i % 2} for i in range(10)])
    db.drop_collection("odd")
    db.create_collection("odd", viewOn="base", pipeline=[{"$match": {"a": 1}}, {"$project": {"a": 0}}])
    equal([d["_id"] for d in db.odd.find({"_id": {"$gt": 3}}).sort("_id", -1)], [9, 7, 5])
    equal((db.odd.count_documents({}), db.odd.estimated_document_count()), (5, 5))
    equal(sorted(db.odd.distinct("_id")), [1, 3, 5, 7, 9])
    equal(list(db.odd.aggregate([{"$group": {"_id": None, "n": {"$sum": 1}}}])), [{"_id": None, "n": 5}])
    entry = next(iter(db.list_collections(filter={"name": "odd"})))
    equal((entry["type"], entry["options"]["viewOn"], entry["info"]), ("view", "base", {"readOnly": True}))
    with raises(errors.OperationFailure, 166):
        db.odd.insert_one({})
    with raises(errors.OperationFailure, 166):
        db.odd.create_index("a")
    db.odd.drop()
    equal(db.base.count_documents({}), 10)


@step
def collations_compare_text(client, db):
    c = fresh(db, "collated", [{"_id": i, "s": s} for i, s in enumerate(["b", "A", "a", "B", "ä"])])
    second = pymongo.collation.Collation("en", strength=2)
    first = pymongo.collation.Collation("en", strength=1)
    equal([d["_id"] for d in c.find({"s": "a"}).collation(second)], [1, 2])
    equal([d["_id"] for d in c.find({"s": "a"}).collation(first)], [1, 2, 4])
    equal([d["s"] for d in c.find().sort([("s", 1), ("_id", 1)]).collation(second)], ["A", "a", "ä", "b", "B"])
    equal(c.update_many({"s": "A"}, {"$set": {"x": 1}}, collation=second).matched_count, 2)
    equal(c.delete_many({"s": "A"}, collation=second).deleted_count, 2)
    c.create_index("s", collation=second, name="ci")
    assert c.index_information()["ci"]["collation"]["strength"] == 2
    with raises(errors.OperationFailure, 2):
        list(c.find().collation({"locale": "nonsense"}))


@step
def administration(client, db):
    assert db.command("dbStats")["collections"] > 0
    assert db.command("collStats", "types")["count"] == 2
    assert db.validate_collection("types")["valid"]
    status = client.admin.command("serverStatus")
    assert status["opcounters"]["insert"] > 0 and status["connections"]["current"] > 0
    assert client.admin.command("getParameter", "*")["featureCompatibilityVersion"]["version"]
    assert client.admin.command("buildInfo")["bits"] == 64
    assert client.admin.command("getCmdLineOpts")["parsed"]
    assert client.admin.command("connectionStatus")["authInfo"]
    assert "find" in client.admin.command("listCommands")["commands"]
    stats = list(db.types.aggregate([{"$collStats": {"storageStats": {}, "count": {}}}]))[0]
    equal((stats["ns"], stats["count"], stats["storageStats"]["count"]), (f"{NAME}.types", 2, 2))
    used = {d["name"]: d for d in db.types.aggregate([{"$indexStats": {}}])}
    assert "_id_" in used and "accesses" in used["_id_"]


@step
def operations_end_in_time(client, db):
    c = fresh(db, "slow", [{"_id": i} for i in range(3000)])
    join = [{"$lookup": {"from": "slow", "pipeline": [{"$match": {"$expr": {"$gt": ["$_id", -1]}}}, {"$group": {"_id": None, "n": {"$sum": 1}}}], "let": {"x": "$_id"}, "as": "all"}},
            {"$lookup": {"from": "slow", "let": {"x": "$_id"}, "as": "b", "pipeline": [{"$match": {"$expr": {"$eq": ["$$x", {"$add": ["$_id", 0]}]}}}]}}]
    with raises(errors.ExecutionTimeout, 50):
        list(c.aggregate(join, maxTimeMS=30))
    with raises(errors.PyMongoError) as failed, pymongo.timeout(0.3):
        list(c.aggregate(join * 3))
    assert failed.error.timeout
    ended = []

    def wait():
        try:
            list(c.aggregate(join * 3, comment="kill me"))
        except errors.OperationFailure as error:
            ended.append(error.code)

    thread = threading.Thread(target=wait)
    thread.start()
    for _ in range(200):
        running = [op for op in client.admin.aggregate([{"$currentOp": {}}]) if op.get("command", {}).get("comment") == "kill me"]
        if running:
            client.admin.command("killOp", op=running[0]["opid"])
            break
        time.sleep(0.02)
    thread.join(30)
    equal(ended, [11601])


@step
def threads_share_a_client(client, db):
    c = fresh(db, "threads", [{"_id": 0, "n": 0}])

    def count():
        for _ in range(50):
            c.update_one({"_id": 0}, {"$inc": {"n": 1}})

    threads = [threading.Thread(target=count) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    equal(c.find_one()["n"], 400)


def main():
    client = pymongo.MongoClient(os.environ["MONGODB_URI"], serverSelectionTimeoutMS=5000)
    client.drop_database(NAME)
    run(client, client[NAME])


main()
