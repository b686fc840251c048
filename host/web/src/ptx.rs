//! Any PTX: its kernels, and one of them run.

use crate::error::RequestError;
use crate::report::{self, Counted, Found, Warp};
use crate::rungs::{BUDGET, MEMORY};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{
    Counters, Kernel, LaunchConfig, LaunchError, Memory, MemoryError, Module, Observer, Sanitizer,
};
use ptx_pictures::AccessTrace;
use ptx_syntax::signature::{self, Kind};
use serde::{Deserialize, Serialize};
use warpladder_lab::emulate::{Argument, Buffers, Placed, Placement, place};

/// Elements of an array that are shown.
const SHOWN: usize = 16;

/// Elements of an array that is proposed for an address.
const PROPOSED: usize = 1024;

/// A kernel of a module.
#[derive(Debug, Serialize)]
pub(crate) struct KernelEntry {
    name: String,
    params: Vec<ParamEntry>,
    /// A block that the kernel takes.
    block: [u32; 3],
    /// Blocks of a cluster, where the kernel names them.
    cluster: Option<[u32; 3]>,
}

#[derive(Debug, Serialize)]
struct ParamEntry {
    name: String,
    bytes: u32,
    /// An argument of this size.
    proposed: String,
}

/// A kernel to run.
#[derive(Debug, Deserialize)]
pub(crate) struct Emulate {
    ptx: String,
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    #[serde(default)]
    cluster: Option<[u32; 3]>,
    #[serde(default)]
    shared_bytes: u32,
    /// In the words of `warpladder emulate`.
    arguments: Vec<String>,
    #[serde(default)]
    watched: Warp,
}

/// What a kernel did.
#[derive(Debug, Serialize)]
pub(crate) struct Emulated {
    fault: Option<String>,
    findings: Vec<Found>,
    counted: Counted,
    /// The arrays afterwards.
    arrays: Vec<ShownArray>,
    /// What it printed.
    printed: String,
}

#[derive(Debug, Serialize)]
struct ShownArray {
    argument: String,
    /// Its type and lengths.
    array: String,
    /// Its first elements.
    elements: Vec<String>,
    /// How many there are.
    count: usize,
}

/// The kernels of a module.
pub(crate) fn kernels(text: &str) -> Result<Vec<KernelEntry>, RequestError> {
    let module = Module::parse(text)?;
    let signatures = signature::Module::read(text);
    let entry = |name: &str| {
        let kernel = module.kernel(name)?;
        let read = signatures
            .entry(name)
            .and_then(|entry| entry.parameters.as_ref());
        let kind = |index: usize| read.and_then(|all| Some(all.get(index)?.kind));
        let params = kernel.params().iter().enumerate();
        let params = params.map(|(index, param)| ParamEntry {
            name: param.name.clone(),
            bytes: param.bytes,
            proposed: proposed(param.bytes, kind(index)),
        });
        Ok(KernelEntry {
            name: name.to_owned(),
            params: params.collect(),
            block: kernel.required_threads().unwrap_or([32, 1, 1]),
            cluster: kernel.required_cluster(),
        })
    };
    module.kernel_names().map(entry).collect()
}

/// An argument for a parameter: what compilers declare for it does not say more.
fn proposed(bytes: u32, kind: Option<Kind>) -> String {
    match (bytes, kind) {
        (8, Some(Kind::Float)) => "f64:1".to_owned(),
        (8, _) => format!("f32[{PROPOSED}]=random"),
        (4, Some(Kind::Float)) => "f32:1".to_owned(),
        (4, _) => format!("u32:{PROPOSED}"),
        (2, Some(Kind::Float)) => "f16:1".to_owned(),
        (2, _) => "u16:1".to_owned(),
        (1, _) => "u8:1".to_owned(),
        (bytes, _) => format!("bytes:{}", "00".repeat(bytes as usize)),
    }
}

