//! What instructions mean for the order of accesses (PTX ISA, "Memory Consistency Model").
use crate::ir::InstructionId;
use crate::kernel::Kernel;

/// What an instruction means for the order of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Semantics {
    pub acquires: bool,
    pub releases: bool,
    /// It is an operation on an mbarrier.
    pub is_mbarrier: bool,
    /// It issues an asynchronous operation.
    pub is_async: bool,
    /// It issues an asynchronous operation on tensor memory.
    pub is_on_tensor_memory: bool,
    /// It is a fence between the lanes' own accesses and asynchronous ones.
    pub is_proxy_fence: bool,
    /// It is a fence between threads.
    pub is_fence: bool,
    /// It is a fence for the initialisation of mbarriers.
    pub is_init_fence: bool,
    /// It arrives at a barrier of the block without waiting there.
    pub only_arrives: bool,
    /// It arrives at the barrier of the cluster and releases at most what precedes the last fence.
    pub arrives_relaxed: bool,
    /// It copies to several blocks at once.
    pub is_multicast: bool,
    /// It is a load that is not strong.
    pub is_plain_load: bool,
    /// It is a load or a store that is not strong.
    pub is_plain_access: bool,
    /// It ends the life of an mbarrier. Libraries choose the thread that does it by `match.sync`,
    /// which orders no accesses to memory, but follows the waits of all of its lanes.
    pub ends_mbarrier: bool,
    /// It is `atom.cas`.
    pub is_compare_and_swap: bool,
}

impl Semantics {
    /// Of an instruction, by its opcode with the modifiers.
    fn of(opcode: &str) -> Self {
        let mut parts = opcode.split('.');
        let base = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        let is = |names: &[&str]| names.iter().any(|name| parts.contains(name));
        let mut semantics = Semantics::default();
        match base {
            "mbarrier" => {
                let weaker = is(&["relaxed"]);
                semantics.is_mbarrier = true;
                semantics.ends_mbarrier = is(&["inval"]);
                semantics.releases = is(&["arrive", "arrive_drop"]) && !weaker;
                semantics.acquires = is(&["test_wait", "try_wait"]) && !weaker;
            }
            "barrier" if is(&["cluster"]) => {
                semantics.arrives_relaxed = is(&["relaxed"]);
                semantics.releases = is(&["arrive"]) && !semantics.arrives_relaxed;
                semantics.acquires = is(&["wait"]);
            }
            "bar" | "barrier" => semantics.only_arrives = is(&["arrive"]),
            "cp" => {
                semantics.is_async = true;
                semantics.is_multicast = is(&["multicast::cluster"]);
            }
            "tcgen05" => {
                semantics.is_on_tensor_memory = is(&["mma", "cp"]);
                semantics.is_async = semantics.is_on_tensor_memory;
            }
            "membar" => semantics.is_fence = true,
            "fence" => {
                semantics.is_proxy_fence = is(&["proxy"]) && is(&["async"]);
                semantics.is_fence = !is(&["proxy", "mbarrier_init"]);
                semantics.is_init_fence = is(&["mbarrier_init"]);
            }
            _ => {
                semantics.acquires = is(&["acquire", "acq_rel"]);
                semantics.releases = is(&["release", "acq_rel"]);
                let is_strong = is(&["volatile", "relaxed", "acquire", "mmio"]);
                semantics.is_plain_load = base.starts_with("ld") && !is_strong;
                let is_strong = is_strong || semantics.releases;
                semantics.is_plain_access = !matches!(base, "atom" | "red") && !is_strong;
                semantics.is_compare_and_swap = base == "atom" && is(&["cas"]);
            }
        }
        semantics
    }

    /// Of all instructions of a kernel.
    pub(super) fn of_kernel(kernel: &Kernel) -> Vec<Self> {
        (0..kernel.instruction_count() as u32)
            .map(|id| Self::of(kernel.instruction(InstructionId(id)).opcode()))
            .collect()
    }

    /// Whether other threads may observe through it how far this one has come.
    pub(super) fn synchronises(self) -> bool {
        self.acquires || self.releases || self.is_fence || self.is_mbarrier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_say_what_they_mean() {
        let of = |opcode| {
            let found = Semantics::of(opcode);
            (found.acquires, found.releases)
        };
        assert_eq!(of("mbarrier.arrive.shared.b64"), (false, true));
        assert_eq!(
            of("mbarrier.arrive.relaxed.cluster.shared::cta.b64"),
            (false, false)
        );
        assert_eq!(
            of("mbarrier.try_wait.parity.shared::cta.b64"),
            (true, false)
        );
        assert_eq!(
            of("cp.async.mbarrier.arrive.noinc.shared.b64"),
            (false, false)
        );
        assert_eq!(of("atom.acq_rel.gpu.global.add.u32"), (true, true));
        assert_eq!(of("atom.global.add.u32"), (false, false));
        assert_eq!(of("ld.acquire.gpu.global.u32"), (true, false));
        assert_eq!(of("barrier.cluster.arrive.aligned"), (false, true));
        assert_eq!(of("barrier.cluster.arrive.relaxed"), (false, false));
        assert_eq!(of("barrier.cluster.wait.acquire.aligned"), (true, false));
        assert!(Semantics::of("fence.acq_rel.gpu").is_fence);
        assert!(Semantics::of("fence.proxy.async").is_proxy_fence);
        assert!(!Semantics::of("fence.proxy.async").is_fence);
    }
}
