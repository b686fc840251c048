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
        hash.add_code(&ptx::module(launch.compute_capability).only(launch.entry));
    }
    Ok(hash.0)
}

/// The hash of Fowler, Noll and Vo (FNV-1a, 64 bits): the same number in every program, which the
/// standard library's hashers do not promise.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Adds the lines of a text that say what its kernels do, and not where that was written.
    fn add_code(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            let says_where = [".loc", ".file", "//"];
            if !line.is_empty() && !says_where.iter().any(|mark| line.starts_with(mark)) {
                self.add(line.as_bytes());
                self.add(b"\n");
            }
        }
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
    fn places_do_not_count_and_code_does() {
        let of = |text: &str| {
            let mut hash = Fnv::new();
            hash.add_code(text);
            hash.0
        };
        let code = "{\n\tadd.s32 %r1, %r2, 1;\n\tret;\n}\n";
        let elsewhere = "\n\n{\n\t.loc\t1 5 9\n\tadd.s32 %r1, %r2, 1;\n// end\n\n\tret;\n}\n";
        assert_eq!(of(code), of(elsewhere));
        assert_ne!(of(code), of(&code.replace("1;", "2;")));
        assert_ne!(of("bra $L__BB_1;"), of("bra $L__BB_2;"));
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
