//! Encoders of JSON text that are kept between writes.
//!
//! An encoder knows the texts of recent documents of one collection, and reads the next along them,
//! without a tree of values ([`alluvium_document::speculate`]). A write takes one, or makes one, and
//! returns it.

use alluvium_document::shape::ShapeTable;
use alluvium_document::speculate::Encoder;
use alluvium_env::sync::Mutex;
use std::sync::Arc;

/// The most encoders that are kept; of more, those that were used the longest ago are dropped. Each
/// takes some 10 KB for each kind of document.
const KEPT: usize = 32;

/// The encoders that no write uses, the last used at the end.
#[derive(Default)]
pub(crate) struct Encoders {
    idle: Mutex<Vec<Kept>>,
}

/// An encoder, and the shapes of its collection.
struct Kept {
    shapes: Arc<ShapeTable>,
    encoder: Encoder,
}

impl Encoders {
    /// Runs `work` with an encoder for the collection with these shapes.
    pub fn with<T>(&self, shapes: &Arc<ShapeTable>, work: impl FnOnce(&mut Encoder) -> T) -> T {
        let mut idle = self.idle.lock();
        let at = idle.iter().rposition(|kept| Arc::ptr_eq(&kept.shapes, shapes));
        let known = at.map(|at| idle.remove(at));
        drop(idle);
        let mut kept = known.unwrap_or_else(|| Kept {
            shapes: shapes.clone(),
            encoder: Encoder::new(shapes.clone(), alluvium_document::row::ID),
        });
        let done = work(&mut kept.encoder);
        let mut idle = self.idle.lock();
        if idle.len() == KEPT {
            idle.remove(0);
        }
        idle.push(kept);
        done
    }
}

#[cfg(test)]
mod tests;
