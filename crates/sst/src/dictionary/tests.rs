use super::*;

fn samples(count: u32) -> Vec<String> {
    (0..count)
        .map(|n| format!("{{author: user{n}, body: some words that all samples have, score: {}}}", n * 7))
        .collect()
}

#[test]
fn training_needs_samples() {
    assert!(Dictionary::train(&Vec::<Vec<u8>>::new(), 4096).is_none());
    assert!(Dictionary::train(&samples(3), 4096).is_none());
    assert!(Dictionary::train(&vec![vec![]; 100], 4096).is_none());
    assert!(Dictionary::train(&samples(500), 0).is_none());
    let dictionary = Dictionary::train(&samples(500), 4096).unwrap();
    assert!(dictionary.bytes().len() <= 4096);
    assert!(dictionary.bytes().windows(10).any(|window| window == b"words that"));
    assert!(dictionary.decoder().is_some());
}

#[test]
fn an_encoder_is_prepared_once_and_lent_again() {
    let dictionary = Dictionary::train(&samples(500), 4096).unwrap();
    let before = dictionary.memory_bytes();
    let context = dictionary.take_encoder(3).unwrap();
    dictionary.give_encoder(3, context);
    assert!(dictionary.memory_bytes() > before);
    let context = dictionary.take_encoder(1).unwrap();
    assert_eq!(dictionary.encoders.lock().len(), 1, "another level is another context");
    dictionary.give_encoder(1, context);
    let _context = dictionary.take_encoder(3).unwrap();
    assert_eq!(dictionary.encoders.lock().len(), 1);
    for _ in 0..10 {
        dictionary.give_encoder(2, new_context(2, None).unwrap());
    }
    assert_eq!(dictionary.encoders.lock().len(), KEPT_ENCODERS);
}

#[test]
fn equal_content_is_held_once_for_as_long_as_it_is_used() {
    let registry = DictionaryRegistry::new();
    let first = registry.intern(Dictionary::from_bytes(b"one".to_vec()));
    let again = registry.intern(Dictionary::from_bytes(b"one".to_vec()));
    assert!(Arc::ptr_eq(&first, &again));
    let other = registry.intern(Dictionary::from_bytes(b"other".to_vec()));
    assert_ne!(first.id(), other.id());
    assert!(registry.get(first.id()).is_some_and(|found| Arc::ptr_eq(&found, &first)));
    assert_eq!(registry.bytes(), 3 + 5);
    let id = first.id();
    drop((first, again));
    assert!(registry.get(id).is_none());
    assert_eq!(registry.bytes(), 5);
    drop(other);
    assert_eq!(registry.bytes(), 0);
    let _third = registry.intern(Dictionary::from_bytes(b"third".to_vec()));
    assert_eq!(registry.held.lock().len(), 1, "what is unused is forgotten");
}

#[test]
fn noise_gets_no_dictionary() {
    let mut random = fastrand::Rng::with_seed(7);
    let samples: Vec<Vec<u8>> = (0..1000).map(|_| (0..1000).map(|_| random.u8(..)).collect()).collect();
    assert!(Dictionary::train(&samples, 64 << 10).is_none());
}
