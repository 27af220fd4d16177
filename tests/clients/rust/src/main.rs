//! The operations of programs with the Rust driver, against the server of MONGODB_URI.

use futures::future::BoxFuture;
use futures::{AsyncReadExt, AsyncWriteExt, FutureExt, StreamExt, TryStreamExt};
use mongodb::bson::{Bson, DateTime, Decimal128, Document, Regex, doc, oid::ObjectId};
use mongodb::error::{Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR, WriteFailure};
use mongodb::options::{
    Collation, CollationStrength, FindOptions, IndexOptions, ReadConcern, ReturnDocument, WriteConcern,
};
use mongodb::{Client, ClientSession, Collection, Database, IndexModel};
use std::future::Future;
use std::time::Duration;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const NAME: &str = "clients_rust";

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Pet {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    age: Option<i32>,
    born: DateTime,
}

struct Steps {
    passed: u32,
    failed: u32,
}

impl Steps {
    async fn step(&mut self, name: &str, run: impl Future<Output = Outcome>) {
        match run.await {
            Ok(()) => self.passed += 1,
            Err(error) => {
                println!("FAILED {name}: {error}");
                self.failed += 1;
            }
        }
    }
}

macro_rules! equal {
    ($found:expr, $expected:expr) => {{
        let (found, expected) = ($found, $expected);
        if found != expected {
            return Err(format!("line {}: found {found:?}, expected {expected:?}", line!()).into());
        }
    }};
}

/// The code of an error of the server.
fn code<T>(result: Result<T, Error>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(error) => match *error.kind {
            ErrorKind::Command(error) => error.code,
            ErrorKind::Write(WriteFailure::WriteError(error)) => error.code,
            ErrorKind::InsertMany(error) => error.write_errors.iter().flatten().next().map_or(-1, |error| error.code),
            _ => -1,
        },
    }
}

async fn fresh(db: &Database, name: &str, documents: Vec<Document>) -> mongodb::error::Result<Collection<Document>> {
    let collection = db.collection::<Document>(name);
    collection.drop().await?;
    if !documents.is_empty() {
        collection.insert_many(documents).await?;
    }
    Ok(collection)
}

fn numbers(n: i32) -> Vec<Document> {
    (0..n).map(|i| doc! {"_id": i, "even": i % 2 == 0, "k": i % 3}).collect()
}

async fn documents(db: Database) -> Outcome {
    let pets = db.collection::<Pet>("pets");
    pets.drop().await?;
    let rex = Pet { id: 1, name: "rex".into(), age: None, born: DateTime::from_millis(1_700_000_000_123) };
    equal!(pets.insert_one(&rex).await?.inserted_id, Bson::Int32(1));
    equal!(pets.find_one(doc! {"name": "rex"}).await?, Some(rex.clone()));
    let done = pets.update_one(doc! {"_id": 1}, doc! {"$set": {"age": 4}}).await?;
    equal!((done.matched_count, done.modified_count), (1, 1));
    let done = pets.replace_one(doc! {"_id": 9}, Pet { id: 9, ..rex }).upsert(true).await?;
    equal!(done.upserted_id, Some(Bson::Int32(9)));
    equal!(pets.delete_many(doc! {}).await?.deleted_count, 2);
    Ok(())
}

async fn finds(db: Database) -> Outcome {
    let c = fresh(&db, "finds", numbers(500)).await?;
    let options = FindOptions::builder().sort(doc! {"_id": -1}).skip(1).limit(2).projection(doc! {"_id": 1}).build();
    let found: Vec<Document> = c.find(doc! {"even": true}).with_options(options).await?.try_collect().await?;
    equal!(found, vec![doc! {"_id": 496}, doc! {"_id": 494}]);
    let mut cursor = c.find(doc! {}).batch_size(7).await?;
    let mut n = 0;
    while cursor.advance().await? {
        n += i32::from(cursor.current().get_i32("_id").is_ok());
    }
    equal!(n, 500);
    drop(c.find(doc! {}).batch_size(2).await?.next().await);
    equal!(c.count_documents(doc! {"k": 1}).await?, 167);
    equal!(c.estimated_document_count().await?, 500);
    equal!(c.distinct("k", doc! {"_id": {"$lt": 2}}).await?, vec![Bson::Int32(0), Bson::Int32(1)]);
    let found = c.find_one(doc! {"$expr": {"$eq": ["$_id", "$$x"]}}).let_vars(doc! {"x": 5}).await?;
    equal!(found.is_some(), true);
    Ok(())
}

