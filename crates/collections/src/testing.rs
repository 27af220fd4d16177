//! A database in memory, with short methods, for the unit tests of this crate.

use crate::by_filter::{Action, FilterWrite};
use crate::cursor::Cursor;
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::find::{BATCH_SIZE, Execution, Explanation, FindRequest, Hint, Query};
use crate::ids;
use crate::index_stats::{IndexStats, index_stats};
use crate::indexes;
use crate::names::FullName;
use crate::open::open;
use crate::read::Reader;
use crate::results::UpdateResult;
use crate::state::CollectionState;
use crate::view::CollectionView;
use crate::write::{WriteLimits, Writer};
use alluvium_document::IntoDocument;
use alluvium_document::{Document, Map, Value};
use alluvium_env::Env;
use alluvium_query::expression::Variables;
use alluvium_query::update::Update;
use alluvium_store::{Durability, Options, Store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub struct Database {
    pub engine: EngineHandle,
}

#[derive(Clone)]
pub struct Collection {
    pub engine: EngineHandle,
    pub name: FullName,
}

impl Database {
    /// A database with these options, in an environment of its own.
    pub fn with(options: Options) -> Self {
        Self::in_env(Env::in_memory(1), options)
    }

    pub fn in_env(env: Env, options: Options) -> Self {
        Self { engine: open(env, Path::new("db"), options).unwrap() }
    }

    pub fn collection(&self, name: &str) -> Collection {
        Collection { engine: self.engine.clone(), name: FullName::parse(name).unwrap() }
    }

    pub fn store(&self) -> &Store {
        self.engine.store()
    }

    pub fn flush(&self) {
        self.store().flush().unwrap();
    }

    pub fn compact(&self) {
        crate::open::compact(&self.engine, &AtomicBool::new(false)).unwrap();
    }
}

impl Collection {
    pub fn writer(&self) -> Writer<'_> {
        Writer {
            engine: &self.engine,
            name: &self.name,
            durability: Durability::Periodic,
            validates: true,
            limits: WriteLimits::default(),
            record: None,
            transaction: None,
        }
    }

    pub fn state(&self) -> Arc<CollectionState> {
        self.engine.catalog.require(&self.name).unwrap()
    }

    pub fn view(&self) -> Arc<CollectionView> {
        CollectionView::open(&self.engine, &self.name, None).unwrap()
    }

    pub fn put(&self, id: impl Into<Value>, document: impl IntoDocument) {
        let mut map = document.into_map().unwrap();
        ids::set_id(&mut map, id.into()).unwrap();
        self.writer().put(&map).unwrap();
    }

    pub fn insert<D: IntoDocument>(&self, documents: impl IntoIterator<Item = D>) {
        let maps: Vec<Map> = documents.into_iter().map(|document| document.into_map().unwrap()).collect();
        self.writer().insert(&maps).unwrap();
    }

    pub fn update(&self, id: impl Into<Value>, update: &str) -> UpdateResult {
        let update = Update::parse(&update.into_map().unwrap()).unwrap();
        self.writer().update(&id.into(), &update).unwrap()
    }

    pub fn get(&self, id: impl Into<Value>) -> Option<Document> {
        Reader::new(&self.engine, &self.name, None).unwrap().get(&id.into()).unwrap()
    }

    pub fn create_index(&self, keys: impl IntoDocument, options: &str) {
        let (keys, options) = (keys.into_map().unwrap(), options.into_map().unwrap());
        let declared = indexes::declare(&self.engine, &self.name, &keys, &options).unwrap();
        declared.build(&self.engine, &self.name, &alluvium_exec::Limits::default()).unwrap();
    }

    pub fn index_stats(&self) -> Vec<IndexStats> {
        index_stats(&self.engine, &self.name).unwrap()
    }

    pub fn estimated_count(&self) -> u64 {
        self.engine.store().tree_stats(self.state().documents).unwrap().keys
    }

    pub fn find(&self, request: FindRequest) -> Cursor {
        let execution = Execution::new(self.view(), Query::new(request, Variables::NONE).unwrap(), false).unwrap();
        Cursor::found(execution, BATCH_SIZE)
    }

    pub fn explain(&self, request: FindRequest) -> Explanation {
        Execution::new(self.view(), Query::new(request, Variables::NONE).unwrap(), true).unwrap().explain().unwrap()
    }

    pub fn write_where(&self, filter: &str, action: Action) -> FilterWrite<'_> {
        let query = Query::new(FindRequest::new(filter), Variables::NONE).unwrap();
        FilterWrite { writer: self.writer(), query, action, upsert: false, returned: None, as_bson: false }
    }
}

/// A request with a hint.
pub fn hinted(filter: &str, index: &str) -> FindRequest {
    FindRequest { hint: Some(Hint::from(index)), ..FindRequest::new(filter) }
}

/// The number of documents of a cursor.
pub fn count(cursor: Cursor) -> usize {
    cursor.collect::<Result<Vec<Document>>>().unwrap().len()
}
