//! The metadata files that `mongodump` writes for each collection.

use crate::packing::Packing;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::indexes;
use alluvium_collections::limits::{CappedLimits, Limits};
use alluvium_collections::names::FullName;
use alluvium_collections::options::{CollectionOptions, WITHOUT_EFFECT, images_in};
use alluvium_document::{Map, Value, json};
use alluvium_env::{Env, OpenMode};
use alluvium_query::collation::{Collation, CollationError};
use alluvium_query::filter::FilterError;
use alluvium_query::index::{Definition, IndexError, Unbuilt};
use alluvium_query::validator::Validator;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The suffix of the file name.
pub(crate) const ENDING: &str = ".metadata.json";
/// The limit of a metadata file in bytes, compressed and decompressed.
const MAX_BYTES: u64 = 64 << 20;

/// The options and indexes of a collection, as `mongodump` writes them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    /// The collection's options, such as `capped`. Alluvium uses the limits of a capped collection, the validator,
    /// the collation and `changeStreamPreAndPostImages`, keeps the options of [`Metadata::without_effect`], and ignores all others.
    pub options: Map,
    /// The definitions of its indexes, including the index on `_id`. Definitions of old versions of
    /// MongoDB are converted: see [`Metadata::converted_indexes`].
    pub indexes: Vec<Map>,
    converted: Vec<(String, String)>,
    /// The collection's full name; the file name may be a shortened form.
    pub collection: Option<String>,
    /// `collection`, `view` or `timeseries`.
    pub kind: Option<String>,
    /// The number of documents in the dump; only Alluvium writes it.
    pub documents: Option<u64>,
    /// The documents keep the order of insertion; only Alluvium writes it.
    pub natural_order: bool,
}

impl Metadata {
    /// The validator among the options.
    ///
    /// # Errors
    /// Alluvium does not support it.
    pub fn validator(&self) -> std::result::Result<Option<Validator>, FilterError> {
        let validator = Validator::from_options(&self.options)?;
        Ok(validator.filter(|validator| !validator.rules().is_empty()))
    }

    /// The collation among the options, by which strings compare in the collection.
    ///
    /// # Errors
    /// Alluvium does not support it.
    pub fn collation(&self) -> std::result::Result<Option<Collation>, CollationError> {
        match self.options.get("collation") {
            Some(Value::Map(options)) => Collation::parse(options),
            _ => Ok(None),
        }
    }

    /// The limits of a capped collection, from the options.
    ///
    /// # Errors
    /// [`Error::InvalidDocument`] if the collection is capped but no size is given.
    pub fn capped(&self) -> Result<Option<CappedLimits>> {
        CappedLimits::from_options(&self.options)
    }

    /// The options that have no effect but are stored, as by the command `create`.
    pub fn without_effect(&self) -> Map {
        let kept = self.options.iter().filter(|(name, value)| {
            name.as_str().is_some_and(|name| WITHOUT_EFFECT.contains(&name)) && value.as_map().is_some()
        });
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// True if recorded changes have the documents before them.
    ///
    /// # Errors
    /// The option has a form that Alluvium does not know.
    pub fn keeps_before(&self) -> Result<bool> {
        images_in(&self.options)
    }

    /// The path of the metadata file that belongs to the BSON file `path`: `pets.metadata.json.gz`
    /// beside `pets.bson.gz`.
    ///
    /// ```
    /// let path = alluvium::load::Metadata::beside("dump/main/pets.bson.gz".as_ref());
    /// assert_eq!(path.unwrap().to_str(), Some("dump/main/pets.metadata.json.gz"));
    /// ```
    pub fn beside(path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let (stem, packed) = match name.strip_suffix(".bson") {
            Some(stem) => (stem, ""),
            None => name.rsplit_once(".bson.")?,
        };
        let dot = if packed.is_empty() { "" } else { "." };
        Some(path.with_file_name(format!("{stem}{ENDING}{dot}{packed}")))
    }

    /// Reads a metadata file; `None` if the file does not exist.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// # db.collection("pets").create_index(r#"{"age": 1}"#).run()?;
    /// # db.dump("dump").run()?;
    /// use alluvium::load::Metadata;
    ///
    /// let metadata = Metadata::read_in(&env, "dump/main/pets.metadata.json")?;
    /// assert_eq!(metadata.unwrap().documents, Some(1));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`alluvium_collections::error::ErrorKind::Io`]; [`Error::Load`] if the file holds something
    /// else.
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>> {
        Self::read_in(&Env::os(), path)
    }

    /// As [`Metadata::read`], in another environment.
    ///
    /// # Errors
    /// As [`Metadata::read`].
    pub fn read_in(env: &Env, path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        if !env.fs.exists(path).map_err(alluvium_store::Error::from)? {
            return Ok(None);
        }
        let cannot = |what: String| Error::Load(format!("cannot read {}: {what}", path.display()));
        let file = env.fs.open(path, OpenMode::Read).map_err(alluvium_store::Error::from)?;
        let len = file.len().map_err(alluvium_store::Error::from)?;
        if len > MAX_BYTES {
            return Err(cannot(format!("it has {len} bytes; metadata have at most {MAX_BYTES}")));
        }
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0).map_err(alluvium_store::Error::from)?;
        let mut text = Vec::new();
        Packing::of(path, &bytes)
            .reader(std::io::Cursor::new(bytes))
            .and_then(|reader| reader.take(MAX_BYTES).read_to_end(&mut text))
            .map_err(|error| cannot(error.to_string()))?;
        Self::parse(&text).map(Some).map_err(cannot)
    }

