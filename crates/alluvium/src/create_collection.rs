//! Creating a collection with options.

use crate::target::Target;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::limits::CappedLimits;
use alluvium_collections::options::{CollectionOptions, WITHOUT_EFFECT};
use alluvium_document::{IntoDocument, Map, Value};
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
    natural_order: Option<bool>,
}

impl CreateCollection {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, options: CollectionOptions::default(), collation: Ok(None), natural_order: None }
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

    /// Its documents keep the order in which they were inserted: queries without a sort that use no index return them in
    /// it, and so does a sort by `$natural`. Writes to it are made one after the other, and each insert writes three
    /// small entries more. Default: [`crate::Database::set_natural_order`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create().natural_order(true).run()?;
    /// pets.insert_many([r#"{"_id": 2}"#, r#"{"_id": 1}"#])?;
    /// assert_eq!(pets.find("{}").first()?.unwrap().id().as_i64(), Some(2));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn natural_order(mut self, natural_order: bool) -> Self {
        self.natural_order = Some(natural_order);
        self
    }

    /// An option of MongoDB's that has no effect, and that [`crate::Collection::options`] shows again: `clusteredIndex`
    /// (documents are always stored by their `_id`s), `storageEngine` and `indexOptionDefaults`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create().keep("clusteredIndex", alluvium::doc! {"key": {"_id": 1}, "unique": true}).run()?;
    /// assert!(pets.options()?.contains("clusteredIndex"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn keep(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.options.without_effect.insert(name, value);
        self
    }

    /// Creates the collection.
    ///
    /// # Errors
    /// [`crate::Error::InvalidDocument`] for an option of another name that was to be kept;
    /// [`crate::Error::CollectionExists`], [`crate::Error::InvalidName`]; [`crate::Error::InvalidDocument`] for a limit
    /// of 0 bytes; [`crate::Error::Collation`]; [`crate::Error::Filter`]; or as for any write.
    pub fn run(mut self) -> Result<()> {
        self.options.collation = self.collation?;
        let collation = self.options.collation.as_ref();
        let validator = self.options.validator.take();
        self.options.validator = validator.map(|validator| validator.collated(collation)).transpose()?;
        let catalog = &self.target.engine.catalog;
        let default = catalog.default_options(self.target.name()?).natural_order;
        self.options.natural_order = self.natural_order.unwrap_or(default);
        let names = self.options.without_effect.iter().filter_map(|(name, _)| name.as_str());
        let unknown = names.filter(|name| !WITHOUT_EFFECT.contains(name)).map(str::to_owned).next();
        if let Some(other) = unknown {
            return Err(Error::InvalidDocument(format!("a collection keeps no option {other}")));
        }
        if let Some(limits) = &self.options.capped {
            CappedLimits::from_options(&limits.to_options())?;
        }
        self.target.engine.catalog.create(self.target.name()?, self.options)?;
        Ok(())
    }
}
