"""Random values, documents and expressions."""

import datetime

EPOCH = datetime.datetime(1970, 1, 1)
STRINGS = ["", "a", "b", "ab", "abc", "Ab", "aXbXc", " ab ", "x-y", "é", "héllo", "12", "-3", "1.5", "2020-02-29", "true", "a.b", "日本"]
ZONES = ["UTC", "+02:00", "-0530", "Europe/Paris", "America/New_York"]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"]


class Source:
    """A source of random values of the kinds that documents have."""

    def __init__(self, random):
        self.random = random

    def integer(self):
        return self.random.choice([0, 1, 2, 3, 5, 7, 10, 100, -1, -2, -7, 1000, 2147483647, 4294967296])

    def double(self):
        return self.random.choice([0.0, 0.5, 1.0, 1.5, 2.5, -0.5, -1.5, 2.0, 3.14159, 1e10, -2.75, 0.1])

    def number(self):
        return self.integer() if self.random.random() < 0.6 else self.double()

    def small(self):
        return self.random.choice([0, 1, 2, 3, -1, -2, 4])

    def string(self):
        return self.random.choice(STRINGS)

    def boolean(self):
        return self.random.random() < 0.5

    def date(self):
        days = self.random.choice([0, 59, 18321, 18322, 18262, 18627, 19000, 20088, 20179, -400, 16801])
        return EPOCH + datetime.timedelta(days=days, milliseconds=self.random.choice([0, 0, 3723004, 86399999, 43200000]))

    def array(self, of, longest=4):
        return [of() for _ in range(self.random.randint(0, longest))]

    def map(self):
        names = self.random.sample(["x", "y", "z"], self.random.randint(1, 3))
        return {name: self.scalar() for name in names}

    def scalar(self):
        return self.random.choice([self.integer, self.integer, self.double, self.string, self.boolean, self.date, lambda: None])()

    def value(self):
        if self.random.random() < 0.7:
            return self.scalar()
        return self.random.choice([lambda: self.array(self.scalar), self.map, lambda: self.array(self.map, 2), list])()

    def document(self, number):
        fields = {
            "n": self.number, "i": self.integer, "s": self.string, "t": self.string, "b": self.boolean, "d": self.date,
            "e": self.date, "an": lambda: self.array(self.number), "as": lambda: self.array(self.string),
            "ao": lambda: self.array(self.map, 3), "o": self.map, "v": self.value,
            "k": lambda: self.random.choice(["p", "q", "r"]), "g": self.small,
        }
        document = {"_id": number}
        for name, make in fields.items():
            chance = self.random.random()
            if chance < 0.85:
                document[name] = make()
            elif chance < 0.9:
                document[name] = None
            elif chance < 0.93:
                document[name] = self.value()
        return document


# The fields of a type. `any` stands for every type.
FIELDS = {
    "num": ["$n", "$i", "$g"], "int": ["$i", "$g"], "small": ["$g"], "str": ["$s", "$t", "$k"], "bool": ["$b"], "date": ["$d", "$e"],
    "nums": ["$an"], "strs": ["$as"], "maps": ["$ao"], "map": ["$o"],
    "any": ["$v", "$o.x", "$ao.x", "$missing", "$n", "$s", "$an", "$o", "$d", "$b", "$o.missing"],
}
FIELDS["arr"] = FIELDS["nums"] + FIELDS["strs"] + FIELDS["maps"]

