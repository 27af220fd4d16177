//! Finds the documents in windows.

use super::super::error::{PipelineError, refuse};
use super::super::offset::offset;
use super::meter::Meter;
use super::{Bound, Window, WindowFields};
use crate::code::ErrorCode;
use alluvium_document::Value;
use alluvium_document::compare::compare;
use std::ops::Range;

type Result<T> = std::result::Result<T, PipelineError>;

/// The documents of a partition, by their positions and their values in the order.
pub(super) struct Positions<'p> {
    pub stage: &'p WindowFields,
    pub len: usize,
}

impl Positions<'_> {
    /// The value by which the document at a position is ordered.
    pub fn order(&self, at: usize, meter: &mut Meter<'_>) -> Result<Value> {
        match self.stage.sort.parts().first() {
            Some(part) => Ok(meter.document(at)?.value_at(&part.path)?.unwrap_or_default()),
            None => Ok(Value::Null),
        }
    }

    /// The positions of the documents in the window of the document at a position. The search starts at the positions
    /// of the last window.
    pub fn range(
        &self,
        window: &Window,
        at: usize,
        last: &Range<usize>,
        meter: &mut Meter<'_>,
    ) -> Result<Range<usize>> {
        match window {
            Window::Documents(low, high) => Ok(self.by_number(low, high, at)),
            Window::Range(low, high, unit) => self.by_order(low, high, unit.as_deref(), at, last, meter),
        }
    }

    fn by_number(&self, low: &Bound, high: &Bound, at: usize) -> Range<usize> {
        let len = self.len;
        let place = |bound: &Bound| match bound {
            Bound::Unbounded => None,
            Bound::Current => Some(at as i64),
            Bound::At(n) => Some((at as i64).saturating_add(n.as_i64().unwrap_or(0))),
        };
        let start = place(low).map_or(0, |start| start.clamp(0, len as i64) as usize);
        let end = place(high).map_or(len, |end| end.saturating_add(1).clamp(0, len as i64) as usize);
        start.min(end)..end
    }

    fn by_order(
        &self,
        low: &Bound,
        high: &Bound,
        unit: Option<&str>,
        at: usize,
        last: &Range<usize>,
        meter: &mut Meter<'_>,
    ) -> Result<Range<usize>> {
        let value = self.number_or_date(at, unit, meter)?;
        let start = match low {
            Bound::Unbounded => 0,
            // The bound is the document itself, not other documents with an equal value.
            Bound::Current => at,
            Bound::At(n) => {
                let least = offset(&value, n, unit)?;
                self.boundary(last.start, unit, meter, |other| compare(other, &least).is_lt())?
            }
        };
        let end = match high {
            Bound::Unbounded => self.len,
            Bound::Current => at + 1,
            Bound::At(n) => {
                let most = offset(&value, n, unit)?;
                self.boundary(last.end, unit, meter, |other| compare(other, &most).is_le())?
            }
        };
        Ok(start.min(end)..end)
    }

    /// The number of documents for whose values `holds` is true. It must be true for the first documents and false for
    /// all others. The search starts at `near` with growing steps, because windows move little from one document to the
    /// next.
    fn boundary(
        &self,
        near: usize,
        unit: Option<&str>,
        meter: &mut Meter<'_>,
        holds: impl Fn(&Value) -> bool,
    ) -> Result<usize> {
        let (mut low, mut high) = (0, self.len);
        let (mut next, mut step, mut first) = (near, 1, None);
        while low < high {
            meter.step()?;
            let at = next.clamp(low, high - 1);
            let is_before = holds(&self.number_or_date(at, unit, meter)?);
            if is_before {
                low = at + 1;
            } else {
                high = at;
            }
            // Continues in one direction until the boundary is between two positions.
            next = if *first.get_or_insert(is_before) == is_before && step > 0 {
                let moved = if is_before { at.saturating_add(step) } else { at.saturating_sub(step) };
                step = step.saturating_mul(2);
                moved
            } else {
                step = 0;
                low + (high - low) / 2
            };
        }
        Ok(low)
    }

    /// The value by which the document at a position is ordered, for a window by distance: it must be a number or a
    /// date.
    fn number_or_date(&self, at: usize, unit: Option<&str>, meter: &mut Meter<'_>) -> Result<Value> {
        let value = self.order(at, meter)?;
        let fits = if unit.is_some() { matches!(value, Value::DateTime(_)) } else { value.is_number() };
        if fits {
            return Ok(value);
        }
        let wanted = if unit.is_some() { "dates" } else { "numbers" };
        let found = value.type_name();
        let code = match (&value, unit) {
            (Value::DateTime(_), None) => ErrorCode::Location5429413,
            (_, Some(_)) => ErrorCode::Location5429513,
            _ => ErrorCode::Location5429414,
        };
        refuse(code, format!("a window of a range needs a sortBy of {wanted}, and a value is of type {found}"))
    }
}
