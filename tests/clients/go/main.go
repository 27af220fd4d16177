// What programs with the Go driver do, against the server of MONGODB_URI.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

type M = bson.M
type D = bson.D

var ctx context.Context
var client *mongo.Client
var db *mongo.Database

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("found %#v, expected %#v", found, expected))
	}
}

func fails(code int, err error) {
	var failed mongo.ServerError
	if !errors.As(err, &failed) || !failed.HasErrorCode(code) {
		panic(fmt.Sprintf("found %v, expected error %d", err, code))
	}
}

func fresh(name string, documents ...any) *mongo.Collection {
	c := db.Collection(name)
	check(c.Drop(ctx))
	if len(documents) > 0 {
		_, err := c.InsertMany(ctx, documents)
		check(err)
	}
	return c
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = M{"_id": i, "k": i % 3}
	}
	return list
}

func all(cursor *mongo.Cursor, err error) []M {
	check(err)
	found := []M{}
	check(cursor.All(ctx, &found))
	return found
}

func count(c *mongo.Collection, filter any) int64 {
	n, err := c.CountDocuments(ctx, filter)
	check(err)
	return n
}

func documents() {
	c := fresh("documents")
	made, err := c.InsertOne(ctx, M{"name": "rex"})
	check(err)
	var found M
	check(c.FindOne(ctx, M{"name": "rex"}).Decode(&found))
	equal(found["_id"], made.InsertedID)
	done, err := c.UpdateOne(ctx, M{"_id": 7}, M{"$set": M{"a": 1}}, options.UpdateOne().SetUpsert(true))
	check(err)
	equal([]any{done.MatchedCount, done.UpsertedCount, done.UpsertedID}, []any{int64(0), int64(1), int32(7)})
	replaced, err := c.ReplaceOne(ctx, M{"_id": 7}, M{"b": 1})
	check(err)
	equal(replaced.ModifiedCount, int64(1))
	deleted, err := c.DeleteMany(ctx, M{})
	check(err)
	equal(deleted.DeletedCount, int64(2))
	equal(c.FindOne(ctx, M{}).Err(), mongo.ErrNoDocuments)
}

func finds() {
	c := fresh("finds", numbers(500)...)
	found := all(c.Find(ctx, M{"k": 1}, options.Find().SetSort(D{{Key: "_id", Value: -1}}).SetSkip(1).SetLimit(2).SetProjection(M{"k": 0})))
	equal(found, []M{{"_id": int32(496)}, {"_id": int32(493)}})
	equal(len(all(c.Find(ctx, M{}, options.Find().SetBatchSize(7)))), 500)
	cursor, err := c.Find(ctx, M{}, options.Find().SetBatchSize(2))
	check(err)
	equal(cursor.Next(ctx), true)
	check(cursor.Close(ctx))
	n, err := c.EstimatedDocumentCount(ctx)
	check(err)
	equal(n, int64(500))
	values := []int32{}
	check(c.Distinct(ctx, "k", M{"_id": M{"$lt": 2}}).Decode(&values))
	equal(values, []int32{0, 1})
}

func writes() {
	c := fresh("writes", M{"_id": 1, "l": bson.A{M{"a": 1}, M{"a": 5}}})
	_, err := c.UpdateOne(ctx, M{}, M{"$set": M{"l.$[big].b": 1}}, options.UpdateOne().SetArrayFilters([]any{M{"big.a": M{"$gt": 2}}}))
	check(err)
	equal(count(c, M{"l.1.b": 1}), int64(1))
	done, err := c.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(M{"_id": 2}),
		mongo.NewUpdateManyModel().SetFilter(M{}).SetUpdate(M{"$set": M{"x": 1}}),
		mongo.NewDeleteOneModel().SetFilter(M{"_id": 2}),
	})
	check(err)
	equal([]int64{done.InsertedCount, done.ModifiedCount, done.DeletedCount}, []int64{1, 2, 1})
	_, err = c.InsertMany(ctx, []any{M{"_id": 5}, M{"_id": 1}, M{"_id": 6}}, options.InsertMany().SetOrdered(false))
	equal(mongo.IsDuplicateKeyError(err), true)
	equal(count(c, M{}), int64(3))
	many := mongo.ClientBulkWrite{Database: db.Name(), Collection: "writes", Model: mongo.NewClientInsertOneModel().SetDocument(M{"_id": 8})}
	whole, err := client.BulkWrite(ctx, []mongo.ClientBulkWrite{many})
	check(err)
	equal(whole.InsertedCount, int64(1))
	_, err = c.UpdateOne(ctx, M{}, M{"$set": M{"_id": 9}})
	fails(66, err)
	_, err = c.UpdateMany(ctx, M{}, mongo.Pipeline{{{Key: "$set", Value: M{"y": "$x"}}}})
	check(err)
}

