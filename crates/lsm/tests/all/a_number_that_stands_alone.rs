//! Filters prove the newest number of a key that was never written twice, and nothing for other
//! keys.

use crate::common::{Db, key, tiny_options};

const KEYS: u64 = 400;

fn loaded() -> Db {
    let mut db = Db::new(tiny_options());
    for n in 0..KEYS {
        db.put(&key(&format!("{:05}", n * 7919 % 10_007)), &n.to_le_bytes());
        if n % 90 == 0 {
            db.flush();
        }
    }
    db.flush();
    db
}

#[test]
fn written_once() {
    let mut db = loaded();
    let most = KEYS as usize * 8 / 10;
    assert!(db.check_numbers() >= most, "but for what filters take for another");
    db.partition.compact_all().unwrap();
    assert_eq!(db.check_numbers(), KEYS as usize, "one run has no other place");
    db = db.reopen();
    assert_eq!(db.check_numbers(), KEYS as usize);
    // In memory, a look-up costs as little.
    db.put(&key("00000"), b"again");
    assert_eq!(db.check_numbers(), KEYS as usize - 1);
}

#[test]
fn written_again_or_deleted() {
    for step in ["put", "delete", "range", "delta"] {
        let mut db = loaded();
        let newest = key(&format!("{:05}", (KEYS - 1) * 7919 % 10_007));
        match step {
            "put" => db.put(&newest, b"again"),
            "delete" => db.delete(&newest),
            "range" => db.delete_range(&newest, &key("\u{7f}")),
            _ => db.delta(&newest, b"more"),
        }
        let before = db.check_numbers();
        assert!(before > KEYS as usize / 2, "{step}: others still do");
        db.flush();
        db.compact();
        db.check_numbers();
        db.partition.compact_all().unwrap();
        // All numbers were below that one. A delta alone in the files is no full write.
        let expected = usize::from(step == "put");
        assert_eq!(db.check_numbers(), expected, "{step}");
        db = db.reopen();
        assert_eq!(db.check_numbers(), expected, "{step}, opened again");
        db.put(&key("new"), b"new");
        db.flush();
        assert_eq!(db.check_numbers(), expected + 1, "{step}: later ones do again");
    }
}
