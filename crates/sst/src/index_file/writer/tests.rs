use super::*;
use alluvium_codec::entry::MAX_SEQ;

#[test]
fn more_partitions_than_the_top_level_holds_are_refused() {
    let env = Env::in_memory(1);
    // A partition for each extent.
    let options = WriterOptions { index_partition_bytes: 0, ..WriterOptions::default() };
    let mut writer = IndexFileWriter::create(&env, Path::new("/8.idx"), 8, 1, &options).unwrap();
    let mut add = |n: u32| {
        let key = n.to_be_bytes();
        writer.note_key(&key, true);
        writer.begin_block((&key, MAX_SEQ), u64::from(n) * 100);
        assert!(writer.count_entry());
        writer.end_block(Handle { offset: u64::from(n) * 100, len: 100 })
    };
    for n in 0..1 << 16 {
        add(n).unwrap();
    }
    let error = add(1 << 16).unwrap_err();
    assert!(error.to_string().contains("too many blocks"), "{error}");
}
