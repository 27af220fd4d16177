use super::*;

fn counted(tally: Tally) -> Vec<(String, u64)> {
    let shown = |counted: Counted| {
        let values: Vec<String> = counted.values.iter().map(ToString::to_string).collect();
        (values.join(" "), counted.count)
    };
    tally.into_counted().into_iter().map(shown).collect()
}

fn row(text: &str, count: u64) -> (String, u64) {
    (text.to_owned(), count)
}

#[test]
fn the_most_frequent_come_first_and_the_others_in_their_order() {
    let mut tally = Tally::new(MOST_BYTES);
    for value in ["b", "a", "c", "b"] {
        tally.add(&[Value::from(value)]).expect("room");
    }
    tally.add(&[Value::Null]).expect("room");
    assert_eq!(counted(tally), [row("\"b\"", 2), row("null", 1), row("\"a\"", 1), row("\"c\"", 1)]);
}

#[test]
fn equal_numbers_are_one_value_and_texts_are_others() {
    let mut tally = Tally::new(MOST_BYTES);
    for value in [Value::Int32(1), Value::Int64(1), Value::from(1.0), Value::from("1"), Value::from(1.5)] {
        tally.add(&[value]).expect("room");
    }
    assert_eq!(counted(tally), [row("1", 3), row("1.5", 1), row("\"1\"", 1)]);
}

#[test]
fn combinations_are_counted_apart() {
    let mut tally = Tally::new(MOST_BYTES);
    for (a, b) in [("x", 1), ("x", 2), ("x", 1), ("", 1)] {
        tally.add(&[Value::from(a), Value::Int32(b)]).expect("room");
    }
    assert_eq!(counted(tally), [row("\"x\" 1", 2), row("\"\" 1", 1), row("\"x\" 2", 1)]);
}

#[test]
fn a_tally_keeps_to_its_memory_and_still_counts_known_values() {
    let mut tally = Tally::new(10_000);
    let filler = "x".repeat(100);
    let refused = (0..100).find_map(|n| tally.add(&[Value::from(format!("{n}{filler}"))]).err()).expect("a limit");
    assert!((20..50).contains(&refused.values), "{refused:?}");
    tally.add(&[Value::from(format!("0{filler}"))]).expect("it is known");
    assert_eq!(tally.into_counted()[0].count, 2);
}