async fn writes(db: Database) -> Outcome {
    let c = fresh(&db, "writes", vec![doc! {"_id": 1, "l": [{"a": 1}, {"a": 5}]}]).await?;
    let filters = [doc! {"big.a": {"$gt": 2}}];
    c.update_one(doc! {}, doc! {"$set": {"l.$[big].b": 1}}).array_filters(filters).await?;
    equal!(c.find_one(doc! {}).await?, Some(doc! {"_id": 1, "l": [{"a": 1}, {"a": 5, "b": 1}]}));
    c.update_many(doc! {}, vec![doc! {"$set": {"n": {"$size": "$l"}}}]).await?;
    equal!(c.count_documents(doc! {"n": 2}).await?, 1);
    equal!(code(c.update_one(doc! {}, doc! {"$set": {"_id": 2}}).await), 66);
    equal!(code(c.insert_many([doc! {"_id": 5}, doc! {"_id": 1}]).await), 11000);
    equal!(c.count_documents(doc! {}).await?, 2);
    let majority = WriteConcern::builder().w(mongodb::options::Acknowledgment::Majority).build();
    c.insert_one(doc! {"_id": 7}).write_concern(majority).await?;
    Ok(())
}

async fn bulk(client: Client, db: Database) -> Outcome {
    let c = fresh(&db, "bulk", vec![]).await?;
    let insert = mongodb::options::InsertOneModel::builder().namespace(c.namespace()).document(doc! {"_id": 1}).build();
    let update = mongodb::options::UpdateOneModel::builder()
        .namespace(c.namespace())
        .filter(doc! {"_id": 2})
        .update(doc! {"$set": {"a": 1}})
        .upsert(true)
        .build();
    let models: Vec<mongodb::options::WriteModel> = vec![insert.into(), update.into()];
    let done = client.bulk_write(models).verbose_results().await?;
    equal!((done.summary.inserted_count, done.summary.upserted_count), (1, 1));
    equal!(done.update_results.get(&1).and_then(|result| result.upserted_id.clone()), Some(Bson::Int32(2)));
    Ok(())
}

async fn aggregates(db: Database) -> Outcome {
    let c = fresh(&db, "sums", numbers(30)).await?;
    let stages = [doc! {"$group": {"_id": "$k", "n": {"$sum": 1}}}, doc! {"$sort": {"_id": 1}}];
    let found: Vec<Document> = c.aggregate(stages).await?.try_collect().await?;
    equal!(found, (0..3).map(|k| doc! {"_id": k, "n": 10}).collect::<Vec<_>>());
    c.aggregate([doc! {"$match": {"k": 1}}, doc! {"$out": "copied"}]).await?;
    equal!(db.collection::<Document>("copied").count_documents(doc! {}).await?, 10);
    let join = doc! {"$lookup": {"from": "copied", "localField": "_id", "foreignField": "_id", "as": "j"}};
    let found: Vec<Document> =
        c.aggregate([join, doc! {"$match": {"j.0": {"$exists": true}}}]).await?.try_collect().await?;
    equal!(found.len(), 10);
    Ok(())
}

async fn indexes(db: Database) -> Outcome {
    let c = fresh(&db, "indexed", vec![]).await?;
    let unique = IndexOptions::builder().unique(true).build();
    let made = c.create_index(IndexModel::builder().keys(doc! {"email": 1}).options(unique).build()).await?;
    equal!(made.index_name, "email_1");
    let ttl = IndexOptions::builder().expire_after(Duration::from_secs(60)).build();
    c.create_index(IndexModel::builder().keys(doc! {"at": 1}).options(ttl).build()).await?;
    equal!(c.list_index_names().await?, ["_id_", "email_1", "at_1"]);
    let listed: Vec<IndexModel> = c.list_indexes().await?.try_collect().await?;
    equal!(listed[2].options.as_ref().and_then(|options| options.expire_after), Some(Duration::from_secs(60)));
    c.insert_one(doc! {"email": "a"}).await?;
    equal!(code(c.insert_one(doc! {"email": "a"}).await), 11000);
    c.drop_index("email_1").await?;
    c.drop_indexes().await?;
    equal!(code(c.drop_index("none").await), 27);
    Ok(())
}

async fn find_one_and(db: Database) -> Outcome {
    let c = fresh(&db, "modify", vec![doc! {"_id": 1, "n": 1}]).await?;
    let after = c.find_one_and_update(doc! {}, doc! {"$inc": {"n": 1}}).return_document(ReturnDocument::After).await?;
    equal!(after, Some(doc! {"_id": 1, "n": 2}));
    equal!(c.find_one_and_replace(doc! {"_id": 1}, doc! {"z": 1}).await?, Some(doc! {"_id": 1, "n": 2}));
    equal!(c.find_one_and_delete(doc! {"_id": 1}).await?, Some(doc! {"_id": 1, "z": 1}));
    equal!(c.find_one_and_delete(doc! {"_id": 1}).await?, None);
    Ok(())
}

