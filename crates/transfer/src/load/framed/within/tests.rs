use super::*;

fn seek(text: &str, path: &str, piece: usize) -> Result<Option<usize>, String> {
    let mut seeker = Seeker::new(path);
    let mut before = 0;
    for bytes in text.as_bytes().chunks(piece) {
        if let Some(at) = seeker.scan(bytes).map_err(|broken| broken.reason)? {
            return Ok(Some(before + at));
        }
        before += bytes.len();
    }
    Ok(None)
}

#[test]
fn the_array_at_a_path_is_found_in_pieces_of_any_size() {
    let text = "{\"type\": \"x]\\\"}\", \"n\": -1.5e3,\n\"o\": {\"rows\": [1], \"a\": \"{\"}, \"d\\u0061ta\": {\"e\": [[]], \
                \"rows\": [1]}}";
    for piece in [1, 2, 3, 7, 1000] {
        assert_eq!(seek(text, "data.rows", piece), Ok(text.rfind("[1]")), "{piece}");
        assert_eq!(seek(text, "o.rows", piece), Ok(text.find("[1]")), "{piece}");
        assert_eq!(seek(text, "data.items", piece).unwrap_err(), "there is no array at data.items; there are e, rows");
        assert!(seek(text, "n", piece).unwrap_err().contains("the value at n is no array"));
        assert!(seek(text, "type.x", piece).unwrap_err().contains("no array at type.x"));
        assert_eq!(seek("{\"a\": true}", "b", piece).unwrap_err(), "there is no array at b; there are a");
    }
    assert_eq!(seek("{\"a\": [", "b", 10), Ok(None));
    assert!(seek("{\"o\":{\"n\":1},\"b\":[]}", "o.b", 10).is_err());
    assert!(seek("[1]", "b", 10).is_err());
}
