//! Products by a library of NVIDIA, as a peer.

use super::choice::{self, Choice};
use super::comparer::{CompareError, Comparer};
use super::comparison::{Heuristics, OtherPeer};
use super::contestant::Peer;
use crate::peer::cublas::Cublas;
use crate::peer::cublaslt::{self, CublasLt, LtProduct};
use crate::peer::library::{LibraryError, Workspace};
use crate::peer::product::{DataType, Product};
use std::ops::ControlFlow;
use warpladder::engine::Buffer;

/// Bytes that cuBLASLt's algorithms may use beside the matrices.
pub(super) const WORKSPACE_BYTES: usize = 128 << 20;

/// Bytes that cuBLAS may use: what it has by itself on an H100 (cuBLAS documentation,
/// "cublasSetWorkspace").
pub(super) const CUBLAS_WORKSPACE_BYTES: usize = 32 << 20;

/// One library with what it was asked for.
enum Library<'e> {
    Cublas(&'e Cublas),
    CublasLt {
        library: &'e CublasLt,
        product: LtProduct<'e>,
        workspace: Workspace,
        algorithm: usize,
        heuristics: Heuristics,
    },
}

impl Library<'_> {
    fn name(&self) -> String {
        match self {
            Library::Cublas(library) => library.name(),
            Library::CublasLt { library, .. } => library.name(),
        }
    }

    /// # Safety
    /// As [`Cublas::queue`].
    unsafe fn queue(&self, of_set: &Product) -> Result<(), LibraryError> {
        match self {
            // SAFETY: the same contract.
            Library::Cublas(library) => unsafe { library.queue(of_set) },
            Library::CublasLt {
                library,
                product,
                workspace,
                algorithm,
                ..
            } => {
                // SAFETY: the same contract; the workspace is the comparer's, which outlives this.
                unsafe { library.queue(product, *algorithm, of_set, *workspace) }
            }
        }
    }
}

/// The products of all sets of data, by one library.
pub(super) struct Products<'e> {
    library: Library<'e>,
    /// One for each set of data, which it shares with the kernel, but for the output.
    products: Vec<Product>,
    pub outputs: Vec<Buffer<'e>>,
    /// The slower library, where the faster one was asked for.
    pub other: Option<OtherPeer>,
}

impl<'e> Products<'e> {
    /// Products by the library that `peer` names; by the faster one where that is
    /// [`Peer::Best`]. The matrices are those of the kernel and of `outputs`.
    pub(super) fn new(
        comparer: &'e Comparer<'_>,
        peer: Peer,
        products: Vec<Product>,
        outputs: Vec<Buffer<'e>>,
    ) -> Result<Self, CompareError> {
        let mut libraries = Vec::new();
        if peer != Peer::CublasLt {
            libraries.push(Library::Cublas(comparer.cublas()?));
        }
        if peer != Peer::Cublas {
            match by_cublaslt(comparer, &products) {
                Ok(library) => libraries.push(library),
                Err(CompareError::Library(LibraryError::NoAlgorithm(_))) if peer == Peer::Best => {}
                Err(error) => return Err(error),
            }
        }
        let mut other = None;
        if let [_, _] = &libraries[..] {
            let choice = choice::fastest(libraries.len(), products.len(), |index, launches| {
                sample(comparer, launches, &products, |of_set| {
                    // SAFETY: the matrices are those of the kernel and of `outputs`, which live
                    // until `sample` has synchronised the stream.
                    unsafe { libraries[index].queue(of_set) }
                })
            })?;
            if let Some(choice) = choice {
                let best = libraries.swap_remove(choice.best);
                let slower = libraries.pop().zip(choice.ms[1 - choice.best]);
                other = slower.map(|(library, ms)| OtherPeer {
                    peer: library.name(),
                    ms,
                });
                libraries.push(best);
            }
        }
        let library = libraries.swap_remove(0);
        Ok(Products {
            library,
            products,
            outputs,
            other,
        })
    }

    /// The library's name and version.
    pub(super) fn name(&self) -> String {
        self.library.name()
    }

    /// Whether the outputs hold integers, in place of elements of the kernel's type.
    pub(super) fn has_integers(&self) -> bool {
        self.products[0].output == DataType::I32
    }

    /// What it is called in errors.
    pub(super) fn label(&self) -> &'static str {
        match self.library {
            Library::Cublas(_) => "cuBLAS",
            Library::CublasLt { .. } => "cuBLASLt",
        }
    }

    /// How cuBLASLt's algorithm was found.
    pub(super) fn heuristics(&self) -> Option<Heuristics> {
        match &self.library {
            Library::Cublas(_) => None,
            Library::CublasLt { heuristics, .. } => Some(*heuristics),
        }
    }

    /// Puts the product of a set of data on the stream.
    ///
    /// # Safety
    /// The kernel's matrices live until the stream has been synchronised.
    pub(super) unsafe fn queue(&self, set: usize) -> Result<(), LibraryError> {
        // SAFETY: the same contract; the outputs live as long as this value.
        unsafe { self.library.queue(&self.products[set]) }
    }
}

/// cuBLASLt with the fastest of its algorithms for these products.
fn by_cublaslt<'e>(
    comparer: &'e Comparer<'_>,
    products: &[Product],
) -> Result<Library<'e>, CompareError> {
    let (library, workspace) = comparer.cublaslt()?;
    let first = products[0];
    let alignments = cublaslt::alignments(products);
    let product = library.product(&first, alignments, workspace.bytes)?;
    let (algorithms, copies) = (product.algorithms(), products.len());
    let choice = choice::fastest(algorithms, copies, |algorithm, launches| {
        sample(comparer, launches, products, |of_set| {
            // SAFETY: the matrices are those of the kernel and of the peer's outputs, which live
            // until `sample` has synchronised the stream; the workspace is the comparer's.
            unsafe { library.queue(&product, algorithm, of_set, workspace) }
        })
    })?;
    let Some(Choice {
        best,
        best_ms,
        ms,
        tried,
    }) = choice
    else {
        return Err(LibraryError::NoAlgorithm(first).into());
    };
    Ok(Library::CublasLt {
        library,
        workspace,
        algorithm: best,
        heuristics: Heuristics {
            tried,
            best,
            workspace_bytes: product.workspace_bytes(best) as u64,
            first_ms: ms[0],
            best_ms,
        },
        product,
    })
}

/// Milliseconds of a launch, from several that go round through the products; breaks where the
/// library refuses.
fn sample(
    comparer: &Comparer<'_>,
    launches: u32,
    products: &[Product],
    queue: impl Fn(&Product) -> Result<(), LibraryError>,
) -> Result<ControlFlow<(), f64>, CompareError> {
    let sampled = comparer.sample("the peer", launches, |launch| {
        Ok(queue(&products[launch % products.len()])?)
    });
    match sampled {
        Ok(ms) => Ok(ControlFlow::Continue(ms)),
        Err(CompareError::Library(LibraryError::Status { .. })) => Ok(ControlFlow::Break(())),
        Err(error) => Err(error),
    }
}
