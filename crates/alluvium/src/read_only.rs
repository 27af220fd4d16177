//! Read-only stores of documents: built once from any input, then read by many processes.

use crate::load::{Input, LoadOptions, LoadReport, pipeline};
use crate::names::FullName;
use crate::read::{decode, fields_of, key_text, named};
use crate::{BuildOptions, BuildReport, Error, IntoDocument, ReadOnlyOptions, ReadOnlyStats, Result, Scan, write};
use alluvium_document::row::encode_row;
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_document::{Document, Map, Value};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use pipeline::BuildTarget;
use std::path::Path;
use std::sync::Arc;

/// First byte of a label: documents; the collection's full name follows.
const DOCUMENTS: u8 = 1;
/// First byte of a label: keys and values as they are; a name follows.
const PAIRS: u8 = 2;

/// What a read-only store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnlyContent {
    /// The documents of a collection.
    Documents,
    /// Keys and values as they were given. As documents they have the fields `_id` and `value`:
    /// strings where the bytes are text without control characters, else binary.
    KeyValues,
}

impl ReadOnlyContent {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::KeyValues => "keys and values",
        }
    }
}

/// A read-only store, open: a collection that never changes. Cheap to clone; any number of threads
/// and processes may read it at once, without a lock.
///
/// ```
/// use alluvium::{BuildOptions, ReadOnly};
/// # fn main() -> alluvium::Result<()> {
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let path = dir.path().join("pets.ro");
/// let mut build = ReadOnly::build(&path, "pets", BuildOptions::default())?;
/// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
/// build.add(r#"{"_id": "tom", "kind": "cat"}"#)?;
/// build.finish()?;
///
/// let pets = ReadOnly::open(&path)?;
/// assert_eq!(pets.get("tom")?.expect("it is there").to_string(), r#"{"_id":"tom","kind":"cat"}"#);
/// assert_eq!(pets.count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReadOnly {
    inner: Arc<Inner>,
}

struct Inner {
    pairs: alluvium_readonly::ReadOnly,
    content: ReadOnlyContent,
    name: FullName,
    shapes: Arc<ShapeTable>,
}

fn label(content: ReadOnlyContent, name: &FullName) -> Vec<u8> {
    let mut label = vec![match content {
        ReadOnlyContent::Documents => DOCUMENTS,
        ReadOnlyContent::KeyValues => PAIRS,
    }];
    label.extend_from_slice(name.to_string().as_bytes());
    label
}

pub(crate) fn read_label(label: &[u8]) -> Option<(ReadOnlyContent, FullName)> {
    let (kind, name) = label.split_first()?;
    let content = match *kind {
        DOCUMENTS => ReadOnlyContent::Documents,
        PAIRS => ReadOnlyContent::KeyValues,
        _ => return None,
    };
    Some((content, FullName::parse(std::str::from_utf8(name).ok()?).ok()?))
}

impl ReadOnly {
    /// Begins to build a store of the documents of a collection, in a directory that is new or
    /// empty, or holds a build that was cut short. The label of `options` is set here.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// use alluvium::{BuildOptions, ReadOnly};
    ///
    /// let mut build = ReadOnly::build(&path, "pets", BuildOptions::default())?;
    /// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// assert_eq!(build.finish()?.pairs, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidName`], or as [`alluvium_readonly::ReadOnly::build`].
    pub fn build(path: impl AsRef<Path>, collection: &str, options: BuildOptions) -> Result<ReadOnlyBuild> {
        Self::build_in(Env::os(), path, collection, options)
    }

