//! `cudaError_t`: names and texts, and the last error of a thread. The numbers that the driver has
//! as well are the same there.

use std::ffi::c_char;

use super::LAST;
use crate::context::any_current;
use crate::state::lock;

/// Number, name and text of each error.
#[rustfmt::skip]
const ERRORS: &[(u32, &str, &str)] = &[
    (0, "cudaSuccess\0", "no error\0"),
    (1, "cudaErrorInvalidValue\0", "invalid argument\0"),
    (2, "cudaErrorMemoryAllocation\0", "out of memory\0"),
    (3, "cudaErrorInitializationError\0", "initialization error\0"),
    (4, "cudaErrorCudartUnloading\0", "driver shutting down\0"),
    (5, "cudaErrorProfilerDisabled\0", "profiler disabled while using external profiling tool\0"),
    (6, "cudaErrorProfilerNotInitialized\0",
        "profiler not initialized: call cudaProfilerInitialize()\0"),
    (7, "cudaErrorProfilerAlreadyStarted\0", "profiler already started\0"),
    (8, "cudaErrorProfilerAlreadyStopped\0", "profiler already stopped\0"),
    (9, "cudaErrorInvalidConfiguration\0", "invalid configuration argument\0"),
    (12, "cudaErrorInvalidPitchValue\0", "invalid pitch argument\0"),
    (13, "cudaErrorInvalidSymbol\0", "invalid device symbol\0"),
    (16, "cudaErrorInvalidHostPointer\0", "invalid host pointer\0"),
    (17, "cudaErrorInvalidDevicePointer\0", "invalid device pointer\0"),
    (18, "cudaErrorInvalidTexture\0", "invalid texture reference\0"),
    (19, "cudaErrorInvalidTextureBinding\0", "texture is not bound to a pointer\0"),
    (20, "cudaErrorInvalidChannelDescriptor\0", "invalid channel descriptor\0"),
    (21, "cudaErrorInvalidMemcpyDirection\0", "invalid copy direction for memcpy\0"),
    (22, "cudaErrorAddressOfConstant\0", "invalid address of constant\0"),
    (23, "cudaErrorTextureFetchFailed\0", "fetch from texture failed\0"),
    (24, "cudaErrorTextureNotBound\0", "cannot fetch from a texture that is not bound\0"),
    (25, "cudaErrorSynchronizationError\0", "incorrect use of __syncthreads()\0"),
    (26, "cudaErrorInvalidFilterSetting\0", "linear filtering not supported for non-float type\0"),
    (27, "cudaErrorInvalidNormSetting\0", "read as normalized float not supported for data type\0"),
    (28, "cudaErrorMixedDeviceExecution\0",
        "device emulation mode and device execution mode cannot be mixed\0"),
    (31, "cudaErrorNotYetImplemented\0", "feature not yet implemented\0"),
    (32, "cudaErrorMemoryValueTooLarge\0",
        "memory size or pointer value too large to fit in 32 bit\0"),
    (34, "cudaErrorStubLibrary\0", "CUDA driver is a stub library\0"),
    (35, "cudaErrorInsufficientDriver\0",
        "CUDA driver version is insufficient for CUDA runtime version\0"),
    (36, "cudaErrorCallRequiresNewerDriver\0",
        "API call is not supported in the installed CUDA driver\0"),
    (37, "cudaErrorInvalidSurface\0", "invalid surface reference\0"),
    (43, "cudaErrorDuplicateVariableName\0",
        "duplicate global variable looked up by string name\0"),
    (44, "cudaErrorDuplicateTextureName\0", "duplicate texture looked up by string name\0"),
    (45, "cudaErrorDuplicateSurfaceName\0", "duplicate surface looked up by string name\0"),
    (46, "cudaErrorDevicesUnavailable\0", "CUDA-capable device(s) is/are busy or unavailable\0"),
    (49, "cudaErrorIncompatibleDriverContext\0", "incompatible driver context\0"),
    (52, "cudaErrorMissingConfiguration\0", "__global__ function call is not configured\0"),
    (53, "cudaErrorPriorLaunchFailure\0", "unspecified launch failure in prior launch\0"),
    (65, "cudaErrorLaunchMaxDepthExceeded\0",
        "launch would exceed maximum depth of nested launches\0"),
    (66, "cudaErrorLaunchFileScopedTex\0",
        "launch failed because kernel uses unsupported, file-scoped textures (texture objects \
         are supported)\0"),
    (67, "cudaErrorLaunchFileScopedSurf\0",
        "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects \
         are supported)\0"),
    (68, "cudaErrorSyncDepthExceeded\0",
        "cudaDeviceSynchronize failed because caller's grid depth exceeds \
         cudaLimitDevRuntimeSyncDepth\0"),
    (69, "cudaErrorLaunchPendingCountExceeded\0",
        "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount\0"),
    (98, "cudaErrorInvalidDeviceFunction\0", "invalid device function\0"),
    (100, "cudaErrorNoDevice\0", "no CUDA-capable device is detected\0"),
    (101, "cudaErrorInvalidDevice\0", "invalid device ordinal\0"),
    (102, "cudaErrorDeviceNotLicensed\0", "device doesn't have valid Grid license\0"),
    (103, "cudaErrorSoftwareValidityNotEstablished\0", "integrity checks failed\0"),
    (127, "cudaErrorStartupFailure\0", "startup failure in cuda runtime\0"),
    (200, "cudaErrorInvalidKernelImage\0", "device kernel image is invalid\0"),
    (201, "cudaErrorDeviceUninitialized\0", "invalid device context\0"),
    (205, "cudaErrorMapBufferObjectFailed\0", "mapping of buffer object failed\0"),
    (206, "cudaErrorUnmapBufferObjectFailed\0", "unmapping of buffer object failed\0"),
    (207, "cudaErrorArrayIsMapped\0", "array is mapped\0"),
    (208, "cudaErrorAlreadyMapped\0", "resource already mapped\0"),
    (209, "cudaErrorNoKernelImageForDevice\0",
        "no kernel image is available for execution on the device\0"),
    (210, "cudaErrorAlreadyAcquired\0", "resource already acquired\0"),
    (211, "cudaErrorNotMapped\0", "resource not mapped\0"),
    (212, "cudaErrorNotMappedAsArray\0", "resource not mapped as array\0"),
    (213, "cudaErrorNotMappedAsPointer\0", "resource not mapped as pointer\0"),
    (214, "cudaErrorECCUncorrectable\0", "uncorrectable ECC error encountered\0"),
    (215, "cudaErrorUnsupportedLimit\0", "limit is not supported on this architecture\0"),
    (216, "cudaErrorDeviceAlreadyInUse\0",
        "exclusive-thread device already in use by a different thread\0"),
    (217, "cudaErrorPeerAccessUnsupported\0",
        "peer access is not supported between these two devices\0"),
    (218, "cudaErrorInvalidPtx\0", "a PTX JIT compilation failed\0"),
    (219, "cudaErrorInvalidGraphicsContext\0", "invalid OpenGL or DirectX context\0"),
    (220, "cudaErrorNvlinkUncorrectable\0",
        "uncorrectable NVLink error detected during the execution\0"),
    (221, "cudaErrorJitCompilerNotFound\0", "PTX JIT compiler library not found\0"),
    (222, "cudaErrorUnsupportedPtxVersion\0",
        "the provided PTX was compiled with an unsupported toolchain.\0"),
    (223, "cudaErrorJitCompilationDisabled\0", "PTX JIT compilation was disabled\0"),
    (224, "cudaErrorUnsupportedExecAffinity\0",
        "the provided execution affinity is not supported\0"),
    (225, "cudaErrorUnsupportedDevSideSync\0",
        "the provided PTX contains unsupported call to cudaDeviceSynchronize\0"),
    (226, "cudaErrorContained\0",
        "Invalid access of peer GPU memory over nvlink or a hardware error\0"),
    (227, "cudaErrorInsufficientLoaderVersion\0",
        "the loader is older than the program needs\0"),
    (300, "cudaErrorInvalidSource\0", "device kernel image is invalid\0"),
    (301, "cudaErrorFileNotFound\0", "file not found\0"),
    (302, "cudaErrorSharedObjectSymbolNotFound\0", "shared object symbol not found\0"),
    (303, "cudaErrorSharedObjectInitFailed\0", "shared object initialization failed\0"),
    (304, "cudaErrorOperatingSystem\0", "OS call failed or operation not supported on this OS\0"),
    (400, "cudaErrorInvalidResourceHandle\0", "invalid resource handle\0"),
    (401, "cudaErrorIllegalState\0", "the operation cannot be performed in the present state\0"),
    (402, "cudaErrorLossyQuery\0", "attempted introspection would be semantically lossy\0"),
    (500, "cudaErrorSymbolNotFound\0", "named symbol not found\0"),
    (600, "cudaErrorNotReady\0", "device not ready\0"),
    (700, "cudaErrorIllegalAddress\0", "an illegal memory access was encountered\0"),
    (701, "cudaErrorLaunchOutOfResources\0", "too many resources requested for launch\0"),
    (702, "cudaErrorLaunchTimeout\0", "the launch timed out and was terminated\0"),
    (703, "cudaErrorLaunchIncompatibleTexturing\0", "launch uses incompatible texturing mode\0"),
    (704, "cudaErrorPeerAccessAlreadyEnabled\0", "peer access is already enabled\0"),
    (705, "cudaErrorPeerAccessNotEnabled\0", "peer access has not been enabled\0"),
    (708, "cudaErrorSetOnActiveProcess\0", "cannot set while device is active in this process\0"),
    (709, "cudaErrorContextIsDestroyed\0", "context is destroyed\0"),
    (710, "cudaErrorAssert\0", "device-side assert triggered\0"),
    (711, "cudaErrorTooManyPeers\0", "peer mapping resources exhausted\0"),
    (712, "cudaErrorHostMemoryAlreadyRegistered\0",
        "part or all of the requested memory range is already mapped\0"),
    (713, "cudaErrorHostMemoryNotRegistered\0",
        "pointer does not correspond to a registered memory region\0"),
    (714, "cudaErrorHardwareStackError\0", "hardware stack error\0"),
    (715, "cudaErrorIllegalInstruction\0", "an illegal instruction was encountered\0"),
    (716, "cudaErrorMisalignedAddress\0", "misaligned address\0"),
    (717, "cudaErrorInvalidAddressSpace\0",
        "operation not supported on global/shared address space\0"),
    (718, "cudaErrorInvalidPc\0", "invalid program counter\0"),
    (719, "cudaErrorLaunchFailure\0", "unspecified launch failure\0"),
    (720, "cudaErrorCooperativeLaunchTooLarge\0", "too many blocks in cooperative launch\0"),
    (721, "cudaErrorTensorMemoryLeak\0", "tensor memory not completely freed\0"),
    (800, "cudaErrorNotPermitted\0", "operation not permitted\0"),
    (801, "cudaErrorNotSupported\0", "operation not supported\0"),
    (802, "cudaErrorSystemNotReady\0", "system not yet initialized\0"),
    (803, "cudaErrorSystemDriverMismatch\0",
        "system has unsupported display driver / cuda driver combination\0"),
    (804, "cudaErrorCompatNotSupportedOnDevice\0",
        "forward compatibility was attempted on non supported HW\0"),
    (805, "cudaErrorMpsConnectionFailed\0",
        "MPS client failed to connect to the MPS control daemon or the MPS server\0"),
    (806, "cudaErrorMpsRpcFailure\0",
        "the remote procedural call between the MPS server and the MPS client failed\0"),
    (807, "cudaErrorMpsServerNotReady\0",
        "MPS server is not ready to accept new MPS client requests\0"),
    (808, "cudaErrorMpsMaxClientsReached\0",
        "the hardware resources required to create MPS client have been exhausted\0"),
    (809, "cudaErrorMpsMaxConnectionsReached\0",
        "the hardware resources required to support device connections have been exhausted\0"),
    (810, "cudaErrorMpsClientTerminated\0", "the MPS client has been terminated by the server\0"),
    (811, "cudaErrorCdpNotSupported\0",
        "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not \
         support it\0"),
    (812, "cudaErrorCdpVersionMismatch\0",
        "unsupported interaction between different versions of CUDA Dynamic Parallelism\0"),
    (900, "cudaErrorStreamCaptureUnsupported\0",
        "operation not permitted when stream is capturing\0"),
    (901, "cudaErrorStreamCaptureInvalidated\0",
        "operation failed due to a previous error during capture\0"),
    (902, "cudaErrorStreamCaptureMerge\0",
        "operation would result in a merge of separate capture sequences\0"),
    (903, "cudaErrorStreamCaptureUnmatched\0",
        "capture was not ended in the same stream as it began\0"),
    (904, "cudaErrorStreamCaptureUnjoined\0", "capturing stream has unjoined work\0"),
    (905, "cudaErrorStreamCaptureIsolation\0",
        "dependency created on uncaptured work in another stream\0"),
    (906, "cudaErrorStreamCaptureImplicit\0",
        "operation would make the legacy stream depend on a capturing blocking stream\0"),
    (907, "cudaErrorCapturedEvent\0",
        "operation not permitted on an event last recorded in a capturing stream\0"),
    (908, "cudaErrorStreamCaptureWrongThread\0",
        "attempt to terminate a thread-local capture sequence from another thread\0"),
    (909, "cudaErrorTimeout\0", "wait operation timed out\0"),
    (910, "cudaErrorGraphExecUpdateFailure\0",
        "the graph update was not performed because it included changes which violated \
         constraints specific to instantiated graph update\0"),
    (911, "cudaErrorExternalDevice\0",
        "an async error has occured in external entity outside of CUDA\0"),
    (912, "cudaErrorInvalidClusterSize\0",
        "a kernel launch error has occurred due to cluster misconfiguration\0"),
    (913, "cudaErrorFunctionNotLoaded\0",
        "the function handle is not loaded when calling an API that requires a loaded \
         function\0"),
    (914, "cudaErrorInvalidResourceType\0",
        "one or more resources passed in are not valid resource types for the operation\0"),
    (915, "cudaErrorInvalidResourceConfiguration\0",
        "one or more resources are insufficient or non-applicable for the operation\0"),
    (917, "cudaErrorStreamDetached\0", "the stream is detached\0"),
    (918, "cudaErrorGraphRecaptureFailure\0", "the graph could not be captured again\0"),
    (919, "cudaErrorFabricNotReady\0", "the fabric of the GPUs is not ready\0"),
    (999, "cudaErrorUnknown\0", "unknown error\0"),
];

/// What an error is called, and what it says, each with its null byte.
pub(crate) fn texts(error: u32) -> (&'static str, &'static str) {
    let unknown = ("unrecognized error code\0", "unrecognized error code\0");
    let found = ERRORS.binary_search_by_key(&error, |(number, ..)| *number);
    found.map_or(unknown, |index| (ERRORS[index].1, ERRORS[index].2))
}

/// `cudaGetErrorName` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: u32) -> *const c_char {
    texts(error).0.as_ptr().cast()
}

/// `cudaGetErrorString` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: u32) -> *const c_char {
    texts(error).1.as_ptr().cast()
}

/// What a kernel of the current context did wrong: it is the last error from then on.
fn sticky() -> Option<u32> {
    let context = any_current().ok()?.context;
    let code = *lock(&context.sticky);
    code.map(|code| code.0)
}

/// `cudaGetLastError` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    let last = LAST.take();
    sticky().unwrap_or(last)
}

/// `cudaPeekAtLastError` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    sticky().unwrap_or(LAST.get())
}