/// Runs a kernel twice: counted, and under the sanitizers.
pub(crate) fn emulate(request: &Emulate) -> Result<Emulated, RequestError> {
    let module = Module::parse(&request.ptx)?;
    let kernel = module.kernel(&request.entry)?;
    let expected = kernel.params().len();
    if request.arguments.len() != expected {
        return Err(RequestError::ArgumentCount {
            kernel: request.entry.clone(),
            expected,
            given: request.arguments.len(),
        });
    }
    let parsed = request.arguments.iter().enumerate().map(|(index, text)| {
        let parsed = text.trim().parse();
        parsed.map_err(|source| RequestError::Argument { index, source })
    });
    let arguments: Vec<Argument> = parsed.collect::<Result<_, _>>()?;

    let mut counted = (Counters::new(), AccessTrace::new(request.watched.into()));
    let launch = Launch::new(&kernel, request, &arguments)?;
    let fault = launch.run(&mut counted)?;
    let printed = launch.memory.take_printed();
    let arrays = launch.placement.arrays.iter();
    let arrays = arrays.map(|(argument, placed)| shown(argument, placed, &launch.memory));
    let arrays = arrays.collect::<Result<_, _>>()?;

    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    Launch::new(&kernel, request, &arguments)?.run(&mut sanitizer)?;
    let (counters, trace) = counted;
    Ok(Emulated {
        fault: fault.map(|fault| fault.to_string()),
        findings: report::found(&sanitizer.all_findings()),
        counted: report::counted(&counters, &trace, None),
        arrays,
        printed: String::from_utf8_lossy(&printed).into_owned(),
    })
}

/// A launch with its memory.
struct Launch<'a> {
    kernel: &'a Kernel,
    memory: Memory,
    placement: Placement,
    config: LaunchConfig,
}

impl<'a> Launch<'a> {
    fn new(
        kernel: &'a Kernel,
        request: &Emulate,
        arguments: &[Argument],
    ) -> Result<Self, RequestError> {
        let memory = Memory::with_capacity(MEMORY);
        let placement = place(arguments, &Buffers::new(), &memory)?;
        let config = LaunchConfig {
            cluster: request.cluster,
            dynamic_shared_bytes: request.shared_bytes,
            instruction_budget: BUDGET,
            workers: Some(1),
            ..LaunchConfig::new(request.grid, request.block)
        };
        Ok(Launch {
            kernel,
            memory,
            placement,
            config,
        })
    }

    /// The fault that ended it, if one did.
    fn run(&self, observer: &mut impl Observer) -> Result<Option<LaunchError>, LaunchError> {
        let Launch {
            kernel,
            memory,
            placement,
            config,
        } = self;
        match kernel.launch_observed(memory, config, &placement.args, observer) {
            Ok(_) => Ok(None),
            Err(fault @ LaunchError::Fault(_)) => Ok(Some(fault)),
            Err(refused) => Err(refused),
        }
    }
}

fn shown(argument: &str, placed: &Placed, memory: &Memory) -> Result<ShownArray, MemoryError> {
    let array = placed.read(memory)?;
    let elements = array.bytes.chunks_exact(array.element.bytes());
    let count = elements.len();
    let lengths: Vec<String> = array.shape.iter().map(usize::to_string).collect();
    Ok(ShownArray {
        argument: argument.to_owned(),
        array: format!("{}[{}]", array.element, lengths.join(",")),
        elements: elements
            .take(SHOWN)
            .map(|bytes| array.element.show(bytes))
            .collect(),
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_proposed_is_an_argument_of_the_size() {
        let kinds = [
            None,
            Some(Kind::Integer),
            Some(Kind::Float),
            Some(Kind::Bits),
        ];
        for kind in kinds {
            for bytes in [1, 2, 4, 8, 16, 24] {
                let argument: Argument = proposed(bytes, kind).parse().unwrap();
                let memory = Memory::with_capacity(1 << 20);
                let placed = place(&[argument], &Buffers::new(), &memory).unwrap();
                assert_eq!(placed.args.len(), 1);
            }
        }
    }
}
