//! Cycles in a directed graph of names, and an order in which each name comes after those that it
//! uses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A directed graph: each name with those that it uses.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Names in groups, each after the groups that it uses. A group of more than one name is a cycle:
/// each of its names uses every other one, directly or not (a strongly connected component).
pub fn layered(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = graph
        .keys()
        .map(|name| (name, reachable(graph, name)))
        .collect();
    let mut groups: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (name, below) in &reach {
        let mut group: BTreeSet<String> = below
            .iter()
            .filter(|other| reach.get(**other).is_some_and(|back| back.contains(name)))
            .map(|other| (*other).clone())
            .collect();
        group.insert((*name).clone());
        groups.insert(group);
    }
    let mut depths: Vec<(usize, BTreeSet<String>)> = Vec::new();
    let mut left: Vec<BTreeSet<String>> = groups.into_iter().collect();
    // Whatever is reached from a group reaches less than the group does.
    left.sort_by_key(|group| group.first().map_or(0, |name| reach[name].len()));
    for group in left {
        let depth = depths
            .iter()
            .filter(|(_, below)| {
                let used = |name: &String| graph[name].intersection(below).next().is_some();
                group.iter().any(used)
            })
            .map(|(depth, _)| depth + 1)
            .max();
        depths.push((depth.unwrap_or(0), group));
    }
    depths.sort();
    depths.into_iter().map(|(_, group)| group).collect()
}

/// The groups of more than one name.
pub fn cycles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let mut groups = layered(graph);
    groups.retain(|group| group.len() > 1);
    groups
}

/// The shortest way round inside of a cycle, from its first name back to that.
pub fn shortest_way_round(graph: &Graph, cycle: &BTreeSet<String>) -> Vec<String> {
    let ways = cycle.iter().filter_map(|start| way_back(graph, start));
    ways.min_by_key(Vec::len).unwrap_or_default()
}

/// The edges that remain when those are left out that a longer way implies. The graph must be free
/// of cycles.
pub fn without_implied(graph: &Graph) -> Graph {
    let reach = |name: &String| reachable(graph, name);
    graph
        .iter()
        .map(|(name, uses)| {
            let implied: BTreeSet<&String> = uses.iter().flat_map(reach).collect();
            let kept = uses.iter().filter(|used| !implied.contains(used));
            (name.clone(), kept.cloned().collect())
        })
        .collect()
}

fn reachable<'a>(graph: &'a Graph, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&String> = graph.get(from).into_iter().flatten().collect();
    while let Some(name) = left.pop() {
        if found.insert(name) {
            left.extend(graph.get(name).into_iter().flatten());
        }
    }
    found
}

fn way_back(graph: &Graph, start: &String) -> Option<Vec<String>> {
    let mut before: BTreeMap<&String, &String> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for next in graph.get(at).into_iter().flatten() {
            if next == start {
                let mut way = vec![start.clone(), at.clone()];
                let mut last = at;
                while last != start {
                    last = before.get(last).copied()?;
                    way.push(last.clone());
                }
                way.reverse();
                return Some(way);
            }
            before.entry(next).or_insert_with(|| {
                queue.push_back(next);
                at
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new();
        for (from, to) in edges {
            let uses = graph.entry((*from).to_owned()).or_default();
            uses.insert((*to).to_owned());
            graph.entry((*to).to_owned()).or_default();
        }
        graph
    }

    fn joined(groups: Vec<BTreeSet<String>>) -> Vec<String> {
        let join = |group: BTreeSet<String>| group.into_iter().collect::<Vec<_>>().join("+");
        groups.into_iter().map(join).collect()
    }

    #[test]
    fn what_is_used_comes_first() {
        let graph = graph(&[
            ("top", "left"),
            ("top", "right"),
            ("left", "low"),
            ("right", "low"),
        ]);
        assert_eq!(joined(layered(&graph)), ["low", "left", "right", "top"]);
        assert!(cycles(&graph).is_empty());
    }

    #[test]
    fn a_cycle_is_one_group() {
        let graph = graph(&[
            ("a", "b"),
            ("b", "c"),
            ("c", "a"),
            ("b", "a"),
            ("c", "low"),
            ("top", "a"),
        ]);
        assert_eq!(joined(layered(&graph)), ["low", "a+b+c", "top"]);
        let cycles = cycles(&graph);
        assert_eq!(cycles.len(), 1);
        assert_eq!(shortest_way_round(&graph, &cycles[0]), ["a", "b", "a"]);
    }

    #[test]
    fn implied_edges_are_left_out() {
        let graph = graph(&[("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d")]);
        let kept = without_implied(&graph);
        let expected = graph_of_chain();
        assert_eq!(kept, expected);
    }

    fn graph_of_chain() -> Graph {
        graph(&[("a", "b"), ("b", "c"), ("c", "d")])
    }
}
