//! State spaces of pointers, sizes of shared memory, the clock, and the attributes.

use super::{along_x, on_every_engine, rows};

#[test]
fn pointers_know_their_state_space() {
    on_every_engine(|engine| {
        for row in rows(engine, "state_spaces", along_x(1), along_x(32), 12) {
            // Global, shared, constant and local, for a pointer of each kind.
            assert_eq!(row, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        }
    });
}

#[test]
fn a_shared_static_is_shared_by_the_block() {
    on_every_engine(|engine| {
        let rows = rows(engine, "of_the_block", along_x(1), along_x(32), 5);
        for (i, row) in rows.iter().enumerate() {
            let of_table = [3, 1, 4, 1][i % 4];
            // The launch gives 256 bytes of dynamic shared memory.
            assert_eq!(*row, [3 * (31 - i as u32), 256, 1, of_table, 1]);
        }
    });
}
