//! Graphs: nodes that were added one by one or captured from streams, and what they become when
//! they are instantiated.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::code::{Code, Result};
use crate::graph_memory::GraphAllocation;
use crate::state::{Driver, Handle, lock, new_handle};
use crate::user_object::{References, UserObject};

/// Work that can run any number of times.
pub(crate) type Work = Arc<dyn Fn() -> Result + Send + Sync>;

/// `CUgraphNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum NodeKind {
    Kernel = 0,
    Copy = 1,
    Set = 2,
    Host = 3,
    Graph = 4,
    Empty = 5,
    WaitEvent = 6,
    RecordEvent = 7,
    Alloc = 10,
    Free = 11,
    Values = 12,
    Condition = 13,
}

/// The condition of nodes: a word in device memory, whose address is the handle that the program
/// and its kernels have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(crate) address: u64,
    /// What it is set to when the graph is launched, where it is.
    pub(crate) at_launch: Option<u32>,
}

/// Makes the work of an operation when its graph is instantiated.
pub(crate) type MakeWork = Arc<dyn Fn(&'static Driver) -> Result<Work> + Send + Sync>;

/// What a node does, and what it was made from: the words of its parameters, for the getters.
#[derive(Clone)]
pub(crate) struct Operation {
    pub(crate) kind: NodeKind,
    pub(crate) work: Work,
    pub(crate) params: Option<Arc<dyn std::any::Any + Send + Sync>>,
    /// Where the work is that of graphs which change until then.
    pub(crate) make_work: Option<MakeWork>,
    pub(crate) allocation: Option<Arc<GraphAllocation>>,
    /// The node's own graphs, which the program may change: the child graph, or what a condition
    /// chooses from.
    pub(crate) graphs: Vec<Handle>,
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

impl Operation {
    pub(crate) fn new(kind: NodeKind, work: Work) -> Self {
        Operation {
            kind,
            work,
            params: None,
            make_work: None,
            allocation: None,
            graphs: Vec::new(),
        }
    }

    /// The allocation of memory by a graph.
    pub(crate) fn allocation(allocation: GraphAllocation) -> Self {
        let allocation = Arc::new(allocation);
        let own = allocation.clone();
        Operation {
            allocation: Some(allocation),
            ..Operation::new(NodeKind::Alloc, Arc::new(move || own.allocate()))
        }
    }

    /// A graph as a node: what it does is known when the whole is instantiated.
    pub(crate) fn child(graph: Handle) -> Self {
        Operation {
            graphs: vec![graph],
            ..Operation::nothing(NodeKind::Graph)
        }
    }

    pub(crate) fn child_graph(&self) -> Option<Handle> {
        let is_child = self.kind == NodeKind::Graph;
        self.graphs.first().copied().filter(|_| is_child)
    }

    /// An operation whose work has been done, or is none.
    pub(crate) fn nothing(kind: NodeKind) -> Self {
        Operation::new(kind, Arc::new(|| Ok(())))
    }
}

/// A node of a graph.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) graph: Nodes,
    pub(crate) operation: Mutex<Operation>,
}

#[derive(Debug)]
struct State {
    /// The number of captures into this graph: that of all streams which take part, also where one
    /// ends and another goes on.
    capture_id: Handle,
    /// The nodes in the order in which they were added.
    order: Vec<Handle>,
    /// The nodes that each depends on.
    dependencies: HashMap<Handle, Vec<Handle>>,
    objects: References,
    conditions: Vec<Condition>,
}

impl Default for State {
    fn default() -> Self {
        State {
            capture_id: new_handle(),
            order: Vec::new(),
            dependencies: HashMap::new(),
            objects: References::default(),
            conditions: Vec::new(),
        }
    }
}

/// The nodes of a graph, shared with the streams that are captured into it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes(Arc<Mutex<State>>);

impl Nodes {
    pub(crate) fn is(&self, other: &Nodes) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn capture_id(&self) -> u64 {
        lock(&self.0).capture_id as u64
    }

    pub(crate) fn retain_object(&self, handle: Handle, object: Arc<UserObject>, count: u32) {
        lock(&self.0).objects.add(handle, object, count);
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the graph has fewer references.
    pub(crate) fn release_object(&self, handle: Handle, count: u32) -> Result {
        let object = lock(&self.0).objects.release(handle, count)?;
        drop(object);
        Ok(())
    }

    pub(crate) fn add_condition(&self, condition: Condition) {
        lock(&self.0).conditions.push(condition);
    }

    pub(crate) fn has_condition(&self, address: u64) -> bool {
        let state = lock(&self.0);
        state.conditions.iter().any(|one| one.address == address)
    }

    pub(crate) fn handles(&self) -> Vec<Handle> {
        lock(&self.0).order.clone()
    }

    pub(crate) fn has(&self, node: Handle) -> bool {
        lock(&self.0).dependencies.contains_key(&node)
    }

    pub(crate) fn dependencies(&self, node: Handle) -> Vec<Handle> {
        let state = lock(&self.0);
        state.dependencies.get(&node).cloned().unwrap_or_default()
    }

    /// All pairs of a node and one that depends on it.
    pub(crate) fn edges(&self) -> Vec<(Handle, Handle)> {
        let state = lock(&self.0);
        let all = state.order.iter().flat_map(|&to| {
            let from = state.dependencies.get(&to).into_iter().flatten();
            from.map(move |&from| (from, to))
        });
        all.collect()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where it depends on a node of another graph.
    pub(crate) fn add(
        &self,
        driver: &Driver,
        dependencies: &[Handle],
        operation: Operation,
    ) -> Result<Handle> {
        let mut state = lock(&self.0);
        let has = |one| state.dependencies.contains_key(one);
        if !dependencies.iter().all(has) {
            return Err(Code::INVALID_VALUE);
        }
        let node = driver.nodes.insert(Node {
            graph: self.clone(),
            operation: Mutex::new(operation),
        });
        state.order.push(node);
        state.dependencies.insert(node, dependencies.to_vec());
        Ok(node)
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where a node is of another graph, or the edge is there, or not
    /// there, already.
    pub(crate) fn set_edge(&self, from: Handle, to: Handle, present: bool) -> Result {
        let mut state = lock(&self.0);
        if !state.order.contains(&from) || from == to {
            return Err(Code::INVALID_VALUE);
        }
        let edges = state.dependencies.get_mut(&to).ok_or(Code::INVALID_VALUE)?;
        match (edges.iter().position(|one| *one == from), present) {
            (None, true) => edges.push(from),
            (Some(place), false) => _ = edges.remove(place),
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` where nodes allocate or free memory: no node and no edge of such
    /// a graph is taken away.
    pub(crate) fn check_no_memory(&self, driver: &Driver) -> Result {
        let of_memory = |node| {
            let kind = driver
                .nodes
                .get(node)
                .map(|node| lock(&node.operation).kind);
            matches!(kind, Ok(NodeKind::Alloc | NodeKind::Free))
        };
        match self.handles().into_iter().any(of_memory) {
            true => Err(Code::NOT_SUPPORTED),
            false => Ok(()),
        }
    }

    pub(crate) fn remove(&self, node: Handle) {
        let mut state = lock(&self.0);
        state.order.retain(|one| *one != node);
        state.dependencies.remove(&node);
        for edges in state.dependencies.values_mut() {
            edges.retain(|one| *one != node);
        }
    }

    /// The nodes, each behind those that it depends on.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where they depend on each other.
    fn sorted(&self) -> Result<Vec<Handle>> {
        let state = lock(&self.0);
        let mut left = state.order.clone();
        let mut done = Vec::with_capacity(left.len());
        let mut is_done: std::collections::HashSet<Handle> = Default::default();
        while !left.is_empty() {
            let before = left.len();
            left.retain(|node| {
                let mut needed = state.dependencies.get(node).into_iter().flatten();
                let ready = needed.all(|one| is_done.contains(one));
                if ready {
                    done.push(*node);
                    is_done.insert(*node);
                }
                !ready
            });
            if left.len() == before {
                return Err(Code::INVALID_VALUE);
            }
        }
        Ok(done)
    }

    /// The operations of the nodes, each behind those that it depends on.
    ///
    /// # Errors
    /// As [`Nodes::sorted`].
    fn steps(&self, driver: &'static Driver) -> Result<Vec<Step>> {
        let sorted = self.sorted()?.into_iter();
        let steps = sorted.map(|node| {
            let mut operation = lock(&driver.nodes.get(node)?.operation).clone();
            if let Some(make) = operation.make_work.clone() {
                operation.work = make(driver)?;
            }
            if let Some(child) = operation.child_graph() {
                operation.work = driver.graphs.get(child)?.nodes.work(driver)?;
            }
            Ok(Step {
                node,
                operation,
                enabled: true,
            })
        });
        steps.collect()
    }

    /// The graph as it is now, ready to be launched.
    ///
    /// # Errors
    /// As [`Nodes::sorted`].
    pub(crate) fn instantiate(&self, driver: &'static Driver, flags: u64) -> Result<Instance> {
        let steps = Mutex::new(self.steps(driver)?);
        Ok(Instance {
            steps,
            flags,
            own: Mutex::new(self.of_instance()),
        })
    }

    fn of_instance(&self) -> OfGraph {
        let state = lock(&self.0);
        OfGraph {
            conditions: state.conditions.clone(),
            _objects: state.objects.clone(),
        }
    }

    /// What launches the graph as it is now.
    ///
    /// # Errors
    /// As [`Nodes::sorted`].
    pub(crate) fn work(&self, driver: &'static Driver) -> Result<Work> {
        let instance = self.instantiate(driver, 0)?;
        Ok(Arc::new(move || instance.run(driver)))
    }

    /// A graph of the same nodes, whose handles are other ones; each with that of its original.
    ///
    /// # Errors
    /// As [`Nodes::add`], or `CUDA_ERROR_NOT_SUPPORTED` where the graph has conditional nodes,
    /// whose handles belong to one graph, or allocates memory, which has one address.
    pub(crate) fn duplicate(&self, driver: &Driver) -> Result<(Nodes, Vec<(Handle, Handle)>)> {
        let (copy, mut names) = (Nodes::default(), HashMap::new());
        lock(&copy.0).objects = lock(&self.0).objects.clone();
        for node in self.sorted()? {
            let needed = self.dependencies(node);
            let needed: Option<Vec<Handle>> =
                needed.iter().map(|one| names.get(one).copied()).collect();
            let mut operation = lock(&driver.nodes.get(node)?.operation).clone();
            if operation.make_work.is_some() || operation.allocation.is_some() {
                return Err(Code::NOT_SUPPORTED);
            }
            for graph in &mut operation.graphs {
                *graph = driver.clone_graph(*graph)?;
            }
            let made = copy.add(driver, &needed.ok_or(Code::INVALID_VALUE)?, operation)?;
            names.insert(node, made);
        }
        Ok((copy, names.into_iter().collect()))
    }
}

/// A graph.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Nodes,
    /// Of a clone: the handle of each original node, and that of its copy.
    pub(crate) originals: Vec<(Handle, Handle)>,
}

/// A node of a graph that is ready to be launched.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) node: Handle,
    pub(crate) operation: Operation,
    pub(crate) enabled: bool,
}

/// A graph that is ready to be launched.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) steps: Mutex<Vec<Step>>,
    pub(crate) flags: u64,
    own: Mutex<OfGraph>,
}

/// What an instance has of its graph, or of that which it was updated by.
#[derive(Clone, Debug)]
struct OfGraph {
    conditions: Vec<Condition>,
    /// What the graph kept alive, the instance keeps alive too.
    _objects: References,
}

/// Why an instance cannot take over a graph: numbers of `CUgraphExecUpdateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateFailure {
    Other = 1,
    Topology = 2,
    NodeType = 3,
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE: u64 = 1;

impl Instance {
    /// Runs all of it.
    pub(crate) fn run(&self, driver: &Driver) -> Result {
        let steps = lock(&self.steps).clone();
        if self.flags & AUTO_FREE != 0 {
            let mut allocations = steps
                .iter()
                .filter_map(|step| step.operation.allocation.as_ref());
            allocations.try_for_each(|one| one.free_if_there())?;
        }
        let own = lock(&self.own).clone();
        for condition in &own.conditions {
            if let Some(value) = condition.at_launch {
                let written = driver.memory.write(condition.address, &value.to_le_bytes());
                written.map_err(|_| Code::INVALID_VALUE)?;
            }
        }
        let enabled = steps.iter().filter(|step| step.enabled);
        enabled
            .map(|step| &step.operation.work)
            .try_for_each(|work| work())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the graph has no such node.
    pub(crate) fn operation(&self, node: Handle) -> Result<Operation> {
        let steps = lock(&self.steps);
        let step = steps.iter().find(|step| step.node == node);
        Ok(step.ok_or(Code::INVALID_VALUE)?.operation.clone())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the graph has no such node, or one of another kind.
    pub(crate) fn set(&self, node: Handle, operation: Operation) -> Result {
        let mut steps = lock(&self.steps);
        let step = steps.iter_mut().find(|step| step.node == node);
        let step = step.filter(|step| step.operation.kind == operation.kind);
        step.ok_or(Code::INVALID_VALUE)?.operation = operation;
        Ok(())
    }

    /// Takes over a graph with the same nodes: their operations, and what it keeps.
    ///
    /// # Errors
    /// Why it cannot (`CUgraphExecUpdateResult`).
    pub(crate) fn update(
        &self,
        driver: &'static Driver,
        graph: &Nodes,
    ) -> std::result::Result<(), UpdateFailure> {
        let new = graph.steps(driver).map_err(|_| UpdateFailure::Other)?;
        let mut steps = lock(&self.steps);
        let kinds = |steps: &[Step]| -> Vec<NodeKind> {
            steps.iter().map(|step| step.operation.kind).collect()
        };
        if new.len() != steps.len() {
            return Err(UpdateFailure::Topology);
        }
        if kinds(&new) != kinds(&steps) {
            return Err(UpdateFailure::NodeType);
        }
        for (step, new) in steps.iter_mut().zip(new) {
            step.operation = new.operation;
        }
        *lock(&self.own) = graph.of_instance();
        Ok(())
    }
}
