"""Compares Alluvium with mingo and mongomock on random cases: see `run`."""

import argparse
import collections
import itertools
import json
import pathlib
import random
import re
import select
import signal
import subprocess
import sys

import peer_mongomock
from cases import Cases
from values import difference, encode, plain, sorted_arrays

HERE = pathlib.Path(__file__).parent
# Stages whose results have no order, and operators whose arrays have none.
UNORDERED = {"$group", "$sortByCount", "$unionWith", "$sample", "$facet", "$setWindowFields", "$fill", "$densify"}
SETS = {"$addToSet", "$setUnion", "$setIntersection", "$setDifference", "$lookup", "$graphLookup", "$facet"}

# An exception of the peer's language, which is no answer.
CRASH = re.compile(
    r"^(TypeError|AttributeError|KeyError|IndexError|ValueError|AssertionError|TimeoutError|InvalidDocument)\b"
    r"|^no answer|Cannot read prop|is not a function|is not iterable|Cannot convert|Cannot destructure|Maximum call stack|BigInt"
)


def keywords(value):
    """The keywords in a case."""
    if isinstance(value, dict):
        return {name for name in value if name.startswith("$")}.union(*map(keywords, value.values()))
    if isinstance(value, list):
        return set().union(*map(keywords, value))
    return set()


def query(case):
    return {name: case[name] for name in ("pipeline", "filter", "projection", "update") if name in case}


class Engine:
    """A program that reads a case per line and prints an answer per line, each within some seconds."""

    def __init__(self, *command):
        self.command = command
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, case):
        self.process.stdin.write(json.dumps(encode(case)) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], 1)
        answer = self.process.stdout.readline() if ready else ""
        if answer:
            return json.loads(answer)
        self.process.kill()
        self.process.wait()
        self.start()
        return {"error": "no answer", "code": {"$numberInt": "-1"}}


class Mongomock:
    """Mongomock runs in this process, at most a second for each case."""

    def __init__(self):
        def late(_signal, _frame):
            raise TimeoutError("more than a second")

        signal.signal(signal.SIGALRM, late)

    def run(self, case):
        signal.setitimer(signal.ITIMER_REAL, 1)
        try:
            return peer_mongomock.run(case)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def results(answer, words):
    documents = plain(answer["result"])
    if words & SETS:
        return sorted_arrays(documents)
    if words & UNORDERED:
        return sorted(documents, key=lambda document: repr(sorted(document.items(), key=repr)) if isinstance(document, dict) else repr(document))
    return documents


def compare(ours, theirs, words):
    """The outcomes of a disagreement, or None."""
    if "lacks" in theirs or ("error" in ours and "error" in theirs):
        return None
    if "error" in ours:
        return ("error " + ours["code"]["$numberInt"], "value")
    if "error" in theirs:
        return ("value", "crash" if CRASH.search(theirs["error"]) else "error")
    try:
        return difference(results(ours, words), results(theirs, words))
    except RecursionError:
        return ("value", "other")


def smaller(value):
    """Smaller forms of a part of a query."""
    if isinstance(value, dict):
        for name in value:
            # Without these, the results have no order, or no end.
            if len(value) > 1 and name not in ("_id", "bounds", "step"):
                yield {other: inner for other, inner in value.items() if other != name}
        for name, inner in value.items():
            if name.startswith("$"):
                yield inner
                if isinstance(inner, (list, dict)):
                    yield from (inner.values() if isinstance(inner, dict) else inner)
            for less in smaller(inner):
                yield {**value, name: less}
    elif isinstance(value, list):
        for at in range(len(value)):
            yield value[:at] + value[at + 1:]
        for at, inner in enumerate(value):
            for less in smaller(inner):
                yield value[:at] + [less] + value[at + 1:]


def smaller_cases(case):
    for field in ("docs", "other"):
        documents = case.get(field, [])
        for at, document in enumerate(documents):
            yield {**case, field: documents[:at] + documents[at + 1:]}
            for name in document:
                if name != "_id":
                    less = {other: inner for other, inner in document.items() if other != name}
                    yield {**case, field: documents[:at] + [less] + documents[at + 1:]}
    for name, inner in query(case).items():
        for less in smaller(inner):
            if isinstance(less, type(inner)):
                yield {**case, name: less}


class Row:
    """A row of the table of disagreements."""

    def __init__(self, cells):
        self.peer, words, self.ours, self.theirs, self.right, self.page, self.what = (cell.strip().strip("`") for cell in cells)
        # Any of the alternatives, of which each is one keyword or several joined by a plus sign.
        self.words = [set(part.strip(" `").split("+")) for part in words.split(",")]
        self.used = 0

    def matches(self, peer, words, outcomes):
        return (
            self.peer in (peer, "both")
            and any(part == {"*"} or (not words if part == {""} else part <= words) for part in self.words)
            and self.fits(self.ours, outcomes[0])
            and self.fits(self.theirs, outcomes[1])
        )

    @staticmethod
    def fits(cell, outcome):
        return any(re.fullmatch(part.strip().replace("*", ".*"), outcome) for part in cell.split(" or "))


