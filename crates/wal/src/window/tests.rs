#![cfg(not(feature = "shuttle"))]

use super::*;
use alluvium_env::mem::MemFs;
use alluvium_env::{Fs, OpenMode};
use std::path::Path;
use std::sync::Arc;

fn file(bytes: &[u8]) -> Arc<dyn File> {
    let file = MemFs::new().open(Path::new("/f"), OpenMode::CreateNew).unwrap();
    file.write_at(bytes, 0).unwrap();
    file
}

#[test]
fn gives_the_bytes_asked_for() {
    let mut rng = fastrand::Rng::with_seed(3);
    let bytes: Vec<u8> = (0..2 * PIECE + 100).map(|_| rng.u8(..)).collect();
    let file = file(&bytes);
    let mut window = Window::new(&*file).unwrap();
    assert_eq!(window.len(), bytes.len() as u64);
    for _ in 0..300 {
        let at = rng.usize(0..bytes.len() + 10);
        let want = if rng.bool() { rng.usize(0..100) } else { rng.usize(0..2 * PIECE) };
        let expected = &bytes[at.min(bytes.len())..(at + want).min(bytes.len())];
        assert!(window.bytes(at as u64, want).unwrap() == expected, "{at} {want}");
    }
}

#[test]
fn finds_what_is_not_zero() {
    let mut bytes = vec![0; 3 * PIECE];
    let set = [5, 64, PIECE - 1, PIECE, 2 * PIECE + 77];
    set.iter().for_each(|&at| bytes[at] = 1);
    let file = file(&bytes);
    let mut window = Window::new(&*file).unwrap();
    for from in [0, 5, 6, 64, 65, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 77, 2 * PIECE + 78, 3 * PIECE, 4 * PIECE] {
        let next = set.iter().copied().find(|&at| at >= from);
        assert_eq!(window.next_nonzero(from as u64).unwrap(), next.map(|at| at as u64));
        let end = next.map(|_| 2 * PIECE as u64 + 78);
        assert_eq!(window.end_of_nonzero(from as u64).unwrap(), end, "{from}");
    }
}
