//! Encoders of JSON text that are kept between writes.
//!
//! An encoder remembers the texts of recent documents of one collection, and uses them to encode the next documents
//! without a tree of values ([`alluvium_document::speculate`]). A write takes a kept encoder, or makes a new one, and
//! gives it back afterwards. The memory of kept encoders is charged to the budget.

use alluvium_document::shape::ShapeTable;
use alluvium_document::speculate::Encoder;
use alluvium_env::sync::Mutex;
use alluvium_store::{Charge, Store};
use std::sync::Arc;

/// The maximum number of kept encoders. Beyond it, the least recently used encoders are dropped. An encoder takes some
/// 10 KB for each kind of document, of at most 128 kinds.
const KEPT: usize = 32;
/// The memory of an encoder is measured again when the number of learnt templates has grown by one part in this many.
/// Each measurement visits everything that the encoder has learnt.
const GROWN_PARTS: u64 = 8;
/// All encoders except the most recently used one together take at most one part in this many of the memory budget.
const BUDGET_SHARE: usize = 64;

/// The encoders that no write is using, the most recently used at the end.
#[derive(Default)]
pub(crate) struct Encoders {
    idle: Mutex<Vec<Kept>>,
}

/// An encoder, and the shapes of its collection.
struct Kept {
    shapes: Arc<ShapeTable>,
    encoder: Encoder,
    /// The number of learnt templates when the memory of the encoder was measured and charged.
    learnt: u64,
    charge: Charge,
}

impl Encoders {
    /// Runs `work` with an encoder for the collection of `store` with these shapes.
    pub fn with<T>(&self, store: &Store, shapes: &Arc<ShapeTable>, work: impl FnOnce(&mut Encoder) -> T) -> T {
        let mut idle = self.idle.lock();
        let at = idle.iter().rposition(|kept| Arc::ptr_eq(&kept.shapes, shapes));
        let known = at.map(|at| idle.remove(at));
        drop(idle);
        let mut kept = known.unwrap_or_else(|| Kept {
            shapes: shapes.clone(),
            encoder: Encoder::new(shapes.clone(), alluvium_document::row::ID),
            learnt: 0,
            charge: store.charge(0),
        });
        let done = work(&mut kept.encoder);
        let learnt = kept.encoder.counts().learnt;
        let has_grown = learnt > kept.learnt + kept.learnt / GROWN_PARTS;
        if has_grown {
            kept.learnt = learnt;
            kept.charge.resize(kept.encoder.memory_bytes());
        }
        let mut idle = self.idle.lock();
        if idle.len() == KEPT {
            idle.remove(0);
        }
        if has_grown {
            let most = store.options().memory_bytes / BUDGET_SHARE;
            let mut bytes: usize = idle.iter().map(|kept| kept.charge.bytes()).sum();
            while bytes > most {
                bytes -= idle.remove(0).charge.bytes();
            }
        }
        idle.push(kept);
        done
    }
}

#[cfg(test)]
mod tests;