func aggregates() {
	c := fresh("sums", numbers(30)...)
	found := all(c.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$group", Value: M{"_id": "$k", "n": M{"$sum": 1}}}}, {{Key: "$sort", Value: M{"_id": 1}}},
		{{Key: "$lookup", Value: M{"from": "sums", "localField": "_id", "foreignField": "_id", "as": "j"}}}, {{Key: "$limit", Value: 1}},
	}))
	equal(found[0]["n"], int32(10))
	equal(len(found[0]["j"].(bson.A)), 1)
	all(c.Aggregate(ctx, mongo.Pipeline{{{Key: "$match", Value: M{"k": 1}}}, {{Key: "$out", Value: "copied"}}}))
	equal(count(db.Collection("copied"), M{}), int64(10))
}

func indexes() {
	c := fresh("indexed")
	name, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "email", Value: 1}}, Options: options.Index().SetUnique(true)})
	check(err)
	equal(name, "email_1")
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "at", Value: 1}}, Options: options.Index().SetExpireAfterSeconds(60)})
	check(err)
	specifications, err := c.Indexes().ListSpecifications(ctx)
	check(err)
	equal([]any{len(specifications), *specifications[2].ExpireAfterSeconds, *specifications[1].Unique}, []any{3, int32(60), true})
	_, err = c.InsertMany(ctx, []any{M{"email": "a"}, M{"email": "a"}})
	fails(11000, err)
	check(c.Indexes().DropOne(ctx, "email_1"))
	fails(27, c.Indexes().DropOne(ctx, "email_1"))
	check(c.Indexes().DropAll(ctx))
	equal(len(all(db.Collection("missing").Indexes().List(ctx))), 0)
}

func findOneAnd() {
	c := fresh("modify", M{"_id": 1, "n": 1})
	var found M
	check(c.FindOneAndUpdate(ctx, M{}, M{"$inc": M{"n": 1}}, options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&found))
	equal(found, M{"_id": int32(1), "n": int32(2)})
	check(c.FindOneAndReplace(ctx, M{"_id": 1}, M{"z": 1}).Err())
	check(c.FindOneAndDelete(ctx, M{"z": 1}).Err())
	equal(c.FindOneAndDelete(ctx, M{"z": 1}).Err(), mongo.ErrNoDocuments)
}

func sessions() {
	c := fresh("sessions", M{"_id": 1})
	session, err := client.StartSession()
	check(err)
	defer session.EndSession(ctx)
	check(mongo.WithSession(ctx, session, func(inner context.Context) error { return c.FindOne(inner, M{}).Err() }))
}

// within runs statements in the transaction of a session.
func within(session *mongo.Session, run func(inner context.Context) error) error {
	return mongo.WithSession(ctx, session, run)
}

func start() *mongo.Session {
	session, err := client.StartSession()
	check(err)
	return session
}

// move changes two collections, and one of another database.
func move(inner context.Context) (any, error) {
	if _, err := db.Collection("moved").UpdateOne(inner, M{"_id": 1}, M{"$inc": M{"n": -3}}); err != nil {
		return nil, err
	}
	if _, err := db.Collection("moves").InsertOne(inner, M{"_id": "first"}); err != nil {
		return nil, err
	}
	return client.Database("clients_go_other").Collection("moved").InsertOne(inner, M{"_id": 1})
}

