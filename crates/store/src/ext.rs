//! Temporary.
use codec::entry::Seq;
pub(crate) trait PartitionExt {
    fn has_immutable(&self) -> bool;
    fn oldest_unflushed(&self) -> Option<Seq>;
    fn compaction_due(&self) -> bool;
}
impl PartitionExt for lsm::Partition {
    fn has_immutable(&self) -> bool {
        self.debt().immutable_bytes > 0
    }
    fn oldest_unflushed(&self) -> Option<Seq> {
        None
    }
    fn compaction_due(&self) -> bool {
        self.pick_compaction().is_some()
    }
}
    fn rotate(&self) -> env::Result<()>;
    fn bytes_written(&self) -> u64;
    fn can_release_below(&self, s: Seq) -> bool;
}
    fn rotate(&self) -> env::Result<()> {
        Ok(())
    }
    fn bytes_written(&self) -> u64 {
        0
    }
    fn can_release_below(&self, _s: Seq) -> bool {
        true
    }
}
