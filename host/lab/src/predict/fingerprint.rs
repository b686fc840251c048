//! What a saved prediction was made of: whether it still is that of the kernels in the program.

use crate::catalogue::Rung;
use crate::problem::Shape;
use crate::run::RunError;
use warpladder::ptx;
use warpladder_models::devices::DeviceModel;

/// A number that changes with the kernels that a rung launches for a size on a device, and with
/// their PTX; not with the lines that the PTX stands in, nor with kernels beside them.
///
/// # Errors
/// Those of the preflight.
pub fn fingerprint(
    device: &DeviceModel,
    rung: &'static Rung,
    shape: Shape,
) -> Result<u64, RunError> {
    let admitted = super::preflight_for(super::limits(device, None)?, rung, shape)?;
    let mut hash = Fnv::new();
    for launch in &admitted.planned()?.1.launches {
        hash.add(launch.entry.as_bytes());
        let text = ptx::module(launch.compute_capability).only(launch.entry);
        for line in text.lines().map(str::trim) {
            let marks = [".loc", ".file", "//", "$L__tmp", "$L__func"];
            if !marks.iter().any(|mark| line.starts_with(mark)) {
                add_without_numbers(&mut hash, line);
            }
        }
    }
    Ok(hash.0)
}

/// Adds a line whose labels, `$L__BB7_2`, lose the number of the function.
fn add_without_numbers(hash: &mut Fnv, line: &str) {
    const LABEL: &str = "$L__BB";
    let mut parts = line.split(LABEL);
    hash.add(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        hash.add(LABEL.as_bytes());
        let part = part.trim_start_matches(|c: char| c.is_ascii_digit());
        hash.add(part.as_bytes());
    }
    hash.add(b"\n");
}

/// The hash of Fowler, Noll and Vo (FNV-1a, 64 bits): the same number in every program, which the
/// standard library's hashers do not promise.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use warpladder_models::devices;

    #[test]
    fn numbers_of_functions_do_not_count_and_code_does() {
        let of = |line: &str| {
            let mut hash = Fnv::new();
            add_without_numbers(&mut hash, line);
            hash.0
        };
        assert_eq!(of("bra $L__BB7_2;"), of("bra $L__BB12_2;"));
        assert_ne!(of("bra $L__BB7_2;"), of("bra $L__BB7_3;"));
        assert_ne!(of("add.s32 %r1, %r2, 1;"), of("add.s32 %r1, %r2, 2;"));
    }

    #[test]
    fn kernels_differ_and_sizes_of_one_kernel_do_not() {
        let device = devices::find("H200").unwrap();
        let of = |name: &str, size: u32| {
            let shape = Shape {
                m: size,
                n: size,
                k: size,
            };
            fingerprint(device, catalogue::find(name).unwrap(), shape).unwrap()
        };
        assert_eq!(of("naive", 4096), of("naive", 64));
        assert_ne!(of("naive", 4096), of("naive_uncoalesced", 4096));
    }
}
