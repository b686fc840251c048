//! cuBLAS, NVIDIA's library of matrix products.

use libloading::os::unix::{Library, Symbol};
use std::error::Error;
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr;
use warpladder::launch::DevicePtr;

/// The names of the library's file, the newest first.
pub const NAMES: [&str; 3] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"];

/// Why cuBLAS did not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CublasError {
    /// It is not there.
    #[error(
        "cuBLAS cannot be loaded: {0}: put the folder of libcublas.so, which comes with the CUDA \
         toolkit, into \
         LD_LIBRARY_PATH"
    )]
    Missing(String),
    /// One of its functions failed.
    #[error("{call} failed with status {status}: see cublasStatus_t in cuBLAS's documentation")]
    Status {
        /// The function.
        call: &'static str,
        /// What it returned.
        status: c_int,
    },
    /// A size that its 32-bit interface does not take.
    #[error("cuBLAS takes sizes up to 2147483647, not {0}: use a smaller one")]
    Size(u32),
}

/// Types of elements, with the numbers of `cudaDataType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataType {
    /// IEEE binary32.
    F32 = 0,
    /// IEEE binary64.
    F64 = 1,
    /// IEEE binary16.
    F16 = 2,
    /// bfloat16.
    Bf16 = 14,
}

/// A product C ← α op(A) · op(B) + β C of row-major matrices in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Type of A and B.
    pub input: DataType,
    /// Type of C.
    pub output: DataType,
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// The dimension that is summed over.
    pub k: u32,
    /// A, B and C.
    pub pointers: [DevicePtr; 3],
    /// Distance of two rows as they are stored.
    pub leading: [u32; 3],
    /// Whether op transposes A, and B.
    pub transposed: [bool; 2],
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// Number of products, and the distance of two of each matrix.
    pub batch: (u32, [u64; 3]),
    /// Whether products of `f32` may round their inputs to TF32.
    pub tf32: bool,
}

type Status = c_int;
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
    /// context.
    ///
    /// # Safety
    /// The context is current, and it and the stream live as long as this value.
    ///
    /// # Errors
    /// [`CublasError::Missing`] where it is not there; [`CublasError::Status`] where it does not
    /// start.
    pub unsafe fn load(stream: *mut c_void) -> Result<Self, CublasError> {
        let library = open()?;
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
                library.get::<GemmEx>(b"cublasGemmEx"),
                library.get::<Gemm>(b"cublasGemmStridedBatchedEx"),
            )
        };
        let (Ok(create), Ok(destroy), Ok(set_stream), Ok(get_version), Ok(gemm), Ok(batched)) =
            symbols
        else {
            return Err(CublasError::Missing("it lacks functions".to_owned()));
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
        // SAFETY: the handle is open; the stream lives by this function's contract.
        unsafe {
            check("cublasSetStream", set_stream(handle, stream))?;
            check("cublasGetVersion", get_version(handle, &mut version))?;
        }
        cublas.version = version.unsigned_abs();
        Ok(cublas)
    }

    /// Name and version, for example `cuBLAS 13.1.0`.
    pub fn name(&self) -> String {
        let version = self.version;
        // Before release 11 the number had another form.
        format!(
            "cuBLAS {}.{}.{}",
            version / 10_000,
            version / 100 % 100,
            version % 100
        )
    }

    /// Queues a product on the stream.
    ///
    /// # Safety
    /// The pointers are to device memory of the sizes that the product states, which lives until
    /// the stream has been synchronised.
    ///
    /// # Errors
    /// [`CublasError::Status`], [`CublasError::Size`].
    pub unsafe fn queue(&self, product: &Product) -> Result<(), CublasError> {
        let Product { m, n, k, .. } = *product;
        let size = |size: u32| c_int::try_from(size).map_err(|_| CublasError::Size(size));
        // A row-major matrix is the transpose of a column-major one: C' = op(B)' · op(A)'.
        let [a, b, c] = product.pointers.map(|DevicePtr(address)| address);
        let [lda, ldb, ldc] = product.leading;
        let (lda, ldb, ldc) = (size(lda)?, size(ldb)?, size(ldc)?);
        let (m, n, k) = (size(m)?, size(n)?, size(k)?);
        let [transpose_a, transpose_b] = product.transposed.map(c_int::from);
        let [input, output] = [product.input, product.output].map(|data| data as c_int);
        let compute = compute_type(product);
        // Factors have the type that is computed in.
        let single = [product.alpha as f32, product.beta as f32];
        let double = [product.alpha, product.beta];
        let factors: [*const c_void; 2] = if product.output == DataType::F64 {
            [
                ptr::from_ref(&double[0]).cast(),
                ptr::from_ref(&double[1]).cast(),
            ]
        } else {
            [
                ptr::from_ref(&single[0]).cast(),
                ptr::from_ref(&single[1]).cast(),
            ]
        };
        let [alpha, beta] = factors;
        let address = |address: u64| address as *mut c_void;
        let (count, strides) = product.batch;
        if count == 1 {
            // SAFETY: the matrices are in device memory by this function's contract; the factors
            // live through the call.
            return check("cublasGemmEx", unsafe {
                (self.gemm)(
                    self.handle,
                    transpose_b,
                    transpose_a,
                    n,
                    m,
                    k,
                    alpha,
                    address(b),
                    input,
                    ldb,
                    address(a),
                    input,
                    lda,
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
                transpose_b,
                transpose_a,
                n,
                m,
                k,
                alpha,
                address(b),
                input,
                ldb,
                stride_b,
                address(a),
                input,
                lda,
                stride_a,
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

fn open() -> Result<Library, CublasError> {
    let mut reason = None;
    for name in NAMES {
        // SAFETY: the constructors that run are those of NVIDIA's libraries, which any thread may
        // load.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => {
                // The dynamic linker's own message is the source of libloading's.
                let source = error.source().map(ToString::to_string);
                reason.get_or_insert_with(|| source.unwrap_or_else(|| error.to_string()));
            }
        }
    }
    Err(CublasError::Missing(reason.unwrap_or_default()))
}

fn check(call: &'static str, status: Status) -> Result<(), CublasError> {
    if status == 0 {
        Ok(())
    } else {
        Err(CublasError::Status { call, status })
    }
}

/// `CUBLAS_GEMM_DEFAULT`: the library's own choice of a kernel.
const DEFAULT_ALGORITHM: c_int = -1;

/// `cublasComputeType_t`.
fn compute_type(product: &Product) -> c_int {
    match (product.output, product.tf32) {
        (DataType::F64, _) => 70,
        (_, true) => 77,
        _ => 68,
    }
}
