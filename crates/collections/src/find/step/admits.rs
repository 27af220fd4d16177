//! Whether a step would find a document: told by the document, not by what was found.

use crate::error::{Error, Result};
use crate::find::planning::Planned;
use crate::find::run::Run;
use crate::read::matches;
use alluvium_document::Document;
use alluvium_document::compare::equal;
use alluvium_query::plan::{IndexScan, Node};

/// True if the step finds the document.
pub(super) fn would_find(run: &Run, planned: &Planned, node: &Node, document: &Document) -> Result<bool> {
    let name = &run.view.name;
    Ok(match node {
        Node::Nothing => false,
        Node::Scan { ids, filter, .. } => {
            ids.iter().any(|interval| interval.contains(document.id())) && matches(filter, name, document)?
        }
        Node::Lookup { ids, filter } => {
            ids.iter().any(|id| equal(id, document.id())) && matches(filter, name, document)?
        }
        Node::Index(scan) => {
            admits(run, planned, scan, document)?
                && scan.covered.as_ref().map_or(Ok(true), |f| matches(f, name, document))?
        }
        Node::Fetch { input, filter } => would_find(run, planned, input, document)? && matches(filter, name, document)?,
        Node::Intersection(scans) => {
            for scan in scans {
                if !admits(run, planned, scan, document)? {
                    return Ok(false);
                }
            }
            true
        }
        Node::Union { inputs, .. } => {
            for input in inputs {
                if would_find(run, planned, input, document)? {
                    return Ok(true);
                }
            }
            false
        }
        Node::Sort { input, .. } | Node::Limit { input, .. } => would_find(run, planned, input, document)?,
    })
}

fn admits(run: &Run, planned: &Planned, scan: &IndexScan, document: &Document) -> Result<bool> {
    let Some(index) = planned.indexes.find(&scan.index) else {
        let (collection, index) = (run.view.name.to_string(), scan.index.clone());
        return Err(Error::NoSuchIndex { collection, index });
    };
    Ok(index.stored_keys_of(document)?.keys.iter().any(|key| scan.admits(&key.bytes)))
}
