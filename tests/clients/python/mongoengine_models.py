"""What programs with mongoengine do."""

import datetime
import os
import uuid
from decimal import Decimal

import mongoengine as me
from mongoengine.context_managers import switch_collection
from steps import equal, raises, run, step


class Address(me.EmbeddedDocument):
    street = me.StringField(required=True)
    number = me.IntField(min_value=1)


class Author(me.Document):
    email = me.EmailField(unique=True, required=True)
    name = me.StringField(max_length=50)
    born = me.DateTimeField()
    address = me.EmbeddedDocumentField(Address)
    meta = {"indexes": ["name", {"fields": ["-born"], "sparse": True}], "ordering": ["name"]}


class Post(me.Document):
    title = me.StringField(required=True)
    author = me.ReferenceField(Author, reverse_delete_rule=me.CASCADE)
    tags = me.ListField(me.StringField())
    number = me.SequenceField()
    price = me.DecimalField(precision=2)
    key = me.UUIDField()
    body = me.FileField()
    extra = me.DictField()
    views = me.IntField(default=0)
    meta = {"allow_inheritance": True, "indexes": [{"fields": ["tags"]}, {"fields": ["title", "-views"]}]}


class Link(Post):
    url = me.URLField()


class Event(me.Document):
    at = me.DateTimeField()
    meta = {"indexes": [{"fields": ["at"], "expireAfterSeconds": 3600}], "collection": "events"}


@step
def documents_are_saved_and_loaded():
    ann = Author(email="ann@example.org", name="ann", born=datetime.datetime(2000, 1, 2), address=Address(street="x")).save()
    equal(Author.objects(email="ann@example.org").get().id, ann.id)
    ann.name = "Ann"
    ann.save()
    ann.reload()
    equal((ann.name, ann.address.street), ("Ann", "x"))


@step
def duplicates_and_wrong_documents_are_refused():
    with raises(me.NotUniqueError):
        Author(email="ann@example.org").save()
    with raises(me.ValidationError):
        Author(email="nonsense").save()
    with raises(me.DoesNotExist):
        Author.objects.get(email="none@example.org")


@step
def references_are_followed():
    ann = Author.objects.get(email="ann@example.org")
    Post(title="first", author=ann, tags=["a", "b"], price=Decimal("1.25"), key=uuid.uuid4()).save()
    Link(title="second", author=ann, tags=["b"], url="http://example.org/").save()
    equal([post.author.name for post in Post.objects.order_by("title")], ["Ann", "Ann"])
    equal(Post.objects(author=ann).count(), 2)
    equal(Link.objects.count(), 1)
    equal([post.number for post in Post.objects.order_by("number")], [1, 2])


@step
def queries_by_operators():
    Post.objects.insert([Post(title=f"t{i}", views=i, tags=["n"] * (i % 3)) for i in range(30)])
    equal(Post.objects(views__gte=20, views__lt=25).count(), 5)
    equal(Post.objects(title__startswith="T2").count(), 0)
    equal(Post.objects(title__istartswith="T2").count(), 11)
    equal(Post.objects(title__icontains="T2").count(), 11)
    equal(Post.objects(title__iexact="T29").first().views, 29)
    equal(Post.objects(tags__size=2).count(), 11)
    equal(Post.objects(me.Q(views=3) | me.Q(title="first")).count(), 2)
    equal(Post.objects(tags__in=["a", "b"]).count(), 2)
    equal([p.views for p in Post.objects(views__gt=0).order_by("-views").skip(1).limit(2)], [28, 27])
    equal(Post.objects(views__exists=True, title__ne="first").only("title").first().views, 0)
    equal(Post.objects.exclude("tags").first().tags, [])
    equal(len(Post.objects.batch_size(4)), 32)


@step
def updates_without_loading():
    equal(Post.objects(title__startswith="t").update(inc__views=100), 30)
    equal(Post.objects(title="t1").update_one(push__tags="new", set__extra={"a": 1}), 1)
    equal(Post.objects(title="t1").modify(new=True, pull__tags="new", set__extra__b=2).extra, {"a": 1, "b": 2})
    Post.objects(title="t1").update(add_to_set__tags=["x", "y"], unset__extra=1)
    equal(Post.objects.get(title="t1").tags, ["n", "x", "y"])
    equal(Post.objects(title="unknown").upsert_one(set__views=7).views, 7)
    equal(Post.objects(title="unknown").delete(), 1)


@step
def atomic_and_array_changes():
    post = Post.objects.get(title="t2")
    post.tags.append("z")
    post.extra["k"] = {"deep": [1, 2]}
    post.save()
    post.extra["k"]["deep"].append(3)
    post.save()
    equal(Post.objects.get(title="t2").extra, {"k": {"deep": [1, 2, 3]}})
    equal(Post.objects(extra__k__deep__2=3).count(), 1)


@step
def aggregates_and_sums():
    equal(Post.objects(views__gte=100).sum("views"), sum(range(100, 130)))
    equal(Post.objects(title__startswith="t").average("views"), 114.5)
    groups = Post.objects.aggregate([{"$unwind": "$tags"}, {"$group": {"_id": "$tags", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}])
    equal([(g["_id"], g["n"]) for g in groups][:2], [("a", 1), ("b", 2)])
    equal(sorted(Post.objects.distinct("tags"))[:2], ["a", "b"])


@step
def files_are_kept():
    post = Post.objects.get(title="first")
    post.body.put(b"content" * 1000, content_type="text/plain")
    post.save()
    found = Post.objects.get(title="first")
    equal((found.body.read(), found.body.content_type), (b"content" * 1000, "text/plain"))
    found.body.delete()
    found.save()


@step
def values_keep_their_types():
    post = Post.objects.get(title="first")
    equal(post.price, Decimal("1.25"))
    assert isinstance(post.key, uuid.UUID)
    equal(Author.objects(born__gt=datetime.datetime(1999, 1, 1)).count(), 1)


@step
def indexes_are_made():
    Author.ensure_indexes()
    Event(at=datetime.datetime.now()).save()
    information = Event._get_collection().index_information()
    equal(information["at_1"]["expireAfterSeconds"], 3600)
    equal(Author.compare_indexes(), {"missing": [], "extra": []})
    equal(Post.compare_indexes(), {"missing": [], "extra": []})


@step
def collections_are_switched_and_deletes_cascade():
    with switch_collection(Event, "archive") as Archive:
        Archive(at=datetime.datetime.now()).save()
    equal(me.get_db().archive.count_documents({}), 1)
    equal(Post.objects(author__exists=True).count(), 2)
    Author.objects.get(email="ann@example.org").delete()
    equal(Post.objects(author__exists=True).count(), 0)
    Post.drop_collection()
    equal(Post.objects.count(), 0)


me.connect("clients_mongoengine", host=os.environ["MONGODB_URI"], uuidRepresentation="standard")
run()
