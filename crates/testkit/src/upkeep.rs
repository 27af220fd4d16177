//! Operations that change no document: settling, work that is stopped, names, and collections of types.

use crate::index_operations::buildable;
use crate::indexes::{Index, definition};
use crate::{Id, Phase, Runner};
use alluvium::{ErrorKind, Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// All names that documents have, at any depth.
const NAMES: [&str; 29] = [
    "", "_id", "a", "a.b", "age", "b", "body", "by", "c", "deep", "flair", "inc", "k", "list", "long", "moved", "n",
    "name", "score", "set", "tags", "text", "u", "when", "wide", "x", "y", "z", "ü",
];

impl Runner {
    pub(crate) fn upkeep(&mut self) {
        match self.rng.u8(0..24) {
            0..=3 => self.settle(),
            4..=6 => self.compact_unless(),
            7..=10 => self.stop_index(),
            11..=13 => self.field_names(),
            14..=17 => self.typed(),
            18..=22 => self.names(),
            _ => self.dump_and_restore(),
        }
    }

    /// Those that change something on the disk.
    pub(crate) fn writing_upkeep(&mut self) {
        match self.rng.u8(0..4) {
            0 => self.settle(),
            1 => self.compact_unless(),
            2 => self.stop_index(),
            _ => self.typed(),
        }
    }

    fn settle(&mut self) {
        self.note("settle".to_owned());
        let phase = self.merging();
        self.write(phase, &[], true, |db| db.settle()).expect("settle");
        self.effect("settle", self.dirty);
        self.dirty = false;
    }

    /// Compacts until it is told to stop, which is at once, or never.
    fn compact_unless(&mut self) {
        let stop = self.rng.bool();
        self.note(format!("compact unless {stop}"));
        let phase = self.merging();
        let result = self.write(phase, &[], false, |db| db.compact_unless(&AtomicBool::new(stop)));
        self.effect("compact unless", true);
        match result {
            // There may be nothing to do before it looks.
            Ok(()) => {}
            Err(error) => assert!(stop && error.kind() == ErrorKind::Stopped, "{error}"),
        }
    }

    /// Begins to build an index, and is stopped: it is there, and not ready.
    fn stop_index(&mut self) {
        let name = self.any_name();
        let pair = self.any_definition();
        let definition = Arc::new(definition(pair));
        let Some(contents) = self.state.collections.get(&name) else { return };
        let known = || contents.indexes.values().map(|index| &*index.definition);
        let in_its_way = known().any(|known| known.name() == definition.name() || known.has_keys_of(&definition));
        // Background threads would go on with it, and a unique one may come to be refused.
        if self.background || in_its_way || definition.is_unique() || !buildable(&self.state, &name, &definition) {
            return;
        }
        self.note(format!("index {name} {pair:?}, stopped"));
        self.serial += 1;
        let mut state = self.state.clone();
        let index = Index { definition: definition.clone(), serial: self.serial, ready: false };
        let indexes = &mut state.collections.get_mut(&name).expect("it is there").indexes;
        indexes.insert(definition.name().to_owned(), index);
        let collection = self.db().collection(&name);
        let result = self.write(Phase::Index, &[state], false, |_| {
            let stop = Arc::new(AtomicBool::new(true));
            collection.start_index(pair.0, pair.1)?.stop_when(stop).finish()
        });
        self.effect("stop an index build", result.is_err());
        match result {
            // It may be done before it looks.
            Ok(_) => {
                let contents = self.state.collections.get_mut(&name).expect("it is there");
                contents.indexes.get_mut(definition.name()).expect("it was made").ready = true;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Stopped, "{error}"),
        }
    }

    /// Names that documents share: some may be missing, and some may be those of documents that are gone.
    fn field_names(&mut self) {
        let name = self.any_name();
        self.note(format!("field names {name}"));
        let found = self.db().collection(&name).field_names();
        if self.missing(&name, &found) {
            return;
        }
        let found = found.expect("field names");
        self.effect("field names", !found.is_empty());
        assert!(found.windows(2).all(|two| two[0] < two[1]), "{found:?}");
        assert!(found.iter().all(|name| NAMES.contains(&name.as_str())), "{found:?}");
    }

    /// Puts a document as a value of a type, and reads it as one.
    fn typed(&mut self) {
        let name = self.any_name();
        let id = Id::whole(i64::from(self.rng.i32(-3..12)));
        let (collection, durable) = self.handle(&name);
        let typed = collection.typed::<BTreeMap<String, i64>>();
        let number = id.to_whole().expect("a whole number");
        let given = BTreeMap::from([("inc".to_owned(), i64::from(self.rng.i32(0..9))), ("x".to_owned(), i64::MAX)]);
        self.note(format!("typed {name} {number} {given:?}"));
        let stored: Map = given.iter().map(|(name, n)| (name.as_str(), Value::Int64(*n))).collect();
        let mut map = Map::from([("_id", Value::Int64(number))]);
        map.entries.extend(stored.entries);
        let mut steps = self.created(&[&name]);
        let mut state = self.after(&steps);
        state.put(&name, id.clone(), map);
        let why = state.refusals(&name, &[id]);
        let refused = !why.is_empty();
        if !refused {
            steps.push(state);
        }
        let result = self.write(Phase::Write, &steps, durable && !refused, |_| typed.put(number, &given));
        if crate::operations::expect_refused(result, &why) {
            return;
        }
        self.effect("typed", true);
        let found = typed.get(number).expect("it is of the type");
        let expected = given.into_iter().chain([("_id".to_owned(), number)]).collect();
        assert_eq!(found, Some(expected), "{name} {number}");
    }
}
