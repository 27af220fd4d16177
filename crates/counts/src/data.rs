//! The documents: comments as text, and sales under three indexes. A document depends only on its number.

use alluvium::{Map, Value, doc};

const WORDS: [&str; 32] = [
    "river", "stone", "winter", "because", "never", "really", "people", "without", "thanks", "question", "version",
    "again", "house", "seven", "you", "the", "and", "of", "in", "that", "is", "for", "it", "with", "as", "was", "on",
    "are", "this", "but", "not", "have",
];

/// The authors of comments.
pub(crate) const AUTHORS: u64 = 500;

/// The places of comments.
pub(crate) const PLACES: u64 = 40;

/// The scores of comments are from the first number up to the second.
pub(crate) const SCORES: std::ops::Range<i64> = -20..2000;

/// The `_id` of a comment.
pub(crate) fn comment_id(number: u64) -> String {
    format!("c{:06x}", number * 7919)
}

/// The time of a comment.
pub(crate) fn time(number: u64) -> i64 {
    1_417_392_000 + number as i64
}

/// The name of an author.
pub(crate) fn author(number: u64) -> String {
    format!("author{number}")
}

/// A comment as a line of JSON, of some 700 bytes.
pub(crate) fn comment(number: u64) -> String {
    let mut random = fastrand::Rng::with_seed(number);
    let words = random.usize(5..60);
    let body: Vec<&str> = (0..words).map(|_| WORDS[random.usize(0..WORDS.len())]).collect();
    let edited = if random.u8(0..10) == 0 { "1417392900" } else { "false" };
    let flair = if random.u8(0..4) == 0 { r#","flair":{"text":"member","class":"green"}"# } else { "" };
    format!(
        concat!(
            r#"{{"_id":"{id}","author":"{author}","subreddit":"place{place}","score":{score},"ups":{ups},"#,
            r#""created_utc":{time},"body":"{body}","edited":{edited},"parent_id":"t1_{parent:06x}","#,
            r#""link_id":"t3_{link:05x}","gilded":0,"archived":true,"controversiality":0,"score_hidden":false,"#,
            r#""distinguished":null,"awards":[{{"name":"silver","count":{awards}}}],"permalink":"/r/place{place}/{id}","#,
            r#""ratio":{ratio:.3},"stickied":false,"retrieved_on":{retrieved}{flair}}}"#
        ),
        id = comment_id(number),
        author = author(random.u64(0..AUTHORS)),
        place = random.u64(0..PLACES),
        score = random.i64(SCORES),
        ups = random.u64(0..2000),
        time = time(number),
        body = body.join(" "),
        edited = edited,
        parent = random.u32(..) >> 8,
        link = random.u32(..) >> 12,
        awards = random.u8(0..4),
        ratio = random.f64(),
        retrieved = 1_425_000_000 + number,
        flair = flair,
    )
}

/// The keys of the indexes of sales, as in the benchmark iibench.
pub(crate) fn sale_indexes() -> [Map; 3] {
    [
        doc! {"price": 1, "customerid": 1},
        doc! {"cashregisterid": 1, "price": 1, "customerid": 1},
        doc! {"price": 1, "dateandtime": 1, "customerid": 1},
    ]
}

/// A row of iibench.
pub(crate) fn sale(number: u64) -> Map {
    let mut random = fastrand::Rng::with_seed(number);
    let customer = random.i32(0..100_000);
    let mut map = Map::with_capacity(7);
    map.push("_id", number as i64);
    map.push("dateandtime", Value::DateTime(1_417_392_000_000 + number as i64 / 20));
    map.push("cashregisterid", random.i32(0..1000));
    map.push("customerid", customer);
    map.push("productid", random.i32(0..10_000));
    map.push("price", f64::from(random.u32(0..500_000)) / 100_000.0 + f64::from(customer) / 100.0);
    map.push("data", (0..10).map(|_| random.lowercase()).collect::<String>());
    map
}
