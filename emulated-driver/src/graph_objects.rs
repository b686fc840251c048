//! Graphs and nodes by their handles, each node with the graphs that are its own.

use std::sync::Arc;

use crate::code::Result;
use crate::graph::{Graph, Node, Nodes};
use crate::state::{Driver, Handle, lock};

impl Driver {
    /// The graph of nodes that are captured: it has a handle from the first request on.
    pub(crate) fn graph_of(&self, nodes: &Nodes) -> Handle {
        let found = self.graphs.find(|graph| graph.nodes.is(nodes));
        found.unwrap_or_else(|| {
            self.graphs.insert(Graph {
                nodes: nodes.clone(),
                originals: Vec::new(),
            })
        })
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`, and as [`Nodes::duplicate`].
    pub(crate) fn clone_graph(&self, graph: Handle) -> Result<Handle> {
        let (nodes, originals) = self.graphs.get(graph)?.nodes.duplicate(self)?;
        Ok(self.graphs.insert(Graph { nodes, originals }))
    }

    /// Whether a condition is that of a graph, or of one that it is a part of.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`.
    pub(crate) fn has_condition(&self, graph: Handle, condition: u64) -> Result<bool> {
        let mut nodes = self.graphs.get(graph)?.nodes.clone();
        while !nodes.has_condition(condition) {
            let own = self.graph_of(&nodes);
            let is_above = |node: &Node| lock(&node.operation).graphs.contains(&own);
            let Some(above) = self.nodes.find(is_above) else {
                return Ok(false);
            };
            nodes = self.nodes.get(above)?.graph.clone();
        }
        Ok(true)
    }

    /// Destroys a graph with its nodes, and with the graphs that are its nodes.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`.
    pub(crate) fn destroy_graph(&self, graph: Handle) -> Result {
        let removed = self.graphs.remove(graph)?;
        let nodes = removed.nodes.handles().into_iter();
        nodes.for_each(|node| _ = self.forget_node(node));
        Ok(())
    }

    /// Forgets a node, which its graph still has.
    fn forget_node(&self, node: Handle) -> Result<Arc<Node>> {
        let removed = self.nodes.remove(node)?;
        let graphs = std::mem::take(&mut lock(&removed.operation).graphs);
        graphs
            .iter()
            .try_for_each(|graph| self.destroy_graph(*graph))?;
        Ok(removed)
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`, and as [`Nodes::check_no_memory`].
    pub(crate) fn destroy_node(&self, node: Handle) -> Result {
        self.nodes.get(node)?.graph.check_no_memory(self)?;
        self.forget_node(node)?.graph.remove(node);
        Ok(())
    }
}
