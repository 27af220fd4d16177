"""Transactions and causally consistent sessions with pymongo: steps of pymongo_sync.py."""

import threading

from pymongo import InsertOne, UpdateOne, errors
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern
from steps import equal, fresh, raises, step


class Stop(Exception):
    """An error of the program itself."""


def both(client, db):
    """Two collections of one database, and one of another."""
    other = client[f"{db.name}_other"]
    return fresh(db, "moved", [{"_id": 1, "n": 10}]), fresh(db, "moves"), fresh(other, "moved", [{"_id": 1, "n": 0}])


@step
def transactions_commit_in_two_databases(client, db):
    a, moves, b = both(client, db)

    def move(session):
        a.update_one({"_id": 1}, {"$inc": {"n": -3}}, session=session)
        b.update_one({"_id": 1}, {"$inc": {"n": 3}}, session=session)
        return moves.insert_one({"_id": "first"}, session=session).inserted_id

    with client.start_session() as session:
        equal(session.with_transaction(move), "first")
        assert not session.in_transaction
        with session.start_transaction(read_concern=ReadConcern("snapshot"), write_concern=WriteConcern("majority")):
            done = a.bulk_write([InsertOne({"_id": 2}), UpdateOne({"_id": 1}, {"$inc": {"n": -1}})], session=session)
            equal((done.inserted_count, done.modified_count), (1, 1))
            b.find_one_and_update({"_id": 2}, {"$set": {"n": 1}}, upsert=True, session=session)
            client.bulk_write([InsertOne({"_id": "second"}, namespace=f"{db.name}.moves")], session=session)
        session.commit_transaction()
    equal([a.find_one()["n"], b.find_one()["n"]], [6, 3])
    equal([c.count_documents({}) for c in (a, b, moves)], [2, 2, 2])
    client.drop_database(f"{db.name}_other")


@step
def transactions_abort_at_an_exception(client, db):
    a, moves, b = both(client, db)

    def move(session):
        a.update_one({"_id": 1}, {"$inc": {"n": -3}}, session=session)
        b.delete_many({}, session=session)
        moves.insert_many([{"_id": i} for i in range(100)], session=session)
        raise Stop

    with client.start_session() as session:
        with raises(Stop):
            session.with_transaction(move)
        with raises(Stop), session.start_transaction():
            move(session)
        session.start_transaction()
        db.made_and_aborted.insert_one({}, session=session)
        session.abort_transaction()
        with raises(errors.InvalidOperation):
            session.commit_transaction()
    equal([a.find_one()["n"], b.find_one()["n"], moves.count_documents({})], [10, 0, 0])
    assert "made_and_aborted" not in db.list_collection_names()
    client.drop_database(f"{db.name}_other")


