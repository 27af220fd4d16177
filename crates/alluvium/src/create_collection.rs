//! Creating a collection with options.

use crate::target::Target;
use alluvium_collections::error::Result;
use alluvium_collections::limits::CappedLimits;
use alluvium_collections::options::CollectionOptions;
use alluvium_document::{IntoDocument, Map};
use alluvium_query::collation::Collation;
use alluvium_query::validator::Validator;

/// A collection to create, with its options; returned by [`crate::Collection::create`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// use alluvium::CappedLimits;
///
/// let log = db.collection("log");
/// log.create().capped(CappedLimits { size_bytes: 1 << 20, documents: Some(2) }).run()?;
/// log.insert_many([r#"{"_id": 3}"#, r#"{"_id": 2}"#, r#"{"_id": 1}"#])?;
/// let kept: Vec<_> = log.find("{}").run()?.collect::<alluvium::Result<_>>()?;
/// assert_eq!(kept.iter().map(|document| document.id().as_i64().unwrap()).collect::<Vec<_>>(), [2, 1]);
/// # alluvium::Result::Ok(())
/// ```
#[derive(Debug)]
#[must_use = "no collection is created until `run`"]
pub struct CreateCollection {
    target: Target,
    options: CollectionOptions,
    collation: Result<Option<Collation>>,
}

impl CreateCollection {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, options: CollectionOptions::default(), collation: Ok(None) }
    }

    /// How strings compare in its queries, writes by filter, pipelines and indexes that name no collation
    /// ([`crate::Find::collation`] has the options). It never changes. An `_id` is unique by its bytes, whatever the
    /// collation.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create().collation(r#"{"locale": "en", "strength": 2}"#).run()?;
    /// pets.put("rex", r#"{"kind": "Dog"}"#)?;
    /// assert_eq!(pets.find(r#"{"kind": "dog"}"#).count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(mut self, options: impl IntoDocument) -> Self {
        let parsed = |options: Map| Ok(Collation::parse(&options)?);
        self.collation = options.into_map().map_err(Into::into).and_then(parsed);
        self
    }

    /// Makes it a capped collection, which keeps the newest documents: each insert deletes the oldest ones as long as
    /// the collection exceeds a limit. Queries without a sort that use no index return its documents in the order in
    /// which they were inserted, and so does a sort by `$natural`. Writes to it are made one after the other.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    ///
    /// db.collection("log").create().capped(CappedLimits { size_bytes: 4096, documents: None }).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn capped(mut self, limits: CappedLimits) -> Self {
        self.options.capped = Some(limits);
        self
    }

    /// What its documents must be: [`crate::Collection::set_validator`] changes it.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{ValidationAction, ValidationLevel, Validator, doc};
    ///
    /// let rules = doc! {"age": {"$gte": 0}};
    /// let validator = Validator::new(rules, ValidationLevel::Strict, ValidationAction::Error)?;
    /// let pets = db.collection("pets");
    /// pets.create().validator(validator).run()?;
    /// assert!(pets.insert_one(doc! {"age": -1}).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn validator(mut self, validator: Validator) -> Self {
        self.options.validator = Some(validator);
        self
    }

    /// Creates the collection.
    ///
    /// # Errors
    /// [`crate::Error::CollectionExists`], [`crate::Error::InvalidName`]; [`crate::Error::InvalidDocument`] for a limit
    /// of 0 bytes; [`crate::Error::Collation`]; [`crate::Error::Filter`]; or as for any write.
    pub fn run(mut self) -> Result<()> {
        self.options.collation = self.collation?;
        let collation = self.options.collation.as_ref();
        let validator = self.options.validator.take();
        self.options.validator = validator.map(|validator| validator.collated(collation)).transpose()?;
        if let Some(limits) = &self.options.capped {
            CappedLimits::from_options(&limits.to_options())?;
        }
        self.target.engine.catalog.create(self.target.name()?, self.options)?;
        Ok(())
    }
}
