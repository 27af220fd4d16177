//! Batches of write sets: how they are joined, and the keys for which they compete.

use super::{Op, WriteBatch, decode_op};
use crate::trees::TreeId;

impl WriteBatch {
    /// As [`WriteBatch::put`], for a key to which all writers put the same value, such as a definition that each of them
    /// needs: two write sets that put it are not in conflict.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let kinds = store.create_trees(&[b"kinds"])?[0];
    /// let (mut first, mut second) = (store.write_set(), store.write_set());
    /// let mut batch = store.batch();
    /// batch.put_definition(kinds, b"dog", b"a pet");
    /// first.add(&batch)?;
    /// second.add(&batch)?;
    /// store.commit(first, Durability::Periodic)?;
    /// store.commit(second, Durability::Periodic)?;
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn put_definition(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.put(tree, key, value);
        if let Some(op) = self.ops.last_mut() {
            op.alike = true;
        }
    }

    /// The hashes of the keys for which the batch competes with others: all but those of definitions.
    pub(crate) fn contested(&self) -> impl Iterator<Item = u64> + Clone {
        self.ops.iter().filter(|op| !op.alike).map(|op| op.hash)
    }

    /// Adds the operations of another batch, after those of this one.
    pub(crate) fn append(&mut self, other: &Self) {
        let (bytes, at, numbers) = (&other.bytes[1..], self.bytes.len() as u32 - 1, self.numbers);
        self.bytes.extend_from_slice(bytes);
        self.ops.extend(other.ops.iter().map(|op| Op { at: op.at + at, number: op.number + numbers, ..*op }));
        self.numbers += other.numbers;
        for tree in &other.trees {
            if !self.trees.contains(tree) {
                self.trees.push(*tree);
            }
        }
        for &(tree, schema) in &other.schemas {
            self.expect_schema(TreeId(tree), schema);
        }
        self.grows |= other.grows;
        self.deltas |= other.deltas;
        self.ranges |= other.ranges;
        self.stamped |= other.stamped;
    }

    /// The partition and the internal key of each operation for which the batch competes with others. Index entries are
    /// not included.
    pub(crate) fn written(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.ops.iter().filter(|op| !op.alike).filter_map(|op| {
            let mut input = self.bytes.get(op.at as usize..)?;
            let operation = decode_op(&mut input, 0).ok()?;
            (!operation.is_entry).then_some((op.partition, operation.entry.key))
        })
    }

    /// The memory of the batch, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ops.capacity() * size_of::<Op>()
    }
}
