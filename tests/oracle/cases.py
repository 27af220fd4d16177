"""Random cases: filters, updates and pipelines over random documents."""

from expressions import Expressions, Source

PATHS = ["n", "i", "s", "b", "d", "an", "as", "ao", "o", "v", "k", "g", "o.x", "ao.x", "an.0", "ao.0.x", "missing", "o.missing"]


class Cases:
    """Makes random cases."""

    def __init__(self, random):
        self.random = random
        self.source = Source(random)
        self.expressions = Expressions(random)

    def documents(self, most=6):
        return [self.source.document(number) for number in range(1, self.random.randint(1, most) + 1)]

    # Filters.

    def operand(self, path):
        """A value that a field at the path may have."""
        source = self.source
        fitting = {"n": source.number, "i": source.integer, "g": source.small, "s": source.string, "b": source.boolean, "d": source.date,
                   "k": lambda: self.random.choice("pqr"), "an": source.number, "as": source.string, "an.0": source.number}
        chance = self.random.random()
        if path in fitting and chance < 0.75:
            return fitting[path]()
        return source.value() if chance < 0.9 else source.array(source.scalar)

    def condition(self, path, depth):
        random, operand = self.random, lambda: self.operand(path)
        choices = [
            lambda: {random.choice(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]): operand()},
            lambda: {random.choice(["$gt", "$gte"]): operand(), random.choice(["$lt", "$lte"]): operand()},
            lambda: {random.choice(["$in", "$nin"]): [operand() for _ in range(random.randint(0, 3))]},
            lambda: {"$exists": random.choice([True, False, 1, 0])},
            lambda: {"$type": random.choice(["number", "string", "array", "object", "null", "bool", "date", "int", "double", ["string", "null"], 2, 10])},
            lambda: {"$size": random.choice([0, 1, 2, 3])},
            lambda: {"$all": [operand() for _ in range(random.randint(0, 2))]},
            lambda: {"$mod": [random.choice([2, 3, -2, 2.5]), random.choice([0, 1, -1])]},
            lambda: {"$regex": random.choice(["a", "^a", "b$", "A", "é", "[0-9]"]), **({"$options": "i"} if random.random() < 0.4 else {})},
            lambda: {random.choice(["$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"]): random.choice([1, 2, 5, [0, 2]])},
        ]
        if depth > 0:
            choices += [
                lambda: {"$not": self.condition(path, 0)},
                lambda: {"$elemMatch": self.condition(path, 0) if path != "ao" else self.filter(0, ["x", "y", "z"])},
                lambda: {"$all": [{"$elemMatch": self.filter(0, ["x", "y"])}]},
            ]
        return random.choice(choices)()

    def filter(self, depth=2, paths=None):
        random = self.random
        paths = paths or PATHS
        if depth > 0 and random.random() < 0.25:
            name = random.choice(["$and", "$or", "$nor"])
            return {name: [self.filter(depth - 1, paths) for _ in range(random.randint(1, 3))]}
        if depth > 0 and random.random() < 0.1:
            return {"$expr": self.expressions.make("bool", 2)}
        filter = {}
        for _ in range(random.choice([1, 1, 1, 2])):
            path = random.choice(paths)
            filter[path] = self.operand(path) if random.random() < 0.25 else self.condition(path, depth)
        return filter

    # Projections.

    def projection(self):
        random = self.random
        chance = random.random()
        some = random.sample(["n", "s", "o", "ao", "o.x", "ao.x", "v.x", "an"], random.randint(1, 3))
        some = [name for name in some if not any(other != name and other.startswith(name + ".") for other in some)]
        if chance < 0.35:
            return {**({"_id": 0} if random.random() < 0.3 else {}), **{name: 1 for name in some}}
        if chance < 0.6:
            return {name: 0 for name in some}
        if chance < 0.75:
            return {"an": {"$slice": random.choice([1, -1, 2, [1, 1], [-2, 1]])}}
        if chance < 0.85:
            return {"ao": {"$elemMatch": self.filter(0, ["x", "y"])}}
        return {"n": 1, "r": self.computed(1)}

    def computed(self, depth=2):
        """An expression that a projection does not take for an inclusion or an exclusion."""
        made = self.expressions.make("any", depth)
        return made if isinstance(made, (str, dict, list)) else {"$literal": made}

    # Updates.

    def update(self):
        random, source = self.random, self.source
        target = lambda *paths: random.choice(paths)
        choices = [
            lambda: {"$set": {target("n", "o.x", "new", "o.new.deep", "an.1", "an.6", "ao.0.x", "v.x"): source.value()}},
            lambda: {"$unset": {target("n", "o.x", "missing", "an.0", "ao.0.x"): ""}},
            lambda: {"$inc": {target("n", "i", "missing", "o.x", "s", "an.0"): source.number()}},
            lambda: {"$mul": {target("n", "i", "missing", "an.0"): source.number()}},
            lambda: {random.choice(["$min", "$max"]): {target("n", "s", "v", "missing", "d"): source.scalar()}},
            lambda: {"$rename": {target("n", "missing", "o.x"): target("renamed", "o.w", "deep.er")}},
            lambda: {"$push": {target("an", "as", "missing", "v"): source.value()}},
            lambda: {"$push": {target("an", "missing"): {"$each": source.array(source.number),
                                                        **({"$position": random.choice([0, 1, -1])} if random.random() < 0.4 else {}),
                                                        **({"$sort": random.choice([1, -1])} if random.random() < 0.4 else {}),
                                                        **({"$slice": random.choice([0, 1, 2, -2])} if random.random() < 0.4 else {})}}},
            lambda: {"$addToSet": {target("an", "as", "missing", "v"): source.scalar()}},
            lambda: {"$addToSet": {"an": {"$each": source.array(source.number)}}},
            lambda: {"$pop": {target("an", "as", "missing", "n"): random.choice([1, -1])}},
            lambda: {"$pull": {target("an", "as"): source.scalar()}},
            lambda: {"$pull": {"an": self.condition("an", 0)}},
            lambda: {"$pull": {"ao": self.filter(0, ["x", "y"])}},
            lambda: {"$pullAll": {target("an", "as"): source.array(source.number)}},
            lambda: {"$bit": {target("i", "g", "missing"): {random.choice(["and", "or", "xor"]): random.choice([1, 5, 12])}}},
        ]
        return random.choice(choices)()

    # Pipelines.

    def accumulator(self, ordered):
        random, make = self.random, self.expressions.make
        n = random.choice([1, 2, 3])
        choices = [
            lambda: {random.choice(["$sum", "$avg", "$stdDevPop", "$stdDevSamp"]): make("num", 1)},
            lambda: {random.choice(["$min", "$max"]): make("any", 1)},
            lambda: {"$sum": 1},
            lambda: {"$count": {}},
            lambda: {"$addToSet": make("any", 1)},
            lambda: {random.choice(["$maxN", "$minN"]): {"input": make("num", 1), "n": n}},
            lambda: {"$median": {"input": make("num", 1), "method": "approximate"}},
            lambda: {"$percentile": {"input": "$n", "p": [0, 0.5, 1], "method": "approximate"}},
        ]
        if ordered:
            choices += [
                lambda: {random.choice(["$first", "$last", "$push"]): make("any", 1)},
                lambda: {random.choice(["$firstN", "$lastN"]): {"input": make("any", 1), "n": n}},
                lambda: {random.choice(["$top", "$bottom"]): {"sortBy": {"i": 1, "_id": 1}, "output": make("any", 0)}},
                lambda: {random.choice(["$topN", "$bottomN"]): {"sortBy": {"i": -1, "_id": 1}, "output": make("any", 0), "n": n}},
                lambda: {"$mergeObjects": "$o"},
            ]
        return random.choice(choices)()

    def window(self):
        random, make = self.random, self.expressions.make
        bounds = lambda: {"window": {"documents": random.choice([["unbounded", "current"], [-1, 1], ["unbounded", "unbounded"], [0, 1], [-2, -1], ["current", 2]])}}
        ranges = lambda: {"window": {"range": random.choice([[-1, 1], ["unbounded", "current"], [0, 100], ["current", "unbounded"]])}}
        choices = [
            lambda: {**self.accumulator(True), **(bounds() if random.random() < 0.8 else {})},
            lambda: {**{random.choice(["$sum", "$avg", "$min", "$max", "$push"]): "$n"}, **ranges()},
            lambda: {random.choice(["$rank", "$denseRank", "$documentNumber"]): {}},
            lambda: {"$shift": {"output": make("any", 0), "by": random.choice([1, -1, 2]), **({"default": "none"} if random.random() < 0.5 else {})}},
            lambda: {random.choice(["$locf", "$linearFill"]): random.choice(["$n", "$v"])},
            lambda: {"$expMovingAvg": {"input": "$n", **random.choice([{"N": 2}, {"alpha": 0.5}])}},
            lambda: {**{random.choice(["$covariancePop", "$covarianceSamp"]): ["$n", "$g"]}, **bounds()},
            lambda: {"$derivative": {"input": "$n"}, **bounds()},
            lambda: {"$integral": {"input": "$n"}, **bounds()},
        ]
        return random.choice(choices)()

    def stage(self, depth=1):
        """A stage that keeps the order of documents, or sorts them."""
        random, make = self.random, self.expressions.make
        order = {random.choice(["n", "i", "s", "v", "an", "ao.x", "d"]): random.choice([1, -1]), "_id": 1}
        choices = [
            lambda: {"$match": self.filter(1)},
            lambda: {"$project": {"r": self.computed()}},
            lambda: {"$project": self.stage_projection()},
            lambda: {random.choice(["$addFields", "$set"]): {random.choice(["r", "n", "o.r", "ao.r", "o.x"]): make("any", 2)}},
            lambda: {"$unset": random.choice(["n", "o.x", ["ao.x", "s"], "missing"])},
            lambda: {"$sort": order},
            lambda: {"$limit": random.choice([1, 2, 3])},
            lambda: {"$skip": random.choice([0, 1, 2])},
            lambda: {"$unwind": random.choice(["$an", "$ao", "$v", "$o", "$missing"])},
            lambda: {"$unwind": {"path": random.choice(["$an", "$ao", "$v"]), "preserveNullAndEmptyArrays": random.choice([True, False]),
                                 **({"includeArrayIndex": "at"} if random.random() < 0.5 else {})}},
            lambda: {"$replaceRoot": {"newRoot": random.choice(["$o", {"$mergeObjects": ["$o", {"_id": "$_id"}]}, {"r": make("any", 1)}])}},
            lambda: {"$replaceWith": random.choice(["$o", {"_id": "$_id", "r": make("any", 1)}, "$$ROOT"])},
            lambda: {"$redact": {"$cond": [make("bool", 1), random.choice(["$$KEEP", "$$DESCEND"]), "$$PRUNE"]}},
            lambda: {"$lookup": {"from": "d", "localField": random.choice(["k", "g", "an", "missing", "v"]),
                                 "foreignField": random.choice(["k", "g", "an", "missing"]), "as": "found"}},
            lambda: {"$lookup": {"from": "d", "let": {"w": random.choice(["$k", "$g"])},
                                 "pipeline": [{"$match": {"$expr": {random.choice(["$eq", "$lt"]): [random.choice(["$k", "$g"]), "$$w"]}}},
                                              {"$project": {"g": 1}}, {"$sort": {"_id": 1}}], "as": "found"}},
            lambda: {"$graphLookup": {"from": "d", "startWith": "$g", "connectFromField": "g", "connectToField": "_id", "as": "found",
                                      **({"maxDepth": 1} if random.random() < 0.5 else {}), **({"depthField": "deep"} if random.random() < 0.5 else {})}},
            lambda: {"$setWindowFields": {**({"partitionBy": random.choice(["$k", "$b"])} if random.random() < 0.5 else {}),
                                          "sortBy": random.choice([{"g": 1}, {"_id": 1}, {"_id": -1}]) if random.random() < 0.9 else {"n": 1},
                                          "output": {"w": self.window()}}},
            lambda: {"$fill": {**({"sortBy": {"_id": 1}}), **({"partitionBy": "$k"} if random.random() < 0.3 else {}),
                               "output": {random.choice(["n", "v", "missing"]): random.choice([{"value": 0}, {"method": "locf"}, {"method": "linear"}])}}},
            lambda: {"$densify": {"field": "_id", "range": {"step": 1, "bounds": random.choice([[0, 4], "full", [2, 9]])}}},
        ]
        return random.choice(choices)()

    def stage_projection(self):
        random = self.random
        some = random.sample(["n", "s", "o.x", "ao.x", "v.x", "an"], random.randint(1, 3))
        if random.random() < 0.3:
            return {name: 0 for name in some}
        return {**{name: random.choice([1, True]) for name in some}, **({"_id": 0} if random.random() < 0.2 else {}),
                **({"r": self.computed(1)} if random.random() < 0.5 else {})}

    def end(self):
        """A stage whose results have an order of their own, or none."""
        random, make = self.random, self.expressions.make
        key = lambda: random.choice([None, "$k", "$g", "$b", "$v", "$o.x", {"k": "$k", "b": "$b"}, make("any", 1)])
        choices = [
            lambda: {"$group": {"_id": key(), **{name: self.accumulator(True) for name in random.sample(["f", "h"], random.randint(1, 2))}}},
            lambda: {"$group": {"_id": key(), "f": self.accumulator(True)}},
            lambda: {"$count": "n"},
            lambda: {"$sortByCount": key()},
            lambda: {"$bucket": {"groupBy": "$g", "boundaries": [-1, 0, 2, 3], "default": "other",
                                 **({"output": {"f": self.accumulator(True)}} if random.random() < 0.6 else {})}},
            lambda: {"$bucketAuto": {"groupBy": random.choice(["$n", "$g", "$i", "$_id"]), "buckets": random.choice([1, 2, 3]),
                                     **({"output": {"f": self.accumulator(True)}} if random.random() < 0.4 else {})}},
            lambda: {"$facet": {"x": [self.stage()], "y": [{"$sort": {"_id": -1}}, {"$limit": 2}], "z": [{"$count": "n"}]}},
            lambda: {"$unionWith": random.choice(["d", {"coll": "d", "pipeline": [{"$match": self.filter(0)}]}])},
            lambda: {"$sample": {"size": 100}},
        ]
        return random.choice(choices)()

    def make(self):
        """A case of any kind."""
        random = self.random
        chance = random.random()
        if chance < 0.45:
            return {"docs": self.documents(2), "pipeline": [{"$sort": {"_id": 1}}, {"$project": {"r": self.computed()}}]}
        if chance < 0.65:
            case = {"docs": self.documents(), "filter": self.filter()}
            if random.random() < 0.3:
                case["projection"] = self.projection()
            return case
        if chance < 0.72:
            return {"docs": self.documents(1), "filter": {"_id": 1}, "update": self.update()}
        stages = [{"$sort": {"_id": 1}}, *(self.stage() for _ in range(random.choice([0, 1, 1, 2])))]
        if len(stages) == 1 or random.random() < 0.5:
            stages.append(self.end())
        return {"docs": self.documents(), "other": self.documents(4), "pipeline": stages}
