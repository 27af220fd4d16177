"""Counts steps: functions that return if all is well, and raise if not."""

import inspect
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
steps = []


def step(function):
    """Adds a step, by its name."""
    steps.append(function)
    return function


def _report(function, error):
    if error is not None:
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(HERE)]
        place = [frame.lineno for frame in own if not frame.filename.endswith("steps.py")][-1:]
        print(f"FAILED {function.__name__}, line {place}: {type(error).__name__}: {error}")
    return error is None


def _end(results):
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


def run(*arguments):
    """Runs all steps, each whatever the others did, and ends the program."""
    results = []
    for function in steps:
        error = None
        try:
            function(*arguments)
        except Exception as caught:
            error = caught
        results.append(_report(function, error))
    _end(results)


async def run_async(*arguments):
    """As `run`, for coroutines."""
    results = []
    for function in steps:
        error = None
        try:
            done = function(*arguments)
            if inspect.isawaitable(done):
                await done
        except Exception as caught:
            error = caught
        results.append(_report(function, error))
    _end(results)


def fresh(db, name, documents=()):
    """An empty collection of a synchronous client, or one with these documents."""
    db[name].drop()
    if documents:
        db[name].insert_many(documents)
    return db[name]


def equal(found, expected):
    """Fails unless two values are equal."""
    assert found == expected, f"found {found!r}, expected {expected!r}"


class raises:
    """A block that has to raise an error, with this code if it is an error of the server."""

    def __init__(self, kind, code=None):
        self.kind, self.code, self.error = kind, code, None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        assert error is not None, f"no error, expected {self.kind.__name__} {self.code}"
        if not isinstance(error, self.kind):
            return False
        self.error = error
        if self.code is not None:
            equal(getattr(error, "code", None), self.code)
        return True
