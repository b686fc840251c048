//! What is declared about the architecture, in `xtask/architecture.toml`: the order of the crates,
//! and cycles with reasons.

use super::Described;
use super::cycles;
use crate::repository::Repository;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The file, relative to the repository's root.
pub const FILE: &str = "xtask/architecture.toml";

/// What is declared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Folders of crates, lowest layer first. A crate depends on crates of lower layers only.
    pub layers: Vec<Vec<String>>,
    /// Cycles between modules that may be.
    #[serde(default)]
    pub cycle: Vec<AllowedCycle>,
}

/// A cycle between modules that may be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedCycle {
    /// Folder of the crate.
    pub folder: String,
    /// All modules of the cycle.
    pub modules: BTreeSet<String>,
    /// Why.
    pub reason: String,
}

impl Rules {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// Where the file is missing or has another form.
    pub fn read(repository: &Repository) -> Result<Self> {
        toml::from_str(&repository.read(FILE)?)
            .with_context(|| format!("{FILE} is not as expected"))
    }

    /// The reason for a cycle, if it is allowed.
    pub fn reason(&self, folder: &str, modules: &BTreeSet<String>) -> Option<&str> {
        self.cycle
            .iter()
            .find(|allowed| allowed.folder == folder && allowed.modules == *modules)
            .map(|allowed| allowed.reason.as_str())
    }

    fn layer(&self, folder: &str) -> Option<usize> {
        self.layers
            .iter()
            .position(|layer| layer.iter().any(|other| other == folder))
    }
}

/// Everything that breaks the rules, one line each.
pub fn findings(crates: &[Described], rules: &Rules, root: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    let by_name: BTreeMap<&str, &Described> = crates
        .iter()
        .map(|each| (each.about.name.as_str(), each))
        .collect();
    let mut met = BTreeSet::new();
    for each in crates {
        layering(each, &by_name, rules, &mut findings);
        // Tests and tools have sources that are not read here.
        if each.about.published {
            unused_dependencies(each, &mut findings);
        }
        for target in &each.targets {
            let graph = target.graph();
            for cycle in cycles::cycles(&graph) {
                if rules.reason(&each.about.folder, &cycle).is_some() {
                    met.insert((each.about.folder.clone(), cycle));
                    continue;
                }
                let way = cycles::shortest_way_round(&graph, &cycle);
                let places: Vec<String> = way
                    .windows(2)
                    .map(|pair| target.first_place(&pair[0], &pair[1], root))
                    .collect();
                findings.push(format!(
                    "{}: a cycle of {} modules: {}; shortest way round: {} ({})",
                    each.about.name,
                    cycle.len(),
                    cycle.iter().cloned().collect::<Vec<_>>().join(", "),
                    way.join(" → "),
                    places.join(", ")
                ));
            }
        }
    }
    for allowed in &rules.cycle {
        if !met.contains(&(allowed.folder.clone(), allowed.modules.clone())) {
            let modules: Vec<&str> = allowed.modules.iter().map(String::as_str).collect();
            findings.push(format!(
                "{FILE}: {} has no cycle of exactly {}: take the entry out or mend it",
                allowed.folder,
                modules.join(", ")
            ));
        }
    }
    findings
}

fn layering(
    each: &Described,
    by_name: &BTreeMap<&str, &Described>,
    rules: &Rules,
    findings: &mut Vec<String>,
) {
    let about = &each.about;
    // Tests and tools stand above all layers.
    let Some(layer) = rules.layer(&about.folder) else {
        if about.published {
            findings.push(format!(
                "{}: folder {} is in no layer of {FILE}",
                about.name, about.folder
            ));
        }
        return;
    };
    for dependency in &about.dependencies {
        let Some(other) = by_name.get(dependency.package.as_str()) else {
            continue;
        };
        match rules.layer(&other.about.folder) {
            Some(below) if below < layer => {}
            Some(_) => findings.push(format!(
                "{} depends on {}, which is not in a lower layer of {FILE}",
                about.name, dependency.package
            )),
            None => findings.push(format!(
                "{} depends on {}, which is in no layer of {FILE}",
                about.name, dependency.package
            )),
        }
    }
}

/// A crate that `Cargo.toml` names and no path in the sources would be drawn as an arrow that is
/// none.
fn unused_dependencies(each: &Described, findings: &mut Vec<String>) {
    for dependency in &each.about.dependencies {
        let named = |outside: &BTreeSet<String>| outside.contains(&dependency.in_source);
        let in_targets = each.targets.iter().any(|t| named(&t.uses.outside));
        if !in_targets && !named(&each.outside_of_build_script) {
            findings.push(format!(
                "{} depends on {}, and no path in its sources names `{}`",
                each.about.name, dependency.package, dependency.in_source
            ));
        }
    }
}
