//! Views: named pipelines over collections or other views.

use super::Catalog;
use crate::error::Result;
use crate::history::Event;
use crate::names::FullName;
use crate::options::View;
use crate::trees::describe_view;
use alluvium_document::{Text, Value};
use alluvium_query::ErrorCode;
use alluvium_query::expression::ExpressionError;
use alluvium_query::pipeline::PipelineError;
use alluvium_query::pipeline::stages::walk;
use alluvium_store::TreeChanges;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of views between a name and its collection: MongoDB's limit.
const DEPTH_MAX: usize = 20;

impl Catalog {
    /// The view with this name.
    pub fn view(&self, name: &FullName) -> Option<Arc<View>> {
        self.views.read().get(name).map(|(_, view)| view.clone())
    }

    /// The views, sorted by name.
    pub fn views(&self) -> Vec<(FullName, Arc<View>)> {
        self.views.read().iter().map(|(name, (_, view))| (name.clone(), view.clone())).collect()
    }

    /// Creates a view. Its pipeline was checked before.
    ///
    /// # Errors
    /// The name is taken; the views would form a cycle, or a chain that is too long; as for any write.
    pub(crate) fn create_view(&self, name: &FullName, view: View) -> Result<()> {
        let _change = self.begin_name_change();
        self.store.check_writable()?;
        self.check_free(name)?;
        self.check_view(name, &view)?;
        let stamped = self.noted_view(name, || Event::Create { description: view.to_map() });
        let created = self.store.create_noted_trees(1, |_| (vec![describe_view(name, &view)], stamped));
        self.recorded_writes.note();
        let tree = created?[0];
        self.views.write().insert(name.clone(), (tree, Arc::new(view)));
        Ok(())
    }

    /// Replaces a view atomically. Its pipeline was checked before.
    ///
    /// # Errors
    /// [`crate::error::Error::NoSuchCollection`]; as [`Catalog::create_view`].
    pub(crate) fn change_view(&self, name: &FullName, view: View) -> Result<()> {
        let _change = self.begin_name_change();
        self.store.check_writable()?;
        let Some((tree, _)) = self.views.read().get(name).cloned() else { return Err(self.missing(name)) };
        self.check_view(name, &view)?;
        let description = describe_view(name, &view);
        let stamped = self.noted_view(name, || Event::Modify { description: view.to_map() });
        let describe = vec![(tree, description.clone())];
        let described = self.change_trees(0, |_| TreeChanges { describe, stamped, ..TreeChanges::default() });
        // The view changes also if the outcome is unknown: later reads use the new view.
        if described.is_ok() || self.store.description(tree) == Some(description) {
            self.views.write().insert(name.clone(), (tree, Arc::new(view)));
        }
        Ok(described.map(drop)?)
    }

    /// An error if a view with this name would read itself, directly or by other views, if the chain of views would be
    /// too long, or if the collations of the views would differ.
    fn check_view(&self, name: &FullName, view: &View) -> Result<()> {
        let on = FullName::new(&name.logical, &view.on)?;
        if self.reads(view, name) {
            return refuse(ErrorCode::GraphContainsCycle, format!("the view {name} would look into itself"));
        }
        if self.depth(&on) >= DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} views would be over each other");
            return refuse(ErrorCode::ViewDepthLimitExceeded, message);
        }
        let under = self.view(&on).map(|under| under.collation.clone());
        if under.is_some_and(|under| under != view.collation) {
            let message = format!("the view {name} needs the collation of the view {on}, which it is over");
            return refuse(ErrorCode::OptionNotSupportedOnView, message);
        }
        Ok(())
    }

    /// True if a view reads a name, directly or by other views.
    fn reads(&self, view: &View, name: &FullName) -> bool {
        let views = self.views.read();
        let (mut seen, mut next) = (BTreeSet::new(), read_by(view));
        while let Some(collection) = next.pop_first() {
            if collection == name.collection {
                return true;
            }
            let other = FullName { logical: name.logical.clone(), collection };
            if let Some((_, view)) = views.get(&other) {
                next.extend(read_by(view).into_iter().filter(|collection| !seen.contains(collection)));
            }
            seen.insert(other.collection);
        }
        false
    }

    /// The number of views from a name down to its collection. Counts at most slightly beyond the limit.
    fn depth(&self, name: &FullName) -> usize {
        let views = self.views.read();
        let (mut name, mut depth) = (name.clone(), 0);
        while depth <= DEPTH_MAX
            && let Some((_, view)) = views.get(&name)
        {
            depth += 1;
            name = FullName { logical: name.logical, collection: view.on.as_str().into() };
        }
        depth
    }

    /// The collection that a name reads, and the stages of the views between them, in the order of execution. The name
    /// of a collection reads that collection.
    ///
    /// # Errors
    /// The chain of views is too long.
    pub fn under(&self, name: &FullName) -> Result<(FullName, Vec<Value>)> {
        let views = self.views.read();
        let (mut name, mut stages, mut depth) = (name.clone(), Vec::new(), 0);
        while let Some((_, view)) = views.get(&name) {
            depth += 1;
            if depth > DEPTH_MAX {
                let message = format!("more than {DEPTH_MAX} views are over each other");
                return refuse(ErrorCode::ViewDepthLimitExceeded, message);
            }
            stages.splice(0..0, view.pipeline.iter().cloned());
            name = FullName { logical: name.logical, collection: view.on.as_str().into() };
        }
        Ok((name, stages))
    }
}

/// The collections and views that a view reads.
fn read_by(view: &View) -> BTreeSet<Text> {
    let within = walk(Some(&view.on), &view.pipeline);
    let named =
        within.flat_map(|stage| stage.row.into_iter().flat_map(move |row| row.named_collections(stage.operand)));
    // The stages were parsed, so a value that is not a string is not the name of a collection here.
    let named = named.filter_map(Value::as_str);
    named.chain([view.on.as_str()]).map(Text::from).collect()
}

fn refuse<T>(code: ErrorCode, message: String) -> Result<T> {
    Err(PipelineError::Refused(ExpressionError::new(code, message)).into())
}
