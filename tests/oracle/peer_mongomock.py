"""Runs a case of this folder on mongomock."""

import copy
import re
import warnings

import mongomock

warnings.simplefilter("ignore")

# Messages that name an operator which mongomock lacks.
LACKS = re.compile(
    r"'?(\$\w+)'? is (?:a|not a) valid|(?:Although|although) '?(\S+?)'? is|Using the (\$\w+) operator with dots|Unrecognized expression '(\$\w+)'"
    r"|unknown operator: (\$\w+)|field names cannot start with \$ \[(\$\w+)\]|is not a valid (\$type)"
)


def run(case):
    """The answer of mongomock: {"result": documents}, {"lacks": operator} or {"error": text}."""
    case = copy.deepcopy(case)
    db = mongomock.MongoClient().db
    try:
        for name, field in (("c", "docs"), ("d", "other")):
            if case.get(field):
                db[name].insert_many(case[field])
        if "pipeline" in case:
            return {"result": list(db.c.aggregate(case["pipeline"]))}
        if "update" in case:
            db.c.update_one(case["filter"], case["update"])
            return {"result": list(db.c.find({}).sort("_id", 1))}
        found = db.c.find(case["filter"], case.get("projection"))
        return {"result": list(found.sort("_id", 1))}
    except Exception as error:  # Any exception is its answer.
        match = LACKS.search(str(error))
        if match:
            return {"lacks": next(group for group in match.groups() if group)}
        return {"error": f"{type(error).__name__}: {error}"}
