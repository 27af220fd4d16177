//! Estimates of the number of different values.

use hyperloglockless::HyperLogLog;
use std::collections::HashMap;

/// More different values are estimated by a sketch.
const MOST_COUNTED: usize = 20_000;
/// The sketch has 2^14 registers of a byte: an error of about 0.8%.
const PRECISION: u8 = 14;

/// The hashes of values, each with its frequency; or, once they are too many, a sketch of them.
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
    /// There may be many more.
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

    /// The number of different values among `scale` times as many values; `None` without values.
    ///
    /// From a sample, it is the estimator of Haas and Stokes ("Estimating the number of classes in a
    /// finite population", 1998) that PostgreSQL uses: values that occur once in the sample are
    /// evidence of others that are not in it.
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
