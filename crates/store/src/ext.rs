//! Temporary.
pub(crate) trait PartitionExt {
    fn compaction_due(&self) -> bool;
}
impl PartitionExt for lsm::Partition {
    fn compaction_due(&self) -> bool {
        self.pick_compaction().is_some()
    }
}