async fn sessions(client: Client, db: Database) -> Outcome {
    let c = fresh(&db, "sessions", vec![doc! {"_id": 1}]).await?;
    let mut session = client.start_session().await?;
    equal!(c.find_one(doc! {}).session(&mut session).await?, Some(doc! {"_id": 1}));
    Ok(())
}

/// Changes two collections, and one of another database.
async fn move_within(session: &mut ClientSession, db: &Database, other: &Database) -> mongodb::error::Result<Bson> {
    let a = db.collection::<Document>("moved");
    a.update_one(doc! {"_id": 1}, doc! {"$inc": {"n": -3}}).session(&mut *session).await?;
    db.collection::<Document>("moves").insert_one(doc! {"_id": "first"}).session(&mut *session).await?;
    Ok(other.collection::<Document>("moved").insert_one(doc! {"_id": 1}).session(session).await?.inserted_id)
}

async fn transactions_commit(client: Client, db: Database) -> Outcome {
    let a = fresh(&db, "moved", vec![doc! {"_id": 1, "n": 10}]).await?;
    let b = fresh(&db, "moves", vec![]).await?;
    let other = client.database("clients_rust_other");
    let c = fresh(&other, "moved", vec![]).await?;
    let mut session = client.start_session().await?;
    let run = async |session: &mut ClientSession| move_within(session, &db, &other).await;
    equal!(session.start_transaction().and_run2(run).await?, Bson::Int32(1));
    let majority = WriteConcern::builder().w(mongodb::options::Acknowledgment::Majority).build();
    session.start_transaction().read_concern(ReadConcern::snapshot()).write_concern(majority).await?;
    a.insert_one(doc! {"_id": 2}).session(&mut session).await?;
    a.delete_one(doc! {"_id": 1}).session(&mut session).await?;
    c.find_one_and_delete(doc! {"_id": 1}).session(&mut session).await?;
    session.commit_transaction().await?;
    session.commit_transaction().await?;
    equal!(a.find(doc! {}).await?.try_collect::<Vec<_>>().await?, vec![doc! {"_id": 2}]);
    equal!((b.count_documents(doc! {}).await?, c.count_documents(doc! {}).await?), (1, 0));
    other.drop().await?;
    Ok(())
}

async fn transactions_abort(client: Client, db: Database) -> Outcome {
    let a = fresh(&db, "moved", vec![doc! {"_id": 1, "n": 10}]).await?;
    let b = fresh(&db, "moves", vec![]).await?;
    let other = client.database("clients_rust_other");
    let mut session = client.start_session().await?;
    let run = async |session: &mut ClientSession| {
        move_within(session, &db, &other).await?;
        Err::<(), Error>(Error::custom("stop"))
    };
    let failed = session.start_transaction().and_run2(run).await;
    equal!(failed.is_err_and(|error| error.get_custom::<&str>() == Some(&"stop")), true);
    equal!(a.find_one(doc! {}).await?, Some(doc! {"_id": 1, "n": 10}));
    let found = other.collection::<Document>("moved").count_documents(doc! {}).await?;
    equal!((b.count_documents(doc! {}).await?, found), (0, 0));
    Ok(())
}

/// Increments the counter by a read and a write.
fn increment<'a>(
    session: &'a mut ClientSession,
    c: &'a mut Collection<Document>,
) -> BoxFuture<'a, mongodb::error::Result<()>> {
    async move {
        let found = c.find_one(doc! {"_id": 0}).session(&mut *session).await?.unwrap_or_default();
        let n = found.get_i32("n").map_err(Error::custom)?;
        c.update_one(doc! {"_id": 0}, doc! {"$set": {"n": n + 1}}).session(session).await?;
        Ok(())
    }
    .boxed()
}

async fn count_to_ten(client: Client, c: Collection<Document>) -> mongodb::error::Result<()> {
    let mut session = client.start_session().await?;
    for _ in 0..10 {
        session.start_transaction().and_run(c.clone(), increment).await?;
    }
    Ok(())
}

async fn transactions_repeat(client: Client, db: Database) -> Outcome {
    let c = fresh(&db, "counters", vec![doc! {"_id": 0, "n": 0}]).await?;
    let tasks: Vec<_> = (0..8).map(|_| tokio::spawn(count_to_ten(client.clone(), c.clone()))).collect();
    for task in tasks {
        task.await??;
    }
    equal!(c.find_one(doc! {}).await?, Some(doc! {"_id": 0, "n": 80}));
    Ok(())
}

