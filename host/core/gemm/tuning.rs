//! Choices of kernels that were measured: what `warpladder tune` finds, and
//! [`Gpu::gemm`](crate::gpu::Gpu::gemm) uses.
//!
//! They are kept in one JSON file, each with the device, the driver and the PTX that it was
//! measured with: on another device, or after an update, it is not found, and the model's choice is
//! used as if there were no file.

use super::{Description, GemmInput};
use crate::engine::Engine;
use crate::ptx;
use kernels_gpu::gemm::planner::GemmPlan;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a choice was measured for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProblemKey {
    /// Element type.
    pub element: String,
    /// m, n and k.
    pub extents: [u32; 3],
    /// Whether A and B are stored transposed.
    pub transposed: [bool; 2],
    /// Whether rows of A and B are of whole vectors of 16 bytes.
    pub vectors: [bool; 2],
    /// Products in the batch.
    pub batch: u32,
}

/// Where a choice was measured.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Environment {
    /// The device and its driver.
    pub device: String,
    /// A hash of the PTX.
    pub ptx: String,
}

/// A choice that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Where.
    #[serde(flatten)]
    pub environment: Environment,
    /// What for.
    #[serde(flatten)]
    pub key: ProblemKey,
    /// The PTX entry.
    pub entry: String,
    /// Split-K factor, where a second kernel reduces.
    pub splits: u32,
    /// How the last tiles are split along k: tiles that are not, tiles that are, their split-K
    /// factor, k of the first split and of each other; null where none are.
    pub cut: Option<[u32; 5]>,
    /// What reduces their partial sums: the number of a
    /// [`ReductionMode`](kernels_gpu::gemm::scheduler::persistent::ReductionMode). Older files have
    /// none, and plans whose last block does.
    #[serde(default)]
    pub reduction: u32,
    /// Blocks along m and n of a multicast cluster. Older files have none.
    #[serde(default = "alone")]
    pub cluster_shape: [u32; 2],
    /// See [`GemmPlan::tile_columns`]. Older files have none.
    #[serde(default)]
    pub tile_columns: Option<u32>,
    /// Median time, in milliseconds.
    pub ms: f64,
}

/// [`Tuned::cluster_shape`] of a plan without.
const fn alone() -> [u32; 2] {
    [1; 2]
}

/// What goes wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// There is no place for it.
    #[error("no folder for the tuning file: set WARPLADDER_TUNING to a file, or HOME")]
    NoFolder,
    /// It cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{}: {error}: remove it, and tune again", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        error: serde_json::Error,
    },
}

/// The file: `WARPLADDER_TUNING`, or `warpladder/tuning.json` in the user's cache folder.
///
/// # Errors
/// [`TuningError::NoFolder`].
pub fn path() -> Result<PathBuf, TuningError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = set("WARPLADDER_TUNING") {
        return Ok(path.into());
    }
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")));
    Ok(cache
        .ok_or(TuningError::NoFolder)?
        .join("warpladder/tuning.json"))
}

/// Reads the file; where there is none, nothing was tuned.
///
/// # Errors
/// [`TuningError`] where it cannot be read.
pub fn read(path: &Path) -> Result<Vec<Tuned>, TuningError> {
    let file = |error| TuningError::File {
        path: path.to_owned(),
        error,
    };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(file)?,
    };
    serde_json::from_str(&text).map_err(|error| TuningError::Content {
        path: path.to_owned(),
        error,
    })
}

/// Adds choices to the file; those for the same key in the same environment are replaced.
///
/// # Errors
/// [`TuningError`] where it cannot be read or written.
pub fn add(path: &Path, tuned: Vec<Tuned>) -> Result<(), TuningError> {
    let file = |error| TuningError::File {
        path: path.to_owned(),
        error,
    };
    let mut all = read(path)?;
    all.retain(|old| {
        let replaces = |new: &Tuned| new.environment == old.environment && new.key == old.key;
        !tuned.iter().any(replaces)
    });
    all.extend(tuned);
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        std::fs::create_dir_all(folder).map_err(file)?;
    }
    let text = serde_json::to_string_pretty(&all).expect("numbers and strings have JSON");
    // A program that reads meanwhile sees the old file or the new one.
    let temporary = path.with_extension("tmp");
    std::fs::write(&temporary, text + "\n").map_err(file)?;
    std::fs::rename(&temporary, path).map_err(file)
}

impl Environment {
    /// The environment of an engine.
    pub fn of(engine: &dyn Engine) -> Self {
        Environment {
            device: engine.identity(),
            ptx: format!("{:016x}", ptx::hash()),
        }
    }
}

