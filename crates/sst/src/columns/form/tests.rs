use super::*;

fn parts(key: &[u8]) -> Vec<Vec<Part>> {
    Form::guesses(key).map(|form| form.parts).collect()
}

#[test]
fn keys_of_an_index_are_split_at_their_values() {
    let number = Part::Number { flipped: false };
    // Tree 7, 1000, descending "a", a date.
    let key = [0, 0, 0, 7, 10, 0xc0, 0x8f, 0x40, !15, !b'a', 0xff, 0xfe, 45, 0x80, 0, 0, 0, 0, 0, 0, 1];
    let form = Form::guesses(&key).next().unwrap();
    let flipped = Part::Text { flipped: true };
    let expected =
        [Part::Fixed(4), Part::Literal(10), number, Part::Literal(!15), flipped, Part::Literal(45), Part::Signed];
    assert_eq!(form.parts, expected);
    let mut columns: Vec<Column> = form.parts.iter().map(|_| Column::default()).collect();
    form.split(&key, &mut columns).unwrap();
    assert_eq!(columns[0].values, [7]);
    assert_eq!(columns[2].values, [(1000f64.to_bits()) as i64]);
    assert_eq!((columns[4].values.as_slice(), columns[4].bytes.as_slice()), (&[1][..], &[!b'a'][..]));
    assert_eq!(columns[6].values, [1]);
}

#[test]
fn a_value_that_differs_is_bytes() {
    let key = [0, 0, 0, 7, 10, 0xc0, 0x8f, 0x40, 10, 0xc0, 0x8f, 0x40];
    let null = [0, 0, 0, 7, 5, 10, 0xc0, 0x8f, 0x40];
    let form = Form::guesses(&key).next().unwrap();
    let mut columns: Vec<Column> = form.parts.iter().map(|_| Column::default()).collect();
    let at = form.split(&null, &mut columns).unwrap_err();
    let form = form.without(at).unwrap();
    let number = Part::Number { flipped: false };
    assert_eq!(form.parts, [Part::Fixed(4), Part::Bytes(Bytes::Key(false)), Part::Literal(10), number]);
    for key in [&key[..], &null] {
        let mut columns: Vec<Column> = form.parts.iter().map(|_| Column::default()).collect();
        form.split(key, &mut columns).unwrap();
    }
    assert!(form.without(1).is_none());
    assert_eq!(form.without(3).unwrap().parts[2], Part::Bytes(Bytes::Key(false)));
}

#[test]
fn many_values_under_a_key_are_a_text_and_a_number() {
    let key = [&[0, 0, 0, 7][..], b"someone", &[0, 1], &12345u64.to_be_bytes()].concat();
    assert_eq!(parts(&key), [vec![Part::Fixed(4), Part::Text { flipped: false }, Part::Fixed(8)]]);
}

#[test]
fn parts_come_back_from_their_bytes() {
    let all = [
        Part::Literal(9),
        Part::Fixed(1),
        Part::Fixed(8),
        Part::Signed,
        Part::Number { flipped: false },
        Part::Number { flipped: true },
        Part::Text { flipped: false },
        Part::Text { flipped: true },
        Part::Bytes(Bytes::Rest),
    ];
    for part in all {
        let mut bytes = Vec::new();
        part.put(&mut bytes);
        let mut input = &bytes[..];
        assert_eq!(Part::get(&mut input).unwrap(), part);
        assert!(input.is_empty());
    }
    assert!((0..=255).filter(|byte| Part::get(&mut &[*byte, 0][..]).is_ok()).count() == 15);
}
