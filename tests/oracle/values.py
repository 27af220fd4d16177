"""Extended JSON, and the comparison of results."""

import datetime
import math

EPOCH = datetime.datetime(1970, 1, 1)
MISSING = object()


def encode(value):
    """A value of a case as Extended JSON."""
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return {"$numberDouble": repr(value)}
    if isinstance(value, datetime.datetime):
        return {"$date": {"$numberLong": str((value - EPOCH) // datetime.timedelta(milliseconds=1))}}
    if isinstance(value, dict):
        return {name: encode(inner) for name, inner in value.items()}
    return [encode(inner) for inner in value]


def number(value):
    """Numbers are the same if they agree to ten digits; their types do not count."""
    if math.isnan(value) or math.isinf(value):
        return ("number", str(value))
    return ("number", float(f"{float(value):.10g}") + 0.0)


def plain(value):
    """A result in the form that is compared: of Extended JSON, or of Python's types."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, datetime.datetime):
        return ("date", str((value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(milliseconds=1)))
    if isinstance(value, dict):
        if len(value) == 1:
            (name, inner), = value.items()
            if name in ("$numberInt", "$numberLong", "$numberDouble", "$numberDecimal"):
                return number(float(inner))
            if name == "$date":
                return ("date", inner["$numberLong"])
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(inner) for inner in value]
    try:
        return number(float(str(value)))
    except ValueError:
        return ("other", str(value))


def order(value):
    """A sort key for results without an order."""
    return repr(value)


def sorted_arrays(value):
    """The value with all its arrays sorted."""
    if isinstance(value, dict):
        return {name: sorted_arrays(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return sorted((sorted_arrays(inner) for inner in value), key=order)
    return value


def kind(value):
    """The name of a value's type in the table of disagreements."""
    if value is MISSING:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "expression" if any(name.startswith("$") for name in value) else "object"
    if isinstance(value, list):
        return "array"
    return value[0]


def difference(ours, theirs):
    """The types at the first place where results differ; None if they are the same.

    The order of fields does not count: neither peer keeps it.
    """
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in {**ours, **theirs}:
            found = difference(ours.get(name, MISSING), theirs.get(name, MISSING))
            if found:
                return found
        return None
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return ("more", "fewer") if len(ours) > len(theirs) else ("fewer", "more")
        for one, other in zip(ours, theirs):
            found = difference(one, other)
            if found:
                return found
        return None
    if ours is MISSING or theirs is MISSING or ours != theirs:
        return (kind(ours), kind(theirs))
    return None
