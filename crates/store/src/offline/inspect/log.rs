//! The content of a segment of the log.

use super::{InspectOptions, Item, Visit, id, number, sorted, text};
use crate::batch::{LogRecord, decode_record};
use crate::error::Result;
use alluvium_codec::entry::Kind;
use alluvium_env::{Env, OpenMode};
use alluvium_wal::{Record, Walk};
use std::collections::BTreeSet;
use std::path::Path;

/// The number of a segment, from its name or its header.
fn number_of(env: &Env, path: &Path) -> Result<u64> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(number) = alluvium_wal::segment_number(&name) {
        return Ok(number);
    }
    let mut bytes = [0; 8];
    let _got = env.fs.open(path, OpenMode::Read)?.read_at(&mut bytes, 24)?;
    Ok(u64::from_le_bytes(bytes))
}

pub(super) fn inspect(env: &Env, path: &Path, options: InspectOptions, visit: &mut Visit<'_>) -> Result<()> {
    let segment = number_of(env, path)?;
    visit(Item::Fact(number("number", segment)))?;
    let mut visited = Ok(());
    let walk = Walk { number: segment, ..Walk::default() };
    let walked = alluvium_wal::walk_segment(env, path, walk, &mut |group| {
        for record in &group.records {
            if visited.is_ok() {
                visited = visit_record(group.offset, record, options, visit);
            }
        }
        Ok(())
    })?;
    visited?;
    match &walked.header {
        Some(header) => {
            visit(Item::Fact(id("database", header.database_id)))?;
            visit(Item::Fact(number("first_sequence", header.first_seq)))?;
            if let Some(before) = header.previous {
                visit(Item::Fact(number("segment_before_ends_at", before.offset)))?;
                visit(Item::Fact(number("segment_before_ends_with_sequence", before.last_seq)))?;
            }
        }
        None => visit(Item::Damage(0, "the segment header is not whole".to_owned()))?,
    }
    if walked.header.is_some() && walked.file_bytes < alluvium_wal::GROUPS_AT {
        visit(Item::Damage(walked.file_bytes, "the file ends before the offset of its first group".to_owned()))?;
    }
    let totals = [
        ("groups", walked.groups),
        ("records", walked.records),
        ("bytes_of_records", walked.payload_bytes),
        ("end", walked.end),
    ];
    for (name, value) in totals {
        visit(Item::Fact(number(name, value)))?;
    }
    if walked.groups > 0 {
        visit(Item::Fact(number("last_sequence", walked.last_seq)))?;
    }
    if walked.followed {
        visit(Item::Fact(number("followed_by", segment.saturating_add(1))))?;
    }
    let why = match (&walked.seal, walked.tail) {
        (Some(_), None) => "sealed: the log was closed cleanly there".to_owned(),
        (Some(seal), Some(what)) => format!("the seal records the end {}, and before that {what}", seal.offset),
        (None, Some(what)) => {
            let bytes = walked.tail_bytes;
            format!("{what}: {bytes} bytes follow, a torn tail, unless the next segment records a later end")
        }
        (None, None) => {
            "only zeros follow, and there is no seal: it was not closed, or another segment follows".to_owned()
        }
    };
    visit(Item::Fact(text("why_it_ends", why)))?;
    for part in &walked.unreadable {
        visit(Item::Damage(part.offset, format!("{} bytes cannot be read: {}", part.bytes, part.why)))?;
    }
    for gap in walked.gaps {
        visit(Item::Damage(gap.offset, format!("{}; whole groups continue at offset {}", gap.what, gap.next)))?;
    }
    match walked.seal.filter(|seal| seal.offset != walked.end || walked.groups > 0 && seal.last_seq != walked.last_seq)
    {
        Some(seal) => {
            let what = format!("the seal records the end of the segment at {}, number {}", seal.offset, seal.last_seq);
            visit(Item::Damage(walked.end, what))
        }
        None => Ok(()),
    }
}

fn visit_record(offset: u64, record: &Record<'_>, options: InspectOptions, visit: &mut Visit<'_>) -> Result<()> {
    let mut facts = vec![
        number("group", offset),
        number("first_sequence", record.first_seq),
        number("last_sequence", record.last_seq),
        number("bytes", record.payload.len() as u64),
    ];
    let ops = match decode_record(record) {
        Ok(LogRecord::Batch(ops)) => ops,
        Ok(LogRecord::Flushed { needed, flushed }) => {
            facts.extend([text("kind", "note"), number("needed", needed)]);
            let flushed = flushed.into_iter().map(|(at, seq)| format!("p{at:03}: {seq}")).collect::<Vec<_>>();
            facts.push(text("flushed", flushed.join(", ")));
            return visit(Item::Row("record", facts));
        }
        Err(error) => {
            visit(Item::Row("record", facts))?;
            return visit(Item::Damage(offset, format!("a record that cannot be read: {error}")));
        }
    };
    let count = |kind: Kind| ops.iter().filter(|(_, entry)| entry.kind == kind).count() as u64;
    facts.push(text("kind", "batch"));
    for (name, kind) in [("puts", Kind::Put), ("deletes", Kind::Delete), ("deltas", Kind::Delta)] {
        facts.push(number(name, count(kind)));
    }
    if count(Kind::RangeDelete) > 0 {
        facts.push(number("range_deletes", count(Kind::RangeDelete)));
    }
    let partitions: BTreeSet<u64> = ops.iter().map(|(partition, _)| u64::from(*partition)).collect();
    facts.push(("partitions", super::FactValue::Numbers(partitions.into_iter().collect())));
    visit(Item::Row("record", facts))?;
    if options.entries {
        for (partition, entry) in &ops {
            let mut facts = vec![number("partition", u64::from(*partition))];
            facts.extend(sorted::entry_facts(entry));
            visit(Item::Row("operation", facts))?;
        }
    }
    Ok(())
}
