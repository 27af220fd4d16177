//! Ten typical questions about the orders of a shop, each answered by one pipeline.
//!
//! ```text
//! cargo run --release -p alluvium --example questions
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Collection, Database, Result};

const ORDERS: [&str; 8] = [
    r#"{"_id": 1, "who": "ada", "day": 1, "city": "Rome", "items": [{"sku": "ball", "n": 2, "price": 5}, {"sku": "rope", "n": 1, "price": 9}]}"#,
    r#"{"_id": 2, "who": "bob", "day": 1, "city": "Oslo", "items": [{"sku": "ball", "n": 1, "price": 5}]}"#,
    r#"{"_id": 3, "who": "ada", "day": 2, "city": "Rome", "items": [{"sku": "kite", "n": 1, "price": 20}]}"#,
    r#"{"_id": 4, "who": "cyd", "day": 4, "city": "Rome", "items": [{"sku": "rope", "n": 3, "price": 9}]}"#,
    r#"{"_id": 5, "who": "bob", "day": 4, "city": "Oslo", "items": [{"sku": "ball", "n": 4, "price": 5}]}"#,
    r#"{"_id": 6, "who": "ada", "day": 5, "city": "Bern", "items": [{"sku": "kite", "n": 2, "price": 18}]}"#,
    r#"{"_id": 7, "who": "eve", "day": 5, "city": "Bern", "items": []}"#,
    r#"{"_id": 8, "who": "cyd", "day": 6, "city": "Rome", "items": [{"sku": "ball", "n": 1, "price": 5}, {"sku": "kite", "n": 1, "price": 20}]}"#,
];

const CUSTOMERS: [&str; 3] = [
    r#"{"_id": "ada", "name": "Ada L.", "invited_by": "cyd"}"#,
    r#"{"_id": "bob", "name": "Bob M.", "invited_by": "ada"}"#,
    r#"{"_id": "cyd", "name": "Cyd N."}"#,
];

/// A stage that computes the sum of an order; several questions use it.
const SUM: &str =
    r#"{"$set": {"sum": {"$sum": {"$map": {"input": "$items", "in": {"$multiply": ["$$this.n", "$$this.price"]}}}}}}"#;

fn main() -> Result<()> {
    let db = Database::in_memory()?;
    let (orders, customers) = (db.collection("orders"), db.collection("customers"));
    orders.insert_many(ORDERS)?;
    customers.insert_many(CUSTOMERS)?;

    sums(&orders)?;
    relations(&orders, &customers)?;
    days(&orders)
}

/// Questions about the orders alone.
fn sums(orders: &Collection) -> Result<()> {
    ask(orders, "How many orders are there in each city?", &[r#"{"$sortByCount": "$city"}"#])?;
    ask(
        orders,
        "Who spent the most?",
        &[
            SUM,
            r#"{"$group": {"_id": "$who", "spent": {"$sum": "$sum"}}}"#,
            r#"{"$sort": {"spent": -1}}"#,
            r#"{"$limit": 2}"#,
        ],
    )?;
    ask(
        orders,
        "What sells best?",
        &[
            r#"{"$unwind": "$items"}"#,
            r#"{"$group": {"_id": "$items.sku", "pieces": {"$sum": "$items.n"}}}"#,
            r#"{"$sort": {"pieces": -1}}"#,
        ],
    )?;
    ask(
        orders,
        "What is an order worth on average?",
        &[
            SUM,
            r#"{"$group": {"_id": null, "average": {"$avg": "$sum"}, "median": {"$median": {"input": "$sum", "method": "approximate"}}}}"#,
        ],
    )?;
    ask(
        orders,
        "How are the sums of orders distributed?",
        &[SUM, r#"{"$bucket": {"groupBy": "$sum", "boundaries": [0, 10, 25, 100]}}"#],
    )
}

/// Questions about orders and customers.
fn relations(orders: &Collection, customers: &Collection) -> Result<()> {
    ask(
        orders,
        "What are the names of those who ordered in Oslo?",
        &[
            r#"{"$match": {"city": "Oslo"}}"#,
            r#"{"$group": {"_id": "$who"}}"#,
            r#"{"$lookup": {"from": "customers", "localField": "_id", "foreignField": "_id", "as": "who"}}"#,
            r#"{"$project": {"_id": 0, "name": {"$first": "$who.name"}}}"#,
        ],
    )?;
    ask(
        orders,
        "Which orders are of unknown customers?",
        &[
            r#"{"$lookup": {"from": "customers", "localField": "who", "foreignField": "_id", "as": "known"}}"#,
            r#"{"$match": {"known": []}}"#,
            r#"{"$project": {"who": 1}}"#,
        ],
    )?;
    ask(
        customers,
        "Whom did Cyd bring, directly or not?",
        &[
            r#"{"$match": {"_id": "cyd"}}"#,
            r#"{"$graphLookup": {"from": "customers", "startWith": "$_id", "connectFromField": "_id", "connectToField": "invited_by", "as": "brought"}}"#,
            r#"{"$project": {"_id": 0, "names": {"$sortArray": {"input": "$brought.name", "sortBy": 1}}}}"#,
        ],
    )
}

/// Questions about days.
fn days(orders: &Collection) -> Result<()> {
    ask(
        orders,
        "How do sales add up over the days?",
        &[
            SUM,
            r#"{"$group": {"_id": "$day", "sum": {"$sum": "$sum"}}}"#,
            r#"{"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"total": {"$sum": "$sum", "window": {"documents": ["unbounded", "current"]}}}}}"#,
        ],
    )?;
    ask(
        orders,
        "On which days was nothing ordered?",
        &[
            r#"{"$group": {"_id": "$day", "orders": {"$sum": 1}}}"#,
            r#"{"$densify": {"field": "_id", "range": {"step": 1, "bounds": "full"}}}"#,
            r#"{"$match": {"orders": null}}"#,
        ],
    )
}

fn ask(collection: &Collection, question: &str, stages: &[&str]) -> Result<()> {
    println!("{question}");
    for answer in collection.aggregate(stages).run()? {
        println!("  {}", answer?);
    }
    Ok(())
}
