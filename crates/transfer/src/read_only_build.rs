//! Builds read-only stores of documents.

use crate::load::pipeline::{self, BuildTarget};
use crate::load::{Input, Load};
use alluvium_collections::error::{Error, Result};
use alluvium_collections::ids;
use alluvium_collections::names::FullName;
use alluvium_collections::read_only::{ReadOnlyContent, label};
use alluvium_document::IntoDocument;
use alluvium_document::row::encode_row;
use alluvium_document::shape::{ShapeOptions, ShapeTable};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use alluvium_readonly::{BuildOptions, BuildReport};
use std::path::Path;
use std::sync::Arc;

/// A read-only store of documents that is being built. If the build is dropped before it is finished, its files are
/// removed.
pub struct ReadOnlyBuild {
    target: BuildTarget,
}

impl ReadOnlyBuild {
    /// Begins a store for the documents of a collection, in a new directory.
    ///
    /// # Errors
    /// [`Error::InvalidName`]; or if the directory cannot be created.
    pub fn new(env: Env, path: &Path, collection: &str, options: BuildOptions) -> Result<Self> {
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
        Ok(Self { target })
    }

    /// Adds the documents of an input, in any format that `Collection::load` reads. A load into a build never
    /// resumes.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// use alluvium::ReadOnly;
    /// use alluvium::load::Input;
    ///
    /// let mut build = ReadOnly::build(&path, "pets").start()?;
    /// let lines = std::io::Cursor::new("{\"_id\": \"rex\"}\n{\"_id\": \"tom\"}\n");
    /// build.load(Input::stream("lines", lines)).run()?;
    /// assert_eq!(build.finish()?.pairs, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn load(&mut self, input: Input) -> Load<'_> {
        Load::for_build(&self.target, input)
    }

    /// Adds a document. A document without an `_id` gets an object id. The `_id` becomes the first
    /// field.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
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
        ids::ensure_id(&mut map, &self.target.env);
        let key = ids::checked_key(&map)?;
        let (mut row, mut new_shapes) = (Vec::new(), Vec::new());
        encode_row(&map, &self.target.shapes, None, &mut row, &mut new_shapes)
            .map_err(|error| Error::InvalidDocument(error.to_string()))?;
        let added = self.target.build.lock().add(&key, &row);
        added.map_err(|error| self.target.explain(error))
    }

    /// Sorts and writes the documents, and makes the store complete and durable.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// let report = build.finish()?;
    /// assert_eq!((report.pairs, report.duplicates), (1, 0));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnlyBuild::load`]. After an error no files of the store remain.
    pub fn finish(self) -> Result<BuildReport> {
        let mut aux = Vec::new();
        for shape in self.target.shapes.iter() {
            shape.encode(&mut aux);
        }
        let BuildTarget { build, name, inputs, .. } = self.target;
        build.into_inner().finish(aux).map_err(|error| pipeline::explain(error, &inputs.into_inner(), &name))
    }
}
