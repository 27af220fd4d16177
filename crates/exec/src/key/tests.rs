use super::Key;

#[test]
fn keys_of_any_length_are_what_they_were_made_of() {
    for length in [0, 1, 37, 38, 39, 200] {
        let bytes: Vec<u8> = (0..length).collect();
        let key = Key::from(&bytes[..]);
        assert_eq!((&*key, &*key.clone()), (&bytes[..], &bytes[..]));
    }
    assert!(Key::default().is_empty() && size_of::<Key>() == 40);
}