    pub(crate) fn parse(text: &[u8]) -> std::result::Result<Self, String> {
        let mut map = match json::parse(text).map_err(|error| error.to_string())? {
            Value::Map(map) => map,
            other => return Err(format!("metadata are a JSON object, not of type {}", other.type_name())),
        };
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        let options = match map.remove("options") {
            Some(Value::Map(options)) => options,
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err("the options are not a JSON object".to_owned()),
        };
        let indexes = match map.remove("indexes") {
            Some(Value::Array(indexes)) => indexes,
            None | Some(Value::Null) => Vec::new(),
            Some(_) => return Err("the indexes are not a JSON array".to_owned()),
        };
        let index = |index| match index {
            Value::Map(index) => Ok(index),
            _ => Err("an index is not a JSON object".to_owned()),
        };
        let own = map.remove("alluvium");
        let own = |name: &str| own.as_ref().and_then(Value::as_map).and_then(|own| own.get(name));
        let documents = own("documents");
        let mut indexes = indexes.into_iter().map(index).collect::<std::result::Result<Vec<_>, _>>()?;
        let converted = indexes.iter_mut().filter_map(convert_legacy).collect();
        Ok(Self {
            options,
            indexes,
            converted,
            collection: text(map.remove("collectionName")),
            kind: text(map.remove("type")),
            documents: documents.and_then(Value::as_i64).and_then(|n| u64::try_from(n).ok()),
            natural_order: own("naturalOrder") == Some(&Value::Bool(true)),
        })
    }

    /// The names of the indexes, except the index on `_id`, which every collection has.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// # db.collection("pets").create_index(r#"{"age": 1}"#).run()?;
    /// # db.dump("dump").run()?;
    /// # use alluvium::load::Metadata;
    /// let metadata = Metadata::read_in(&env, "dump/main/pets.metadata.json")?.unwrap();
    /// assert_eq!(metadata.index_names(), ["age_1"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn index_names(&self) -> Vec<String> {
        self.wanted_indexes().map(name_of).collect()
    }

    /// The indexes that Alluvium does not support, each with the reason.
    ///
    /// ```
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// # db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// # db.collection("pets").create_index(r#"{"age": 1}"#).run()?;
    /// # db.dump("dump").run()?;
    /// # use alluvium::load::Metadata;
    /// let metadata = Metadata::read_in(&env, "dump/main/pets.metadata.json")?.unwrap();
    /// assert!(metadata.unsupported_indexes().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn unsupported_indexes(&self) -> Vec<(String, String)> {
        let error = |index| check(index).err().map(|error| (name_of(index), error.to_string()));
        self.wanted_indexes().filter_map(error).collect()
    }

    /// The indexes with definitions that old versions of MongoDB accepted and newer ones refuse, each with a
    /// description of the conversion. The conversion is the same as with `mongorestore --convertLegacyIndexes`: an
    /// order that is 0, an empty text, or neither a number nor a text becomes 1, and unknown options are removed.
    pub fn converted_indexes(&self) -> &[(String, String)] {
        &self.converted
    }

    /// All indexes except the index on `_id`.
    fn wanted_indexes(&self) -> impl Iterator<Item = &Map> {
        let is_on_id = |index: &Map| {
            let keys = index.get("key").and_then(Value::as_map);
            index.get("name").and_then(Value::as_str) == Some("_id_")
                || index.get("clustered") == Some(&Value::Bool(true))
                || keys.is_some_and(|keys| Definition::is_on_id(keys, index).unwrap_or(false))
        };
        self.indexes.iter().filter(move |index| !is_on_id(index))
    }
}