func transactionsCommit() {
	a, b := fresh("moved", M{"_id": 1, "n": 10}), fresh("moves")
	c := client.Database("clients_go_other").Collection("moved")
	check(c.Drop(ctx))
	session := start()
	defer session.EndSession(ctx)
	made, err := session.WithTransaction(ctx, move)
	check(err)
	equal(made.(*mongo.InsertOneResult).InsertedID, int32(1))
	concerns := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority())
	check(session.StartTransaction(concerns))
	check(within(session, func(inner context.Context) error {
		models := []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(M{"_id": 2}), mongo.NewDeleteOneModel().SetFilter(M{"_id": 1}),
		}
		_, err := a.BulkWrite(inner, models)
		check(err)
		check(c.FindOneAndDelete(inner, M{"_id": 1}).Err())
		check(session.CommitTransaction(inner))
		return session.CommitTransaction(inner)
	}))
	equal(all(a.Find(ctx, M{})), []M{{"_id": int32(2)}})
	equal([]int64{count(b, M{}), count(c, M{})}, []int64{1, 0})
	check(client.Database("clients_go_other").Drop(ctx))
}

func transactionsAbort() {
	a, b := fresh("moved", M{"_id": 1, "n": 10}), fresh("moves")
	session := start()
	defer session.EndSession(ctx)
	stop := errors.New("stop")
	_, err := session.WithTransaction(ctx, func(inner context.Context) (any, error) {
		_, err := move(inner)
		check(err)
		return nil, stop
	})
	equal(err, stop)
	equal(all(a.Find(ctx, M{})), []M{{"_id": int32(1), "n": int32(10)}})
	equal(count(b, M{}), int64(0))
	equal(count(client.Database("clients_go_other").Collection("moved"), M{}), int64(0))
}

func transactionsRepeat() {
	c := fresh("counters", M{"_id": 0, "n": 0})
	done := make(chan error)
	for range 8 {
		go func() {
			session, err := client.StartSession()
			for i := 0; i < 10 && err == nil; i++ {
				_, err = session.WithTransaction(ctx, func(inner context.Context) (any, error) {
					var found struct{ N int }
					if err := c.FindOne(inner, M{"_id": 0}).Decode(&found); err != nil {
						return nil, err
					}
					return c.UpdateOne(inner, M{"_id": 0}, M{"$set": M{"n": found.N + 1}})
				})
			}
			done <- err
		}()
	}
	for range 8 {
		check(<-done)
	}
	equal(all(c.Find(ctx, M{})), []M{{"_id": int32(0), "n": int32(80)}})
}

func transactionsConflict() {
	c := fresh("conflicts", M{"_id": 1, "n": 0})
	one, two := start(), start()
	defer one.EndSession(ctx)
	defer two.EndSession(ctx)
	check(one.StartTransaction())
	check(two.StartTransaction())
	increment := func(inner context.Context) error {
		_, err := c.UpdateOne(inner, M{"_id": 1}, M{"$inc": M{"n": 1}})
		return err
	}
	check(within(one, increment))
	err := within(two, increment)
	fails(112, err)
	var conflict mongo.ServerError
	equal(errors.As(err, &conflict) && conflict.HasErrorLabel("TransientTransactionError"), true)
	check(two.AbortTransaction(ctx))
	check(one.CommitTransaction(ctx))
	equal(all(c.Find(ctx, M{})), []M{{"_id": int32(1), "n": int32(1)}})
}

func transactionsRead() {
	c := fresh("own", numbers(100)...)
	session := start()
	defer session.EndSession(ctx)
	_, err := session.WithTransaction(ctx, func(inner context.Context) (any, error) {
		_, err := c.InsertMany(inner, numbers(150)[100:])
		check(err)
		_, err = c.DeleteOne(inner, M{"_id": 0})
		check(err)
		cursor, err := c.Find(inner, M{}, options.Find().SetBatchSize(20))
		check(err)
		found := []int32{}
		for cursor.Next(inner) {
			if len(found) == 0 {
				_, err = c.InsertOne(ctx, M{"_id": 1000})
				check(err)
			}
			found = append(found, cursor.Current.Lookup("_id").Int32())
		}
		check(cursor.Err())
		equal([]any{len(found), found[0], found[148]}, []any{149, int32(1), int32(149)})
		n, err := c.CountDocuments(inner, M{})
		check(err)
		equal([]int64{n, count(c, M{})}, []int64{149, 101})
		return nil, nil
	})
	check(err)
	equal(count(c, M{}), int64(150))
}

