//! A catalogue that comes as a file: loaded in bulk, with bad lines set aside, and corrected in a batch.
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

    // `Input::file` reads a file, and goes on where a load of it was cut short.
    let input = Input::stream("the catalogue", Cursor::new(CATALOGUE));
    let report = products.load(input).id_field("sku").on_bad(OnBad::Skip).on_duplicate(OnDuplicate::Replace).run()?;
    println!("{} lines loaded, {} left out, {} products", report.documents, report.rejected, products.count()?);

    // One batch: a price and a note of it, both or none.
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
