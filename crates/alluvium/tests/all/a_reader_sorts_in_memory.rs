//! A database that is opened for reading only keeps the files of a sort in memory, within its
//! budget. If the budget is too small, the error says so.

use alluvium::{Builder, Database, Result, doc};
use alluvium_env::{Env, Rng, SeededRng};

fn builder(env: &Env, memory: usize) -> Builder {
    Database::builder().env(env.clone()).memory(memory).disk_reserve(0)
}

/// The values in sorted order.
fn sorted(db: &Database) -> Result<Vec<i64>> {
    let found = db.collection("things").find(doc! {}).sort(doc! {"value": 1}).run()?;
    found
        .map(|document| {
            Ok(document?.get("value")?.and_then(|value| value.to_value().ok()?.as_i64()).expect("a number"))
        })
        .collect()
}

#[test]
fn a_reader_sorts_in_memory() -> Result<()> {
    let env = Env::in_memory(1);
    let db = builder(&env, 64 << 20).open("db")?;
    let rng = SeededRng::new(5);
    for id in 0..4000 {
        let text: String = (0..125).map(|_| format!("{:016x}", rng.next_u64())).collect();
        db.collection("things")
            .insert_one(doc! {"_id": id, "value": (rng.next_u64() % 1_000_000) as i64, "text": text})?;
    }
    db.compact().run()?;
    let expected = sorted(&db)?;
    db.close()?;
    assert!(expected.is_sorted() && expected.len() == 4000);

    let reader = builder(&env, 64 << 20).read_only(true).open("db")?;
    assert_eq!(sorted(&reader)?, expected);
    reader.close()?;
    let small = builder(&env, 8 << 20).read_only(true).open("db")?;
    let refused = sorted(&small).expect_err("the documents do not fit into its memory").to_string();
    assert!(refused.contains("for reading only") && refused.contains("raise the memory budget"), "{refused}");
    // The files of the sort are removed, and their memory is released.
    assert!(small.stats().unwritten_bytes < 1 << 20, "{}", small.stats().unwritten_bytes);
    small.close()?;
    let writer = builder(&env, 8 << 20).open("db")?;
    assert_eq!(sorted(&writer)?, expected);
    writer.close()
}