func streamsResume() {
	c := fresh("watched")
	stream, err := c.Watch(ctx, mongo.Pipeline{})
	check(err)
	for i := int32(0); i < 10; i++ {
		_, err := c.InsertOne(ctx, M{"_id": i})
		check(err)
	}
	var token bson.Raw
	next := func(stream *mongo.ChangeStream) int32 {
		equal(stream.Next(ctx), true)
		token = stream.ResumeToken()
		return stream.Current.Lookup("documentKey", "_id").Int32()
	}
	equal([]int32{next(stream), next(stream), next(stream)}, []int32{0, 1, 2})
	check(stream.Close(ctx))
	_, err = c.DeleteOne(ctx, M{"_id": 9})
	check(err)
	stream, err = c.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(token))
	check(err)
	for _, id := range []int32{3, 4, 5, 6, 7, 8, 9, 9} {
		equal(next(stream), id)
	}
	equal(stream.Current.Lookup("operationType").StringValue(), "delete")
	equal(stream.TryNext(ctx), false)
	check(stream.Close(ctx))
}

func transactionsWithDuplicates() {
	c := fresh("unique_within", M{"_id": 1, "email": "a"})
	index := mongo.IndexModel{Keys: D{{Key: "email", Value: 1}}, Options: options.Index().SetUnique(true)}
	_, err := c.Indexes().CreateOne(ctx, index)
	check(err)
	session := start()
	defer session.EndSession(ctx)
	check(session.StartTransaction())
	check(within(session, func(inner context.Context) error {
		_, err := c.InsertOne(inner, M{"_id": 2, "email": "b"})
		check(err)
		_, err = c.InsertOne(inner, M{"_id": 3, "email": "a"})
		equal(mongo.IsDuplicateKeyError(err), true)
		_, err = c.InsertOne(inner, M{"_id": 4, "email": "d"})
		fails(251, err)
		return session.AbortTransaction(inner)
	}))
	equal(count(c, M{}), int64(1))
}

func causalSessions() {
	c := fresh("causal")
	one, two := start(), start()
	defer one.EndSession(ctx)
	defer two.EndSession(ctx)
	insert := func(id int) func(context.Context) error {
		return func(inner context.Context) error {
			_, err := c.InsertOne(inner, M{"_id": id})
			return err
		}
	}
	check(within(one, insert(1)))
	check(two.AdvanceClusterTime(one.ClusterTime()))
	check(two.AdvanceOperationTime(one.OperationTime()))
	check(within(two, func(inner context.Context) error { return c.FindOne(inner, M{"_id": 1}).Err() }))
	_, err := two.WithTransaction(ctx, func(inner context.Context) (any, error) { return nil, insert(2)(inner) })
	check(err)
	equal(two.OperationTime().After(*one.OperationTime()), true)
}

func files() {
	bucket := db.GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(1000))
	data := bytes.Repeat([]byte("0123456789"), 1234)
	id, err := bucket.UploadFromStream(ctx, "a.bin", bytes.NewReader(data))
	check(err)
	var found bytes.Buffer
	_, err = bucket.DownloadToStream(ctx, id, &found)
	check(err)
	equal(bytes.Equal(found.Bytes(), data), true)
	check(bucket.Rename(ctx, id, "b.bin"))
	check(bucket.Delete(ctx, id))
	check(bucket.Drop(ctx))
}

func values() {
	c := fresh("values")
	decimal, err := bson.ParseDecimal128("12.50")
	check(err)
	at := time.UnixMilli(1700000000123).UTC()
	document := M{"_id": bson.NewObjectID(), "d": decimal, "at": bson.NewDateTimeFromTime(at), "r": bson.Regex{Pattern: "^a", Options: "i"}, "b": bson.Binary{Subtype: 4, Data: make([]byte, 16)}, "l": int64(1) << 40}
	_, err = c.InsertOne(ctx, document)
	check(err)
	equal(all(c.Find(ctx, M{"at": at, "d": M{"$gt": 12}})), []M{document})
	_, err = c.InsertOne(ctx, M{"s": "Abc"})
	check(err)
	equal(count(c, M{"s": bson.Regex{Pattern: "^a", Options: "i"}}), int64(1))
	equal(len(all(c.Find(ctx, M{"s": "aBC"}, options.Find().SetCollation(&options.Collation{Locale: "en", Strength: 2})))), 1)
}

