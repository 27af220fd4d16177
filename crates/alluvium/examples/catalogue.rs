//! Loads the file of a catalogue in bulk, sets bad lines aside, and corrects the catalogue in a batch.
//!
//! ```text
//! cargo run --release -p alluvium --example catalogue
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::load::{Input, OnBad, OnDuplicate};
use alluvium::{Database, Result};
use std::io::Cursor;

const CATALOGUE: &str = r#"{"sku": "B-1", "name": "ball", "price": {"$numberDecimal": "9.90"}, "tags": ["toy"]}
{"sku": "R-7", "name": "rope", "price": {"$numberDecimal": "4.50"}, "tags": ["toy", "outdoor"]}
this is no JSON
{"sku": "B-1", "name": "ball, blue", "price": {"$numberDecimal": "10.90"}, "tags": ["toy"]}
"#;

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = Database::open(folder.path().join("shop"))?;
    let products = db.collection("products");

    // `Input::file` reads a file, and resumes an interrupted load of the same file.
    let input = Input::stream("the catalogue", Cursor::new(CATALOGUE));
    let report = products.load(input).id_field("sku").on_bad(OnBad::Skip).on_duplicate(OnDuplicate::Replace).run()?;
    println!("{} lines loaded, {} left out, {} products", report.documents, report.rejected, products.count()?);

    // One batch changes a price and records the change: either both writes take effect, or neither does.
    let changes = db.collection("changes");
    let mut batch = db.write_batch();
    batch.update_blind(
        &products,
        "R-7",
        r#"{"$set": {"price": {"$numberDecimal": "4.90"}}, "$push": {"tags": "sale"}}"#,
    )?;
    batch.insert(&changes, r#"{"sku": "R-7", "what": "price"}"#)?;
    batch.commit()?;

    for product in products.scan().run()? {
        println!("{}", product?);
    }
    db.close()
}
