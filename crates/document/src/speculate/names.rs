//! The tree of field names. A node represents the sequence of names from the start of a map to a name.
//!
//! Only names of maps that the full parser has read are added to the tree. Therefore no path contains a name twice, and
//! a map that is read along a path needs no check for duplicates.

use std::sync::Arc;

use crate::shape::Shape;

/// The number of a node.
pub(super) type NodeId = u32;

/// The root for maps inside documents. Their names are stored as the printer writes them.
pub(super) const NESTED: NodeId = 0;
/// The root for documents. Their names are stored as in the text.
pub(super) const DOCUMENT: NodeId = 1;

/// If more names than this follow a node, its children are dropped and learnt again.
const MAX_CHILDREN: usize = 64;
/// The number of nodes at which the tree is cleared.
const MAX_NODES: usize = 1 << 15;

/// A field of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) template: usize,
    pub(super) field: usize,
}

#[derive(Debug)]
pub(super) struct Node {
    /// The name and the closing quote.
    text: Box<[u8]>,
    children: Vec<NodeId>,
    /// The most recently used child; [`NodeId::MAX`] if there is none.
    guess: NodeId,
    /// The shape of the maps that end at this node.
    pub(super) shape: Option<Arc<Shape>>,
    /// The template that continues from this node.
    pub(super) place: Option<Place>,
    /// In documents: true if the name is `_id` or the name of its copy.
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

    /// The approximate bytes of memory of the tree.
    pub(super) fn memory_bytes(&self) -> usize {
        let node = |node: &Node| size_of::<Node>() + node.text.len() + node.children.capacity() * size_of::<NodeId>();
        self.nodes.iter().map(node).sum()
    }

    /// True if the tree has reached the size at which it should be [cleared](Self::clear).
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

    /// The child of `parent` whose name is at the start of `text` (after the opening quote), and
    /// the length of the name with its closing quote.
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

    /// The child of `parent` with this name; created if it does not exist. `name` is without
    /// quotes.
    pub(super) fn child_or_new(&mut self, parent: NodeId, name: &[u8], is_id: bool) -> Option<NodeId> {
        let text = [name, b"\""].concat();
        if let Some((child, _)) = self.child(parent, &text) {
            return Some(child);
        }
        let id = NodeId::try_from(self.nodes.len()).ok()?;
        self.nodes.push(Node::new(&text, is_id));
        let node = self.node_mut(parent);
        if node.children.len() >= MAX_CHILDREN {
            // The nodes themselves remain until the tree is cleared, because templates may refer to them.
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
