use super::*;

#[test]
fn what_threads_counted_stays_when_they_end() {
    let counts = Counts::new();
    let other = Counts::new();
    for _ in 0..3 {
        alluvium_env::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counts.add(What::Hit);
                    }
                    counts.add(What::Get);
                    other.add(What::Hit);
                });
            }
        });
        counts.add(What::Miss);
    }
    assert_eq!(counts.sum(What::Hit), 12_000);
    assert_eq!((counts.sum(What::Get), counts.sum(What::Miss), counts.sum(What::ReadByGet)), (12, 3, 0));
    assert_eq!((other.sum(What::Hit), other.sum(What::Get)), (12, 0));
}

#[test]
fn ended_threads_leave_no_more_than_sums() {
    let counts = Counts::new();
    for _ in 0..100 {
        alluvium_env::thread::scope(|scope| {
            scope.spawn(|| counts.add(What::Hit));
        });
    }
    assert_eq!(counts.sum(What::Hit), 100);
    assert!(counts.threads.lock().all.len() < 50, "threads that have ended are kept");
}
