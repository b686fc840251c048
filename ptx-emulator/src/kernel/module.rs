//! Modules: PTX text and what it declares.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Kernel, KernelInner};
use crate::decode::{self, ModuleNames};
use crate::error::{KernelError, LaunchError, MemoryError};
use crate::memory::Memory;
use crate::parallelism::available_workers;
use ptx_syntax::ast::{DeclaredSpace, Function, Initializer, Tree, Variable};
use ptx_syntax::{self, Bodies, ParseError};

#[derive(Debug)]
pub(crate) struct ModuleInner {
    /// Distinguishes modules in a memory's table of variables.
    pub id: u64,
    pub text: String,
    pub tree: Tree,
    /// What its names refer to; found at first use.
    names: OnceLock<ModuleNames>,
    /// Starts of the lines after the first one, in bytes; found at first use.
    line_starts: OnceLock<Vec<u32>>,
}

/// A PTX module. Clones share it.
#[derive(Clone, Debug)]
pub struct Module(Arc<ModuleInner>);

impl Module {
    /// Parses PTX text.
    ///
    /// # Errors
    /// The first position where the text is not well formed. Instructions are checked by
    /// [`Module::kernel`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::with_bodies(text, Bodies::Check)
    }

    /// Finds what is declared in PTX text, and leaves the bodies of its functions for later: for
    /// large modules of which few kernels are run. It takes a small part of the time of
    /// [`Module::parse`].
    ///
    /// # Errors
    /// The first position outside of the bodies where the text is not well formed, or a body
    /// without an end. [`Module::kernel`] reports where a body is not well formed.
    pub fn index(text: &str) -> Result<Self, ParseError> {
        Self::with_bodies(text, Bodies::Skip)
    }

    fn with_bodies(text: &str, bodies: Bodies) -> Result<Self, ParseError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let text = ptx_syntax::join_opcodes(text);
        let tree = ptx_syntax::parse(&text, bodies).map_err(|error| *error)?;
        Ok(Module(Arc::new(ModuleInner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            text: text.into_owned(),
            tree,
            names: OnceLock::new(),
            line_starts: OnceLock::new(),
        })))
    }

    /// The PTX text, by [`ptx_syntax::join_opcodes`].
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Names of the kernels, in the order of the text.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let kernels = self.0.tree.functions.iter().filter(|f| is_kernel(f));
        kernels.map(|function| function.name.of(&self.0.text))
    }

    /// The name of the kernel at an address that the module's code takes, as that of a kernel which
    /// another one is to launch.
    pub fn kernel_name_at(&self, address: u64) -> Option<&str> {
        let index = crate::address_space::function_at(address)?;
        let function = self.0.tree.functions.get(index).filter(|f| is_kernel(f))?;
        Some(function.name.of(&self.0.text))
    }

    /// `.version`: (major, minor).
    pub fn version(&self) -> (u32, u32) {
        self.0.tree.version
    }

    /// `.target`, for example `sm_70`.
    pub fn target(&self) -> &str {
        &self.0.tree.target
    }

    /// Decodes a kernel and the functions that it calls.
    ///
    /// # Errors
    /// [`KernelError`] names an unknown kernel, or the instruction that is not known, or not well
    /// formed, and its line.
    pub fn kernel(&self, name: &str) -> Result<Kernel, KernelError> {
        self.decode(self.index_of(name)?, false)
    }

    fn index_of(&self, name: &str) -> Result<usize, KernelError> {
        self.0.names().kernel(name).ok_or_else(|| {
            let known: Vec<&str> = self.kernel_names().collect();
            KernelError::Unknown {
                name: name.to_string(),
                known: known.join(", "),
            }
        })
    }

    /// Decodes a kernel and the functions that it calls for an observer that
    /// [steps](crate::Observer::STEPS): each PTX instruction is a basic block of its own, and each
    /// register of the text keeps its value. The kernel does the same as that of
    /// [`Module::kernel`], with its lanes and warps in the same order, but takes longer.
    ///
    /// # Errors
    /// As [`Module::kernel`].
    pub fn kernel_for_stepping(&self, name: &str) -> Result<Kernel, KernelError> {
        self.decode(self.index_of(name)?, true)
    }

    /// Decodes all kernels, in the order of the text, on `workers` threads, or else on as many as
    /// the machine has processors.
    ///
    /// # Errors
    /// As [`Module::kernel`], of the first kernel that has any.
    pub fn kernels(&self, workers: Option<usize>) -> Result<Vec<Kernel>, KernelError> {
        let functions = self.0.tree.functions.iter().enumerate();
        let kernels: Vec<usize> = functions
            .filter(|(_, function)| is_kernel(function))
            .map(|(index, _)| index)
            .collect();
        let workers = workers.unwrap_or_else(available_workers).min(kernels.len());
        let decoded: Vec<OnceLock<_>> = kernels.iter().map(|_| OnceLock::new()).collect();
        // The largest come first, so that no worker starts one when the others are idle.
        let mut order: Vec<usize> = (0..kernels.len()).collect();
        order.sort_by_key(|&place| {
            let body = self.0.tree.functions[kernels[place]].body;
            Reverse(body.map(|body| body.end - body.start))
        });
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&place) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                // Each slot is set by one worker alone.
                _ = decoded[place].set(self.decode(kernels[place], false));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
        decoded
            .into_iter()
            .filter_map(OnceLock::into_inner)
            .collect()
    }

    fn decode(&self, function: usize, for_stepping: bool) -> Result<Kernel, KernelError> {
        let inner = &self.0;
        let program = decode::decode(
            &inner.tree,
            &inner.text,
            inner.names(),
            function,
            for_stepping,
        )?;
        let kernel = KernelInner::new(inner.clone(), function, program);
        Ok(Kernel(Arc::new(kernel)))
    }

    /// Bytes of the module's constants.
    pub fn constant_bytes(&self) -> u64 {
        let variables = self.0.tree.variables.iter();
        let constants = variables.filter(|one| one.space == DeclaredSpace::Const);
        constants.map(|one| one.bytes).sum()
    }

    /// The address in `memory` of a `.global` or `.const` variable of the module, and its bytes;
    /// none where the module has no such variable.
    ///
    /// # Errors
    /// [`LaunchError::Variables`] where the module's variables do not fit into the memory.
    pub fn variable(&self, memory: &Memory, name: &str) -> Result<Option<(u64, u64)>, LaunchError> {
        let variables = &self.0.tree.variables;
        let found = self.0.names().variable(name);
        let found = found.filter(|(index, _)| variables[*index].space != DeclaredSpace::Shared);
        let Some((index, start)) = found else {
            return Ok(None);
        };
        let table = self.0.variables(memory)?;
        Ok(Some((table[index] + start, variables[index].stride())))
    }
}

