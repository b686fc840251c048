//! Rungs that need compute capability 8.0: asynchronous copies into shared memory and `mma.sync`.
