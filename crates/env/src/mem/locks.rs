//! The locks on one file or directory.

/// The held locks on one file or directory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Locks {
    exclusive: bool,
    shared: u32,
}

impl Locks {
    pub(super) fn allow(self, shared: bool) -> bool {
        !self.exclusive && (shared || self.shared == 0)
    }

    pub(super) fn are_held(self) -> bool {
        self.exclusive || self.shared > 0
    }

    pub(super) fn add(&mut self, shared: bool) {
        match shared {
            true => self.shared += 1,
            false => self.exclusive = true,
        }
    }

    pub(super) fn end(&mut self, shared: bool) {
        match shared {
            true => self.shared = self.shared.saturating_sub(1),
            false => self.exclusive = false,
        }
    }
}