    /// [`ReadOnly::build`] in another outside world, for tests.
    ///
    /// ```
    /// use alluvium::{BuildOptions, ReadOnly};
    ///
    /// let build = ReadOnly::build_in(alluvium_env::Env::in_memory(1), "pets.ro", "pets", BuildOptions::default())?;
    /// assert_eq!(build.finish()?.pairs, 0);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn build_in(
        env: Env,
        path: impl AsRef<Path>,
        collection: &str,
        options: BuildOptions,
    ) -> Result<ReadOnlyBuild> {
        let name = FullName::parse(collection)?;
        let memory_bytes = options.memory_bytes;
        let options = BuildOptions { label: label(ReadOnlyContent::Documents, &name), ..options };
        let build = alluvium_readonly::ReadOnly::build_in(env.clone(), path, options)?;
        let target = BuildTarget {
            env,
            name: name.to_string(),
            shapes: Arc::new(ShapeTable::new(ShapeOptions::default())),
            memory_bytes,
            build: Mutex::new(build),
            inputs: Mutex::new(Vec::new()),
        };
        Ok(ReadOnlyBuild { target })
    }

    /// Begins to build a store of keys and values as they are.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// use alluvium::{BuildOptions, ReadOnly};
    ///
    /// let mut build = ReadOnly::build_key_values(&path, "words", BuildOptions::default())?;
    /// build.add(b"rex", b"king")?;
    /// build.finish(Vec::new())?;
    /// assert!(ReadOnly::open(&path)?.get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnly::build`].
    pub fn build_key_values(
        path: impl AsRef<Path>,
        name: &str,
        options: BuildOptions,
    ) -> Result<alluvium_readonly::Build> {
        let name = FullName::parse(name)?;
        let options = BuildOptions { label: label(ReadOnlyContent::KeyValues, &name), ..options };
        Ok(alluvium_readonly::ReadOnly::build(path, options)?)
    }

    /// True if the directory holds a read-only store, or the beginning of one.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// assert!(alluvium::ReadOnly::is_at(&path)?);
    /// assert!(!alluvium::ReadOnly::is_at("nowhere")?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`].
    pub fn is_at(path: impl AsRef<Path>) -> Result<bool> {
        Ok(alluvium_readonly::is_read_only(&Env::os(), path.as_ref()).map_err(alluvium_store::Error::from)?)
    }

    /// Opens a store with default options.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// let store = alluvium::ReadOnly::open(&path)?;
    /// assert!(store.get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnly::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_in(Env::os(), path, &ReadOnlyOptions::default())
    }

    /// Opens a store.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// use alluvium::{ReadOnly, ReadOnlyOptions};
    /// let store = ReadOnly::open_with(&path, &ReadOnlyOptions::default())?;
    /// assert_eq!(store.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if there is none, or only the beginning of one;
    /// [`crate::ErrorKind::Corruption`]; [`crate::ErrorKind::Invalid`] if there is no such index.
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOnlyOptions) -> Result<Self> {
        Self::open_in(Env::os(), path, options)
    }

    /// [`ReadOnly::open_with`] in another outside world, for tests.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// use alluvium::{ReadOnly, ReadOnlyOptions};
    /// let store = ReadOnly::open_in(alluvium_env::Env::os(), &path, &ReadOnlyOptions::default())?;
    /// assert_eq!(store.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn open_in(env: Env, path: impl AsRef<Path>, options: &ReadOnlyOptions) -> Result<Self> {
        let path = path.as_ref();
        let pairs = alluvium_readonly::ReadOnly::open_in(env, path, options)?;
        let (content, name) = read_label(pairs.label()).ok_or_else(|| Error::OtherContent {
            path: path.to_owned(),
            there: "what an application of its own has put there",
            asked: "documents",
        })?;
        let shapes = read_shapes(&pairs.aux()?).map_err(|reason| Error::DamagedDocument {
            collection: name.to_string(),
            id: "(shapes)".to_owned(),
            reason,
        })?;
        Ok(Self { inner: Arc::new(Inner { pairs, content, name, shapes }) })
    }

    /// The directory.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.path(), path);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn path(&self) -> &Path {
        self.inner.pairs.path()
    }

    /// What it holds.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.content(), alluvium::ReadOnlyContent::Documents);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn content(&self) -> ReadOnlyContent {
        self.inner.content
    }

    /// The collection's full name, `logical.collection`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.collection(), "main.pets");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collection(&self) -> String {
        self.inner.name.to_string()
    }

    /// An error that names the collection that there is, unless this is its name.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// store.require("pets")?;
    /// assert!(store.require("people").is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidName`] or [`Error::NoSuchCollection`].
    pub fn require(&self, collection: &str) -> Result<()> {
        let wanted = FullName::parse(collection)?;
        if wanted == self.inner.name {
            return Ok(());
        }
        Err(Error::NoSuchCollection { name: wanted.to_string(), nearest: Some(self.collection()) })
    }

    pub(crate) fn full_name(&self) -> &FullName {
        &self.inner.name
    }

    /// The keys and values below.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.pairs().len(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn pairs(&self) -> &alluvium_readonly::ReadOnly {
        &self.inner.pairs
    }

    /// The key of an `_id`.
    pub(crate) fn key(&self, id: &Value) -> Result<Vec<u8>> {
        match (self.inner.content, id) {
            (ReadOnlyContent::Documents, id) => write::id_key(id),
            (ReadOnlyContent::KeyValues, Value::String(text)) => Ok(text.as_bytes().to_vec()),
            (ReadOnlyContent::KeyValues, Value::Binary(binary)) => Ok(binary.bytes.clone()),
            (ReadOnlyContent::KeyValues, other) => {
                let what = format!(
                    "keys here are strings or binary, and this is of type {}: write it as a string",
                    other.type_name()
                );
                Err(Error::InvalidId { code: 2, what })
            }
        }
    }

    /// The document of a key and what is stored under it.
    pub(crate) fn document(&self, key: &[u8], row: Vec<u8>) -> Result<Document> {
        let Inner { content, name, shapes, .. } = &*self.inner;
        match content {
            ReadOnlyContent::Documents => decode(shapes, name, key, row),
            ReadOnlyContent::KeyValues => {
                let map: Map = [("_id", bytes_value(key.to_vec())), ("value", bytes_value(row))]
                    .into_iter()
                    .map(|(field, value)| (Value::from(field), value))
                    .collect();
                Document::from_map(&map).map_err(|error| Error::DamagedDocument {
                    collection: name.to_string(),
                    id: key_text(key),
                    reason: error.to_string(),
                })
            }
        }
    }

    /// The document with this `_id`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.get("ada")?.unwrap().to_string(), r#"{"_id":"ada","age":12}"#);
    /// assert!(store.get("nobody")?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`crate::ErrorKind::Corruption`].
    pub fn get(&self, id: impl Into<Value>) -> Result<Option<Document>> {
        let id = id.into();
        let key = self.key(&id)?;
        let mut row = Vec::new();
        if !self.inner.pairs.get(&key, &mut row)? {
            return Ok(None);
        }
        self.document(&key, row).map(Some).map_err(|error| named(error, &id))
    }

    /// Some fields of the document with this `_id`, as [`crate::Collection::get_fields`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// let fields = store.get_fields("rex", &["age"])?.unwrap();
    /// assert_eq!(fields.get("age").and_then(alluvium::Value::as_i64), Some(3));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnly::get`].
    pub fn get_fields(&self, id: impl Into<Value>, paths: &[&str]) -> Result<Option<Map>> {
        let Some(document) = self.get(id)? else { return Ok(None) };
        fields_of(&document, paths, &self.inner.name).map(Some)
    }

    /// The documents in the order of their `_id`s: a scan to be narrowed and then started.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// let first = store.scan().from("b").run()?.next().unwrap()?;
    /// assert!(first.to_string().contains("rex"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn scan(&self) -> Scan {
        Scan::read_only(self.clone())
    }

    /// The number of documents. Costs nothing.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn count(&self) -> u64 {
        self.inner.pairs.len()
    }

    /// Figures of the store. Costs microseconds.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.stats().pairs, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stats(&self) -> ReadOnlyStats {
        self.inner.pairs.stats()
    }

    /// Checks every block of every file, and that indexes agree with the data. Returns the damage found;
    /// empty is good.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert!(store.verify()?.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// What keeps the check itself from going on.
    pub fn verify(&self) -> Result<Vec<Error>> {
        let damage = self.inner.pairs.verify()?;
        Ok(damage.into_iter().map(Error::from).collect())
    }

    /// An error unless the store holds keys and values as they are.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// store.require_content(alluvium::ReadOnlyContent::Documents)?;
    /// assert!(store.require_content(alluvium::ReadOnlyContent::KeyValues).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherContent`].
    pub fn require_content(&self, content: ReadOnlyContent) -> Result<()> {
        if self.inner.content == content {
            return Ok(());
        }
        let (there, asked) = (self.inner.content.name(), content.name());
        Err(Error::OtherContent { path: self.path().to_owned(), there, asked })
    }
}

