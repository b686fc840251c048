//! cuBLASLt: cuBLAS's own kernels, each of which can be asked for.
//!
//! Its heuristics give algorithms in the order in which it expects them to be fast; the first one
//! is not always the fastest. Matrices are handed over column-major with the operands swapped
//! (`Product::column_major`), as they are to cuBLAS: not every algorithm takes
//! `CUBLASLT_ORDER_ROW`.

use super::library::{self, LibraryError, Status, Workspace, check, version_name};
use super::product::{DataType, Factors, Product};
use libloading::os::unix::{Library, Symbol};
use std::ffi::{c_int, c_void};
use std::{mem, ptr};
use warpladder::launch::DevicePtr;

/// What it is called.
const NAME: &str = "cuBLASLt";

/// The names of the library's file, the newest first.
pub const NAMES: [&str; 3] = [
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "libcublasLt.so.11",
];

/// Most algorithms that are asked for.
pub const MAX_ALGORITHMS: usize = 32;

type Handle = *mut c_void;
type Descriptor = *mut c_void;

/// `cublasLtMatmulAlgo_t`, which only the library looks into.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Algo {
    data: [u64; 8],
}

/// `cublasLtMatmulHeuristicResult_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct HeuristicResult {
    algo: Algo,
    workspace_bytes: usize,
    state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// Attributes, with the numbers of `cublasLt.h`.
mod attribute {
    use std::ffi::c_int;

    pub(super) const DESC_TRANSA: c_int = 3;
    pub(super) const DESC_TRANSB: c_int = 4;
    pub(super) const LAYOUT_BATCH_COUNT: c_int = 5;
    pub(super) const LAYOUT_STRIDED_BATCH_OFFSET: c_int = 6;
    pub(super) const PREF_MAX_WORKSPACE_BYTES: c_int = 1;
    /// Of A, B, C and D.
    pub(super) const PREF_MIN_ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];
}

type Destroy = unsafe extern "C" fn(Descriptor) -> Status;
/// `cublasLt…SetAttribute`.
type SetAttribute = unsafe extern "C" fn(Descriptor, c_int, *const c_void, usize) -> Status;
type CreateDesc = unsafe extern "C" fn(*mut Descriptor, c_int, c_int) -> Status;
type CreateLayout = unsafe extern "C" fn(*mut Descriptor, c_int, u64, u64, i64) -> Status;
type CreatePreference = unsafe extern "C" fn(*mut Descriptor) -> Status;

/// `cublasLtMatmulAlgoGetHeuristic`.
type GetHeuristic = unsafe extern "C" fn(
    Handle,
    Descriptor,
    Descriptor,
    Descriptor,
    Descriptor,
    Descriptor,
    Descriptor,
    c_int,
    *mut HeuristicResult,
    *mut c_int,
) -> Status;

/// `cublasLtMatmul`.
type Matmul = unsafe extern "C" fn(
    Handle,
    Descriptor,
    *const c_void,
    *const c_void,
    Descriptor,
    *const c_void,
    Descriptor,
    *const c_void,
    *const c_void,
    Descriptor,
    *mut c_void,
    Descriptor,
    *const Algo,
    *mut c_void,
    usize,
    *mut c_void,
) -> Status;

/// The library's functions.
struct Functions {
    create: Symbol<unsafe extern "C" fn(*mut Handle) -> Status>,
    destroy: Symbol<Destroy>,
    get_version: Symbol<unsafe extern "C" fn() -> usize>,
    create_desc: Symbol<CreateDesc>,
    set_desc: Symbol<SetAttribute>,
    destroy_desc: Symbol<Destroy>,
    create_layout: Symbol<CreateLayout>,
    set_layout: Symbol<SetAttribute>,
    destroy_layout: Symbol<Destroy>,
    create_preference: Symbol<CreatePreference>,
    set_preference: Symbol<SetAttribute>,
    destroy_preference: Symbol<Destroy>,
    get_heuristic: Symbol<GetHeuristic>,
    matmul: Symbol<Matmul>,
}

