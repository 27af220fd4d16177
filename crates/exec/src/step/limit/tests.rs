use crate::testing::Memory;

#[test]
fn skip_and_limit_hold_whatever_the_batches() {
    let memory = Memory::new((0..300).map(|n| format!(r#"{{"_id": {n}}}"#)), &[]);
    for batch_max in [1, 3, 64] {
        memory.conduct().batch_max.set(batch_max);
        for skip in [0, 1, 5, 64, 130, 299, 300, 1000] {
            let rest: Vec<i64> = (skip..300).collect();
            assert_eq!(memory.find("{}").skip(skip as u64).ids().unwrap(), rest);
            for limit in [1, 2, 17, 64, 100, 400] {
                let find = memory.find("{}").skip(skip as u64).limit(limit as u64);
                let before = memory.counters().reads.get();
                assert_eq!(find.ids().unwrap(), rest[..limit.min(rest.len())]);
                let read = memory.counters().reads.get() - before;
                assert_eq!(read as i64, (skip + limit as i64).min(300));
            }
        }
    }
}
