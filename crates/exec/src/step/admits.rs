//! Decides by the document alone whether a step would return it.

use crate::run::Run;
use crate::source::{Source, matches};
use alluvium_document::Document;
use alluvium_document::compare::equal;
use alluvium_query::plan::{IndexScan, Node};

/// True if the step would return the document, which is whole.
pub(super) fn would_find<S: Source>(run: &Run<S>, node: &Node, document: &Document) -> Result<bool, S::Error> {
    let source = &run.source;
    Ok(match node {
        Node::Nothing => false,
        Node::Scan { ids, filter, .. } => {
            ids.iter().any(|interval| interval.contains(document.id())) && matches(source, filter, document)?
        }
        Node::Lookup { ids, filter } => {
            ids.iter().any(|id| equal(id, document.id())) && matches(source, filter, document)?
        }
        Node::Index(scan) => {
            admits(run, scan, document)?
                && scan.covered.as_ref().map_or(Ok(true), |filter| matches(source, filter, document))?
        }
        Node::Fetch { input, filter } => would_find(run, input, document)? && matches(source, filter, document)?,
        Node::Intersection(scans) => {
            for scan in scans {
                if !admits(run, scan, document)? {
                    return Ok(false);
                }
            }
            true
        }
        Node::Union { inputs, .. } => {
            for input in inputs {
                if would_find(run, input, document)? {
                    return Ok(true);
                }
            }
            false
        }
        Node::Sort { input, .. } | Node::Limit { input, .. } => would_find(run, input, document)?,
    })
}

/// True if the document yields a key within the bounds of a scan.
pub(super) fn admits<S: Source>(run: &Run<S>, scan: &IndexScan, document: &Document) -> Result<bool, S::Error> {
    let keys = run.source.keys_of(&scan.index, document)?.keys;
    Ok(keys.iter().any(|key| scan.admits(&key.bytes)))
}
