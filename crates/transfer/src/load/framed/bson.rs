//! BSON documents one after the other: each begins with its length.

use super::{Broken, Cut, Framing};

/// The shortest document: its length and the zero at its end.
const LEAST: usize = 5;

/// The first document of `bytes`, and the bytes after it; `None` if the document is not complete.
pub(crate) fn next_document(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    if len < LEAST { None } else { bytes.split_at_checked(len) }
}

#[derive(Default)]
pub(crate) struct BsonFraming {
    end: usize,
}

impl Framing for BsonFraming {
    fn scan(&mut self, bytes: &[u8], _from: usize) -> Result<(), Broken> {
        while let Some((document, _)) = next_document(&bytes[self.end..]) {
            self.end += document.len();
        }
        match bytes[self.end..].first_chunk() {
            Some(length) if i32::from_le_bytes(*length) < LEAST as i32 => {
                let length = i32::from_le_bytes(*length);
                let what = format!("no BSON document begins here: its length would be {length}");
                Err(Broken::new(self.end, what))
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        match bytes.len() - self.end {
            0 => Ok(()),
            _ => Err(Broken::new(self.end, "the file ends within this document")),
        }
    }

    fn end(&self) -> usize {
        self.end
    }

    fn cut(&mut self) -> Vec<Cut> {
        self.end = 0;
        Vec::new()
    }

    fn counts_lines(&self) -> bool {
        false
    }
}
