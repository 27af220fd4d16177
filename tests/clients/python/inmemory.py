"""pymongo_inmemory starts the program in place of mongod."""

import os
import socket

from steps import equal, raises, run, step

os.environ["PATH"] = os.path.dirname(os.environ["MONGOD"]) + os.pathsep + os.environ["PATH"]
os.environ["PYMONGOIM__USE_LOCAL_MONGOD"] = "True"
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    os.environ["PYMONGOIM__MONGOD_PORT"] = str(free.getsockname()[1])
os.chdir(os.environ["SCRATCH"])

import pymongo  # noqa: E402
import pymongo_inmemory  # noqa: E402


@step
def a_client_has_a_server_of_its_own():
    with pymongo_inmemory.MongoClient() as client:
        pets = client.app.pets
        pets.insert_many([{"_id": 1}, {"_id": 2}])
        equal(pets.count_documents({}), 2)
        with raises(pymongo.errors.DuplicateKeyError, 11000):
            pets.insert_one({"_id": 1})


@step
def the_next_one_is_empty():
    with pymongo_inmemory.MongoClient() as client:
        equal(client.app.pets.count_documents({}), 0)


run()