impl Functions {
    fn of(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: types and names are those of cublasLt.h, the same in all releases that `NAMES`
        // lists. `CublasLt` drops the symbols before the library.
        unsafe {
            Ok(Functions {
                create: library.get(b"cublasLtCreate")?,
                destroy: library.get(b"cublasLtDestroy")?,
                get_version: library.get(b"cublasLtGetVersion")?,
                create_desc: library.get(b"cublasLtMatmulDescCreate")?,
                set_desc: library.get(b"cublasLtMatmulDescSetAttribute")?,
                destroy_desc: library.get(b"cublasLtMatmulDescDestroy")?,
                create_layout: library.get(b"cublasLtMatrixLayoutCreate")?,
                set_layout: library.get(b"cublasLtMatrixLayoutSetAttribute")?,
                destroy_layout: library.get(b"cublasLtMatrixLayoutDestroy")?,
                create_preference: library.get(b"cublasLtMatmulPreferenceCreate")?,
                set_preference: library.get(b"cublasLtMatmulPreferenceSetAttribute")?,
                destroy_preference: library.get(b"cublasLtMatmulPreferenceDestroy")?,
                get_heuristic: library.get(b"cublasLtMatmulAlgoGetHeuristic")?,
                matmul: library.get(b"cublasLtMatmul")?,
            })
        }
    }
}

/// The loaded library with a handle in the current context.
pub struct CublasLt {
    handle: Handle,
    stream: *mut c_void,
    functions: Functions,
    // Dropped last: the functions lie in it.
    _library: Library,
}

/// A descriptor of the library, which it is given back to.
struct Owned<'l> {
    descriptor: Descriptor,
    destroy: &'l Symbol<Destroy>,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: the library made the descriptor, and no one else destroys it. Nothing can be done
        // about a failure here.
        let _ = unsafe { (self.destroy)(self.descriptor) };
    }
}

/// A product with the algorithms that the library knows for it.
pub struct LtProduct<'l> {
    desc: Owned<'l>,
    /// Of A, B and C, column-major.
    layouts: [Owned<'l>; 3],
    algorithms: Vec<HeuristicResult>,
}

impl LtProduct<'_> {
    /// How many algorithms there are, the one that is expected to be the fastest first.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// Bytes of workspace that an algorithm uses.
    pub fn workspace_bytes(&self, algorithm: usize) -> usize {
        self.algorithms[algorithm].workspace_bytes
    }
}

impl CublasLt {
    /// Loads the library and opens a handle that queues on `stream`, a `CUstream` of the current
    /// context.
    ///
    /// # Safety
    /// The context is current, and it and the stream live as long as this value.
    ///
    /// # Errors
    /// [`LibraryError::Missing`] where it is not there; [`LibraryError::Status`] where it does not
    /// start.
    pub unsafe fn load(stream: *mut c_void) -> Result<Self, LibraryError> {
        let library = library::open(NAME, &NAMES)?;
        let functions =
            Functions::of(&library).map_err(|_| library::lacks_functions(NAME, &NAMES))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a handle of ours; a context is current by this function's
        // contract.
        check("cublasLtCreate", unsafe { (functions.create)(&mut handle) })?;
        Ok(CublasLt {
            handle,
            stream,
            functions,
            _library: library,
        })
    }

    /// Name and version, for example `cuBLASLt 13.1.0`.
    pub fn name(&self) -> String {
        // SAFETY: the function takes nothing, and returns a number.
        let version = unsafe { (self.functions.get_version)() };
        version_name(NAME, version as u32)
    }

