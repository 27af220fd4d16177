//! A report on one snapshot while other threads may write, with rows of the program's own type.
//!
//! ```text
//! cargo run --release -p alluvium --example report
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Database, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    customer: String,
    cents: u64,
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = Database::open(folder.path().join("shop"))?;
    let orders = db.typed_collection::<Order>("orders");
    for number in 0..1000_u32 {
        let customer = ["ada", "grace", "linus"][number as usize % 3].to_owned();
        orders.put(number as i32, Order { customer, cents: u64::from(number) * 10 })?;
    }

    // Writes after this point are not in the report, however long the report takes.
    let moment = db.snapshot();
    for number in 1000..1500 {
        orders.put(number, Order { customer: "ada".to_owned(), cents: 1 })?;
    }

    let mut sums = BTreeMap::<String, u64>::new();
    for order in orders.at(&moment).scan().run()? {
        let order = order?;
        *sums.entry(order.customer).or_default() += order.cents;
    }
    for (customer, cents) in sums {
        println!("{customer:8} {:8}.{:02}", cents / 100, cents % 100);
    }
    println!("{} orders now", orders.count()?);
    db.close()
}
