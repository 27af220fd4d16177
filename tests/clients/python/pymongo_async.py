"""What programs with pymongo's asynchronous client do."""

import asyncio
import os
import re

import gridfs
import pymongo
from bson import Decimal128, ObjectId
from pymongo import AsyncMongoClient, DeleteOne, InsertOne, UpdateOne, errors
from steps import equal, raises, run_async, step

NAME = "clients_async"


async def fresh(db, name, documents=()):
    """An empty collection, or one with these documents."""
    await db[name].drop()
    if documents:
        await db[name].insert_many(documents)
    return db[name]


@step
async def documents_are_written_and_read(client, db):
    pets = await fresh(db, "pets")
    made = await pets.insert_one({"name": "rex"})
    assert isinstance(made.inserted_id, ObjectId)
    equal((await pets.find_one({"name": "rex"}))["_id"], made.inserted_id)
    equal((await pets.update_one({"name": "rex"}, {"$set": {"age": 1}})).modified_count, 1)
    equal((await pets.replace_one({"name": "tom"}, {"name": "tom"}, upsert=True)).matched_count, 0)
    equal((await pets.delete_many({})).deleted_count, 2)


@step
async def many_documents_are_read_in_batches(client, db):
    c = await fresh(db, "many", [{"_id": i, "even": i % 2 == 0} for i in range(1000)])
    equal([d["_id"] async for d in c.find({"even": True}, batch_size=7).sort("_id", -1).limit(20)], list(range(998, 958, -2)))
    cursor = c.find(batch_size=10)
    async for _ in cursor:
        break
    await cursor.close()
    equal(len(await c.find().to_list()), 1000)
    equal(await c.count_documents({"even": False}), 500)
    equal(await c.estimated_document_count(), 1000)


@step
async def tasks_share_a_client(client, db):
    c = await fresh(db, "tasks", [{"_id": 0, "n": 0}])
    await asyncio.gather(*(c.update_one({"_id": 0}, {"$inc": {"n": 1}}) for _ in range(200)))
    equal((await c.find_one())["n"], 200)


@step
async def bulk_writes(client, db):
    c = await fresh(db, "bulk")
    done = await c.bulk_write([InsertOne({"_id": 1}), UpdateOne({"_id": 2}, {"$set": {"a": 1}}, upsert=True), DeleteOne({"_id": 1})])
    equal((done.inserted_count, done.upserted_ids, done.deleted_count), (1, {1: 2}, 1))
    with raises(errors.BulkWriteError, 65):
        await c.insert_many([{"_id": 2}])
    done = await client.bulk_write([InsertOne({"_id": 7}, namespace=f"{NAME}.bulk")])
    equal(done.inserted_count, 1)


@step
async def aggregation(client, db):
    c = await fresh(db, "sums", [{"k": i % 3, "v": i} for i in range(9)])
    cursor = await c.aggregate([{"$group": {"_id": "$k", "sum": {"$sum": "$v"}}}, {"$sort": {"_id": 1}}])
    equal(await cursor.to_list(), [{"_id": 0, "sum": 9}, {"_id": 1, "sum": 12}, {"_id": 2, "sum": 15}])
    await c.aggregate([{"$out": "copied"}])
    equal(await db.copied.count_documents({}), 9)
    equal(sorted(await c.distinct("k")), [0, 1, 2])


@step
async def indexes_and_duplicates(client, db):
    c = await fresh(db, "unique")
    equal(await c.create_index("email", unique=True), "email_1")
    await c.insert_one({"email": "a"})
    with raises(errors.DuplicateKeyError, 11000) as failed:
        await c.insert_one({"email": "a"})
    equal(failed.error.details["keyValue"], {"email": "a"})
    equal(sorted(await c.index_information()), ["_id_", "email_1"])
    await c.drop_index("email_1")


@step
async def find_one_and_change(client, db):
    c = await fresh(db, "modify", [{"_id": 1, "n": 1}])
    equal(await c.find_one_and_update({}, {"$inc": {"n": 1}}, return_document=pymongo.ReturnDocument.AFTER), {"_id": 1, "n": 2})
    equal(await c.find_one_and_delete({"_id": 1}), {"_id": 1, "n": 2})


@step
async def sessions_and_transactions(client, db):
    c = await fresh(db, "sessions", [{"_id": 1}])
    async with client.start_session() as session:
        equal(await c.find_one({}, session=session), {"_id": 1})
        with raises(errors.OperationFailure, 20):
            async with await session.start_transaction():
                await c.insert_one({}, session=session)


@step
async def files(client, db):
    bucket = gridfs.AsyncGridFSBucket(db, chunk_size_bytes=100)
    number = await bucket.upload_from_stream("a", b"x" * 1234)
    stream = await bucket.open_download_stream(number)
    equal(await stream.read(), b"x" * 1234)
    await bucket.delete(number)


@step
async def values(client, db):
    c = await fresh(db, "values", [{"_id": 1, "d": Decimal128("1.10"), "s": "Abc"}])
    equal(await c.find_one({"s": re.compile("^a", re.I)}), {"_id": 1, "d": Decimal128("1.10"), "s": "Abc"})


@step
async def lists_and_errors(client, db):
    assert NAME in await client.list_database_names()
    assert "values" in await db.list_collection_names()
    with raises(errors.OperationFailure, 59):
        await db.command("nonsense")
    await db.drop_collection("values")
    equal(await db.values.find_one(), None)
    await client.drop_database(NAME)


async def main():
    client = AsyncMongoClient(os.environ["MONGODB_URI"], serverSelectionTimeoutMS=5000)
    await run_async(client, client[NAME])


asyncio.run(main())