@step
def transactions_are_repeated_until_they_commit(client, db):
    c = fresh(db, "counters", [{"_id": 0, "n": 0}])
    failed = []

    def increment(session):
        n = c.find_one({"_id": 0}, session=session)["n"]
        c.update_one({"_id": 0}, {"$set": {"n": n + 1}}, session=session)

    def count():
        try:
            with client.start_session() as session:
                for _ in range(10):
                    session.with_transaction(increment)
        except errors.PyMongoError as error:
            failed.append(error)

    threads = [threading.Thread(target=count) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    equal((failed, c.find_one()["n"]), ([], 80))


@step
def conflicts_of_transactions_have_a_label(client, db):
    c = fresh(db, "conflicts", [{"_id": 1, "n": 0}])
    with client.start_session() as one, client.start_session() as two:
        one.start_transaction()
        two.start_transaction()
        c.update_one({"_id": 1}, {"$inc": {"n": 1}}, session=one)
        with raises(errors.OperationFailure, 112) as failed:
            c.update_one({"_id": 1}, {"$inc": {"n": 1}}, session=two)
        assert failed.error.has_error_label("TransientTransactionError")
        with raises(errors.OperationFailure, 251) as failed:
            c.find_one({}, session=two)
        assert failed.error.has_error_label("TransientTransactionError")
        two.abort_transaction()
        one.commit_transaction()
    equal(c.find_one(), {"_id": 1, "n": 1})


@step
def transactions_read_their_own_writes(client, db):
    c = fresh(db, "own", [{"_id": i, "k": i % 2} for i in range(10)])
    c.create_index("k")
    with client.start_session() as session, session.start_transaction():
        c.insert_one({"_id": 10, "k": 1}, session=session)
        c.delete_one({"_id": 1}, session=session)
        c.update_one({"_id": 0}, {"$set": {"k": 1}}, session=session)
        c.insert_one({"_id": 11, "k": 1})
        inside, outside = [0, 3, 5, 7, 9, 10], [1, 3, 5, 7, 9, 11]
        equal([d["_id"] for d in c.find({"k": 1}, session=session).sort("_id")], inside)
        equal([d["_id"] for d in c.find({"k": 1}).sort("_id")], outside)
        equal((c.count_documents({"k": 1}, session=session), c.count_documents({"k": 0}, session=session)), (6, 4))
        equal(c.distinct("_id", {"k": 1}, session=session), inside)
        totals = [{"$group": {"_id": "$k", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]
        equal(c.aggregate(totals, session=session).to_list(), [{"_id": 0, "n": 4}, {"_id": 1, "n": 6}])
        equal(c.aggregate(totals).to_list(), [{"_id": 0, "n": 5}, {"_id": 1, "n": 6}])
    equal([d["_id"] for d in c.find({"k": 1}).sort("_id")], [0, 3, 5, 7, 9, 10, 11])


@step
def cursors_of_transactions_fetch_batches(client, db):
    c = fresh(db, "batches_within", [{"_id": i} for i in range(300)])
    with client.start_session() as session, session.start_transaction():
        c.insert_many([{"_id": i} for i in range(300, 400)], session=session)
        cursor = c.find({}, batch_size=30, session=session)
        first = next(cursor)
        c.delete_many({"_id": {"$gte": 100, "$lt": 200}})
        c.insert_one({"_id": 1000})
        equal([first["_id"]] + [d["_id"] for d in cursor], list(range(400)))
        stages = [{"$match": {"_id": {"$gte": 0}}}]
        equal(len(c.aggregate(stages, batchSize=7, session=session).to_list()), 400)
    equal(c.count_documents({}), 301)


@step
def duplicates_abort_transactions(client, db):
    c = fresh(db, "unique_within", [{"_id": 1, "email": "a"}])
    c.create_index("email", unique=True)
    with client.start_session() as session:
        session.start_transaction()
        c.insert_one({"_id": 2, "email": "b"}, session=session)
        with raises(errors.DuplicateKeyError, 11000) as failed:
            c.insert_one({"_id": 3, "email": "a"}, session=session)
        equal(failed.error.details["keyValue"], {"email": "a"})
        assert not failed.error.has_error_label("TransientTransactionError")
        with raises(errors.OperationFailure, 251):
            c.insert_one({"_id": 4, "email": "d"}, session=session)
        session.abort_transaction()
        with raises(errors.BulkWriteError, 65):
            session.with_transaction(lambda session: c.insert_many([{"email": "e"}, {"email": "e"}], session=session))
    equal(list(c.find()), [{"_id": 1, "email": "a"}])


@step
def sessions_are_causally_consistent(client, db):
    c = fresh(db, "causal")
    with client.start_session() as one, client.start_session(causal_consistency=True) as two:
        c.insert_one({"_id": 1}, session=one)
        assert one.operation_time and one.cluster_time
        two.advance_cluster_time(one.cluster_time)
        two.advance_operation_time(one.operation_time)
        equal(c.find_one({}, session=two), {"_id": 1})
        with two.start_transaction():
            equal(c.find_one({}, session=two), {"_id": 1})
            c.insert_one({"_id": 2}, session=two)
        assert two.operation_time > one.operation_time
        one.advance_operation_time(two.operation_time)
        equal(c.with_options(read_concern=ReadConcern("majority")).count_documents({}, session=one), 2)
