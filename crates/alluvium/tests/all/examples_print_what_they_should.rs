//! The examples run and print the expected output. Cargo builds them before the tests.

use std::path::PathBuf;
use std::process::Command;

/// The output of an example.
fn printed(name: &str) -> String {
    // Tests are in the directory `deps`, and examples in a directory next to it.
    let mut path: PathBuf = std::env::current_exe().expect("this program");
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    let output = Command::new(&path).output();
    let output = output.unwrap_or_else(|error| {
        let path = path.display();
        panic!("{path}: {error} (`cargo test -p alluvium` builds the examples; `--test` alone does not)")
    });
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn events_are_kept_in_the_order_of_time() {
    let expected = "10000 events\n20.45 degrees on average from 1000 to 1010, of 40 events\n5000 events are left\n";
    assert_eq!(printed("events"), expected);
}

#[test]
fn a_catalogue_is_loaded_and_corrected() {
    let printed = printed("catalogue");
    assert!(printed.starts_with("3 lines loaded, 1 left out, 2 products\n"), "{printed}");
    assert!(printed.contains("\"ball, blue\"") && printed.contains("[\"toy\",\"outdoor\",\"sale\"]"), "{printed}");
}

#[test]
fn counters_lose_nothing() {
    let printed = printed("counters");
    assert_eq!(printed.matches("\"visits\":4000").count(), 3, "{printed}");
}

#[test]
fn a_report_is_of_one_moment() {
    let expected = "ada         16683.30\ngrace       16616.70\nlinus       16650.00\n1500 orders now\n";
    assert_eq!(printed("report"), expected);
}

#[test]
fn books_are_looked_up() {
    let printed = printed("lookup");
    assert!(printed.starts_with("{\"_id\":199,\"author\":\"borges\",\"year\":1999,\"shelf\":3}\n"), "{printed}");
    assert!(printed.contains("\n50 old ones on shelves 7\nrefused: true\n"), "{printed}");
    assert!(printed.ends_with("damage: 0\n"), "{printed}");
}

#[test]
fn keys_and_values_need_no_documents() {
    assert_eq!(printed("keyvalue"), "session of 7\ngrace\nlinus\n");
}

#[test]
fn questions_are_answered() {
    let expected = [
        "How many orders are there in each city?",
        r#"  {"_id":"Rome","count":4}"#,
        "Who spent the most?",
        r#"  {"_id":"ada","spent":75}"#,
        r#"  {"_id":"cyd","spent":52}"#,
        "What sells best?",
        r#"  {"_id":"ball","pieces":8}"#,
        r#"  {"_id":"rope","pieces":4}"#,
        r#"  {"_id":"kite","pieces":4}"#,
        "What is an order worth on average?",
        r#"  {"_id":null,"average":19.0,"median":20.0}"#,
    ];
    let printed = printed("questions");
    for line in expected {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
    assert!(printed.contains("  {\"_id\":6,\"sum\":25,\"total\":152}\n"), "{printed}");
    assert!(printed.contains("nothing ordered?\n  {\"_id\":3}\n"), "{printed}");
    assert!(printed.contains("  {\"names\":[\"Ada L.\",\"Bob M.\"]}\n"), "{printed}");
}

#[test]
fn a_database_is_used_under_tokio() {
    assert_eq!(printed("async"), "ada, tom\n");
}

#[test]
fn a_web_server_answers_from_a_collection() {
    assert_eq!(printed("web"), "200 \"rex\"\n200 {\"_id\":\"rex\",\"age\":3}\n404 no such pet\n");
}