# Operators: the types of their arguments, and of their result. `*` repeats the type before it up to thrice; `?` may
# be left out. An operator with one argument takes it without an array, too.
POSITIONAL = {
    "num": {
        "$abs": "num", "$add": "num num*", "$ceil": "num", "$divide": "num num", "$exp": "small", "$floor": "num", "$ln": "num",
        "$log": "num num", "$log10": "num", "$mod": "num num", "$multiply": "num num*", "$pow": "num small", "$round": "num small?",
        "$sqrt": "num", "$subtract": "num num", "$trunc": "num small?", "$sin": "num", "$cos": "num", "$tan": "num", "$asin": "num",
        "$acos": "num", "$atan": "num", "$atan2": "num num", "$sinh": "small", "$cosh": "small", "$tanh": "small", "$asinh": "num",
        "$acosh": "num", "$atanh": "num", "$degreesToRadians": "num", "$radiansToDegrees": "num", "$sum": "nums", "$avg": "nums",
        "$max": "nums", "$min": "nums", "$stdDevPop": "nums", "$stdDevSamp": "nums", "$toDouble": "any", "$toInt": "any",
        "$toLong": "any", "$arrayElemAt": "nums small", "$first": "nums", "$last": "nums", "$ifNull": "num num*",
    },
    "int": {
        "$cmp": "any any", "$indexOfArray": "arr any small? small?", "$indexOfBytes": "str str small? small?",
        "$indexOfCP": "str str small? small?", "$size": "arr", "$strLenBytes": "str", "$strLenCP": "str", "$strcasecmp": "str str",
        "$bitAnd": "int int*", "$bitOr": "int int*", "$bitXor": "int int*", "$bitNot": "int", "$dayOfMonth": "date",
        "$dayOfWeek": "date", "$dayOfYear": "date", "$hour": "date", "$isoDayOfWeek": "date", "$isoWeek": "date",
        "$isoWeekYear": "date", "$millisecond": "date", "$minute": "date", "$month": "date", "$second": "date", "$week": "date",
        "$year": "date", "$binarySize": "str", "$bsonSize": "map",
    },
    "str": {
        "$concat": "str str*", "$substr": "str small small", "$substrBytes": "str small small", "$substrCP": "str small small",
        "$toLower": "str", "$toUpper": "str", "$toString": "any", "$type": "any",
    },
    "bool": {
        "$and": "any any*", "$or": "any any*", "$not": "any", "$eq": "any any", "$ne": "any any", "$gt": "any any",
        "$gte": "any any", "$lt": "any any", "$lte": "any any", "$in": "any arr", "$isArray": "any", "$isNumber": "any",
        "$allElementsTrue": "(arr)", "$anyElementTrue": "(arr)", "$setEquals": "arr arr*", "$setIsSubset": "arr arr",
        "$toBool": "any",
    },
    "date": {"$toDate": "any", "$add": "date num", "$subtract": "date num", "$ifNull": "date date"},
    "nums": {
        "$concatArrays": "nums nums*", "$reverseArray": "nums", "$slice": "nums small small?", "$range": "small small small?",
        "$setUnion": "nums nums*", "$setIntersection": "nums nums", "$setDifference": "nums nums",
    },
    "strs": {"$split": "str str", "$concatArrays": "strs strs*", "$setUnion": "strs strs", "$setDifference": "strs strs"},
    "maps": {"$objectToArray": "map", "$concatArrays": "maps maps", "$reverseArray": "maps", "$slice": "maps small"},
    "map": {"$mergeObjects": "map map*", "$arrayElemAt": "maps small", "$first": "maps", "$last": "maps"},
    "any": {"$arrayElemAt": "arr small", "$ifNull": "any any*", "$max": "any any", "$min": "any any", "$sum": "any any*", "$avg": "any any",
            "$first": "arr", "$last": "arr"},
}
POSITIONAL["arr"] = POSITIONAL["nums"]
POSITIONAL["small"] = POSITIONAL["int"]


