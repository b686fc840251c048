//! cuBLAS, NVIDIA's library of matrix products.

use super::library::{self, LibraryError, Status, Workspace, check, version_name};
use super::product::{Factors, Product};
use libloading::os::unix::{Library, Symbol};
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr;
use warpladder::launch::DevicePtr;

/// What it is called.
const NAME: &str = "cuBLAS";

/// The names of the library's file, the newest first.
pub const NAMES: [&str; 3] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"];

type Handle = *mut c_void;

/// `cublasGemmStridedBatchedEx`.
type Gemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    c_longlong,
    *const c_void,
    c_int,
    c_int,
    c_longlong,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_longlong,
    c_int,
    c_int,
    c_int,
) -> Status;

/// `cublasGemmEx`: the same without a batch, for which the library has more kernels.
type GemmEx = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> Status;

/// The loaded library with a handle in the current context.
pub struct Cublas {
    handle: Handle,
    version: u32,
    destroy: Symbol<unsafe extern "C" fn(Handle) -> Status>,
    gemm: Symbol<GemmEx>,
    batched: Symbol<Gemm>,
    // Dropped last: the symbols point into it.
    _library: Library,
}

impl Cublas {
    /// Loads the library and opens a handle that queues on `stream`, a `CUstream` of the current
    /// context, with this workspace. With its own it puts an allocation into every graph.
    ///
    /// # Safety
    /// The context is current, and it, the stream and the workspace live as long as this value.
    ///
    /// # Errors
    /// [`LibraryError::Missing`] where it is not there; [`LibraryError::Status`] where it does not
    /// start.
    pub unsafe fn load(stream: *mut c_void, workspace: Workspace) -> Result<Self, LibraryError> {
        let library = library::open(NAME, &NAMES)?;
        // SAFETY: types and names are those of cublas_api.h, the same in all releases that `NAMES`
        // lists.
        let symbols = unsafe {
            (
                library.get::<unsafe extern "C" fn(*mut Handle) -> Status>(b"cublasCreate_v2"),
                library.get::<unsafe extern "C" fn(Handle) -> Status>(b"cublasDestroy_v2"),
                library.get::<unsafe extern "C" fn(Handle, *mut c_void) -> Status>(
                    b"cublasSetStream_v2",
                ),
                library.get::<unsafe extern "C" fn(Handle, *mut c_int) -> Status>(
                    b"cublasGetVersion_v2",
                ),
                library.get::<unsafe extern "C" fn(Handle, *mut c_void, usize) -> Status>(
                    b"cublasSetWorkspace_v2",
                ),
                library.get::<GemmEx>(b"cublasGemmEx"),
                library.get::<Gemm>(b"cublasGemmStridedBatchedEx"),
            )
        };
        let (
            Ok(create),
            Ok(destroy),
            Ok(set_stream),
            Ok(get_version),
            Ok(set_workspace),
            Ok(gemm),
            Ok(batched),
        ) = symbols
        else {
            return Err(library::lacks_functions(NAME, &NAMES));
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a handle of ours; a context is current by this function's
        // contract.
        check("cublasCreate", unsafe { create(&mut handle) })?;
        let mut cublas = Cublas {
            handle,
            version: 0,
            destroy,
            gemm,
            batched,
            _library: library,
        };
        let mut version = 0;
        // SAFETY: the handle is open; stream and workspace live by this function's contract.
        unsafe {
            check("cublasSetStream", set_stream(handle, stream))?;
            // After the stream, which brings the library's own workspace back.
            check(
                "cublasSetWorkspace",
                set_workspace(handle, workspace.pointer.0 as *mut c_void, workspace.bytes),
            )?;
            check("cublasGetVersion", get_version(handle, &mut version))?;
        }
        cublas.version = version.unsigned_abs();
        Ok(cublas)
    }

    /// Name and version, for example `cuBLAS 13.1.0`.
    pub fn name(&self) -> String {
        version_name(NAME, self.version)
    }

    /// Queues a product on the stream.
    ///
    /// # Safety
    /// The pointers are to device memory of the sizes that the product states, which lives until
    /// the stream has been synchronised.
    ///
    /// # Errors
    /// [`LibraryError::Status`], [`LibraryError::Size`].
    pub unsafe fn queue(&self, product: &Product) -> Result<(), LibraryError> {
        let size = |size: u32| c_int::try_from(size).map_err(|_| LibraryError::Size(size));
        let product = product.column_major();
        let [a, b, c] = product.pointers.map(|DevicePtr(address)| address);
        let [lda, ldb, ldc] = product.leading;
        let (lda, ldb, ldc) = (size(lda)?, size(ldb)?, size(ldc)?);
        let (m, n, k) = (size(product.m)?, size(product.n)?, size(product.k)?);
        let [transpose_a, transpose_b] = product.transposed.map(c_int::from);
        let [input, output] = [product.input, product.output].map(|data| data as c_int);
        let compute = product.compute_type();
        let factors = Factors::of(&product);
        let [alpha, beta] = factors.pointers();
        let address = |address: u64| address as *mut c_void;
        let (count, strides) = product.batch;
        if count == 1 {
            // SAFETY: the matrices are in device memory by this function's contract; the factors
            // live through the call.
            return check("cublasGemmEx", unsafe {
                (self.gemm)(
                    self.handle,
                    transpose_a,
                    transpose_b,
                    m,
                    n,
                    k,
                    alpha,
                    address(a),
                    input,
                    lda,
                    address(b),
                    input,
                    ldb,
                    beta,
                    address(c),
                    output,
                    ldc,
                    compute,
                    DEFAULT_ALGORITHM,
                )
            });
        }
        let [stride_a, stride_b, stride_c] = strides.map(|stride| stride as c_longlong);
        // SAFETY: the handle is valid until it is dropped. The caller of `queue` ensures that the
        // matrices lie in device memory with these extents, leading dimensions and strides; the
        // factors are of the compute type, on the host, and live through the call.
        check("cublasGemmStridedBatchedEx", unsafe {
            (self.batched)(
                self.handle,
                transpose_a,
                transpose_b,
                m,
                n,
                k,
                alpha,
                address(a),
                input,
                lda,
                stride_a,
                address(b),
                input,
                ldb,
                stride_b,
                beta,
                address(c),
                output,
                ldc,
                stride_c,
                size(count)?,
                compute,
                DEFAULT_ALGORITHM,
            )
        })
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: the handle is open. Nothing can be done about a failure here.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

/// `CUBLAS_GEMM_DEFAULT`: the library's own choice of a kernel.
const DEFAULT_ALGORITHM: c_int = -1;
