//! Reads a manifest and continues past damage.

use super::{FORMAT_VERSION, HEADER_LEN, Identity, MAGIC, Recovered, seed};
use crate::edit::VersionEdit;
use crate::names::manifest_number;
use alluvium_codec::{checksum64, frame};
use alluvium_env::{AroundReader, Env, Error, OpenMode, Result};
use std::path::Path;

/// The contents of a manifest.
#[derive(Debug, Default)]
pub struct WalkedManifest {
    /// The length of the file in bytes.
    pub file_bytes: u64,
    /// The partition that the header names.
    pub partition: u32,
    /// The number that the header names.
    pub number: u64,
    /// The database that the header names.
    pub database_id: u64,
    /// True if the header is whole, but names another database or partition than the expected one.
    pub foreign: bool,
    /// Each whole edit, and its offset.
    pub edits: Vec<(u64, VersionEdit)>,
    /// The end of the last whole edit.
    pub end: u64,
    /// Offset and description of each damage.
    pub damage: Vec<(u64, String)>,
    /// The version after all edits, as the edit that makes it from an empty version. If there is
    /// damage, the version that results from the whole edits, as far as they are consistent.
    pub version: VersionEdit,
}

impl WalkedManifest {
    /// True if every edit is whole, whether the header is damaged or not. False if the header is
    /// whole and names another database or partition.
    pub fn edits_are_whole(&self) -> bool {
        !self.foreign && !self.edits.is_empty() && self.damage.iter().all(|(offset, _)| *offset < HEADER_LEN as u64)
    }
}

pub(crate) fn walk(env: &Env, path: &Path, known: Option<Identity>) -> Result<WalkedManifest> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut reader = AroundReader::new(&*file)?;
    let len = reader.file_bytes();
    let mut walked = WalkedManifest { file_bytes: len, ..WalkedManifest::default() };
    let mut bytes = [0; HEADER_LEN];
    let got = reader.read_at(&mut bytes, 0);
    let bytes = &bytes[..got];
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
        walked.damage.push((len, "the manifest ends within its header".to_owned()));
        return Ok(walked);
    };
    let named = manifest_number(&name);
    // The expected header, if it is known.
    let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    let expected =
        known.zip(named).map(|(identity, number)| super::header(version.clamp(1, FORMAT_VERSION), identity, number));
    if !header.starts_with(MAGIC) {
        walked.damage.push((0, "this is not a manifest".to_owned()));
        if expected.is_none() {
            return Ok(walked);
        }
    }
    let sum_is_right = header[32..] == checksum64(&header[..32], 0).to_le_bytes();
    if version > FORMAT_VERSION && sum_is_right {
        return Err(Error::NewerFormat { path: path.to_owned(), found: version, supported: FORMAT_VERSION });
    }
    if !sum_is_right {
        walked.damage.push((32, "the checksum of the header does not match".to_owned()));
    }
    let number = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    walked.partition = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    (walked.number, walked.database_id) = (number(16), number(24));
    if named.is_some_and(|named| named != walked.number) {
        walked.damage.push((16, format!("its header is that of manifest {}", walked.number)));
    }
    let own = |known: Identity| (known.partition, known.database_id) == (walked.partition, walked.database_id);
    walked.foreign = sum_is_right && known.is_some_and(|known| !own(known));
    walked.end = HEADER_LEN as u64;
    let header = expected.as_deref().filter(|_| !sum_is_right).unwrap_or(header);
    let seed = seed(header);
    let bytes = super::content::read(len, seed, &mut |piece, offset| {
        reader.read_at(piece, offset);
        Ok(())
    })?;
    let unreadable = reader.unreadable().iter();
    let unreadable = unreadable.map(|part| (part.offset, format!("{} bytes cannot be read: {}", part.bytes, part.why)));
    walked.damage.splice(0..0, unreadable);
    frames(&bytes, seed, &mut walked);
    Ok(walked)
}

fn frames(bytes: &[u8], seed: u64, walked: &mut WalkedManifest) {
    let mut state = Recovered::default();
    let mut offset = HEADER_LEN;
    while let Some(rest) = bytes.get(offset..).filter(|rest| rest.iter().any(|&byte| byte != 0)) {
        let mut input = rest;
        let whole = frame::get(&mut input, seed, offset as u64).ok().filter(|payload| !payload.is_empty());
        let Some(payload) = whole else {
            let next = next_frame(bytes, seed, offset + 1);
            let what = match next {
                Some(at) => format!("a version edit is damaged; the next whole one is at offset {at}"),
                None => "a version edit is torn or damaged, and no whole one follows".to_owned(),
            };
            walked.damage.push((offset as u64, what));
            let Some(at) = next else { break };
            offset = at;
            continue;
        };
        match VersionEdit::decode(payload) {
            Ok(edit) => {
                if let Err(what) = state.apply(edit.clone()) {
                    walked.damage.push((offset as u64, format!("a version edit: {what}")));
                }
                walked.edits.push((offset as u64, edit));
            }
            Err(error) => walked.damage.push((offset as u64, error.to_string())),
        }
        offset = bytes.len() - input.len();
        walked.end = offset as u64;
    }
    if walked.edits.is_empty() {
        walked.damage.push((HEADER_LEN as u64, "the first version edit is missing".to_owned()));
    }
    walked.version = state.snapshot();
}

fn next_frame(bytes: &[u8], seed: u64, from: usize) -> Option<usize> {
    (from..bytes.len()).find(|&at| {
        let mut input = &bytes[at..];
        frame::get(&mut input, seed, at as u64).is_ok_and(|payload| !payload.is_empty())
    })
}
