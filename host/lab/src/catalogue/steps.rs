//! Which rung each rung improves on.

use super::{Rung, find, rungs};

/// Rungs that change another rung than the last one before them that computes the same; a name
/// without another is a first rung.
#[rustfmt::skip]
const OTHERS: &[(&str, Option<&str>)] = &[
    ("tiled_guarded_16", Some("tiled_16")),
    ("tiled_guarded_32", Some("tiled_32")),
    ("outputs_1", Some("tiled_32")),
    ("wgmma_bf16_single", Some("mma_bf16")),
    ("wgmma_f16", Some("mma_f16")),
    ("wgmma_tf32", Some("mma_tf32")),
    ("wgmma_f16_narrow", None),
    ("wgmma_bf16_narrow", None),
    ("wgmma_bf16_stream_k", Some("wgmma_bf16_tma_store")),
    ("wolfe_ks", None),
    ("wolfe_k2_w32", Some("wolfe_k1_w32")),
    ("wolfe_k2_w128", Some("wolfe_k2_w64")),
    ("wolfe_k3_w32_i2", Some("wolfe_k2_w32")),
    ("wolfe_k3_w64_i2", Some("wolfe_k3_w32_i2")),
    ("wolfe_k4_w32_j2", Some("wolfe_k3_w32_i2")),
    ("wolfe_k4_w64_j2", Some("wolfe_k4_w32_j2")),
    ("copy_vec2", Some("copy_2")),
    ("copy_vec4", Some("copy_4")),
    ("matvec_thread_per_element", Some("matvec_lcs")),
    ("matvec_thread_per_element_4", Some("matvec_lcs_4")),
    ("matvec_thread_per_element_8", Some("matvec_lcs_8")),
    ("matvec_thread_per_element_12", Some("matvec_lcs_12")),
    ("matvec_thread_per_element_20", Some("matvec_lcs_20")),
    ("matvec_thread_per_element_24", Some("matvec_lcs_24")),
    ("matvec_thread_per_element_28", Some("matvec_lcs_28")),
    ("matvec_thread_per_element_32", Some("matvec_lcs_32")),
    ("matvec_thread_per_element_any", Some("matvec_lcs_any")),
    ("matvec_fast", Some("matvec_lcs")),
];

impl Rung {
    /// The rung that this one changes, as its documentation says under "What changed since the rung
    /// before"; it stands before this one in the catalogue and computes the same. `None` of the
    /// first rung for a problem, and of what is no kernel of its own.
    pub fn improves_on(&self) -> Option<&'static Rung> {
        match OTHERS.iter().find(|(name, _)| *name == self.name) {
            Some((_, other)) => other.and_then(find),
            None => {
                let before = rungs().take_while(|other| other.name != self.name);
                before.filter(|other| other.is_comparable(self)).last()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rung_stands_after_the_one_that_it_improves_on_which_computes_the_same() {
        let place = |name: &str| rungs().position(|rung| rung.name == name);
        for rung in rungs() {
            let Some(base) = rung.improves_on() else {
                continue;
            };
            assert!(place(base.name) < place(rung.name), "{}", rung.name);
            assert!(base.is_comparable(rung), "{}", rung.name);
        }
        for (name, other) in OTHERS {
            assert!(find(name).is_some(), "{name}");
            assert_eq!(
                find(name).and_then(Rung::improves_on).map(|of| of.name),
                *other
            );
        }
    }

    #[test]
    fn the_first_rungs_improve_on_none() {
        for first in [
            "naive_uncoalesced",
            "volkov_sgemm",
            "wolfe_ks",
            "copy",
            "cpu_naive",
            "wolfe_dispatch",
        ] {
            assert!(find(first).unwrap().improves_on().is_none(), "{first}");
        }
        let base = |name: &str| find(name).unwrap().improves_on().unwrap().name;
        assert_eq!(base("sgemm"), "cp_async");
        assert_eq!(base("wgmma_bf16_single"), "mma_bf16");
    }
}