fn is_kernel(function: &Function) -> bool {
    function.entry && function.body.is_some()
}

/// Bytes of a variable in device memory, and whether they are constant.
fn extent(variable: &Variable) -> (u64, bool) {
    match variable.space {
        DeclaredSpace::Shared => (0, false),
        space => (variable.bytes, space == DeclaredSpace::Const),
    }
}

impl ModuleInner {
    fn names(&self) -> &ModuleNames {
        self.names
            .get_or_init(|| ModuleNames::of(&self.tree, &self.text))
    }

    pub(super) fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let ends = self.text.match_indices('\n');
            ends.map(|(at, _)| at as u32 + 1).collect()
        })
    }

    /// Addresses of the module's variables in a memory, which are made and filled at first use.
    pub(crate) fn variables(&self, memory: &Memory) -> Result<Arc<Vec<u64>>, MemoryError> {
        let sizes: Vec<(u64, bool)> = self.tree.variables.iter().map(extent).collect();
        memory.variables((self.id, None), &sizes, |addresses| {
            let with_values = self.tree.variables.iter().zip(addresses);
            with_values
                .filter(|(variable, _)| !variable.initializer.is_empty())
                .map(|(variable, &address)| (address, self.initial_bytes(variable, addresses)))
                .collect()
        })
    }

    /// The addresses of the module's variables and, behind them, those of variables that its
    /// functions declare.
    pub(crate) fn all_variables(
        &self,
        memory: &Memory,
        of_functions: &[Variable],
    ) -> Result<Arc<Vec<u64>>, MemoryError> {
        let table = self.variables(memory)?;
        if of_functions.is_empty() {
            return Ok(table);
        }
        let mut all = table.to_vec();
        for variable in of_functions {
            let key = (self.id, Some(variable.name.start));
            let own = memory.variables(key, &[extent(variable)], |addresses| {
                match variable.initializer.is_empty() {
                    true => Vec::new(),
                    false => vec![(addresses[0], self.initial_bytes(variable, &table))],
                }
            })?;
            all.extend_from_slice(&own);
        }
        Ok(Arc::new(all))
    }

    fn initial_bytes(&self, variable: &Variable, addresses: &[u64]) -> Vec<u8> {
        let width = variable.ty.bytes() as usize;
        let mut bytes = Vec::new();
        for value in &variable.initializer {
            let bits = match *value {
                Initializer::Integer(bits) => bits,
                Initializer::Float32(bits) => u64::from(bits),
                Initializer::Float64(bits) if width == 4 => {
                    u64::from((f64::from_bits(bits) as f32).to_bits())
                }
                Initializer::Float64(bits) => bits,
                Initializer::Symbol { name, addend, mask } => {
                    let address = self.symbol_address(name.of(&self.text), addresses);
                    let value = address.wrapping_add_signed(addend);
                    match mask {
                        Some(mask) if mask != 0 => (value & mask) >> mask.trailing_zeros(),
                        _ => value,
                    }
                }
            };
            let mut wide = [0u8; 16];
            wide[..8].copy_from_slice(&bits.to_le_bytes());
            bytes.extend_from_slice(&wide[..width.min(16)]);
        }
        bytes
    }

    fn symbol_address(&self, name: &str, addresses: &[u64]) -> u64 {
        if let Some((index, start)) = self.names().variable(name) {
            return addresses[index] + start;
        }
        self.names()
            .function(name)
            .map_or(0, crate::address_space::code_address)
    }
}
