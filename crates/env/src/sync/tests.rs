use super::*;
use crate::thread;
use std::time::Duration;

/// Runs a test once, or under some hundred schedules of shuttle.
fn check(test: impl Fn() + Send + Sync + 'static) {
    #[cfg(feature = "shuttle")]
    shuttle::check_random(test, 300);
    #[cfg(not(feature = "shuttle"))]
    test();
}

#[test]
fn a_mutex_lets_one_in() {
    check(|| {
        let sum = Arc::new(Mutex::new(0));
        let add = |n: i32| {
            let sum = Arc::clone(&sum);
            thread::spawn("adder", move || {
                for _ in 0..10 {
                    let mut sum = sum.lock();
                    let old = *sum;
                    thread::yield_now();
                    *sum = old + n;
                }
            })
        };
        let threads = [add(1), add(100)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*sum.lock(), 1010);
        assert!(sum.try_lock().is_some());
        let held = sum.lock();
        assert!(sum.try_lock().is_none());
        drop(held);
        let mut owned = Mutex::new(1);
        *owned.get_mut() += 1;
        assert_eq!(owned.into_inner(), 2);
    });
}

#[test]
fn a_lock_lets_readers_share() {
    check(|| {
        let lock = Arc::new(RwLock::new(1));
        let held = lock.read();
        let other = Arc::clone(&lock);
        let look = move || (other.try_read().map(|value| *value), other.try_write().is_some());
        assert_eq!(thread::spawn("reader", look).join().unwrap(), (Some(1), false));
        drop(held);
        *lock.write() += 1;
        assert!(lock.try_write().is_some());
        let held = lock.write();
        let other = Arc::clone(&lock);
        assert!(thread::spawn("reader", move || other.try_read().is_none()).join().unwrap());
        drop(held);
        let mut owned = RwLock::new(1);
        *owned.get_mut() += 1;
        assert_eq!(owned.into_inner(), 2);
    });
}

#[test]
fn a_waiter_is_woken() {
    check(|| {
        let state = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&state);
        let waiter = thread::spawn("waiter", move || {
            let (mutex, changed) = &*other;
            let mut value = mutex.lock();
            while *value < 2 {
                changed.wait(&mut value);
            }
            *value = 10;
            changed.notify_one();
        });
        let (mutex, changed) = &*state;
        for _ in 0..2 {
            *mutex.lock() += 1;
            changed.notify_all();
        }
        let mut value = mutex.lock();
        while *value != 10 {
            changed.wait(&mut value);
        }
        drop(value);
        waiter.join().unwrap();
    });
}

#[test]
fn a_wait_with_a_timeout_ends_by_itself() {
    check(|| {
        let mutex = Mutex::new(());
        let never = Condvar::new();
        let mut guard = mutex.lock();
        while !never.wait_for(&mut guard, Duration::from_millis(1)) {}
        assert!(mutex.try_lock().is_none(), "the lock is held again");
    });
}

#[test]
fn atomics_count() {
    check(|| {
        let count = Arc::new(atomic::AtomicU64::new(0));
        let add = || {
            let count = Arc::clone(&count);
            thread::spawn("adder", move || count.fetch_add(1, atomic::Ordering::SeqCst))
        };
        let before: u64 = [add(), add()].into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(before, 1);
        assert_eq!(count.load(atomic::Ordering::SeqCst), 2);
    });
}

/// The file system in memory uses the same locks, so that whole stores can be checked under
/// schedules.
#[test]
fn files_in_memory_run_here_too() {
    use crate::mem::{CrashStyle, MemFs};
    use crate::{Fs, OpenMode};
    use std::path::Path;

    check(|| {
        let fs = Arc::new(MemFs::new());
        let write = |name: &'static str| {
            let fs = Arc::clone(&fs);
            thread::spawn(name, move || {
                let file = fs.open(Path::new(name), OpenMode::CreateNew).unwrap();
                file.write_at(b"x", 0).unwrap();
                file.sync().unwrap();
                fs.sync_dir(Path::new("/")).unwrap();
            })
        };
        let lens = || -> Vec<u64> {
            let crashed = fs.crash_clone(1, CrashStyle::AllLost);
            crashed.list(Path::new("/")).unwrap().iter().map(|entry| entry.len).collect()
        };
        let threads = [write("a"), write("b")];
        assert!(lens().len() <= 2);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(lens(), [1, 1]);
    });
}

#[test]
fn a_cell_is_replaced_as_a_whole() {
    check(|| {
        let cell = Arc::new(ArcCell::new(Arc::new((0, 0))));
        let other = Arc::clone(&cell);
        let writer = thread::spawn("writer", move || {
            for n in 1..4 {
                other.store(Arc::new((n, n)));
            }
        });
        let kept = cell.load_full();
        let before = kept.0;
        for _ in 0..3 {
            let (a, b) = **cell.load();
            assert!(a == b && a >= before);
        }
        assert_eq!(*kept, (before, before), "what was found stays as it was");
        writer.join().unwrap();
        assert_eq!(cell.load_full().0, 3);
    });
}

#[test]
fn a_slot_is_filled_once_and_emptied_once() {
    check(|| {
        let slot = Arc::new(ArcSlot::default());
        assert!(slot.load().is_none() && ArcSlot::<u32>::nothing().is_none());
        let fill = |n: u32| {
            let slot = Arc::clone(&slot);
            thread::spawn("filler", move || slot.fill(&Arc::new(n)))
        };
        let filled = [fill(1), fill(2)].map(|thread| thread.join().unwrap());
        assert_eq!(filled.iter().filter(|filled| **filled).count(), 1);
        let found = slot.load().as_deref().copied();
        assert_eq!(found, Some(if filled[0] { 1 } else { 2 }));
        let take = || {
            let slot = Arc::clone(&slot);
            thread::spawn("taker", move || slot.take())
        };
        let taken = [take(), take()].map(|thread| thread.join().unwrap());
        assert_eq!(taken.iter().flatten().count(), 1);
        assert!(slot.load().is_none());
    });
}
