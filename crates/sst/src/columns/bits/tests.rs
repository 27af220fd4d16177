use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn numbers_come_back(width in 1u32..=64, values in proptest::collection::vec(any::<u64>(), 0..50)) {
        let values: Vec<u64> = values.into_iter().map(|value| value >> (64 - width)).collect();
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        values.iter().for_each(|&value| writer.put(value, width));
        writer.finish();
        prop_assert_eq!(bytes.len(), packed_len(values.len(), width));
        let mut back = vec![0; values.len()];
        unpack(&bytes, width, &mut back, |value| value as i64);
        for (index, value) in values.into_iter().enumerate() {
            prop_assert_eq!(back[index] as u64, value);
            prop_assert_eq!(number_at(&bytes, index, width), value);
        }
    }

    #[test]
    fn unary_numbers_come_back_and_end(values in proptest::collection::vec(0u64..300, 0..50)) {
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        values.iter().for_each(|&value| writer.put_unary(value));
        writer.finish();
        let mut unary = Unary::new(&bytes);
        for value in values {
            prop_assert_eq!(unary.take(), Some(value));
        }
        prop_assert_eq!(unary.take(), None);
    }
}
