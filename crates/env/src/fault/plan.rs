//! Faults: which operation fails, when, and how.

use std::io::{self, ErrorKind};
use std::path::Path;

/// The kinds of operation on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum OpKind {
    /// [`crate::Fs::open`] of an existing file, and [`crate::Fs::hold_dir`].
    Open,
    /// [`crate::Fs::open`] of a new file.
    Create,
    /// [`crate::File::read_at`].
    Read,
    /// [`crate::File::write_at`].
    Write,
    /// [`crate::File::allocate`].
    Allocate,
    /// [`crate::File::set_len`].
    SetLen,
    /// [`crate::File::sync`].
    Sync,
    /// [`crate::File::len`].
    Len,
    /// [`crate::Fs::rename`].
    Rename,
    /// [`crate::Fs::remove`].
    Remove,
    /// [`crate::Fs::create_dir_all`].
    CreateDir,
    /// [`crate::Fs::remove_dir`].
    RemoveDir,
    /// [`crate::Fs::list`].
    List,
    /// [`crate::Fs::exists`].
    Exists,
    /// [`crate::Fs::sync_dir`].
    SyncDir,
    /// [`crate::Fs::hard_link`].
    HardLink,
    /// [`crate::Fs::try_lock`].
    Lock,
    /// [`crate::Fs::try_lock_to_read`].
    LockToRead,
    /// [`crate::Fs::available_bytes`].
    Space,
}

impl OpKind {
    /// Every kind.
    pub const ALL: [Self; 19] = [
        Self::Open,
        Self::Create,
        Self::Read,
        Self::Write,
        Self::Allocate,
        Self::SetLen,
        Self::Sync,
        Self::Len,
        Self::Rename,
        Self::Remove,
        Self::CreateDir,
        Self::RemoveDir,
        Self::List,
        Self::Exists,
        Self::SyncDir,
        Self::HardLink,
        Self::Lock,
        Self::LockToRead,
        Self::Space,
    ];

    /// True for operations that change the possible states after a crash: all except open, read,
    /// len, list, exists, space and a lock for reading. An exclusive lock is included because it
    /// may create its file.
    pub fn changes(self) -> bool {
        use OpKind::{Exists, Len, List, LockToRead, Open, Read, Space};
        !matches!(self, Open | Read | Len | List | Exists | LockToRead | Space)
    }
}

/// One operation, as it is passed to a hook.
#[derive(Debug, Clone, Copy)]
pub struct Op<'a> {
    /// Its position among the operations of all kinds, from 1.
    pub number: u64,
    /// The kind of the operation.
    pub kind: OpKind,
    /// The file or directory; for a rename or link, the old name.
    pub path: &'a Path,
    /// The first byte of a read or write, and the first byte after it. `None` for other operations.
    pub bytes: Option<(u64, u64)>,
}

/// The operating system's number for "Input/output error" (`EIO`).
const EIO: i32 = 5;

/// Describes which operation fails and how, built step by step:
/// `Fault::nth(3).of(OpKind::Sync).losing_pages()`.
///
/// By default an operation of any kind fails, once, with an I/O error and without effect.
#[derive(Debug, Clone)]
pub struct Fault {
    left: u64,
    kind: Option<OpKind>,
    changes_only: bool,
    part: Option<String>,
    within: Option<(u64, u64)>,
    lasting: bool,
    reason: Reason,
    effect: Effect,
}

/// The error that a fault returns.
#[derive(Debug, Clone, Copy)]
enum Reason {
    Os(i32),
    Kind(ErrorKind),
}

/// The effect that a failing operation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Prefix(usize),
    LosePages,
    All,
}

impl Fault {
    /// The `n`-th matching operation after [`super::FaultFs::inject`]; 1 is the next (and so is 0).
    pub fn nth(n: u64) -> Self {
        Self {
            left: n.max(1),
            kind: None,
            changes_only: false,
            part: None,
            within: None,
            lasting: false,
            reason: Reason::Os(EIO),
            effect: Effect::Nothing,
        }
    }

    /// Matches only this kind.
    pub fn of(self, kind: OpKind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    /// Matches only the kinds for which [`OpKind::changes`].
    pub fn of_changes(self) -> Self {
        Self { changes_only: true, ..self }
    }

    /// Matches only paths that contain this text; for a rename or link, the old path counts.
    pub fn on(self, part: impl Into<String>) -> Self {
        Self { part: Some(part.into()), ..self }
    }

    /// Matches only reads and writes that touch any of these bytes of a file.
    pub fn touching(self, bytes: std::ops::Range<u64>) -> Self {
        Self { within: Some((bytes.start, bytes.end)), ..self }
    }

    /// Every later matching operation fails as well, until [`super::FaultFs::clear`].
    pub fn from_then_on(self) -> Self {
        Self { lasting: true, ..self }
    }

    /// Fails with an error of the operating system, by its number.
    pub fn os_error(self, number: i32) -> Self {
        Self { reason: Reason::Os(number), ..self }
    }

    /// Fails because the disk is full.
    pub fn no_space(self) -> Self {
        Self { reason: Reason::Kind(ErrorKind::StorageFull), ..self }
    }

    /// A failing write still writes its first bytes, at most `bytes` of them. Other failing
    /// operations have no effect.
    pub fn short(self, bytes: usize) -> Self {
        Self { effect: Effect::Prefix(bytes), ..self }
    }

    /// A failing sync marks the unsynced pages as clean, as Linux does: reads return the written
    /// bytes, no later sync writes them to disk, and a crash loses them. A failing sync of a
    /// directory does the same to its new entries. Needs [`super::FaultFs::over`]; over other file
    /// systems the sync fails without this effect.
    pub fn losing_pages(self) -> Self {
        Self { effect: Effect::LosePages, ..self }
    }

    /// The operation takes effect, and then returns an error. A read has no effect.
    pub fn though_done(self) -> Self {
        Self { effect: Effect::All, ..self }
    }

    /// Counts `op`. Returns the error and the effect if the fault strikes it.
    pub(super) fn strike(&mut self, op: &Op<'_>) -> Option<Failure> {
        let matches = self.kind.is_none_or(|kind| kind == op.kind)
            && (!self.changes_only || op.kind.changes())
            && self.part.as_ref().is_none_or(|part| op.path.to_string_lossy().contains(part.as_str()))
            && self.within.is_none_or(|(from, to)| op.bytes.is_some_and(|(start, end)| start < to && from < end));
        if !matches || self.is_spent() {
            return None;
        }
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        if self.lasting {
            self.left = 1;
        }
        let error = match self.reason {
            Reason::Os(number) => io::Error::from_raw_os_error(number),
            Reason::Kind(kind) => kind.into(),
        };
        Some(Failure { error, effect: self.effect })
    }

    /// True once the fault can strike no more operations.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }
}

/// How one operation fails.
pub(super) struct Failure {
    pub(super) error: io::Error,
    pub(super) effect: Effect,
}
