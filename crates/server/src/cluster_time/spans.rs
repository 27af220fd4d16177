//! The seconds of the cluster time, and those of them that are stored.
//!
//! While changes are recorded, each second is stored in `local.clusterTimes` before a time in it is given, so that the
//! change of a number has the same time after a restart.

use super::PART_MAX;
use crate::fields::Fields;
use alluvium::{Collection, Database, Durability, Map, Timestamp, Value};
use alluvium_env::sync::Mutex;
use std::ops::Range;

/// The fields of a stored second: its first number, the second, and the ordinal of the first number.
const FIRST: &str = "_id";
const SECOND: &str = "second";
const ORDINAL: &str = "ordinal";

/// Seconds that are not needed any more are deleted each time that this number of seconds was stored.
const DELETED_AFTER: u32 = 1024;

/// A second. The sequence numbers from `first` upwards have times in this second, with ordinals from `ordinal` upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub first: u64,
    pub second: u32,
    pub ordinal: u32,
    /// True if the second is in the database.
    pub is_stored: bool,
}

impl Span {
    /// The time of a sequence number in this second; `None` if the ordinals of the second are used up.
    pub fn time(&self, number: u64) -> Option<Timestamp> {
        let ordinal = u64::from(self.ordinal) + number.checked_sub(self.first)?;
        let increment = u32::try_from(ordinal).ok().filter(|ordinal| *ordinal <= PART_MAX)?;
        Some(Timestamp { time: self.second, increment })
    }

    /// The time of a sequence number that is not before this second: at most the last time in it.
    fn time_within(&self, number: u64) -> Timestamp {
        self.time(number).unwrap_or(Timestamp { time: self.second, increment: PART_MAX })
    }

    /// A time for a number before the first second: the times count down from the second before it.
    fn time_before(&self, number: u64) -> Timestamp {
        let back = self.first.saturating_sub(number).saturating_sub(1);
        let (seconds, ordinals) = (back / u64::from(PART_MAX), back % u64::from(PART_MAX));
        let seconds = u32::try_from(seconds).unwrap_or(PART_MAX).saturating_add(1);
        let increment = PART_MAX.saturating_sub(u32::try_from(ordinals).unwrap_or(PART_MAX));
        Timestamp { time: self.second.saturating_sub(seconds), increment }
    }

    fn to_map(self) -> Map {
        let number = |number: u64| Value::Int64(number.cast_signed());
        Map::from([
            (FIRST, number(self.first)),
            (SECOND, number(self.second.into())),
            (ORDINAL, number(self.ordinal.into())),
        ])
    }

    fn of_map(map: &Map) -> Option<Self> {
        let part = |name| u32::try_from(map.integer(name)?).ok();
        let first = map.integer(FIRST)?.cast_unsigned();
        Some(Self { first, second: part(SECOND)?, ordinal: part(ORDINAL)?, is_stored: true })
    }
}

/// The stored seconds.
pub(super) struct StoredSpans {
    db: Database,
    /// The second that was read last, with the numbers in it.
    read: Mutex<Option<(Range<u64>, Span)>>,
    /// The number of seconds that were stored since old ones were deleted.
    stored: Mutex<u32>,
}

impl StoredSpans {
    /// The stored seconds of a database. Seconds that are not needed are deleted at the next occasion.
    pub fn new(db: &Database) -> Self {
        Self { db: db.clone(), read: Mutex::default(), stored: Mutex::new(DELETED_AFTER) }
    }

    fn collection(&self) -> Collection {
        self.db.logical_database("local").collection("clusterTimes")
    }

    /// The lowest number after which changes are recorded; `None` if no changes are recorded.
    pub fn recorded_since(&self) -> Option<u64> {
        self.db.recorded().iter().map(|recorded| recorded.since).min()
    }

    /// Stores seconds, so that they survive a power cut. Now and then, deletes those before the recorded changes.
    ///
    /// # Errors
    /// As for any write.
    pub fn store(&self, spans: &[Span]) -> alluvium::Result<()> {
        let Some((last, others)) = spans.split_last() else { return Ok(()) };
        let id = |span: &Span| Value::Int64(span.first.cast_signed());
        for span in others {
            self.collection().put(id(span), span.to_map())?;
        }
        self.collection().with_durability(Durability::Sync).put(id(last), last.to_map())?;
        let mut stored = self.stored.lock();
        *stored = stored.saturating_add(1);
        if *stored >= DELETED_AFTER {
            *stored = 0;
            if let Err(error) = self.delete_old() {
                log::warn!("old seconds of the cluster time could not be deleted: {error}");
            }
        }
        Ok(())
    }

    /// Deletes the seconds before the one in which the oldest recorded changes are.
    fn delete_old(&self) -> alluvium::Result<()> {
        let since = self.recorded_since().unwrap_or(u64::MAX);
        let Some(covering) = self.at(since)? else { return Ok(()) };
        *self.read.lock() = None;
        let before = Map::from([("$lt", Value::Int64(covering.first.cast_signed()))]);
        self.collection().delete_many(Map::from([(FIRST, Value::Map(before))])).run()?;
        Ok(())
    }

    /// The last second that begins with this number or an earlier one.
    fn at(&self, number: u64) -> alluvium::Result<Option<Span>> {
        self.one("$lte", number, -1)
    }

    /// The first stored second, in one direction, whose first number has this relation to a number.
    fn one(&self, relation: &'static str, number: u64, direction: i32) -> alluvium::Result<Option<Span>> {
        let number = Value::Int64(i64::try_from(number).unwrap_or(i64::MAX));
        let filter = Map::from([(FIRST, Value::Map(Map::from([(relation, number)])))]);
        let sort = Map::from([(FIRST, Value::from(direction))]);
        let found = self.collection().find(filter).sort(sort).limit(1).run()?.next().transpose()?;
        found.map_or(Ok(None), |found| Ok(Span::of_map(&found.to_map()?)))
    }

    /// The time of a number in a stored second, or before the first one; `None` if no second is stored.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn time(&self, number: u64) -> alluvium::Result<Option<Timestamp>> {
        if let Some((numbers, span)) = &*self.read.lock()
            && numbers.contains(&number)
        {
            return Ok(Some(span.time_within(number)));
        }
        let Some(span) = self.at(number)? else {
            return Ok(self.one("$gte", 0, 1)?.map(|first| first.time_before(number)));
        };
        if let Some(next) = self.one("$gt", span.first, 1)? {
            *self.read.lock() = Some((span.first..next.first, span));
        }
        Ok(Some(span.time_within(number)))
    }
}
