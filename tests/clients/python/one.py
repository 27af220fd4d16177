"""Inserts one document: `one.py URI ID`."""

import sys

import pymongo

uri, name = sys.argv[1:]
with pymongo.MongoClient(uri) as client:
    client.addresses.seen.insert_one({"_id": name})
