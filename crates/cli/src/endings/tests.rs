use super::*;

#[test]
fn an_ending_belongs_to_one_format() {
    let mut seen: Vec<&str> = FOREIGN.iter().flat_map(|foreign| foreign.endings).copied().collect();
    seen.sort_unstable();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    for ending in seen {
        let name = format!("a.{ending}");
        assert!(Format::of_name(&name).is_none() && !Format::is_json_name(&name), "{name}");
        assert!(check_name(&name, Access::Write, false).is_err(), "{name}");
    }
    assert!(FOREIGN.iter().all(|foreign| foreign.head.len() <= HEAD_BYTES));
}

#[test]
fn the_ending_of_a_compression_that_is_supported_is_ignored() {
    for name in ["a.parquet", "A.PARQUET", "b/a.parquet.gz", "a.xml.zst", "a.jsonl.xz", "a.json.bz2", "a.tar.gz"] {
        assert!(check_name(name, Access::Read, false).is_err(), "{name}");
    }
    for name in ["a", "parquet", ".xml", "a.jsonl.gz", "xml.d/a", "a.b.csv", "a.log", "a.geojson", "a.xml.jsonl"] {
        assert!(check_name(name, Access::Read, false).is_ok(), "{name}");
    }
}

#[test]
fn a_chosen_format_is_taken_in_any_file_that_is_not_compressed() {
    assert!(check_name("a.db", Access::Read, true).is_ok());
    assert!(check_name("a.xml", Access::Write, true).is_ok());
    assert!(check_name("a.geojson", Access::Write, true).is_ok());
    assert!(check_name("a.jsonl.xz", Access::Write, true).is_err());
    assert!(check_name("a.zip", Access::Read, true).is_err());
}
