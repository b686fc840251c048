//! Rungs that need compute capability 9.0a: TMA, `wgmma` and clusters. They run on that generation only.
