//! Result codes (`CUresult`), their names and what they say.

/// A failure, as the driver returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

/// Success, or a failure's code.
pub(crate) type Result<T = ()> = std::result::Result<T, Code>;

macro_rules! codes {
    ($($name:ident $value:literal $c_name:literal $text:literal;)*) => {
        impl Code {
            $(pub(crate) const $name: Code = Code($value);)*

            /// The name in `cuda.h`, and a sentence; each ends in a null byte.
            pub(crate) fn texts(self) -> Option<(&'static str, &'static str)> {
                match self.0 {
                    $($value => Some((concat!($c_name, "\0"), concat!($text, "\0"))),)*
                    _ => super::other_texts(self.0),
                }
            }
        }
    };
}

#[allow(dead_code, reason = "programs may ask for the name of any code")]
mod list {
    use super::Code;

    codes! {
        SUCCESS 0 "CUDA_SUCCESS" "no error";
        INVALID_VALUE 1 "CUDA_ERROR_INVALID_VALUE" "invalid argument";
        OUT_OF_MEMORY 2 "CUDA_ERROR_OUT_OF_MEMORY" "out of memory";
        NOT_INITIALIZED 3 "CUDA_ERROR_NOT_INITIALIZED" "initialization error";
        DEINITIALIZED 4 "CUDA_ERROR_DEINITIALIZED" "driver shutting down";
        MULTICAST_RESOURCE_FULL 47 "CUDA_ERROR_MULTICAST_RESOURCE_FULL"
            "multicast resources are used up";
        NO_DEVICE 100 "CUDA_ERROR_NO_DEVICE" "no CUDA-capable device is detected";
        INVALID_DEVICE 101 "CUDA_ERROR_INVALID_DEVICE" "invalid device ordinal";
        INVALID_IMAGE 200 "CUDA_ERROR_INVALID_IMAGE" "device kernel image is invalid";
        INVALID_CONTEXT 201 "CUDA_ERROR_INVALID_CONTEXT" "invalid device context";
        CONTEXT_ALREADY_CURRENT 202 "CUDA_ERROR_CONTEXT_ALREADY_CURRENT"
            "context already current";
        NO_BINARY_FOR_GPU 209 "CUDA_ERROR_NO_BINARY_FOR_GPU"
            "no kernel image is available for execution on the device";
        UNSUPPORTED_LIMIT 215 "CUDA_ERROR_UNSUPPORTED_LIMIT" "limit is not supported";
        INVALID_PTX 218 "CUDA_ERROR_INVALID_PTX" "a PTX JIT compilation failed";
        INVALID_SOURCE 300 "CUDA_ERROR_INVALID_SOURCE" "device kernel image is invalid";
        FILE_NOT_FOUND 301 "CUDA_ERROR_FILE_NOT_FOUND" "file not found";
        OPERATING_SYSTEM 304 "CUDA_ERROR_OPERATING_SYSTEM" "OS call failed";
        INVALID_HANDLE 400 "CUDA_ERROR_INVALID_HANDLE" "invalid resource handle";
        ILLEGAL_STATE 401 "CUDA_ERROR_ILLEGAL_STATE" "the operation is not allowed in this state";
        NOT_FOUND 500 "CUDA_ERROR_NOT_FOUND" "named symbol not found";
        NOT_READY 600 "CUDA_ERROR_NOT_READY" "device not ready";
        ILLEGAL_ADDRESS 700 "CUDA_ERROR_ILLEGAL_ADDRESS"
            "an illegal memory access was encountered";
        LAUNCH_OUT_OF_RESOURCES 701 "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
            "too many resources requested for launch";
        LAUNCH_TIMEOUT 702 "CUDA_ERROR_LAUNCH_TIMEOUT"
            "the launch timed out and was terminated";
        PEER_ACCESS_ALREADY_ENABLED 704 "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"
            "peer access is already enabled";
        PEER_ACCESS_NOT_ENABLED 705 "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"
            "peer access has not been enabled";
        PRIMARY_CONTEXT_ACTIVE 708 "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"
            "cannot set while device is active in this process";
        CONTEXT_IS_DESTROYED 709 "CUDA_ERROR_CONTEXT_IS_DESTROYED" "context is destroyed";
        ASSERT 710 "CUDA_ERROR_ASSERT" "device-side assert triggered";
        HOST_MEMORY_ALREADY_REGISTERED 712 "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"
            "part or all of the requested memory range is already mapped";
        HOST_MEMORY_NOT_REGISTERED 713 "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"
            "pointer does not correspond to a registered memory region";
        HARDWARE_STACK_ERROR 714 "CUDA_ERROR_HARDWARE_STACK_ERROR" "hardware stack error";
        ILLEGAL_INSTRUCTION 715 "CUDA_ERROR_ILLEGAL_INSTRUCTION"
            "an illegal instruction was encountered";
        MISALIGNED_ADDRESS 716 "CUDA_ERROR_MISALIGNED_ADDRESS" "misaligned address";
        INVALID_ADDRESS_SPACE 717 "CUDA_ERROR_INVALID_ADDRESS_SPACE"
            "operation not supported on global/shared address space";
        INVALID_PC 718 "CUDA_ERROR_INVALID_PC" "invalid program counter";
        LAUNCH_FAILED 719 "CUDA_ERROR_LAUNCH_FAILED" "unspecified launch failure";
        COOPERATIVE_LAUNCH_TOO_LARGE 720 "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
            "too many blocks in cooperative launch";
        NOT_SUPPORTED 801 "CUDA_ERROR_NOT_SUPPORTED" "operation not supported";
        STREAM_CAPTURE_UNSUPPORTED 900 "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
            "operation not permitted when stream is capturing";
        STREAM_CAPTURE_INVALIDATED 901 "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
            "operation failed due to a previous error during capture";
        STREAM_CAPTURE_MERGE 902 "CUDA_ERROR_STREAM_CAPTURE_MERGE"
            "operation would result in a merge of separate capture sequences";
        STREAM_CAPTURE_UNMATCHED 903 "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"
            "capture was not initiated in this stream";
        STREAM_CAPTURE_UNJOINED 904 "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"
            "capturing stream has unjoined work";
        STREAM_CAPTURE_ISOLATION 905 "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
            "dependency created on uncaptured work in another stream";
        STREAM_CAPTURE_IMPLICIT 906 "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
            "operation would make the legacy stream depend on a capturing blocking stream";
        CAPTURED_EVENT 907 "CUDA_ERROR_CAPTURED_EVENT"
            "operation not permitted on an event last recorded in a capturing stream";
        STREAM_CAPTURE_WRONG_THREAD 908 "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"
            "attempt to terminate a thread-local capture sequence from another thread";
        GRAPH_EXEC_UPDATE_FAILURE 910 "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"
            "the graph update was not performed because it included changes which violated \
             constraints specific to instantiated graph update";
        INVALID_CLUSTER_SIZE 912 "CUDA_ERROR_INVALID_CLUSTER_SIZE"
            "a kernel launch contains an invalid cluster";
        KEY_ROTATION 916 "CUDA_ERROR_KEY_ROTATION"
            "the device's encryption keys are being replaced";
        UNKNOWN 999 "CUDA_ERROR_UNKNOWN" "unknown error";
    }
}