/// Bytes as a value: a string if they are text without control characters.
fn bytes_value(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => Value::String(text),
        Ok(text) => Value::Binary(alluvium_document::Binary { subtype: 0, bytes: text.into_bytes() }),
        Err(error) => Value::Binary(alluvium_document::Binary { subtype: 0, bytes: error.into_bytes() }),
    }
}

fn read_shapes(mut aux: &[u8]) -> std::result::Result<Arc<ShapeTable>, String> {
    let mut shapes = Vec::new();
    while !aux.is_empty() {
        shapes.push(Shape::decode(&mut aux).map_err(|error| error.to_string())?);
    }
    let next = shapes.iter().map(Shape::number).max().unwrap_or(0) + 1;
    let table = ShapeTable::open(ShapeOptions::default(), shapes, next).map_err(|error| error.to_string())?;
    Ok(Arc::new(table))
}

/// A read-only store of documents in the making. Dropped before it is finished, it removes what it
/// has written.
pub struct ReadOnlyBuild {
    target: BuildTarget,
}

impl ReadOnlyBuild {
    /// Adds the documents of an input, in any format that [`crate::Collection::load`] reads. Of
    /// `options`, those that belong to a collection have no effect: duplicates are treated as the
    /// options of the build say, durability comes at the end, and nothing is resumed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// use alluvium::load::{Input, LoadOptions};
    /// use alluvium::{BuildOptions, ReadOnly};
    ///
    /// let mut build = ReadOnly::build(&path, "pets", BuildOptions::default())?;
    /// let lines = std::io::Cursor::new("{\"_id\": \"rex\"}\n{\"_id\": \"tom\"}\n");
    /// build.load(Input::stream("lines", lines), LoadOptions::default())?;
    /// assert_eq!(build.finish()?.pairs, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Load`] naming line, column and reason; or as [`alluvium_readonly::Build::add`]. The build is of
    /// no use then.
    pub fn load(&mut self, input: Input, options: LoadOptions) -> Result<LoadReport> {
        crate::load::check_options(&options)?;
        let before = self.target.build.lock().added();
        self.target.inputs.lock().push((before, input.name().to_owned()));
        pipeline::run_build(&self.target, input, options)
    }

