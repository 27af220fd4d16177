use super::*;
use alluvium::doc;
use alluvium_env::ManualClock;

fn open(bytes: usize) -> OpenCursor {
    let text = "x".repeat(bytes);
    let document = Document::from_map(&doc! {"text": (text.as_str())}).unwrap();
    OpenCursor {
        documents: Documents::of(vec![document]),
        identity: None,
        namespace: "shop.pets".to_owned(),
        user: None,
        session: None,
        transaction: None,
        fields_bytes: 0,
        needs: Vec::new(),
        is_limited: false,
        stop: Arc::default(),
        never_expires: false,
    }
}

fn take(cursors: &Cursors, id: i64) -> Option<Box<OpenCursor>> {
    match cursors.take(id, "shop.pets", None) {
        Ok(cursor) => Some(cursor),
        Err(error) => {
            assert_eq!(error.code, 43);
            None
        }
    }
}

#[test]
fn cursors_that_were_not_read_for_long_are_closed_when_they_take_too_much() {
    let clock = Arc::new(ManualClock::new());
    let cursors = Cursors::new(Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(1) }, 0);
    let megabytes = MEMORY_MIN >> 20;
    let mut ids: Vec<i64> = (0..megabytes - 1).map(|_| cursors.keep(open(1 << 20)).unwrap()).collect();
    assert_eq!(cursors.len(), megabytes - 1);
    // Reading the first cursor makes the other cursors the oldest ones.
    clock.advance(Duration::from_secs(1));
    let first = take(&cursors, ids[0]).unwrap();
    cursors.give_back(ids[0], first);
    for _ in 0..3 {
        clock.advance(Duration::from_secs(1));
        ids.push(cursors.keep(open(1 << 20)).unwrap());
    }
    assert!(cursors.state.lock().bytes <= MEMORY_MIN + (2 << 20));
    let closed = ids[1..megabytes - 1].iter().filter(|id| take(&cursors, **id).is_none()).count();
    assert!((1..5).contains(&closed), "{closed}");
    assert!(take(&cursors, ids[0]).is_some());
    assert!(ids[ids.len() - 3..].iter().all(|id| take(&cursors, *id).is_some()));
}

#[test]
fn what_cursors_take_is_given_back() {
    let cursors = Cursors::new(Env::in_memory(1), 0);
    let ids: Vec<i64> = (0..4).map(|_| cursors.keep(open(100)).unwrap()).collect();
    let busy = take(&cursors, ids[0]).unwrap();
    cursors.close(ids[1]);
    assert_eq!(cursors.kill(ids[2], None), Killed::Killed);
    cursors.kill(ids[0], None);
    cursors.give_back(ids[0], busy);
    assert!(cursors.state.lock().bytes > 0);
    cursors.close(ids[3]);
    assert_eq!(cursors.len(), 0);
    assert_eq!(cursors.state.lock().bytes, 0);
}

#[test]
fn the_query_of_a_cursor_counts() {
    let cursors = Cursors::new(Env::in_memory(1), 0);
    let large = || OpenCursor { fields_bytes: 1 << 20, ..open(0) };
    cursors.keep(large()).unwrap();
    assert!(cursors.state.lock().bytes >= QUERY_FACTOR << 20);
    for _ in 0..16 {
        cursors.keep(large()).unwrap();
    }
    assert!(cursors.len() <= (MEMORY_MIN >> 20) / QUERY_FACTOR + 1, "{}", cursors.len());
}