async fn transactions_conflict(client: Client, db: Database) -> Outcome {
    let c = fresh(&db, "conflicts", vec![doc! {"_id": 1, "n": 0}]).await?;
    let (mut one, mut two) = (client.start_session().await?, client.start_session().await?);
    one.start_transaction().await?;
    two.start_transaction().await?;
    c.update_one(doc! {"_id": 1}, doc! {"$inc": {"n": 1}}).session(&mut one).await?;
    let conflict = c.update_one(doc! {"_id": 1}, doc! {"$inc": {"n": 1}}).session(&mut two).await;
    equal!(conflict.as_ref().is_err_and(|error| error.contains_label(TRANSIENT_TRANSACTION_ERROR)), true);
    equal!(code(conflict), 112);
    two.abort_transaction().await?;
    one.commit_transaction().await?;
    equal!(c.find_one(doc! {}).await?, Some(doc! {"_id": 1, "n": 1}));
    Ok(())
}

async fn transactions_read(client: Client, db: Database) -> Outcome {
    let c = fresh(&db, "own", numbers(100)).await?;
    let mut session = client.start_session().await?;
    session.start_transaction().await?;
    c.insert_many(&numbers(150)[100..]).session(&mut session).await?;
    c.delete_one(doc! {"_id": 0}).session(&mut session).await?;
    let mut cursor = c.find(doc! {}).batch_size(20).session(&mut session).await?;
    let mut found = Vec::new();
    while let Some(document) = cursor.next(&mut session).await {
        if found.is_empty() {
            c.insert_one(doc! {"_id": 1000}).await?;
        }
        found.push(document?.get_i32("_id")?);
    }
    equal!(found, (1..150).collect::<Vec<_>>());
    let inside = c.count_documents(doc! {}).session(&mut session).await?;
    equal!((inside, c.count_documents(doc! {}).await?), (149, 101));
    session.commit_transaction().await?;
    equal!(c.count_documents(doc! {}).await?, 150);
    Ok(())
}

async fn streams_resume(db: Database) -> Outcome {
    let c = fresh(&db, "watched", vec![]).await?;
    let mut stream = c.watch().await?;
    for id in 0..10 {
        c.insert_one(doc! {"_id": id}).await?;
    }
    let mut found = Vec::new();
    while found.len() < 3 {
        found.push(stream.next().await.ok_or("no event")??.document_key);
    }
    let token = stream.resume_token().ok_or("no token")?;
    drop(stream);
    c.delete_one(doc! {"_id": 9}).await?;
    let mut stream = c.watch().resume_after(token).await?;
    while found.len() < 11 {
        found.push(stream.next().await.ok_or("no event")??.document_key);
    }
    let expected: Vec<_> = (0..10).chain([9]).map(|id| Some(doc! {"_id": id})).collect();
    equal!(found, expected);
    Ok(())
}

async fn transactions_with_duplicates(client: Client, db: Database) -> Outcome {
    let c = fresh(&db, "unique_within", vec![doc! {"_id": 1, "email": "a"}]).await?;
    let unique = IndexOptions::builder().unique(true).build();
    c.create_index(IndexModel::builder().keys(doc! {"email": 1}).options(unique).build()).await?;
    let mut session = client.start_session().await?;
    session.start_transaction().await?;
    c.insert_one(doc! {"_id": 2, "email": "b"}).session(&mut session).await?;
    equal!(code(c.insert_one(doc! {"_id": 3, "email": "a"}).session(&mut session).await), 11000);
    equal!(code(c.insert_one(doc! {"_id": 4, "email": "d"}).session(&mut session).await), 251);
    session.abort_transaction().await?;
    equal!(c.count_documents(doc! {}).await?, 1);
    Ok(())
}

async fn causal_sessions(client: Client, db: Database) -> Outcome {
    let c = fresh(&db, "causal", vec![]).await?;
    let mut one = client.start_session().causal_consistency(true).await?;
    let mut two = client.start_session().causal_consistency(true).await?;
    c.insert_one(doc! {"_id": 1}).session(&mut one).await?;
    let (Some(cluster_time), Some(time)) = (one.cluster_time(), one.operation_time()) else {
        return Err("the session has no times".into());
    };
    two.advance_cluster_time(cluster_time);
    two.advance_operation_time(time);
    equal!(c.find_one(doc! {}).session(&mut two).await?, Some(doc! {"_id": 1}));
    two.start_transaction().await?;
    c.insert_one(doc! {"_id": 2}).session(&mut two).await?;
    two.commit_transaction().await?;
    equal!(two.operation_time() > one.operation_time(), true);
    Ok(())
}