impl ProblemKey {
    /// The key of a product.
    pub fn of<T: GemmInput>(description: &Description<T>) -> Self {
        ProblemKey {
            element: T::NAME.to_owned(),
            extents: description.extents,
            transposed: description.transposed,
            vectors: description.vectors(),
            batch: description.batch,
        }
    }
}

/// What was measured in one environment, by key.
pub type Choices = HashMap<ProblemKey, Tuned>;

/// The choices of an environment.
pub fn of_environment(tuned: Vec<Tuned>, environment: &Environment) -> Choices {
    let here = tuned
        .into_iter()
        .filter(|tuned| tuned.environment == *environment);
    here.map(|tuned| (tuned.key.clone(), tuned)).collect()
}

impl Tuned {
    /// A choice as the file has it.
    pub fn new(environment: Environment, key: ProblemKey, choice: &GemmPlan, ms: f64) -> Self {
        let stream_k = choice.decomposition.stream_k();
        Tuned {
            environment,
            key,
            entry: choice.entry.to_owned(),
            splits: choice.decomposition.splits(),
            cut: stream_k.map(|stream_k| {
                [
                    stream_k.data_parallel_tiles,
                    stream_k.tiles,
                    stream_k.splits,
                    stream_k.first_split_k,
                    stream_k.other_split_k,
                ]
            }),
            reduction: stream_k.map_or(0, |stream_k| stream_k.reduction as u32),
            cluster_shape: choice.cluster_shape().extents(),
            tile_columns: choice.tile_columns(),
            ms,
        }
    }

    /// Whether a choice is this one.
    pub fn is(&self, choice: &GemmPlan) -> bool {
        *self == Tuned::new(self.environment.clone(), self.key.clone(), choice, self.ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::{DeviceLimits, HOPPER};

    fn tuned(device: &str, m: u32, ms: f64) -> Tuned {
        Tuned {
            environment: Environment {
                device: device.to_owned(),
                ptx: "0".to_owned(),
            },
            key: ProblemKey {
                element: "f32".to_owned(),
                extents: [m, 2, 3],
                transposed: [false, true],
                vectors: [false; 2],
                batch: 1,
            },
            entry: "sgemm_64x64_nt".to_owned(),
            splits: 1,
            cut: Some([1, 2, 3, 4, 5]),
            reduction: 0,
            cluster_shape: [1; 2],
            tile_columns: None,
            ms,
        }
    }

    #[test]
    fn each_candidate_is_told_from_the_others() {
        let device = DeviceLimits::new(132, HOPPER);
        let environment = tuned("one", 0, 0.0).environment;
        for extents in [[4096, 4096, 4096], [333, 777, 12345], [768, 3072, 16384]] {
            let product = Description::<half::bf16>::dense(extents, [false, true]);
            let kernels = half::bf16::kernels(HOPPER, false);
            let candidates: Vec<_> = kernels.candidates(&product.problem(device)).collect();
            for (_, choice) in &candidates {
                let key = ProblemKey::of(&product);
                let tuned = Tuned::new(environment.clone(), key, choice, 1.0);
                let of_choice = candidates.iter().filter(|(_, other)| tuned.is(other));
                assert!(
                    of_choice
                        .map(|(_, other)| other)
                        .all(|other| other == choice)
                );
                assert!(tuned.is(choice));
            }
        }
    }

    #[test]
    fn a_file_without_reductions_clusters_and_columns_is_read() {
        let mut old = serde_json::to_value(tuned("one", 1, 1.0)).unwrap();
        for field in ["reduction", "cluster_shape", "tile_columns"] {
            old.as_object_mut().unwrap().remove(field).unwrap();
        }
        assert_eq!(
            serde_json::from_value::<Tuned>(old).unwrap(),
            tuned("one", 1, 1.0)
        );
    }

    #[test]
    fn a_newer_choice_replaces_the_older_one_of_the_same_environment() {
        let folder = std::env::temp_dir().join(format!("warpladder-tuning-{}", std::process::id()));
        let path = folder.join("a/tuning.json");
        assert!(read(&path).unwrap().is_empty());
        add(&path, vec![tuned("one", 1, 1.0), tuned("two", 1, 2.0)]).unwrap();
        add(&path, vec![tuned("one", 1, 3.0), tuned("one", 2, 4.0)]).unwrap();
        let all = read(&path).unwrap();
        assert_eq!(all.len(), 3);
        let environment = tuned("one", 0, 0.0).environment;
        let here = of_environment(all, &environment);
        assert_eq!(here[&tuned("one", 1, 0.0).key].ms, 3.0);
        assert_eq!(here.len(), 2);
        std::fs::write(&path, "[{}]").unwrap();
        let broken = read(&path).unwrap_err().to_string();
        assert!(broken.contains("remove it"), "{broken}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
