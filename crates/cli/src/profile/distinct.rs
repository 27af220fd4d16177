//! Estimates of the number of different values.

use hyperloglockless::HyperLogLog;
use std::collections::HashMap;

/// If there are more different values, a sketch estimates their number.
const MOST_COUNTED: usize = 20_000;
/// The sketch has 2^14 registers of one byte, which gives an error of about 0.8%.
const PRECISION: u8 = 14;

/// The hashes of values, each with its frequency, or a sketch of the hashes if there are too many.
pub(super) enum Distinct {
    Counted(HashMap<u64, u32>),
    Sketched(Box<HyperLogLog>),
}

impl Default for Distinct {
    fn default() -> Self {
        Self::Counted(HashMap::new())
    }
}

/// The precision of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    Exact,
    About,
    /// The actual number may be much larger.
    AtLeast,
}

/// A number of different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub values: u64,
    pub certainty: Certainty,
}

impl Distinct {
    /// Adds a value by its hash.
    pub(super) fn add(&mut self, hash: u64) {
        match self {
            Self::Counted(counts) => {
                let count = counts.entry(hash).or_default();
                *count = count.saturating_add(1);
                if counts.len() > MOST_COUNTED {
                    let mut sketch = HyperLogLog::seeded(PRECISION, 0);
                    counts.keys().for_each(|hash| sketch.insert_hash(*hash));
                    *self = Self::Sketched(Box::new(sketch));
                }
            }
            Self::Sketched(sketch) => sketch.insert_hash(hash),
        }
    }

    /// The number of different values among `scale` times as many values; `None` if no value was added.
    ///
    /// For a sample, the number is estimated as in PostgreSQL, by the estimator of Haas and Stokes ("Estimating the
    /// number of classes in a finite population", 1998): values that occur once in the sample are evidence of values
    /// that are not in the sample.
    pub(super) fn estimate(&self, scale: f64) -> Option<Estimate> {
        match self {
            Self::Counted(counts) if counts.is_empty() => None,
            Self::Counted(counts) if scale <= 1.0 => {
                Some(Estimate { values: counts.len() as u64, certainty: Certainty::Exact })
            }
            Self::Counted(counts) => {
                let distinct = counts.len() as f64;
                let sampled: f64 = counts.values().map(|count| f64::from(*count)).sum();
                let once = counts.values().filter(|count| **count == 1).count() as f64;
                let estimate = sampled * distinct / (sampled - once + once / scale);
                let values = estimate.clamp(distinct, sampled * scale).round() as u64;
                Some(Estimate { values, certainty: Certainty::About })
            }
            Self::Sketched(sketch) => {
                let certainty = if scale <= 1.0 { Certainty::About } else { Certainty::AtLeast };
                Some(Estimate { values: sketch.count() as u64, certainty })
            }
        }
    }
}

#[cfg(test)]
mod tests;
