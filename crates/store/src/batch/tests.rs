use super::*;

#[test]
fn a_batch_reads_back_from_its_log_record() {
    let mut batch = WriteBatch::new(5);
    batch.put(TreeId(7), b"a", b"1");
    batch.delete(TreeId(7), b"b");
    batch.put(TreeId(9), b"", &[0; 300]);
    batch.put(TreeId(0), b"system", b"x");
    let LogRecord::Batch(ops) = decode_record(&batch.bytes, 100).unwrap() else { panic!("a batch") };
    assert_eq!(ops.len(), 4);
    assert_eq!(ops[0].1, Entry { key: b"\0\0\0\x07a", seq: 100, kind: Kind::Put, value: b"1" });
    assert_eq!(ops[1].1, Entry { key: b"\0\0\0\x07b", seq: 101, kind: Kind::Delete, value: b"" });
    assert_eq!(ops[2].1.key, b"\0\0\0\x09");
    assert_eq!(ops[3].0, 0, "the system tree is in partition 0");
    assert_eq!(batch.trees, [7, 9, 0]);
    let mut seen = 0;
    for partition in batch.touched() {
        seen += batch.entries(partition, 100).count();
    }
    assert_eq!(seen, 4);
    for cut in 2..batch.bytes.len() {
        if let Ok(LogRecord::Batch(ops)) = decode_record(&batch.bytes[..cut], 100) {
            assert!(ops.len() < 4);
        }
    }
}

#[test]
fn every_hash_has_a_partition_in_range() {
    for partitions in 1..=256 {
        for hash in [0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63, u64::MAX >> 1] {
            assert!(partition_of(hash, partitions) < partitions);
        }
    }
}

#[test]
fn polygenelubricants_has_a_partition() {
    // The seed's hash of this word is the least integer, whose absolute value is negative.
    let hash = codec::hash64(b"polygenelubricants");
    assert!(partition_of(hash, 3) < 3);
}
