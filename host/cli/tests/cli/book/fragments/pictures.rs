//! Pictures of which lane touches what, for the chapters on memory and threads.

use super::Of::{self, Drawn};

pub(super) const FRAGMENTS: &[(&str, Of)] = &[
    ("naive.svg", Drawn("naive", "64")),
    ("naive-uncoalesced.svg", Drawn("naive_uncoalesced", "64")),
    ("tiled-32.svg", Drawn("tiled_32", "64")),
    ("tiled-guarded-16.svg", Drawn("tiled_guarded_16", "33")),
    ("transpose-naive.svg", Drawn("transpose_naive", "64")),
    (
        "transpose-coalesced.svg",
        Drawn("transpose_coalesced", "64"),
    ),
    ("transpose-padded.svg", Drawn("transpose_padded", "64")),
    ("transpose-swizzled.svg", Drawn("transpose_swizzled", "64")),
    ("matvec-lcs.svg", Drawn("matvec_lcs", "64")),
    ("matvec-interleaved.svg", Drawn("matvec_interleaved", "64")),
    (
        "matvec-thread-per-element.svg",
        Drawn("matvec_thread_per_element", "64"),
    ),
    ("copy.svg", Drawn("copy", "64")),
];