/// Codes of `cuda.h` that nothing here returns: a program may ask for the name of any.
const OTHER_NAMES: &[(u32, &str)] = &[
    (5, "CUDA_ERROR_PROFILER_DISABLED\0"),
    (6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED\0"),
    (7, "CUDA_ERROR_PROFILER_ALREADY_STARTED\0"),
    (8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED\0"),
    (34, "CUDA_ERROR_STUB_LIBRARY\0"),
    (36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER\0"),
    (46, "CUDA_ERROR_DEVICE_UNAVAILABLE\0"),
    (102, "CUDA_ERROR_DEVICE_NOT_LICENSED\0"),
    (205, "CUDA_ERROR_MAP_FAILED\0"),
    (206, "CUDA_ERROR_UNMAP_FAILED\0"),
    (207, "CUDA_ERROR_ARRAY_IS_MAPPED\0"),
    (208, "CUDA_ERROR_ALREADY_MAPPED\0"),
    (210, "CUDA_ERROR_ALREADY_ACQUIRED\0"),
    (211, "CUDA_ERROR_NOT_MAPPED\0"),
    (212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY\0"),
    (213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER\0"),
    (214, "CUDA_ERROR_ECC_UNCORRECTABLE\0"),
    (216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE\0"),
    (217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED\0"),
    (219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT\0"),
    (220, "CUDA_ERROR_NVLINK_UNCORRECTABLE\0"),
    (221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND\0"),
    (222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION\0"),
    (223, "CUDA_ERROR_JIT_COMPILATION_DISABLED\0"),
    (224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY\0"),
    (225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC\0"),
    (226, "CUDA_ERROR_CONTAINED\0"),
    (227, "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION\0"),
    (302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND\0"),
    (303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED\0"),
    (402, "CUDA_ERROR_LOSSY_QUERY\0"),
    (703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING\0"),
    (711, "CUDA_ERROR_TOO_MANY_PEERS\0"),
    (721, "CUDA_ERROR_TENSOR_MEMORY_LEAK\0"),
    (800, "CUDA_ERROR_NOT_PERMITTED\0"),
    (802, "CUDA_ERROR_SYSTEM_NOT_READY\0"),
    (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH\0"),
    (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE\0"),
    (805, "CUDA_ERROR_MPS_CONNECTION_FAILED\0"),
    (806, "CUDA_ERROR_MPS_RPC_FAILURE\0"),
    (807, "CUDA_ERROR_MPS_SERVER_NOT_READY\0"),
    (808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED\0"),
    (809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED\0"),
    (810, "CUDA_ERROR_MPS_CLIENT_TERMINATED\0"),
    (811, "CUDA_ERROR_CDP_NOT_SUPPORTED\0"),
    (812, "CUDA_ERROR_CDP_VERSION_MISMATCH\0"),
    (909, "CUDA_ERROR_TIMEOUT\0"),
    (911, "CUDA_ERROR_EXTERNAL_DEVICE\0"),
    (913, "CUDA_ERROR_FUNCTION_NOT_LOADED\0"),
    (914, "CUDA_ERROR_INVALID_RESOURCE_TYPE\0"),
    (915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\0"),
    (917, "CUDA_ERROR_STREAM_DETACHED\0"),
    (918, "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE\0"),
    (919, "CUDA_ERROR_FABRIC_NOT_READY\0"),
];

/// The name of such a code, and the runtime's sentence for it.
fn other_texts(code: u32) -> Option<(&'static str, &'static str)> {
    let found = OTHER_NAMES.binary_search_by_key(&code, |(number, _)| *number);
    let name = OTHER_NAMES.get(found.ok()?)?.1;
    Some((name, crate::error_texts::texts(code).1))
}
