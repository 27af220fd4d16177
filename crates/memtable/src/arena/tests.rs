#![cfg(not(feature = "shuttle"))]

use super::*;

fn entry<'a>(key: &'a [u8], value: &'a [u8], seq: Seq) -> Entry<'a> {
    Entry { key, seq, kind: Kind::Put, value }
}

#[test]
fn entries_come_back_as_they_went_in() {
    let mut arena = Arena::default();
    let long = vec![7; 300_000];
    let huge = vec![9; 3 << 20];
    let cases: [(&[u8], &[u8]); 6] =
        [(b"", b""), (b"k", b"v"), (b"a", &long), (b"b", &huge), (&long, b"x"), (b"z", b"")];
    let mut places = Vec::new();
    for round in 0..40 {
        for (key, value) in cases {
            let older = places.last().copied().unwrap_or(NONE);
            places.push(arena.push(entry(key, value, round), older));
        }
    }
    for (at, &place) in places.iter().enumerate() {
        let (key, value) = cases[at % 6];
        let stored = arena.at(place);
        assert_eq!((stored.seq, stored.kind), (at as u64 / 6, Some(Kind::Put)));
        assert!(stored.key == key && stored.value == value);
        assert_eq!(stored.older, if at == 0 { NONE } else { places[at - 1] });
    }
    let mut walked = 0;
    for (index, to) in arena.chunk_lens().into_iter().enumerate() {
        assert_eq!(
            arena.walk(index, 0, to, |place, _| {
                walked += usize::from(places.contains(&place));
                true
            }),
            to
        );
    }
    assert_eq!(walked, places.len());
}

#[test]
fn chunks_never_move_and_grow_with_the_whole() {
    let mut arena = Arena::default();
    arena.push(entry(b"k", b"v", 1), NONE);
    assert!(arena.capacity() < 80 << 10);
    // Miri takes an hour for a number of pushes that a processor does at once.
    let entries = if cfg!(miri) { 12_000 } else { 100_000 };
    for seq in 0..entries {
        arena.push(entry(b"key", &[1; 100], seq), NONE);
    }
    let pushed = entries as usize * 128;
    assert!(arena.capacity() < pushed + (1 << 20) + (64 << 10), "{}", arena.capacity());
    assert!(arena.chunks.iter().all(|chunk| chunk.capacity() <= LAST_CHUNK && chunk.len() <= chunk.capacity()));
    assert_eq!(arena.capacity, arena.chunks.iter().map(Vec::capacity).sum::<usize>());
}

#[test]
fn entries_just_too_large_to_share_still_grow_the_chunks() {
    let mut arena = Arena::default();
    for seq in 0..4000 {
        arena.push(entry(b"key", &[1; 17 << 10], seq), NONE);
    }
    assert!(arena.chunks.len() < 200, "{}", arena.chunks.len());
}

#[test]
fn large_entries_leave_no_large_gaps() {
    let mut arena = Arena::default();
    for seq in 0..100 {
        arena.push(entry(b"key", &[1; 600 << 10], seq), NONE);
        arena.push(entry(b"key", &[1; 100], seq), NONE);
    }
    assert!(arena.capacity() < 100 * (601 << 10) + (1 << 20), "{}", arena.capacity());
}