/// Converts the definition of an index from an old version of MongoDB. Returns its name and a description of the
/// conversion, if anything was converted.
fn convert_legacy(index: &mut Map) -> Option<(String, String)> {
    if is_unbuilt(index) {
        return None;
    }
    let mut what = Vec::new();
    if let Some(Value::Map(keys)) = index.get_mut("key") {
        for (name, order) in &mut keys.entries {
            let is_kept = match &*order {
                Value::String(kind) => !kind.is_empty(),
                order => order.is_number() && order.as_f64() != Some(0.0),
            };
            if !is_kept {
                *order = Value::Int32(1);
                what.push(format!("the order of {}", name.as_str().unwrap_or_default()));
            }
        }
    }
    let keys = Map::from([("a", Value::Int32(1))]);
    index.entries.retain(|(name, value)| {
        let Some(option) = name.as_str().filter(|name| *name != "key") else { return true };
        let alone = Map::from([(option, value.clone())]);
        let is_unknown = matches!(Definition::parse(&keys, &alone), Err(IndexError::InvalidOption(_)));
        if is_unknown {
            what.push(format!("the option {option}"));
        }
        !is_unknown
    });
    if what.is_empty() { None } else { Some((name_of(index), what.join(", "))) }
}

/// Checks the definition of an index.
fn check(index: &Map) -> std::result::Result<(), IndexError> {
    match is_unbuilt(index) {
        true => Unbuilt::from_map(index).map(drop),
        false => Definition::from_map(index).map(drop),
    }
}

/// True if the definition is of a kind of index that is declared but not built.
fn is_unbuilt(index: &Map) -> bool {
    index.get("key").and_then(Value::as_map).is_some_and(Unbuilt::is_kind_of)
}

/// The name of an index: its own, or the default name for its keys.
fn name_of(index: &Map) -> String {
    let given = || index.get("name").and_then(Value::as_str).unwrap_or("an index without a name").to_owned();
    Definition::from_map(index).map_or_else(|_| given(), |definition| definition.name().to_owned())
}

impl Metadata {
    /// Creates the supported indexes: see `Collection::create_indexes_of`. Returns the names of the indexes that did
    /// not exist. A collection that does not exist is created with the options of the metadata, except the validator.
    ///
    /// # Errors
    /// As for declaring and building an index.
    pub fn create_indexes(&self, engine: &EngineHandle, name: &FullName) -> Result<Vec<String>> {
        // The caller reports options that are not supported.
        let (collation, capped) = (self.collation().unwrap_or_default(), self.capped().unwrap_or_default());
        let default = engine.catalog.default_options(name);
        let natural_order = self.natural_order || default.natural_order;
        let (keeps_before, without_effect) = (self.keeps_before().unwrap_or_default(), self.without_effect());
        let wanted =
            CollectionOptions { collation, capped, natural_order, keeps_before, without_effect, ..default.clone() };
        if natural_order || wanted != default {
            let options = wanted;
            match engine.catalog.create(name, options) {
                Ok(_) | Err(Error::CollectionExists(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let mut created = Vec::new();
        for index in self.wanted_indexes() {
            if is_unbuilt(index) {
                let Ok(unbuilt) = Unbuilt::from_map(index) else { continue };
                let declared = indexes::declare(engine, name, &unbuilt.keys_map(), &unbuilt.to_map())?;
                created.extend(declared.is_new().then(|| declared.name().to_owned()));
                continue;
            }
            let Ok(definition) = Definition::from_map(index) else { continue };
            let mut options = definition.to_map();
            if !options.contains("collation") {
                // An index without a collation uses the simple one, not the collation of the collection.
                options.push("collation", Map::from([("locale", Value::from("simple"))]));
            }
            let declared = indexes::declare(engine, name, &definition.keys_map(), &options)?;
            declared.build(engine, name, &Limits::default())?;
            if declared.is_new() {
                created.push(declared.name().to_owned());
            }
        }
        Ok(created)
    }
}

#[cfg(test)]
mod tests;
