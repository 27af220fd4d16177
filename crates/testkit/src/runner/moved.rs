//! A directory that was moved while its database was open, and another database at the old path.

use crate::worlds::{PATH, World, remove_dir};
use alluvium::{Database, Durability};
use alluvium_store::Options;
use std::path::Path;

/// The path to which the directory of the database is moved.
pub(crate) const ASIDE: &str = "aside";
/// The collection of the database at the old path.
const NAME: &str = "main.other";

/// The state while the directory of the open database is at another path.
pub(crate) struct Moved {
    pub other: Option<Other>,
}

impl Moved {
    /// Called after the process that had both databases open was killed.
    pub fn killed(&mut self) {
        if let Some(other) = &mut self.other {
            other.db = None;
        }
    }

    /// Moves the directory back to its old path; the database may be open or not. A database at that path is checked
    /// and removed first.
    pub fn put_back(self, world: &World) {
        if let Some(other) = self.other {
            other.check_and_remove(world);
        }
        world.env.fs.rename(Path::new(ASIDE), Path::new(PATH)).expect("rename");
    }
}

/// Another database, at the path from which the directory was moved.
pub(crate) struct Other {
    /// `None` after the database was closed or killed.
    db: Option<Database>,
    options: Options,
    documents: u32,
}

impl Other {
    /// Creates a database at the path from which the directory was moved.
    pub fn create(world: &World, options: Options, documents: u32) -> Self {
        let mut other = Self { db: None, options, documents: 0 };
        other.open(world);
        other.write(documents);
        other
    }

    fn open(&mut self, world: &World) {
        let db = world.open(&self.options);
        self.db = Some(db.unwrap_or_else(|e| panic!("the database at the place of a moved one: {e}")));
    }

    /// Writes more documents, durably.
    pub fn write(&mut self, count: u32) {
        let Some(db) = &self.db else { return };
        let collection = db.collection(NAME).with_durability(Durability::Sync);
        for at in self.documents..self.documents + count {
            collection.put(i64::from(at), format!(r#"{{"at": {at}}}"#).as_str()).expect("another database writes");
        }
        self.documents += count;
    }

    pub fn close(&mut self) {
        if let Some(db) = self.db.take() {
            db.close().unwrap_or_else(|e| panic!("closing another database: {e}"));
        }
    }

    /// Checks that the database has its documents and no damage, and removes it.
    pub fn check_and_remove(mut self, world: &World) {
        self.close();
        self.open(world);
        let db = self.db.take().expect("it is open");
        let found = db.collection(NAME).count().expect("a count");
        assert_eq!(found, u64::from(self.documents), "another database has other documents");
        for at in 0..self.documents {
            let found = db.collection(NAME).get(i64::from(at)).expect("a get");
            assert!(found.is_some(), "another database lost {at}");
        }
        let report = db.verify().run().unwrap_or_else(|e| panic!("verify of another database: {e}"));
        assert!(report.damage.is_empty(), "verify of another database finds {:?}", report.damage);
        db.close().expect("close");
        remove_dir(&world.env, Path::new(PATH));
    }
}
