//! Variables that an expression may use, in addition to the variables that its operators define.

use super::random::Random;
use crate::collation::Collation;
use crate::interrupt::Interrupt;
use crate::memory::Memory;
use crate::work::Bounds;
use alluvium_document::{Timestamp, Value};
use std::sync::{Arc, OnceLock};

/// The context that the expressions and filters of a query share: variables, such as those of `let`, the value of
/// `$$NOW`, and the collation. A later variable hides an earlier one of the same name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Variables {
    /// The names, and the values if they are known.
    bindings: Vec<(Box<str>, Binding)>,
    now: Option<i64>,
    cluster_time: Option<Timestamp>,
    random: Option<Chance>,
    collation: Option<Collation>,
    bounds: Bounds,
    /// True if a constant expression that has no value fails when it is evaluated instead of when it is parsed.
    defers: bool,
}

/// A source of random numbers that is made when it is first needed: most queries need none.
#[derive(Debug)]
struct Chance {
    seed: u64,
    source: OnceLock<Arc<Random>>,
}

impl Chance {
    fn source(&self) -> &Arc<Random> {
        self.source.get_or_init(|| Arc::new(Random::new(self.seed)))
    }
}

/// A copy shares the source, so that the copy and the original return different numbers.
impl Clone for Chance {
    fn clone(&self) -> Self {
        Self { seed: self.seed, source: OnceLock::from(self.source().clone()) }
    }
}

impl PartialEq for Chance {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source()
    }
}

/// The known facts about a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Binding {
    /// The value, which expressions share; `None` if it is missing.
    Value(Option<Arc<Value>>),
    /// The slot of the variable in [`super::Scope::with_variables`].
    Slot(usize),
}

impl Variables {
    /// No variables.
    pub const NONE: Self = Self {
        bindings: Vec::new(),
        now: None,
        cluster_time: None,
        random: None,
        collation: None,
        bounds: Bounds { interrupt: None, memory: None, value_bytes_max: None },
        defers: false,
    };

    /// Sets the value of `$$NOW`, in milliseconds since 1970 in UTC. All documents have the same value. Without it,
    /// expressions with `$$NOW` are refused.
    #[must_use]
    pub fn at(mut self, now: i64) -> Self {
        self.now = Some(now);
        self
    }

    /// Sets the value of `$$CLUSTER_TIME`. Without it, expressions with `$$CLUSTER_TIME` are refused.
    #[must_use]
    pub fn at_cluster_time(mut self, time: Option<Timestamp>) -> Self {
        self.cluster_time = time;
        self
    }

    /// Sets the seed of the random numbers of `$rand`. All expressions that are parsed with these variables share one
    /// source of numbers. Without a seed, expressions with `$rand` are refused.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.random = Some(Chance { seed, source: OnceLock::new() });
        self
    }

    /// Sets the collation by which strings are compared. Without one, strings are compared by their bytes.
    #[must_use]
    pub fn collated(mut self, collation: Option<Collation>) -> Self {
        self.collation = collation;
        self
    }

    /// Sets the interrupt, which can end evaluations early. Without it, evaluations always run to their end.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Self {
        self.bounds.interrupt = Some(interrupt);
        self
    }

    /// Sets the account in which the memory of evaluations is counted. Without it, the memory is not counted.
    #[must_use]
    pub fn counted_in(mut self, memory: Memory) -> Self {
        self.bounds.memory = Some(memory);
        self
    }

    /// Sets the maximum size of a value that an expression makes, in bytes as BSON. Without it, it is
    /// [`super::MAX_VALUE_BYTES`].
    #[must_use]
    pub fn making_at_most(mut self, bytes: Option<usize>) -> Self {
        self.bounds.value_bytes_max = bytes;
        self
    }

    /// Makes constant expressions that have no value, such as a division by zero, fail when they are evaluated. By
    /// default they are refused when they are parsed.
    #[must_use]
    pub(crate) fn deferring(mut self) -> Self {
        self.defers = true;
        self
    }

    /// True after [`Variables::deferring`].
    pub(super) fn defers(&self) -> bool {
        self.defers
    }

    pub(crate) fn interrupt(&self) -> Option<&Interrupt> {
        self.bounds.interrupt.as_ref()
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The collation by which strings are compared.
    pub fn collation(&self) -> Option<&Collation> {
        self.collation.as_ref()
    }

    /// Adds a variable with its value; `None` is a missing value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<Value>) -> Self {
        self.bindings.push((name.into(), Binding::Value(value.map(Arc::new))));
        self
    }

    /// Adds a variable whose value is passed later to [`super::Scope::with_variables`]. Those values must be in the
    /// order in which the variables were added.
    #[must_use]
    pub fn unknown(mut self, name: &str) -> Self {
        let slot = self.slots();
        self.bindings.push((name.into(), Binding::Slot(slot)));
        self
    }

    /// The value of `$$NOW`, if it is known.
    pub fn now(&self) -> Option<i64> {
        self.now
    }

    pub(super) fn cluster_time(&self) -> Option<Timestamp> {
        self.cluster_time
    }

    pub(super) fn random(&self) -> Option<Arc<Random>> {
        self.random.as_ref().map(|chance| chance.source().clone())
    }

    /// True if the values of some variables are not known.
    pub fn has_unknown(&self) -> bool {
        self.slots() > 0
    }

    /// The number of variables whose values are not known.
    pub(super) fn slots(&self) -> usize {
        self.bindings.iter().filter(|(_, binding)| matches!(binding, Binding::Slot(_))).count()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        self.bindings.iter().rev().find(|(known, _)| **known == *name).map(|(_, binding)| binding)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.bindings.iter().map(|(name, _)| &**name)
    }
}