func deadlines() {
	c := fresh("deadlines", numbers(10)...)
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	check(client.Ping(limited, nil))
	_, err := c.InsertOne(limited, M{"_id": 100})
	check(err)
	_, err = c.UpdateOne(limited, M{"_id": 100}, M{"$set": M{"a": 1}})
	check(err)
	check(c.Distinct(limited, "a", M{}).Err())
	_, err = c.Indexes().CreateOne(limited, mongo.IndexModel{Keys: D{{Key: "a", Value: 1}}})
	check(err)
	_, err = db.ListCollectionNames(limited, M{})
	check(err)
	cursor, err := c.Find(limited, M{}, options.Find().SetBatchSize(2))
	check(err)
	found := []M{}
	check(cursor.All(limited, &found))
	equal(len(found), 11)
}

func concerns() {
	c := db.Collection("concerns", options.Collection().SetWriteConcern(writeconcern.Majority()).SetReadConcern(readconcern.Majority()))
	check(c.Drop(ctx))
	_, err := c.InsertOne(ctx, M{"_id": 1})
	check(err)
	equal(count(c, M{}), int64(1))
	silent := db.Collection("concerns", options.Collection().SetWriteConcern(writeconcern.Unacknowledged()))
	_, err = silent.InsertOne(ctx, M{"_id": 2})
	check(err)
}

func administration() {
	names, err := client.ListDatabaseNames(ctx, M{"name": db.Name()})
	check(err)
	equal(names, []string{db.Name()})
	check(db.Collection("checked").Drop(ctx))
	check(db.CreateCollection(ctx, "checked", options.CreateCollection().SetValidator(M{"a": M{"$exists": true}})))
	_, err = db.Collection("checked").InsertOne(ctx, M{"b": 1})
	fails(121, err)
	check(db.CreateView(ctx, "view", "values", mongo.Pipeline{{{Key: "$limit", Value: 1}}}))
	equal(count(db.Collection("view"), M{}), int64(1))
	fails(59, db.RunCommand(ctx, M{"nonsense": 1}).Err())
	rename := D{{Key: "renameCollection", Value: db.Name() + ".checked"}, {Key: "to", Value: db.Name() + ".renamed"}}
	check(client.Database("admin").RunCommand(ctx, rename).Err())
	check(db.RunCommand(ctx, D{{Key: "explain", Value: D{{Key: "find", Value: "values"}}}}).Err())
	check(db.Drop(ctx))
}

func main() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	var err error
	if len(os.Args) == 3 {
		// One document, for addresses.py.
		client, err = mongo.Connect(options.Client().ApplyURI(os.Args[1]))
		check(err)
		_, err = client.Database("addresses").Collection("seen").InsertOne(ctx, M{"_id": os.Args[2]})
		check(err)
		return
	}
	client, err = mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGODB_URI")))
	check(err)
	db = client.Database("clients_go")
	check(db.Drop(ctx))
	steps := []struct {
		name string
		run  func()
	}{
		{"documents", documents}, {"finds", finds}, {"writes", writes}, {"aggregates", aggregates}, {"indexes", indexes},
		{"find one and …", findOneAnd}, {"sessions", sessions},
		{"transactions commit", transactionsCommit}, {"transactions abort", transactionsAbort},
		{"transactions are repeated", transactionsRepeat}, {"transactions conflict", transactionsConflict},
		{"transactions read their own writes", transactionsRead},
		{"transactions with duplicates", transactionsWithDuplicates}, {"streams resume", streamsResume}, {"causal sessions", causalSessions},
		{"files", files}, {"values", values}, {"deadlines", deadlines},
		{"concerns", concerns}, {"administration", administration},
	}
	failed := 0
	for _, step := range steps {
		func() {
			defer func() {
				if reason := recover(); reason != nil {
					failed++
					fmt.Printf("FAILED %s: %v\n", step.name, reason)
				}
			}()
			step.run()
		}()
	}
	check(client.Disconnect(ctx))
	fmt.Printf("%d passed, %d failed\n", len(steps)-failed, failed)
}
