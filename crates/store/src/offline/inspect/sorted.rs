//! The content of a sorted file.

use super::{Fact, FactValue, InspectOptions, Item, Visit, id, number, text};
use crate::definitions::unpack;
use crate::error::Result;
use alluvium_codec::entry::{Entry, Kind};
use alluvium_env::{Env, OpenMode};
use alluvium_sst::{DictionaryRegistry, FileMeta};
use std::path::Path;

/// The facts about a file in a manifest or in its properties.
pub(super) fn facts(meta: &FileMeta) -> Vec<Fact> {
    let mut facts = vec![
        number("bytes", meta.bytes),
        number("entries", meta.entries),
        number("tombstones", meta.tombstones),
        number("first_sequence", meta.min_seq),
        number("last_sequence", meta.max_seq),
        number("raw_bytes", meta.raw_bytes),
    ];
    facts.extend(key_facts(["smallest_tree", "smallest_key"], &meta.smallest));
    facts.extend(key_facts(["largest_tree", "largest_key"], &meta.largest));
    facts.push(id("footer_checksum", meta.footer_checksum));
    if meta.dictionary_id != 0 {
        facts.push(id("dictionary", meta.dictionary_id));
    }
    facts
}

/// The facts about an internal key: its tree and the rest.
pub(super) fn key_facts(names: [&'static str; 2], key: &[u8]) -> [Fact; 2] {
    let (tree, rest) = match key.split_first_chunk() {
        Some((tree, rest)) => (u32::from_be_bytes(*tree), rest),
        None => (0, key),
    };
    [number(names[0], tree.into()), (names[1], FactValue::Key(rest.to_vec()))]
}

/// The facts about an entry or an operation.
pub(super) fn entry_facts(entry: &Entry<'_>) -> Vec<Fact> {
    let kind = match entry.kind {
        Kind::Put => "put",
        Kind::Delete => "delete",
        Kind::Delta => "delta",
        Kind::RangeDelete => "range delete",
        Kind::Folded => "folded",
    };
    let mut facts = vec![number("sequence", entry.seq), text("kind", kind)];
    facts.extend(key_facts(["tree", "key"], entry.key));
    match entry.kind {
        Kind::Delete => {}
        // The end of the range, without its tree, which is the tree of the key.
        Kind::RangeDelete => facts.push(("to", FactValue::Bytes(entry.value.get(4..).unwrap_or(&[]).to_vec()))),
        _ => facts.push(("value", FactValue::Bytes(entry.value.to_vec()))),
    }
    facts
}

/// The number of a file, from its name or its footer.
fn number_of(env: &Env, path: &Path) -> Result<u64> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(number) = alluvium_lsm::image::sst_number(&name) {
        return Ok(number);
    }
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut bytes = [0; 8];
    let _got = file.read_at(&mut bytes, file.len()?.saturating_sub(alluvium_sst::FOOTER_BYTES - 8))?;
    Ok(u64::from_le_bytes(bytes))
}

/// The facts about a block.
fn block_facts(block: &alluvium_sst::WalkedBlock<'_>) -> Vec<Fact> {
    let mut facts = vec![
        number("offset", block.offset),
        number("bytes", block.bytes),
        number("raw_bytes", block.raw_bytes),
        text("role", block.role),
        text("compression", block.method),
    ];
    if block.entries() > 0 {
        facts.push(number("entries", block.entries()));
    }
    if block.filter_bytes > 0 {
        facts.push(number("filter_bytes", block.filter_bytes));
    }
    facts
}

pub(super) fn inspect(env: &Env, path: &Path, options: InspectOptions, visit: &mut Visit<'_>) -> Result<()> {
    let file_number = number_of(env, path)?;
    visit(Item::Fact(number("number", file_number)))?;
    let registry = DictionaryRegistry::new();
    if options.entries {
        // The definitions are at the end of the file, but are visited first.
        let walked = alluvium_sst::walk_file(env, path, file_number, &registry, &mut |_| Ok(()))?;
        for (tree, definitions) in walked.aux.as_deref().and_then(unpack).unwrap_or_default() {
            visit(Item::Definitions(tree, definitions))?;
        }
    }
    let mut visited = Ok(());
    // The blocks are visited before the properties, because they are visited while they are read.
    let walked = alluvium_sst::walk_file(env, path, file_number, &registry, &mut |block| {
        if visited.is_ok() {
            visited = visit(Item::Row("block", block_facts(block)));
        }
        if !options.entries {
            return Ok(());
        }
        block.each(&mut |entry| {
            if visited.is_ok() {
                visited = visit(Item::Row("entry", entry_facts(&entry)));
            }
            Ok(())
        })
    })?;
    visited?;
    if let Some(footer) = walked.footer {
        visit(Item::Fact(id("footer_checksum", footer.checksum)))?;
        visit(Item::Fact(id("digest", footer.digest)))?;
        visit(Item::Fact(id("dictionary", footer.dictionary_id)))?;
        visit(Item::Fact(number("data_bytes", footer.data_end)))?;
    }
    if let Some(properties) = &walked.properties {
        let skipped = ["bytes", "footer_checksum", "dictionary"];
        for fact in facts(&properties.meta).into_iter().filter(|(name, _)| !skipped.contains(name)) {
            visit(Item::Fact(fact))?;
        }
        visit(Item::Fact(number("data_blocks", properties.data_blocks)))?;
        visit(Item::Fact(number("index_partitions", properties.partitions)))?;
        visit(Item::Fact(number("block_bytes", properties.block_bytes)))?;
        visit(Item::Fact(number("filter_bits_per_key", properties.filter_bits_per_key)))?;
        visit(Item::Fact(("inputs", FactValue::Numbers(properties.inputs.clone()))))?;
        if !properties.replaced.is_empty() {
            visit(Item::Fact(("replaced_before", FactValue::Numbers(properties.replaced.clone()))))?;
        }
        let trees = properties.trees.iter().map(|tree| u64::from(*tree)).collect();
        visit(Item::Fact(("trees", FactValue::Numbers(trees))))?;
    }
    if let Some(index) = &walked.index_file {
        visit(Item::Fact(number("interval", index.interval)))?;
        visit(Item::Fact(number("index_entries", index.extents)))?;
    }
    let defined = walked.aux.as_deref().filter(|_| walked.index_file.is_none());
    for (tree, definitions) in defined.and_then(unpack).unwrap_or_default() {
        let numbers = definitions.into_keys().map(u64::from).collect();
        visit(Item::Row("shapes", vec![number("tree", tree.into()), ("numbers", FactValue::Numbers(numbers))]))?;
    }
    if walked.index_file.is_none() {
        visit(Item::Fact(number("entries_read", walked.entries)))?;
    }
    walked.lost.into_iter().try_for_each(|lost| {
        visit(Item::Damage(lost.offset, format!("{} ({} bytes cannot be read)", lost.what, lost.bytes)))
    })
}
