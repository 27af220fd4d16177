//! Transactions over keys and values: they are repeated after conflicts, and none of their effects is lost or seen in
//! part, also across an opening after a kill.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Bounds, Durability, Error, Options, Store, TreeId};
use std::path::Path;
use std::sync::Arc;

fn number(store: &Store, tree: TreeId, key: &[u8]) -> u64 {
    let mut value = Vec::new();
    if store.get(tree, key, &mut value).unwrap() { u64::from_le_bytes(value.try_into().unwrap()) } else { 0 }
}

/// Threads move amounts between accounts; the sum stays, at every snapshot.
#[test]
fn amounts_move_and_none_is_lost() {
    const ACCOUNTS: u8 = 4;
    let fs = Arc::new(MemFs::new());
    let env = || Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let options = || Options { memory_bytes: 8 << 20, partitions: Some(2), ..Options::default() };
    let store = Store::open(env(), Path::new("db"), options()).unwrap();
    let tree = store.create_trees(&[b"money"]).unwrap()[0];
    for account in 0..ACCOUNTS {
        let mut batch = store.batch();
        batch.put(tree, &[account], &100u64.to_le_bytes());
        store.write(batch, Durability::Periodic).unwrap();
    }
    let sum = |store: &Store| {
        let (mut sum, mut scan) = (0, store.scan(tree, Bounds::all(), None).unwrap());
        while let Some((_, value)) = scan.next().unwrap() {
            sum += u64::from_le_bytes(value.try_into().unwrap());
        }
        sum
    };
    alluvium_env::thread::scope(|scope| {
        for thread in 0..3u8 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..60u8 {
                    let (from, to) = ((thread + round) % ACCOUNTS, (thread + 2 * round + 1) % ACCOUNTS);
                    store
                        .transaction(Durability::Periodic, |transaction| {
                            let mut value = Vec::new();
                            let mut read = |transaction: &alluvium_store::Transaction<'_>, key: u8| {
                                assert!(transaction.get(tree, &[key], &mut value).unwrap());
                                u64::from_le_bytes(value.as_slice().try_into().unwrap())
                            };
                            let left = read(transaction, from);
                            if left == 0 || from == to {
                                return Ok(());
                            }
                            let there = read(transaction, to);
                            transaction.put(tree, &[from], &(left - 1).to_le_bytes())?;
                            transaction.put(tree, &[to], &(there + 1).to_le_bytes())
                        })
                        .unwrap();
                    assert_eq!(sum(store), 100 * u64::from(ACCOUNTS));
                }
            });
        }
        scope.spawn(|| (0..20).for_each(|_| store.flush().unwrap()));
    });
    store.sync().unwrap();
    let killed = Arc::new(fs.crash_clone(1, alluvium_env::mem::CrashStyle::AllLost));
    let env = Env { fs: killed, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let again = Store::open(env, Path::new("db"), options()).unwrap();
    assert_eq!(sum(&again), 100 * u64::from(ACCOUNTS));
    assert_eq!(number(&again, tree, &[0]), number(&store, tree, &[0]));
}

#[test]
fn a_delete_within_bounds_leaves_what_others_add() {
    let store = Store::open(Env::in_memory(1), Path::new("db"), Options::default()).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    let put = |key: &[u8]| {
        let mut batch = store.batch();
        batch.put(tree, key, b"");
        store.write(batch, Durability::Periodic).unwrap();
    };
    put(b"ada");
    put(b"rex");
    let mut transaction = store.begin();
    assert_eq!(transaction.delete_within(tree, Bounds::all()).unwrap(), 2);
    put(b"tom");
    transaction.commit(Durability::Periodic).unwrap();
    assert!(store.contains(tree, b"tom").unwrap() && !store.contains(tree, b"rex").unwrap());

    // A key that others wrote since is a conflict at once.
    let mut transaction = store.begin();
    put(b"tom");
    assert!(matches!(transaction.delete(tree, b"tom"), Err(Error::Conflict)));
    assert!(matches!(transaction.commit(Durability::Periodic), Err(Error::Conflict)));
    assert!(store.contains(tree, b"tom").unwrap());
}
