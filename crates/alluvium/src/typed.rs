//! Collections of your own types, through serde.

use crate::{Collection, Cursor, Error, InsertOneResult, IntoDocument, Result};
use document::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A collection whose documents are values of `T`. Made by [`Collection::typed`].
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Pet {
///     #[serde(rename = "_id")]
///     name: String,
///     age: i32,
/// }
///
/// # fn main() -> alluvium::Result<()> {
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// let pets = db.collection("pets").typed::<Pet>();
/// pets.insert_one(&Pet { name: "rex".into(), age: 3 })?;
/// assert_eq!(pets.get("rex")?, Some(Pet { name: "rex".into(), age: 3 }));
/// # Ok(())
/// # }
/// ```
pub struct TypedCollection<T> {
    collection: Collection,
    types: PhantomData<fn() -> T>,
}

impl<T> Clone for TypedCollection<T> {
    fn clone(&self) -> Self {
        Self::new(self.collection.clone())
    }
}

impl<T> TypedCollection<T> {
    pub(crate) fn new(collection: Collection) -> Self {
        Self { collection, types: PhantomData }
    }

    /// The collection of documents below.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(env::Env::in_memory(1)).open("db")?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// # struct Pet { kind: String }
    /// # let rex = Pet { kind: "dog".to_owned() };
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// pets.put("rex", &rex)?;
    /// assert_eq!(pets.documents().get("rex")?.unwrap().to_string(), r#"{"_id":"rex","kind":"dog"}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn documents(&self) -> &Collection {
        &self.collection
    }
}

impl<T: Serialize> TypedCollection<T> {
    /// Inserts a value, as [`Collection::insert_one`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(env::Env::in_memory(1)).open("db")?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// # struct Pet { kind: String }
    /// # let rex = Pet { kind: "dog".to_owned() };
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// let id = pets.insert_one(&rex)?.inserted_id;
    /// assert_eq!(pets.get(id)?, Some(rex));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there, and [`Error::InvalidDocument`] if the value is not a map with names.
    pub fn insert_one(&self, value: &T) -> Result<InsertOneResult> {
        self.collection.insert_one(to_value(value)?)
    }

    /// Puts a value under `id`, as [`Collection::put`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(env::Env::in_memory(1)).open("db")?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// # struct Pet { kind: String }
    /// # let rex = Pet { kind: "dog".to_owned() };
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// pets.put("rex", &rex)?;
    /// assert_eq!(pets.get("rex")?, Some(rex));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`TypedCollection::insert_one`].
    pub fn put(&self, id: impl Into<Value>, value: &T) -> Result<()> {
        self.collection.put(id, to_value(value)?)
    }
}

impl<T: DeserializeOwned> TypedCollection<T> {
    /// The value with this `_id`.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(env::Env::in_memory(1)).open("db")?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// # struct Pet { kind: String }
    /// # let rex = Pet { kind: "dog".to_owned() };
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// pets.put("rex", &rex)?;
    /// assert_eq!(pets.get("rex")?, Some(rex));
    /// assert_eq!(pets.get("tom")?, None);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`], and [`Error::InvalidDocument`] if the document is no `T`.
    pub fn get(&self, id: impl Into<Value>) -> Result<Option<T>> {
        self.collection.get(id)?.map(from_document).transpose()
    }

    /// All values in the order of their `_id`s.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(env::Env::in_memory(1)).open("db")?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// # struct Pet { kind: String }
    /// # let rex = Pet { kind: "dog".to_owned() };
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// pets.put("rex", &rex)?;
    /// let all: Vec<Pet> = pets.scan()?.collect::<Result<_, _>>()?;
    /// assert_eq!(all, [rex]);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::Scan::run`].
    pub fn scan(&self) -> Result<impl Iterator<Item = Result<T>> + use<T>> {
        let cursor: Cursor = self.collection.scan().run()?;
        Ok(cursor.map(|document| from_document(document?)))
    }
}

fn to_value<T: Serialize>(value: &T) -> Result<Value> {
    document::serde::to_value(value).map_err(|e| Error::InvalidDocument(e.to_string()))
}

fn from_document<T: DeserializeOwned>(document: document::Document) -> Result<T> {
    let value = Value::Map(document.into_map()?);
    document::serde::from_value(value).map_err(|e| Error::InvalidDocument(e.to_string()))
}