    /// The algorithms for a product that suit matrices with these alignments (see [`alignments`]),
    /// in at most this many bytes of workspace.
    ///
    /// # Errors
    /// [`LibraryError::NoAlgorithm`] where there is none, [`LibraryError::Status`].
    pub fn product(
        &self,
        product: &Product,
        alignments: [u32; 3],
        workspace_bytes: usize,
    ) -> Result<LtProduct<'_>, LibraryError> {
        let swapped = product.column_major();
        let [b, a, c] = alignments;
        let desc = self.desc(&swapped)?;
        let layouts = self.layouts(&swapped)?;
        let preference = self.preference([a, b, c], workspace_bytes)?;
        let [in_a, in_b, in_c] = layouts.each_ref().map(|layout| layout.descriptor);
        // SAFETY: a result consists of numbers, for all of which 0 is a value.
        let mut results: Vec<HeuristicResult> = vec![unsafe { mem::zeroed() }; MAX_ALGORITHMS];
        let mut found: c_int = 0;
        // SAFETY: handle and descriptors are live, and there is room for as many results as are
        // asked for.
        let status = unsafe {
            (self.functions.get_heuristic)(
                self.handle,
                desc.descriptor,
                in_a,
                in_b,
                in_c,
                in_c,
                preference.descriptor,
                MAX_ALGORITHMS as c_int,
                results.as_mut_ptr(),
                &mut found,
            )
        };
        if status != NOT_SUPPORTED {
            check("cublasLtMatmulAlgoGetHeuristic", status)?;
        }
        results.truncate(found.unsigned_abs() as usize);
        results.retain(|result| result.state == 0);
        if results.is_empty() {
            return Err(LibraryError::NoAlgorithm(*product));
        }
        Ok(LtProduct {
            desc,
            layouts,
            algorithms: results,
        })
    }

    /// Queues a product on the stream, by one of the algorithms of `of`.
    ///
    /// # Safety
    /// The pointers are to device memory of the sizes that the product states, which lives until
    /// the stream has been synchronised, as does the workspace.
    ///
    /// # Errors
    /// [`LibraryError::Status`]: the library refuses some of its own algorithms.
    pub unsafe fn queue(
        &self,
        of: &LtProduct<'_>,
        algorithm: usize,
        product: &Product,
        workspace: Workspace,
    ) -> Result<(), LibraryError> {
        let swapped = product.column_major();
        let [a, b, c] = swapped.pointers.map(|DevicePtr(at)| at as *mut c_void);
        let [in_a, in_b, in_c] = of.layouts.each_ref().map(|layout| layout.descriptor);
        let factors = Factors::of(&swapped);
        let [alpha, beta] = factors.pointers();
        // SAFETY: handle, stream and descriptors are live; the factors are of the scale type, on
        // the host, and live through the call. Matrices and workspace are in device memory by this
        // function's contract.
        check("cublasLtMatmul", unsafe {
            (self.functions.matmul)(
                self.handle,
                of.desc.descriptor,
                alpha,
                a,
                in_a,
                b,
                in_b,
                beta,
                c,
                in_c,
                c,
                in_c,
                &of.algorithms[algorithm].algo,
                workspace.pointer.0 as *mut c_void,
                workspace.bytes,
                self.stream,
            )
        })
    }

    fn desc(&self, product: &Product) -> Result<Owned<'_>, LibraryError> {
        let mut descriptor = ptr::null_mut();
        let scale = product.scale_type() as c_int;
        // SAFETY: the pointer is to a descriptor of ours.
        check("cublasLtMatmulDescCreate", unsafe {
            (self.functions.create_desc)(&mut descriptor, product.compute_type(), scale)
        })?;
        let desc = Owned {
            descriptor,
            destroy: &self.functions.destroy_desc,
        };
        // CUBLAS_OP_N and CUBLAS_OP_T are 0 and 1.
        let [a, b] = product.transposed.map(c_int::from);
        let set = &self.functions.set_desc;
        set_attribute(set, &desc, attribute::DESC_TRANSA, &a)?;
        set_attribute(set, &desc, attribute::DESC_TRANSB, &b)?;
        Ok(desc)
    }

    /// Of A, B and C of a column-major product, as they are stored.
    fn layouts(&self, product: &Product) -> Result<[Owned<'_>; 3], LibraryError> {
        let Product { m, n, k, .. } = *product;
        let stored = |rows, columns, transposed| match transposed {
            true => [columns, rows],
            false => [rows, columns],
        };
        let [transposed_a, transposed_b] = product.transposed;
        let [lda, ldb, ldc] = product.leading;
        let (count, [stride_a, stride_b, stride_c]) = product.batch;
        let layout = |data: DataType, [rows, columns]: [u32; 2], leading: u32, stride: u64| {
            let mut descriptor = ptr::null_mut();
            // SAFETY: the pointer is to a descriptor of ours.
            check("cublasLtMatrixLayoutCreate", unsafe {
                (self.functions.create_layout)(
                    &mut descriptor,
                    data as c_int,
                    rows.into(),
                    columns.into(),
                    leading.into(),
                )
            })?;
            let layout = Owned {
                descriptor,
                destroy: &self.functions.destroy_layout,
            };
            if count != 1 {
                let set = &self.functions.set_layout;
                set_attribute(set, &layout, attribute::LAYOUT_BATCH_COUNT, &count)?;
                set_attribute(
                    set,
                    &layout,
                    attribute::LAYOUT_STRIDED_BATCH_OFFSET,
                    &stride,
                )?;
            }
            Ok(layout)
        };
        Ok([
            layout(product.input, stored(m, k, transposed_a), lda, stride_a)?,
            layout(product.input, stored(k, n, transposed_b), ldb, stride_b)?,
            layout(product.output, [m, n], ldc, stride_c)?,
        ])
    }

    fn preference(
        &self,
        [a, b, c]: [u32; 3],
        workspace_bytes: usize,
    ) -> Result<Owned<'_>, LibraryError> {
        let mut descriptor = ptr::null_mut();
        // SAFETY: the pointer is to a descriptor of ours.
        check("cublasLtMatmulPreferenceCreate", unsafe {
            (self.functions.create_preference)(&mut descriptor)
        })?;
        let preference = Owned {
            descriptor,
            destroy: &self.functions.destroy_preference,
        };
        let set = &self.functions.set_preference;
        let bytes = workspace_bytes as u64;
        set_attribute(
            set,
            &preference,
            attribute::PREF_MAX_WORKSPACE_BYTES,
            &bytes,
        )?;
        // D is C.
        for (name, alignment) in attribute::PREF_MIN_ALIGNMENTS.into_iter().zip([a, b, c, c]) {
            set_attribute(set, &preference, name, &alignment)?;
        }
        Ok(preference)
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        // SAFETY: the handle is open. Nothing can be done about a failure here.
        let _ = unsafe { (self.functions.destroy)(self.handle) };
    }
}