async fn files(db: Database) -> Outcome {
    let bucket = db.gridfs_bucket(None);
    let data: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
    let mut upload = bucket.open_upload_stream("a.bin").await?;
    upload.write_all(&data).await?;
    upload.close().await?;
    let mut found = Vec::new();
    bucket.open_download_stream(upload.id().clone()).await?.read_to_end(&mut found).await?;
    equal!(found == data, true);
    bucket.delete(upload.id().clone()).await?;
    bucket.drop().await?;
    Ok(())
}

async fn values(db: Database) -> Outcome {
    let c = fresh(&db, "values", vec![]).await?;
    let decimal: Decimal128 = "12.50".parse()?;
    let regex = Regex { pattern: "^a".try_into()?, options: "i".try_into()? };
    let document = doc! {"_id": ObjectId::new(), "d": decimal, "at": DateTime::from_millis(-1), "r": regex.clone(), "l": 1_i64 << 40};
    c.insert_one(&document).await?;
    equal!(c.find_one(doc! {"at": {"$lt": DateTime::from_millis(0)}, "d": {"$gt": 12}}).await?, Some(document));
    c.insert_one(doc! {"s": "Abc"}).await?;
    equal!(c.count_documents(doc! {"s": regex}).await?, 1);
    let collation = Collation::builder().locale("en").strength(CollationStrength::Secondary).build();
    equal!(c.count_documents(doc! {"s": "aBC"}).collation(collation).await?, 1);
    Ok(())
}

async fn administration(client: Client, db: Database) -> Outcome {
    equal!(client.list_database_names().await?.iter().any(|name| name == NAME), true);
    equal!(db.list_collection_names().await?.iter().any(|name| name == "values"), true);
    db.collection::<Document>("checked").drop().await?;
    db.create_collection("checked").validator(doc! {"a": {"$exists": true}}).await?;
    equal!(code(db.collection::<Document>("checked").insert_one(doc! {"b": 1}).await), 121);
    db.create_collection("view").view_on("values".to_owned()).pipeline(vec![doc! {"$limit": 1}]).await?;
    equal!(db.collection::<Document>("view").count_documents(doc! {}).await?, 1);
    equal!(code(db.run_command(doc! {"nonsense": 1}).await), 59);
    equal!(code(db.collection::<Document>("values").find(doc! {"a": {"$nonsense": 1}}).await), 2);
    db.drop().await?;
    equal!(client.list_database_names().await?.iter().any(|name| name == NAME), false);
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome {
    if let [_, uri, id] = &std::env::args().collect::<Vec<_>>()[..] {
        // One document, for addresses.py.
        let client = Client::with_uri_str(uri).await?;
        client.database("addresses").collection("seen").insert_one(doc! {"_id": id}).await?;
        return Ok(());
    }
    let client = Client::with_uri_str(std::env::var("MONGODB_URI")?).await?;
    let db = client.database(NAME);
    db.drop().await?;
    let mut steps = Steps { passed: 0, failed: 0 };
    steps.step("documents", documents(db.clone())).await;
    steps.step("finds", finds(db.clone())).await;
    steps.step("writes", writes(db.clone())).await;
    steps.step("bulk writes", bulk(client.clone(), db.clone())).await;
    steps.step("aggregates", aggregates(db.clone())).await;
    steps.step("indexes", indexes(db.clone())).await;
    steps.step("find one and …", find_one_and(db.clone())).await;
    steps.step("sessions", sessions(client.clone(), db.clone())).await;
    steps.step("transactions commit", transactions_commit(client.clone(), db.clone())).await;
    steps.step("transactions abort", transactions_abort(client.clone(), db.clone())).await;
    steps.step("transactions are repeated", transactions_repeat(client.clone(), db.clone())).await;
    steps.step("transactions conflict", transactions_conflict(client.clone(), db.clone())).await;
    steps.step("transactions read their own writes", transactions_read(client.clone(), db.clone())).await;
    steps.step("transactions with duplicates", transactions_with_duplicates(client.clone(), db.clone())).await;
    steps.step("streams resume", streams_resume(db.clone())).await;
    steps.step("causal sessions", causal_sessions(client.clone(), db.clone())).await;
    steps.step("files", files(db.clone())).await;
    steps.step("values", values(db.clone())).await;
    steps.step("administration", administration(client.clone(), db.clone())).await;
    drop(db);
    client.shutdown().await;
    println!("{} passed, {} failed", steps.passed, steps.failed);
    Ok(())
}
