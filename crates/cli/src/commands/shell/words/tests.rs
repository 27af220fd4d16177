use super::*;

fn whole(text: &str, words: &[&str]) {
    match split(text) {
        Split::Whole(found, _) => assert_eq!(found, words, "{text}"),
        open => panic!("{text}: {open:?}"),
    }
}

#[test]
fn the_last_word_begins_where_its_quotes_do() {
    let last = |text| match split(text) {
        Split::Whole(_, at) => at,
        open => panic!("{text}: {open:?}"),
    };
    assert_eq!(["get 'ü'", "get pets ", "get {\"ü\":1} # x", " "].map(last), [4, 4, 4, 1]);
}

fn open(text: &str, words: usize, from: usize) {
    match split(text) {
        Split::Open(found, at) => assert_eq!((found.len(), at), (words, from), "{text}"),
        whole => panic!("{text}: {whole:?}"),
    }
}

#[test]
fn words_are_split_as_a_shell_does() {
    whole("", &[]);
    whole("  get  pets\trex \n", &["get", "pets", "rex"]);
    whole("get 'a b' \"c d\" e\\ f ''", &["get", "a b", "c d", "e f", ""]);
    whole(r#"get '"3"' "a\"b" "a\b" a'b c'd"#, &["get", "\"3\"", "a\"b", "a\\b", "ab cd"]);
    whole("count pets # how many?\nstats", &["count", "pets", "stats"]);
    whole("get a#b", &["get", "a#b"]);
    whole("get pets\\\n", &["get", "pets"]);
}

#[test]
fn json_needs_no_quotes() {
    whole(
        r#"put rex {"kind": "dog", "a": [1, {}]} --sync bulk"#,
        &["put", "rex", r#"{"kind": "dog", "a": [1, {}]}"#, "--sync", "bulk"],
    );
    whole(r#"put 1 {"a": "} \" ] '", "b": 'x'}"#, &["put", "1", r#"{"a": "} \" ] '", "b": 'x'}"#]);
    whole("put 1 {\n \"a\":\n 1 }", &["put", "1", "{\n \"a\":\n 1 }"]);
    // Invalid JSON; the JSON parser reports the error.
    whole("put 1 {]} x", &["put", "1", "{]", "}", "x"]);
}

#[test]
fn what_is_not_closed_goes_on() {
    open("put 1 {\"a\": [1", 2, 6);
    open("put 1 {\"a\": \"}", 2, 6);
    open("get 'a b", 1, 4);
    open("get \"a", 1, 4);
    open("get a\\", 1, 4);
}

#[test]
fn a_newline_ends_a_command_unless_something_is_open() {
    let text = "delete bp old\n\n  \nput bp rex {\"v\":\n2}\nget bp 'a\nb' # two\nget bp \\\n tom\n";
    let each = ["delete bp old", "put bp rex {\"v\":\n2}", "get bp 'a\nb' # two", "get bp \\\n tom"];
    assert_eq!(commands(text), each);
    assert_eq!(commands(" get bp tom"), [" get bp tom"]);
    assert_eq!(commands("count bp\nget 'open\nget bp"), ["count bp", "get 'open\nget bp"]);
    assert!(commands(" \n").is_empty());
    whole("get \\\n tom", &["get", "tom"]);
}