/// Sets an attribute of a descriptor; the library refuses a value of another size than its own.
fn set_attribute<T: bytemuck::NoUninit>(
    set: &Symbol<SetAttribute>,
    of: &Owned<'_>,
    attribute: c_int,
    value: &T,
) -> Result<(), LibraryError> {
    // SAFETY: the descriptor is live, and is of the kind that `set` is for: both come from one
    // function of `CublasLt`. The value is read through the call alone.
    check("cublasLt…SetAttribute", unsafe {
        set(
            of.descriptor,
            attribute,
            ptr::from_ref(value).cast(),
            size_of::<T>(),
        )
    })
}

/// The alignment in bytes that A, B and C have in all of these products, as the heuristics ask for
/// it: a power of two, at most 256. They see what leading dimensions allow by themselves.
pub fn alignments(products: &[Product]) -> [u32; 3] {
    std::array::from_fn(|matrix| {
        let addresses = products.iter().map(|product| product.pointers[matrix].0);
        let bits = addresses.fold(MAX_ALIGNMENT.into(), |bits: u64, address| bits | address);
        1 << bits.trailing_zeros()
    })
}

/// What the heuristics suppose unless they are told; `cudaMalloc` gives no less.
const MAX_ALIGNMENT: u32 = 256;

/// `CUBLAS_STATUS_NOT_SUPPORTED`.
const NOT_SUPPORTED: Status = 15;

#[cfg(test)]
mod tests {
    use super::super::product::tests::some_product;
    use super::*;
    use std::mem::offset_of;

    /// `cublasLt.h` of 13.1: 8 words of 64 bits; then a `size_t`, a status, a float and 4 ints.
    #[test]
    fn results_of_heuristics_lie_as_in_the_header() {
        assert_eq!((size_of::<Algo>(), align_of::<Algo>()), (64, 8));
        assert_eq!(offset_of!(HeuristicResult, algo), 0);
        assert_eq!(offset_of!(HeuristicResult, workspace_bytes), 64);
        assert_eq!(offset_of!(HeuristicResult, state), 72);
        assert_eq!(offset_of!(HeuristicResult, waves), 76);
        assert_eq!(offset_of!(HeuristicResult, reserved), 80);
        assert_eq!(size_of::<HeuristicResult>(), 96);
    }

    #[test]
    fn alignments_are_those_that_all_products_have() {
        let at = |addresses: [u64; 3]| Product {
            pointers: addresses.map(DevicePtr),
            ..some_product()
        };
        assert_eq!(alignments(&[at([0x1000, 0x200, 0x100])]), [256; 3]);
        let both = [at([0x1000, 0x1010, 0x102]), at([0x1040, 0x1000, 0x104])];
        assert_eq!(alignments(&both), [64, 16, 2]);
        assert_eq!(alignments(&[]), [256; 3]);
    }

    #[test]
    fn a_product_without_algorithm_is_refused_in_one_line() {
        let text = LibraryError::NoAlgorithm(some_product()).to_string();
        assert_eq!(
            text,
            "cuBLASLt has no algorithm for 3 x 5 x 7 nt of bf16 with an output of f32: compare \
             with --peer cublas"
        );
        let of_floats = Product {
            input: DataType::E4m3,
            ..some_product()
        };
        let text = LibraryError::NoAlgorithm(of_floats).to_string();
        assert!(text.ends_with("compare in the layout nt, with n and k that are multiples of 16"));
    }
}
