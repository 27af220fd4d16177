"""MongoDB's database tools, as an administrator uses them: data comes in, is dumped and restored, with its indexes, views,
limits, collations, users and roles."""

import os
import subprocess
import sys
from pathlib import Path

import gridfs
import pymongo

from steps import equal, run, step

TOOLS = Path(sys.argv[1])
SCRATCH = Path(os.environ["SCRATCH"])
ADDRESS = os.environ["MONGODB_URI"].split("//")[1].split("/")[0]
LOGIN = ["--host", ADDRESS, "-u", "root", "-p", "secret", "--authenticationDatabase", "admin"]


def tool(name, *arguments, login=LOGIN):
    """Runs a tool; returns what it prints on standard output and on standard error."""
    words = [TOOLS / name, *login, *arguments]
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{name} {' '.join(map(str, arguments))}: {done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


def client(user="root", password="secret", db="admin"):
    return pymongo.MongoClient(f"mongodb://{user}:{password}@{ADDRESS}/{db}")


def described(db):
    """What a restore has to bring back."""
    collections = {}
    for found in db.list_collections():
        name, options = found["name"], found["options"]
        if name.startswith("system."):
            continue
        indexes = {} if found["type"] == "view" else db[name].index_information()
        collections[name] = (found["type"], options, indexes, sorted(map(str, db[name].find())))
    return collections


@step
def everything_is_there(state):
    open_client = pymongo.MongoClient(os.environ["MONGODB_URI"])
    open_client.admin.command("createUser", "root", pwd="secret", roles=["root"])
    state["client"] = client()
    shop = state["client"].shop
    shop.pets.insert_many([{"_id": number, "name": f"pet {number}", "age": number / 2} for number in range(3000)])
    shop.pets.create_index("name", unique=True)
    shop.pets.create_index([("age", -1)], expireAfterSeconds=1_000_000_000)
    shop.pets.create_index("age", partialFilterExpression={"age": {"$gt": 5}}, name="old")
    shop.create_collection("limited", capped=True, size=100_000, max=10)
    shop.limited.insert_many([{"_id": number} for number in (3, 1, 2)])
    shop.create_collection("young", viewOn="pets", pipeline=[{"$match": {"age": {"$lt": 2}}}])
    shop.create_collection("words", collation={"locale": "en", "strength": 2})
    shop.words.insert_one({"_id": "A"})
    shop.create_collection("checked", validator={"n": {"$gte": 0}})
    shop.command("createRole", "looker", roles=["read"], privileges=[])
    shop.command("createUser", "one", pwd="1", roles=["looker", "readWrite"])
    gridfs.GridFS(shop).put(b"many bytes " * 100_000, filename="file", _id=1)
    state["shop"] = described(shop)


@step
def a_dump_of_a_database_is_restored_with_its_users(state):
    tool("mongodump", "--db", "shop", "--dumpDbUsersAndRoles", "--out", SCRATCH / "dump")
    shop = state["client"].shop
    shop.command("dropAllUsersFromDatabase")
    shop.command("dropAllRolesFromDatabase")
    shop.client.drop_database("shop")
    tool("mongorestore", "--restoreDbUsersAndRoles", "--db", "shop", SCRATCH / "dump" / "shop")
    equal(described(shop), state["shop"])
    equal(client("one", "1", "shop").shop.pets.count_documents({}), 3000)


@step
def a_compressed_dump_of_all_replaces_what_is_there(state):
    tool("mongodump", "--gzip", "--out", SCRATCH / "all")
    shop = state["client"].shop
    shop.pets.delete_many({"age": {"$gt": 5}})
    shop.command("createUser", "later", pwd="2", roles=[])
    tool("mongorestore", "--gzip", "--drop", SCRATCH / "all")
    equal(described(shop), state["shop"])
    equal([user["user"] for user in client().shop.command("usersInfo")["users"]], ["one"])


@step
def an_archive_is_restored_under_another_name(state):
    archive = SCRATCH / "archive"
    tool("mongodump", "--db", "shop", f"--archive={archive}")
    tool("mongorestore", f"--archive={archive}", "--nsFrom", "shop.*", "--nsTo", "copy.*")
    copy = described(client().copy)
    equal(copy.keys(), state["shop"].keys())
    equal(copy["pets"], state["shop"]["pets"])


@step
def documents_are_imported_and_exported(_):
    lines = SCRATCH / "lines.json"
    lines.write_text("".join(f'{{"_id": {number}, "n": {{"$numberLong": "{number}"}}}}\n' for number in range(500)))
    _, log = tool("mongoimport", "--db", "in", "--collection", "lines", lines)
    assert "500 document(s) imported successfully" in log, log
    tool("mongoimport", "--db", "in", "--collection", "lines", "--mode", "upsert", lines)
    equal(client()["in"].lines.count_documents({}), 500)
    table = SCRATCH / "table.csv"
    table.write_text("a,b\n1,x\n2,y\n")
    tool("mongoimport", "--db", "in", "--collection", "table", "--type", "csv", "--headerline", "--drop", table)
    out, _ = tool("mongoexport", "--db", "in", "--collection", "table", "--type", "csv", "--fields", "a,b", "--sort", '{"a": -1}')
    equal(out, "a,b\n2,y\n1,x\n")
    out, _ = tool("mongoexport", "--db", "in", "--collection", "lines", "--query", '{"_id": {"$lt": 1}}')
    equal(out, '{"_id":0,"n":0}\n')


@step
def files_are_stored_and_fetched(_):
    content = SCRATCH / "content"
    content.write_bytes(os.urandom(600_000))
    tool("mongofiles", "--db", "shop", "put", content)
    out, _ = tool("mongofiles", "--db", "shop", "list")
    assert str(content) in out, out
    tool("mongofiles", "--db", "shop", "get", content, "--local", SCRATCH / "fetched")
    equal((SCRATCH / "fetched").read_bytes(), content.read_bytes())


@step
def a_running_server_is_watched(_):
    out, _ = tool("mongostat", "--rowcount", "2", "--json")
    equal(len(out.splitlines()), 2)
    out, _ = tool("mongotop", "--rowcount", "1", "--json")
    assert "shop.pets" in out, out


@step
def a_wrong_password_is_refused(_):
    try:
        tool("mongodump", "--out", SCRATCH / "none", login=["--host", ADDRESS, "-u", "root", "-p", "wrong"])
    except AssertionError as error:
        assert "AuthenticationFailed" in str(error) or "Authentication failed" in str(error), error
    else:
        raise AssertionError("the dump was not refused")


if __name__ == "__main__":
    run({})
