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
                    _ => None,
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
        NO_DEVICE 100 "CUDA_ERROR_NO_DEVICE" "no CUDA-capable device is detected";
        INVALID_DEVICE 101 "CUDA_ERROR_INVALID_DEVICE" "invalid device ordinal";
        INVALID_IMAGE 200 "CUDA_ERROR_INVALID_IMAGE" "device kernel image is invalid";
        INVALID_CONTEXT 201 "CUDA_ERROR_INVALID_CONTEXT" "invalid device context";
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
        STREAM_CAPTURE_UNMATCHED 903 "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"
            "capture was not initiated in this stream";
        CAPTURED_EVENT 907 "CUDA_ERROR_CAPTURED_EVENT"
            "operation not permitted on an event last recorded in a capturing stream";
        GRAPH_EXEC_UPDATE_FAILURE 910 "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"
            "the graph update was not performed because it included changes which violated \
             constraints specific to instantiated graph update";
        INVALID_CLUSTER_SIZE 912 "CUDA_ERROR_INVALID_CLUSTER_SIZE"
            "a kernel launch contains an invalid cluster";
        UNKNOWN 999 "CUDA_ERROR_UNKNOWN" "unknown error";
    }
}
