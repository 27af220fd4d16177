//! The field names that were seen, as a tree: a node represents the names from the start of a map up to it.
//!
//! Only names of maps that were parsed in full before enter the tree, so no path holds a name twice, and a map whose
//! names are walked along a path needs no check for duplicates.

use std::sync::Arc;

use crate::shape::Shape;

/// A node's number.
pub(super) type NodeId = u32;

/// The start of maps inside documents. Their names are kept here as the printer writes them.
pub(super) const NESTED: NodeId = 0;
/// The start of documents. Their names are kept here as the text has them.
pub(super) const DOCUMENT: NodeId = 1;

/// When more names than this follow the same names, those are forgotten and learnt again as they come.
const MAX_CHILDREN: usize = 64;
/// With this many nodes the tree is forgotten and starts again.
const MAX_NODES: usize = 1 << 15;

/// A field of the text template that passes through a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) template: usize,
    pub(super) field: usize,
}

#[derive(Debug)]
pub(super) struct Node {
    /// The name and the quote behind it.
    text: Box<[u8]>,
    children: Vec<NodeId>,
    /// The child that was taken last; none is [`NodeId::MAX`].
    guess: NodeId,
    /// The shape of the maps that end here.
    pub(super) shape: Option<Arc<Shape>>,
    /// Where a template goes on from here.
    pub(super) place: Option<Place>,
    /// In documents: the name is `_id`, or that of its copy.
    pub(super) is_id: bool,
}

#[derive(Debug)]
pub(super) struct Names {
    nodes: Vec<Node>,
}

impl Names {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::new(b"", false), Node::new(b"", false)] }
    }

    /// Whether the tree has grown to a size at which it should be [cleared](Self::clear).
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    #[inline]
    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    /// The child of `parent` whose name stands at the start of `text` (behind the opening quote), and the length of
    /// the name with its closing quote.
    #[inline]
    pub(super) fn child(&mut self, parent: NodeId, text: &[u8]) -> Option<(NodeId, usize)> {
        let guess = self.node(parent).guess;
        if let Some(node) = self.nodes.get(guess as usize)
            && text.starts_with(&node.text)
        {
            return Some((guess, node.text.len()));
        }
        let children = &self.node(parent).children;
        let child = *children.iter().find(|&&child| text.starts_with(&self.node(child).text))?;
        self.node_mut(parent).guess = child;
        Some((child, self.node(child).text.len()))
    }

    /// The child of `parent` with this name, made if there is none. `name` is without quotes.
    pub(super) fn child_or_new(&mut self, parent: NodeId, name: &[u8], is_id: bool) -> Option<NodeId> {
        let text = [name, b"\""].concat();
        if let Some((child, _)) = self.child(parent, &text) {
            return Some(child);
        }
        let id = NodeId::try_from(self.nodes.len()).ok()?;
        self.nodes.push(Node::new(&text, is_id));
        let node = self.node_mut(parent);
        if node.children.len() >= MAX_CHILDREN {
            // Their nodes stay, since templates may name them, until all is cleared.
            node.children.clear();
        }
        node.children.push(id);
        node.guess = id;
        Some(id)
    }
}

impl Node {
    fn new(text: &[u8], is_id: bool) -> Self {
        Self { text: text.into(), children: Vec::new(), guess: NodeId::MAX, shape: None, place: None, is_id }
    }
}
