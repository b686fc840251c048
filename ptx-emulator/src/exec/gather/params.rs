//! Loads of kernel parameters whose places the kernel computes: elements of an array in a structure
//! that is passed by value.

use super::LaneAddresses;
use crate::exec::run::Run;
use crate::exec::vector::LANES;
use crate::exec::warp_ops::lanes;
use crate::observer::EventSink;

impl<O: EventSink> Run<'_, '_, O> {
    /// A load of kernel parameters whose places the kernel computes; as [`Self::load_together`].
    #[inline(never)]
    pub(super) fn load_params(
        &mut self,
        index: usize,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
    ) -> bool {
        let params = self.launch.params.as_slice();
        let Some(last) = (params.len() as u64).checked_sub(u64::from(bytes)) else {
            return false;
        };
        let (first, parts) = (addresses[mask.trailing_zeros() as usize % LANES], bytes - 1);
        let (mut wrong, mut different) = (false, 0);
        for lane in lanes(mask) {
            let address = addresses[lane];
            wrong |= address > last || address & u64::from(parts) != 0;
            different |= address ^ first;
        }
        if wrong || !bytes.is_power_of_two() {
            return false;
        }
        let word = |word: usize| {
            let mut value = [0; 4];
            // The last word may be in part behind the parameters.
            let known = params.get(4 * word..).unwrap_or_default();
            let count = known.len().min(value.len());
            value[..count].copy_from_slice(&known[..count]);
            u32::from_le_bytes(value)
        };
        let accesses = LaneAddresses {
            addresses,
            base: 0,
            mask,
        };
        let load = &self.program.loads[index];
        let start = first as usize / 4;
        match different {
            // Mostly all lanes read the same.
            0 => {
                let words: [u32; 8] = std::array::from_fn(|at| word(start + at));
                accesses.load(load, &mut self.r, |word, _| words[(word - start) % 8]);
            }
            _ => accesses.load(load, &mut self.r, |at, _| word(at)),
        }
        true
    }
}