    /// Adds a document. Without an `_id` it gets an object id. The `_id` becomes its first field.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidDocument`], [`Error::InvalidId`], [`Error::Json`], or as
    /// [`alluvium_readonly::Build::add`].
    pub fn add(&mut self, document: impl IntoDocument) -> Result<()> {
        let mut map = document.into_map()?;
        write::ensure_id(&mut map, &self.target.env);
        let (key, _) = write::checked_key(&map)?;
        let (mut row, mut new_shapes) = (Vec::new(), Vec::new());
        encode_row(&map, &self.target.shapes, None, &mut row, &mut new_shapes)
            .map_err(|error| Error::InvalidDocument(error.to_string()))?;
        let added = self.target.build.lock().add(&key, &row);
        added.map_err(|error| self.target.explain(error))
    }

    /// Sorts, writes, and makes the store whole and durable.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let mut build = alluvium::ReadOnly::build(&path, "pets", alluvium::BuildOptions::default())?;
    /// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// let report = build.finish()?;
    /// assert_eq!((report.pairs, report.duplicates), (1, 0));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnlyBuild::load`]. Nothing is left of the store then.
    pub fn finish(self) -> Result<BuildReport> {
        let mut aux = Vec::new();
        for shape in self.target.shapes.iter() {
            shape.encode(&mut aux);
        }
        let BuildTarget { build, name, inputs, .. } = self.target;
        build.into_inner().finish(aux).map_err(|error| pipeline::explain(error, &inputs.into_inner(), &name))
    }
}

impl std::fmt::Debug for ReadOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadOnly").field("path", &self.path()).finish_non_exhaustive()
    }
}