class Expressions:
    """Makes random expressions."""

    def __init__(self, random):
        self.random = random
        self.source = Source(random)
        self.variables = []

    def constant(self, kind):
        source = self.source
        make = {
            "num": source.number, "int": source.integer, "small": source.small, "str": source.string, "bool": source.boolean,
            "date": source.date, "nums": lambda: source.array(source.number), "strs": lambda: source.array(source.string),
            "maps": lambda: source.array(source.map, 2), "map": source.map, "arr": lambda: source.array(source.scalar),
            "any": source.value,
        }[kind]
        value = make()
        return {"$literal": value} if kind == "any" and self.random.random() < 0.1 else value

    def leaf(self, kind):
        chance = self.random.random()
        if chance < 0.06:
            return self.random.choice(["$missing", None, "$v", *FIELDS["any"]])
        if self.variables and chance < 0.3:
            return self.random.choice(self.variables)
        return self.random.choice(FIELDS[kind]) if chance < 0.75 else self.constant(kind)

    def make(self, kind="any", depth=2):
        """An expression whose result is mostly of the type."""
        random = self.random
        if depth == 0 or random.random() < 0.3:
            return self.leaf(kind)
        if random.random() < 0.3:
            return self.named(kind, depth)
        table = POSITIONAL[kind] if kind != "any" or random.random() < 0.2 else POSITIONAL[random.choice(list(POSITIONAL))]
        name = random.choice(list(table))
        if table[name].startswith("("):
            return {name: [self.make(table[name].strip("()"), depth - 1)]}
        arguments = []
        for part in table[name].split():
            kind, times = part.rstrip("*?"), 1
            if part.endswith("*"):
                times = random.choice([0, 1, 1, 1, 2])
            elif part.endswith("?"):
                times = random.choice([0, 1])
            arguments.extend(self.make(kind, depth - 1) for _ in range(times))
            if part.endswith("?") and times == 0:
                break
        # Operators with one argument take it without an array; those with any number always have an array.
        plain = " " not in table[name] and not isinstance(arguments[0], list)
        return {name: arguments[0] if plain else arguments}

    def within(self, names, kind, depth):
        before, self.variables = self.variables, self.variables + names
        made = self.make(kind, depth)
        self.variables = before
        return made

    def optional(self, **fields):
        """Some of the fields."""
        return {name.rstrip("_"): make() for name, make in fields.items() if self.random.random() < 0.4}

    def named(self, kind, depth):
        """An operator whose arguments have names."""
        random, make, below = self.random, self.make, depth - 1
        source = self.source
        condition = lambda: make("bool", below)
        makers = {
            "any": [
                lambda: {"$cond": [condition(), make("any", below), make("any", below)]},
                lambda: {"$cond": {"if": condition(), "then": make(kind, below), "else": make(kind, below)}},
                lambda: {"$switch": {"branches": [{"case": condition(), "then": make(kind, below)} for _ in range(random.randint(1, 2))],
                                     **self.optional(default=lambda: make(kind, below))}},
                lambda: {"$let": {"vars": {"w": make("any", below)}, "in": self.within(["$$w"], kind, below)}},
                lambda: {"$getField": {"field": random.choice(["n", "x", "a.b", "missing"]), "input": make("map", below)}},
                lambda: {"$getField": random.choice(["n", "s", "missing"])},
                lambda: {"$convert": {"input": make("any", below), "to": random.choice(["int", "long", "double", "string", "bool", "date"]),
                                      **self.optional(onError=lambda: "wrong", onNull=lambda: "nothing")}},
                lambda: {"$reduce": {"input": make("arr", below), "initialValue": make("any", 0),
                                     "in": self.within(["$$value", "$$this"], "any", below)}},
            ],
            "nums": [
                lambda: {"$map": {"input": make("nums", below), "as": "q", "in": self.within(["$$q"], "num", below)}},
                lambda: {"$map": {"input": make("arr", below), "in": self.within(["$$this"], "any", below)}},
                lambda: {"$filter": {"input": make("nums", below), "as": "q", "cond": self.within(["$$q"], "bool", below),
                                     **self.optional(limit=lambda: random.choice([1, 2, 3]))}},
                lambda: {"$zip": {"inputs": [make("arr", below), make("arr", below)],
                                  **({"useLongestLength": True, **self.optional(defaults=lambda: [0, "z"])} if random.random() < 0.5 else {})}},
                lambda: {"$sortArray": {"input": make("nums", below), "sortBy": random.choice([1, -1])}},
                lambda: {"$sortArray": {"input": make("maps", below), "sortBy": random.choice([{"x": 1}, {"x": -1, "y": 1}])}},
                lambda: {random.choice(["$firstN", "$lastN", "$maxN", "$minN"]): {"n": random.choice([1, 2, 3]), "input": make("arr", below)}},
                lambda: {"$percentile": {"input": make("nums", below), "p": [random.choice([0, 0.25, 0.5, 0.9, 1])], "method": "approximate"}},
            ],
            "num": [
                lambda: {"$reduce": {"input": make("nums", below), "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}},
                lambda: {"$median": {"input": make("nums", below), "method": "approximate"}},
                lambda: {"$dateDiff": {"startDate": make("date", below), "endDate": make("date", below), "unit": random.choice(UNITS),
                                       **self.optional(timezone=lambda: random.choice(ZONES),
                                                       startOfWeek=lambda: random.choice(["monday", "Sun", "friday"]))}},
                lambda: {random.choice(["$hour", "$dayOfMonth", "$isoWeek", "$year", "$dayOfWeek", "$minute", "$week"]):
                         {"date": make("date", below), "timezone": random.choice(ZONES)}},
            ],
            "str": [
                lambda: {random.choice(["$trim", "$ltrim", "$rtrim"]):
                         {"input": make("str", below), **self.optional(chars=lambda: random.choice(["a", " a", "xy", ""]))}},
                lambda: {random.choice(["$replaceOne", "$replaceAll"]):
                         {"input": make("str", below), "find": make("str", 0), "replacement": make("str", 0)}},
                lambda: {"$dateToString": {"date": make("date", below),
                                           **self.optional(format=lambda: random.choice(["%Y-%m-%d", "%H:%M:%S.%L", "%G-W%V-%u", "%j %U %w", "%z%%", "%d/%m/%Y"]),
                                                           timezone=lambda: random.choice(ZONES), onNull=lambda: "nothing")}},
            ],
            "map": [
                lambda: {random.choice(["$regexFind"]): {"input": make("str", below), "regex": random.choice(["a", "(a)(b)?", "[A-Z]", "é", "^a.*c$"]),
                                                         **self.optional(options=lambda: "i")}},
                lambda: {"$setField": {"field": random.choice(["x", "new"]), "input": make("map", below), "value": make("any", below)}},
                lambda: {"$unsetField": {"field": random.choice(["x", "missing"]), "input": make("map", below)}},
                lambda: {"$arrayToObject": [[{"k": "x", "v": make("any", below)}, {"k": random.choice(["x", "w"]), "v": 1}]]},
                lambda: {"$arrayToObject": [[["x", make("any", below)]]]},
                lambda: {"$arrayToObject": {"$objectToArray": make("map", below)}},
                lambda: {"$dateToParts": {"date": make("date", below), **self.optional(timezone=lambda: random.choice(ZONES), iso8601=lambda: True)}},
                lambda: {"x": make("any", below), "y": make("any", below)},
            ],
            "bool": [
                lambda: {"$regexMatch": {"input": make("str", below), "regex": random.choice(["a", "A", "^a", "c$", "é", "."]),
                                         **self.optional(options=lambda: random.choice(["i", "s", "x"]))}},
            ],
            "maps": [
                lambda: {"$regexFindAll": {"input": make("str", below), "regex": random.choice(["a", "(a)|(b)", "[a-z]+", "é", ""])}},
                lambda: {"$filter": {"input": make("maps", below), "cond": {random.choice(["$gt", "$lte", "$eq"]): ["$$this.x", make("num", 0)]}}},
            ],
            "date": [
                lambda: {random.choice(["$dateAdd", "$dateSubtract"]):
                         {"startDate": make("date", below), "unit": random.choice(UNITS), "amount": random.choice([0, 1, -1, 13, 100]),
                          **self.optional(timezone=lambda: random.choice(ZONES))}},
                lambda: {"$dateTrunc": {"date": make("date", below), "unit": random.choice(UNITS),
                                        **self.optional(binSize=lambda: random.choice([1, 2, 7]), timezone=lambda: random.choice(ZONES),
                                                        startOfWeek=lambda: random.choice(["monday", "fri"]))}},
                lambda: {"$dateFromParts": {"year": random.choice([2020, 1970, 2000]),
                                            **self.optional(month=lambda: random.choice([1, 2, 12, 13, 0]), day=lambda: random.choice([1, 29, 31, 366, -1]),
                                                            hour=lambda: random.choice([0, 23, 25]), timezone=lambda: random.choice(ZONES))}},
                lambda: {"$dateFromParts": {"isoWeekYear": 2020, **self.optional(isoWeek=lambda: random.choice([1, 53, 54]), isoDayOfWeek=lambda: random.choice([1, 7]))}},
                lambda: {"$dateFromString": {"dateString": random.choice(["2020-02-29", "2021-01-01T10:00:00Z", "2020-12-31T23:59:59.999+02:00", "nonsense", "$s"]),
                                             **self.optional(onError=lambda: None, onNull=lambda: source.date())}},
                lambda: {"$dateFromString": {"dateString": "03/04/2021", "format": random.choice(["%d/%m/%Y", "%m/%d/%Y", "%Y"])}},
            ],
        }
        fitting = {"int": "num", "small": "num", "arr": "nums", "strs": "nums"}.get(kind, kind)
        if fitting == "any":
            return random.choice(makers[random.choice(list(makers))])()
        return random.choice(makers[fitting])()
