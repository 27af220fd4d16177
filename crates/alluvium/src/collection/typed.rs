//! Collections of your own types, through serde.

use super::{Collection, InsertManyResult, InsertOneResult};
use crate::update::Update;
use alluvium_collections::cursor::Cursor;
use alluvium_collections::error::{Error, Result, id_text};
use alluvium_collections::names::FullName;
use alluvium_document::IntoDocument;
use alluvium_document::Value;
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
/// # let db = alluvium::Database::in_memory()?;
/// let pets = db.collection("pets").typed::<Pet>();
/// pets.insert_one(&Pet { name: "rex".into(), age: 3 })?;
/// assert_eq!(pets.get("rex")?, Some(Pet { name: "rex".into(), age: 3 }));
/// # alluvium::Result::Ok(())
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
    /// # let db = alluvium::Database::in_memory()?;
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
    /// # let db = alluvium::Database::in_memory()?;
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

    /// Inserts values, all of them or none, as [`Collection::insert_many`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    /// # struct Pet { #[serde(rename = "_id")] name: String, age: i32 }
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// # let [ada, rex] = [("ada", 12), ("rex", 3)].map(|(name, age)| Pet { name: name.into(), age });
    /// let ids = pets.insert_many([&ada, &rex])?.inserted_ids;
    /// assert_eq!(ids, ["ada".into(), "rex".into()]);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there, and as [`TypedCollection::insert_one`].
    pub fn insert_many<'a>(&self, values: impl IntoIterator<Item = &'a T>) -> Result<InsertManyResult>
    where
        T: 'a,
    {
        let values: Vec<Value> = values.into_iter().map(to_value).collect::<Result<_>>()?;
        self.collection.insert_many(values)
    }

    /// Replaces one that matches, as [`Collection::replace_one`]; it keeps its `_id`. Not before [`Update::run`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    /// # struct Pet { #[serde(rename = "_id")] name: String, age: i32 }
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// # let [ada, rex] = [("ada", 12), ("rex", 3)].map(|(name, age)| Pet { name: name.into(), age });
    /// # pets.insert_many([&ada, &rex])?;
    /// let older = Pet { age: 4, ..rex };
    /// assert_eq!(pets.replace_one(r#"{"age": 3}"#, &older)?.run()?.modified_count, 1);
    /// assert_eq!(pets.get("rex")?, Some(older));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidDocument`] if the value is not a map with names.
    pub fn replace_one(&self, filter: impl IntoDocument, value: &T) -> Result<Update> {
        Ok(self.collection.replace_one(filter, to_value(value)?))
    }

    /// Puts a value under `id`, as [`Collection::put`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
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
    /// # let db = alluvium::Database::in_memory()?;
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
        self.collection.get(id)?.map(|document| from_document(self.collection.target.name()?, document)).transpose()
    }

    /// The first value that matches a filter.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    /// # struct Pet { #[serde(rename = "_id")] name: String, age: i32 }
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// # let [ada, rex] = [("ada", 12), ("rex", 3)].map(|(name, age)| Pet { name: name.into(), age });
    /// # pets.insert_many([&ada, &rex])?;
    /// assert_eq!(pets.find_one(r#"{"age": {"$gt": 5}}"#)?, Some(ada));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::find_one`], and [`Error::InvalidDocument`] if the document is no `T`.
    pub fn find_one(&self, filter: impl IntoDocument) -> Result<Option<T>> {
        self.collection
            .find_one(filter)?
            .map(|document| from_document(self.collection.target.name()?, document))
            .transpose()
    }

    /// All values that match a filter. For an order, a limit and the rest ask the documents, and take the values from the
    /// cursor: [`Cursor::typed`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    /// # struct Pet { #[serde(rename = "_id")] name: String, age: i32 }
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// # let [ada, rex] = [("ada", 12), ("rex", 3)].map(|(name, age)| Pet { name: name.into(), age });
    /// # pets.insert_many([&ada, &rex])?;
    /// let old: Vec<Pet> = pets.find(r#"{"age": {"$gt": 5}}"#)?.collect::<Result<_, _>>()?;
    /// assert_eq!(old, [ada]);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::Find::run`].
    pub fn find(&self, filter: impl IntoDocument) -> Result<TypedCursor<T>> {
        Ok(TypedCursor::new(self.collection.find(filter).run()?))
    }

    /// All values in the order of their `_id`s.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
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
    pub fn scan(&self) -> Result<TypedCursor<T>> {
        Ok(TypedCursor::new(self.collection.scan().run()?))
    }
}

/// The values of a question or a scan, one after the other: made by [`Cursor::typed`].
pub struct TypedCursor<T> {
    cursor: Cursor,
    types: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Iterator for TypedCursor<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let document = self.cursor.next()?;
        Some(document.and_then(|document| from_document(self.cursor.name(), document)))
    }
}

impl<T> TypedCursor<T> {
    /// The documents as values of `T`; one that is none is [`Error::InvalidDocument`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # #[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    /// # struct Pet { #[serde(rename = "_id")] name: String, age: i32 }
    /// # let pets = db.collection("pets").typed::<Pet>();
    /// # let [ada, rex] = [("ada", 12), ("rex", 3)].map(|(name, age)| Pet { name: name.into(), age });
    /// # pets.insert_many([&ada, &rex])?;
    /// let by_age = pets.documents().find("{}").sort(r#"{"age": 1}"#).run()?;
    /// let by_age: Vec<Pet> = alluvium::TypedCursor::new(by_age).collect::<Result<_, _>>()?;
    /// assert_eq!(by_age, [rex, ada]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn new(cursor: Cursor) -> Self {
        Self { cursor, types: PhantomData }
    }
}

fn to_value<T: Serialize>(value: &T) -> Result<Value> {
    alluvium_document::serde::to_value(value).map_err(|e| Error::InvalidDocument(e.to_string()))
}

fn from_document<T: DeserializeOwned>(name: &FullName, document: alluvium_document::Document) -> Result<T> {
    let value = Value::Map(document.to_map().map_err(|error| damaged(name, &document, error.to_string()))?);
    alluvium_document::serde::from_value(value).map_err(|e| Error::InvalidDocument(e.to_string()))
}

fn damaged(name: &FullName, document: &alluvium_document::Document, reason: String) -> Error {
    Error::DamagedDocument { collection: name.to_string(), id: id_text(document.id()), reason }
}
