//! Creating a collection.

use crate::collection::Collection;
use crate::target::Target;
use alluvium_collections::error::Result;
use alluvium_collections::limits::CappedLimits;
use alluvium_collections::options::CollectionOptions;
use alluvium_document::{InputError, IntoDocument, Map, Value};

/// A collection to create, with its options; returned by [`crate::Database::create_collection`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// use alluvium::CappedLimits;
///
/// let log = db.create_collection("log").capped(CappedLimits { size_bytes: 1 << 20, documents: Some(2) }).run()?;
/// log.insert_many([r#"{"_id": 3}"#, r#"{"_id": 2}"#, r#"{"_id": 1}"#])?;
/// let kept: Vec<_> = log.find("{}").run()?.collect::<alluvium::Result<_>>()?;
/// assert_eq!(kept.iter().map(|document| document.id().as_i64().unwrap()).collect::<Vec<_>>(), [2, 1]);
/// # alluvium::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "no collection is created until `run`"]
pub struct CreateCollection {
    target: Target,
    options: std::result::Result<Map, InputError>,
    capped: Option<CappedLimits>,
    natural_order: Option<bool>,
    keep_before: Option<bool>,
}

impl CreateCollection {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, options: Ok(Map::new()), capped: None, natural_order: None, keep_before: None }
    }

    /// Sets the collation for queries, writes by filter, pipelines and indexes that name no collation
    /// ([`crate::Find::collation`] describes collations). It cannot be changed later. An `_id` is unique by its bytes,
    /// whatever the collation.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.create_collection("pets").collation(r#"{"locale": "en", "strength": 2}"#).run()?;
    /// pets.put("rex", r#"{"kind": "Dog"}"#)?;
    /// assert_eq!(pets.find(r#"{"kind": "dog"}"#).count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(self, options: impl IntoDocument) -> Self {
        self.option("collation", options)
    }

    /// Sets rules that each document must match, as [`crate::Collection::set_validator`] does.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.create_collection("pets").validator(r#"{"age": {"$gte": 0}}"#).run()?;
    /// assert!(pets.insert_one(r#"{"age": -1}"#).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn validator(self, rules: impl IntoDocument) -> Self {
        self.option("validator", rules)
    }

    fn option(mut self, name: &str, value: impl IntoDocument) -> Self {
        self.options = self.options.and_then(|mut options| {
            options.insert(name, Value::Map(value.into_map()?));
            Ok(options)
        });
        self
    }

    /// Makes the collection capped: it keeps the newest documents, and each insert deletes the oldest documents while
    /// the collection exceeds a limit. Queries without a sort that use no index, and sorts by `$natural`, return the
    /// documents in the order of insertion. Writes to the collection are made one after the other.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::CappedLimits;
    ///
    /// db.create_collection("log").capped(CappedLimits { size_bytes: 4096, documents: None }).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn capped(mut self, limits: CappedLimits) -> Self {
        self.capped = Some(limits);
        self
    }

    /// Keeps the document before each change: recorded updates, replacements and deletes have it as
    /// [`crate::Change::before`]. Has no effect while the collection is not recorded
    /// ([`crate::Database::record_changes`]).
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::ChangeScope;
    ///
    /// let pets = db.create_collection("pets").keep_before(true).run()?;
    /// db.record_changes(ChangeScope::Everything)?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.delete("rex")?;
    /// let last = db.changes(&ChangeScope::Everything, None)?.last().expect("a change")?;
    /// assert_eq!(last.before.expect("the document").get("age"), Some(&3.into()));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn keep_before(mut self, keep: bool) -> Self {
        self.keep_before = Some(keep);
        self
    }

    /// Keeps the order of insertion: queries without a sort that use no index, and sorts by `$natural`, return the
    /// documents in this order. Writes to the collection are made one after the other, and each insert writes three
    /// additional small entries. Default: [`crate::Database::set_natural_order`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.create_collection("pets").natural_order(true).run()?;
    /// pets.insert_many([r#"{"_id": 2}"#, r#"{"_id": 1}"#])?;
    /// assert_eq!(pets.find("{}").first()?.unwrap().id().as_i64(), Some(2));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn natural_order(mut self, natural_order: bool) -> Self {
        self.natural_order = Some(natural_order);
        self
    }

    /// Adds options under MongoDB's names: `collation`, `validator`, `validationLevel`, `validationAction`, `capped`,
    /// `size`, `max` and `changeStreamPreAndPostImages`. The options `clusteredIndex` (documents are always stored by their `_id`s), `storageEngine`
    /// and `indexOptionDefaults` have no effect; [`crate::Collection::options`] returns them.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.create_collection("pets").options(r#"{"clusteredIndex": {"key": {"_id": 1}}}"#).run()?;
    /// assert!(pets.options()?.contains("clusteredIndex"));
    /// assert!(db.create_collection("cats").options(r#"{"colour": "black"}"#).run().is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn options(mut self, options: impl IntoDocument) -> Self {
        self.options = self.options.and_then(|mut all| {
            for (name, value) in options.into_map()?.entries {
                all.insert(name.as_str().unwrap_or_default(), value);
            }
            Ok(all)
        });
        self
    }

    /// Creates the collection.
    ///
    /// # Errors
    /// [`crate::Error::CollectionExists`], [`crate::Error::InvalidName`]; [`crate::Error::InvalidDocument`] for a limit
    /// of 0 bytes; [`crate::Error::Collation`], [`crate::Error::Filter`] for an option that is unknown or wrong; or as
    /// for any write.
    pub fn run(self) -> Result<Collection> {
        let mut options = CollectionOptions::from_map(&self.options?)?;
        if let Some(limits) = self.capped {
            CappedLimits::from_options(&limits.to_options())?;
            options.capped = Some(limits);
        }
        options.keeps_before = self.keep_before.unwrap_or(options.keeps_before);
        let default = self.target.engine.catalog.default_options(self.target.name()?).natural_order;
        options.natural_order = self.natural_order.unwrap_or(default);
        match self.target.transaction() {
            Some(transaction) => transaction.create(self.target.name()?, options)?,
            None => self.target.engine.catalog.create(self.target.name()?, options)?,
        };
        Ok(Collection::new(self.target))
    }
}
