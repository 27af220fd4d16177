//! A database under tokio: each operation may wait for the disk, so it runs on a thread that is allowed to block.
//!
//! ```text
//! cargo run --release -p alluvium --example async
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Collection, Database, Result, doc};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Pet {
    #[serde(rename = "_id")]
    name: String,
    kind: String,
    age: u32,
}

/// Runs an operation on one of tokio's threads for blocking operations.
async fn blocking<T: Send + 'static>(operation: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(operation).await.expect("the operation does not panic")
}

/// The names of the pets of a kind that are older than `age`.
async fn older(pets: &Collection<Pet>, kind: &'static str, age: u32) -> Result<Vec<String>> {
    let pets = pets.clone(); // A handle: cloning it copies no documents.
    blocking(move || {
        let found = pets.find(doc! {"kind": kind, "age": {"$gt": age}}).sort(doc! {"_id": 1}).run()?;
        found.map(|pet| Ok(pet?.name)).collect()
    })
    .await
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = Database::open(folder.path().join("pets"))?;
    let pets = db.typed_collection::<Pet>("pets");

    // Any number of tasks may write at once. Writes that wait for the same sync share it.
    let mut tasks = tokio::task::JoinSet::new();
    for (name, kind, age) in [("ada", "cat", 12), ("mia", "cat", 2), ("rex", "dog", 3), ("tom", "cat", 7)] {
        let pets = pets.clone();
        let pet = Pet { name: name.to_owned(), kind: kind.to_owned(), age };
        tasks.spawn(blocking(move || pets.insert_one(pet)));
    }
    while let Some(inserted) = tasks.join_next().await {
        inserted.expect("the task does not panic")?;
    }
    println!("{}", older(&pets, "cat", 5).await?.join(", "));
    blocking(move || db.close()).await
}