def table():
    """The rows of the table, and the keywords that each peer lacks."""
    rows, lacks = [], collections.defaultdict(set)
    for line in (HERE / "DISAGREEMENTS.md").read_text().splitlines():
        cells = line.strip("|").split("|")
        if line.startswith(("| mingo |", "| mongomock |", "| both |")) and len(cells) == 7:
            rows.append(Row(cells))
        elif line.startswith(("| mingo |", "| mongomock |")) and len(cells) == 2:
            lacks[cells[0].strip()] |= set(re.findall(r"`([^`]+)`", cells[1]))
    return rows, lacks


class Oracle:
    """The three engines, and what was found."""

    def __init__(self, options):
        self.alluvium = Engine(options.alluvium)
        self.peers = {"mingo": Engine("node", "--max-old-space-size=512", str(HERE / "mingo.mjs"), options.packages), "mongomock": Mongomock()}
        self.rows, self.lacks = table()
        self.answers = collections.Counter()
        self.missing = collections.defaultdict(collections.Counter)
        self.unexplained = {}

    def disagreement(self, peer, case):
        return compare(self.alluvium.run(case), self.peers[peer].run(case), keywords(query(case)))

    def shrink(self, peer, case, outcomes, tries=250):
        """A smaller case with the same outcomes."""
        failed, progress = 0, False
        while tries > 0:
            less = next(itertools.islice(smaller_cases(case), failed, None), None)
            if less is None:
                if not progress:
                    break
                failed, progress = 0, False
                continue
            tries -= 1
            if self.disagreement(peer, less) == outcomes:
                case, progress = less, True
            else:
                failed += 1
        return case

    def row(self, peer, words, outcomes):
        return next((row for row in self.rows if row.matches(peer, words, outcomes)), None)

    def check(self, case):
        words = keywords(query(case))
        ours = self.alluvium.run(case)
        for peer, engine in self.peers.items():
            theirs = engine.run(case)
            if "lacks" in theirs:
                self.missing[peer][theirs["lacks"]] += 1
                self.answers[peer, "lacks a keyword"] += 1
                continue
            outcomes = compare(ours, theirs, words)
            if outcomes is None:
                self.answers[peer, "agrees on an error" if "error" in ours else "agrees on results"] += 1
                continue
            # A row for all keywords needs no smaller case.
            less, words_left, row = case, words, self.row(peer, set(), outcomes)
            if not row:
                less = self.shrink(peer, case, outcomes)
                words_left = keywords(query(less))
                row = self.row(peer, words_left, outcomes)
            if row:
                row.used += 1
                self.answers[peer, f"disagrees: {row.right} is right"] += 1
            else:
                self.answers[peer, "unexplained"] += 1
                key = (peer, " ".join(sorted(words_left)), *outcomes)
                self.unexplained.setdefault(key, []).append(less)

    def report(self, show):
        for (peer, answer), count in sorted(self.answers.items()):
            print(f"{peer:10} {answer:45} {count:6}")
        unlisted = 0
        for peer, names in sorted(self.missing.items()):
            for name in sorted(set(names) - self.lacks[peer]):
                print(f"{peer} lacks {name}, which its list in DISAGREEMENTS.md does not have ({names[name]} cases)")
                unlisted += 1
        for (peer, words, ours, theirs), found in sorted(self.unexplained.items(), key=lambda item: -len(item[1]))[:show]:
            case = min(found, key=lambda case: len(json.dumps(encode(case))))
            print(f"\nunexplained, {len(found)} times: {peer}, Alluvium {ours}, peer {theirs}: {words}")
            print(f"  {json.dumps(encode(case), ensure_ascii=False)}")
            print(f"  Alluvium  {json.dumps(self.alluvium.run(case), ensure_ascii=False)[:400]}")
            for name, engine in self.peers.items():
                print(f"  {name:9} {str(engine.run(case))[:400]}")
        return unlisted + sum(map(len, self.unexplained.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alluvium", required=True, help="the program that runs cases on Alluvium")
    parser.add_argument("--packages", required=True, help="the folder with node_modules")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--show", type=int, default=20, help="unexplained disagreements that are printed")
    options = parser.parse_args()
    oracle = Oracle(options)
    for number in range(options.cases):
        oracle.check(Cases(random.Random(f"{options.seed}/{number}")).make())
    print(f"{options.cases} cases of seed {options.seed}")
    wrong = oracle.report(options.show)
    unused = [row for row in oracle.rows if not row.used]
    print(f"{len(oracle.rows) - len(unused)} of {len(oracle.rows)} rows of DISAGREEMENTS.md were used")
    if wrong:
        sys.exit(f"{wrong} disagreements are unexplained: fix Alluvium, or add a row to tests/oracle/DISAGREEMENTS.md")


if __name__ == "__main__":
    main()
