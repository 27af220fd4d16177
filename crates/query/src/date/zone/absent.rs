//! A build without the feature `time-zones`: there are no named zones.

/// An uninhabited type: this build has no named zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {}

/// The message for a name that is not a zone.
pub(super) fn unknown(name: &str) -> String {
    format!(
        "the time zone \"{name}\" is not known: this program was built without the feature `time-zones` of the crate \
         alluvium, and has UTC and offsets such as +05:30"
    )
}

impl Named {
    pub fn find(_: &str) -> Option<Self> {
        None
    }

    pub fn offset_at(&self, _: i64) -> i64 {
        match *self {}
    }

    pub fn is_dst_at(&self, _: i64) -> bool {
        match *self {}
    }

    pub fn offset_of_local(&self, _: i128, _: bool) -> i64 {
        match *self {}
    }
}
