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


class Stop(Exception):
    """An error of the program itself."""


@step
async def transactions_commit_in_two_databases(client, db):
    a, b = await fresh(db, "moved", [{"_id": 1, "n": 10}]), await fresh(db, "moves")
    c = await fresh(client[f"{NAME}_other"], "moved")

    async def move(session):
        await a.update_one({"_id": 1}, {"$inc": {"n": -3}}, session=session)
        await b.insert_one({"_id": "first"}, session=session)
        return (await c.insert_one({"_id": 1, "n": 3}, session=session)).inserted_id

    async with client.start_session() as session:
        equal(await session.with_transaction(move), 1)
        async with await session.start_transaction():
            await a.bulk_write([InsertOne({"_id": 2}), DeleteOne({"_id": 1})], session=session)
            await c.find_one_and_delete({"_id": 1}, session=session)
    equal([await found.find().to_list() for found in (a, b, c)], [[{"_id": 2}], [{"_id": "first"}], []])
    await client.drop_database(f"{NAME}_other")


@step
async def transactions_abort_at_an_exception(client, db):
    c = await fresh(db, "aborted", [{"_id": 1}])

    async def change(session):
        await c.update_one({"_id": 1}, {"$set": {"a": 1}}, session=session)
        await c.insert_many([{"_id": i} for i in range(2, 100)], session=session)
        raise Stop

    async with client.start_session() as session:
        with raises(Stop):
            await session.with_transaction(change)
        with raises(Stop):
            async with await session.start_transaction():
                await change(session)
    equal(await c.find().to_list(), [{"_id": 1}])


@step
async def transactions_are_repeated_until_they_commit(client, db):
    c = await fresh(db, "counters", [{"_id": 0, "n": 0}])

    async def increment(session):
        n = (await c.find_one({"_id": 0}, session=session))["n"]
        await c.update_one({"_id": 0}, {"$set": {"n": n + 1}}, session=session)

    async def count():
        async with client.start_session() as session:
            for _ in range(10):
                await session.with_transaction(increment)

    await asyncio.gather(*(count() for _ in range(8)))
    equal((await c.find_one())["n"], 80)


@step
async def conflicts_of_transactions_have_a_label(client, db):
    c = await fresh(db, "conflicts", [{"_id": 1, "n": 0}])
    async with client.start_session() as one, client.start_session() as two:
        await one.start_transaction()
        await two.start_transaction()
        await c.update_one({"_id": 1}, {"$inc": {"n": 1}}, session=one)
        with raises(errors.OperationFailure, 112) as failed:
            await c.delete_one({"_id": 1}, session=two)
        assert failed.error.has_error_label("TransientTransactionError")
        await two.abort_transaction()
        await one.commit_transaction()
    equal(await c.find_one(), {"_id": 1, "n": 1})


@step
async def transactions_read_their_own_writes(client, db):
    c = await fresh(db, "own", [{"_id": i} for i in range(100)])
    async with client.start_session() as session, await session.start_transaction():
        await c.insert_many([{"_id": i} for i in range(100, 150)], session=session)
        await c.delete_one({"_id": 0}, session=session)
        cursor = c.find({}, batch_size=20, session=session)
        first = await anext(cursor)
        await c.insert_one({"_id": 1000})
        equal([first["_id"]] + [d["_id"] async for d in cursor], list(range(1, 150)))
        equal([await c.count_documents({}, session=session), await c.count_documents({})], [149, 101])
    equal(await c.count_documents({}), 150)


@step
async def duplicates_abort_transactions(client, db):
    c = await fresh(db, "unique_within", [{"_id": 1, "email": "a"}])
    await c.create_index("email", unique=True)
    async with client.start_session() as session:
        await session.start_transaction()
        await c.insert_one({"_id": 2, "email": "b"}, session=session)
        with raises(errors.DuplicateKeyError, 11000):
            await c.insert_one({"_id": 3, "email": "a"}, session=session)
        with raises(errors.OperationFailure, 251):
            await c.insert_one({"_id": 4, "email": "d"}, session=session)
        await session.abort_transaction()
    equal(await c.find().to_list(), [{"_id": 1, "email": "a"}])


@step
async def sessions_are_causally_consistent(client, db):
    c = await fresh(db, "causal")
    async with client.start_session(causal_consistency=True) as one, client.start_session() as two:
        await c.insert_one({"_id": 1}, session=one)
        two.advance_cluster_time(one.cluster_time)
        two.advance_operation_time(one.operation_time)
        equal(await c.find_one({}, session=two), {"_id": 1})
        async with await two.start_transaction():
            await c.insert_one({"_id": 2}, session=two)
        assert two.operation_time > one.operation_time


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
