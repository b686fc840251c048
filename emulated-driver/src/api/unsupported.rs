//! Functions that are not implemented: they say so once, on standard error. Those without the `_v2`
//! that another one has are of CUDA 3, whose addresses have 32 bits.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::code::{Code, Result};
use crate::state::lock;

pub(crate) fn refuse(name: &'static str) -> Result {
    static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if lock(&SAID).insert(name) {
        eprintln!("warpladder cuda: {name} is not supported by the emulated driver");
    }
    Err(Code::NOT_SUPPORTED)
}

macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            /// Not supported. In C a caller may pass arguments that a function does not take.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() -> u32 {
                $crate::guard(stringify!($name), || refuse(stringify!($name)))
            }
        )*

        pub(super) static TABLE: &[(&str, super::Symbol)] =
            &[$((stringify!($name), super::Symbol($name as *const ()))),*];
    };
}

unsupported! {
    cuArray3DCreate cuArray3DGetDescriptor cuArrayCreate cuArrayGetDescriptor
    cuArrayGetMemoryRequirements cuArrayGetPlane cuArrayGetSparseProperties
    cuCheckpointProcessCheckpoint cuCheckpointProcessGetRestoreThreadId
    cuCheckpointProcessGetState cuCheckpointProcessLock cuCheckpointProcessRestore
    cuCheckpointProcessUnlock cuCoredumpDeregisterCompleteCallback
    cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
    cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback cuCoredumpSetAttribute
    cuCoredumpSetAttributeGlobal cuCtxFromGreenCtx cuCtxGetDevResource cuCtxGetExecAffinity
    cuCtxWaitEvent cuDestroyExternalMemory cuDestroyExternalSemaphore cuDevResourceGenerateDesc
    cuDevSmResourceSplit cuDevSmResourceSplitByCount cuDeviceGetCliqueCount
    cuDeviceGetCliqueInfo cuDeviceGetDevResource cuDeviceGetExecAffinitySupport
    cuDeviceGetFabricClusterUuid cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid
    cuDeviceGetNvSciSyncAttributes cuDeviceGetP2PAtomicCapabilities
    cuDeviceGetTexture1DLinearMaxWidth cuDeviceRegisterAsyncNotification cuDeviceTotalMem
    cuDeviceUnregisterAsyncNotification cuEGLStreamConsumerAcquireFrame
    cuEGLStreamConsumerConnect cuEGLStreamConsumerConnectWithFlags cuEGLStreamConsumerDisconnect
    cuEGLStreamConsumerReleaseFrame cuEGLStreamProducerConnect cuEGLStreamProducerDisconnect
    cuEGLStreamProducerPresentFrame cuEGLStreamProducerReturnFrame cuEventCreateFromEGLSync
    cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray
    cuFlushGPUDirectRDMAWrites cuGLCtxCreate cuGLCtxCreate_v2 cuGLGetDevices cuGLGetDevices_v2
    cuGLInit cuGLMapBufferObject cuGLMapBufferObjectAsync cuGLMapBufferObjectAsync_v2
    cuGLMapBufferObjectAsync_v2_ptsz cuGLMapBufferObject_v2 cuGLMapBufferObject_v2_ptds
    cuGLRegisterBufferObject cuGLSetBufferObjectMapFlags cuGLUnmapBufferObject
    cuGLUnmapBufferObjectAsync cuGLUnregisterBufferObject cuGraphAddBatchMemOpNode
    cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode
    cuGraphAddNode_v3 cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams
    cuGraphExecBatchMemOpNodeSetParams cuGraphExecExternalSemaphoresSignalNodeSetParams
    cuGraphExecExternalSemaphoresWaitNodeSetParams cuGraphExternalSemaphoresSignalNodeGetParams
    cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
    cuGraphExternalSemaphoresWaitNodeSetParams cuGraphNodeGetParams cuGraphNodeSetParams_v2
    cuGraphicsEGLRegisterImage cuGraphicsGLRegisterBuffer cuGraphicsGLRegisterImage
    cuGraphicsMapResources cuGraphicsMapResources_ptsz cuGraphicsResourceGetMappedEglFrame
    cuGraphicsResourceGetMappedMipmappedArray cuGraphicsResourceGetMappedPointer
    cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags
    cuGraphicsResourceSetMapFlags_v2 cuGraphicsSubResourceGetMappedArray
    cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz cuGraphicsUnregisterResource
    cuGraphicsVDPAURegisterOutputSurface cuGraphicsVDPAURegisterVideoSurface cuGreenCtxCreate
    cuGreenCtxDestroy cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent
    cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuImportExternalMemory cuImportExternalSemaphore

    cuIpcOpenMemHandle cuLaunchCooperativeKernelMultiDevice
    cuLaunchHostFunc_v2 cuLibraryGetManaged cuLibraryGetUnifiedFunction
    cuLogicalEndpointAddDevice cuLogicalEndpointBindAddr cuLogicalEndpointBindMem
    cuLogicalEndpointCreate cuLogicalEndpointDestroy cuLogicalEndpointExport
    cuLogicalEndpointGetLimits cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve
    cuLogicalEndpointImport cuLogicalEndpointQuery cuLogicalEndpointUnbind cuLogsCurrent
    cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback cuLogsUnregisterCallback
    cuMemAlloc cuMemAllocHost cuMemAllocPitch cuMemBatchDecompressAsync
    cuMemBatchDecompressAsync_ptsz cuMemFree cuMemGetAddressRange
    cuMemGetHandleForAddressRange cuMemGetInfo cuMemGetLocationInfo cuMemHostGetDevicePointer
    cuMemMapArrayAsync cuMemMapArrayAsync_ptsz

    cuMemcpy2D
    cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync cuMemcpyAtoA cuMemcpyAtoD
    cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH
    cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoD cuMemcpyHtoDAsync cuMemsetD16
    cuMemsetD2D16 cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8
    cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties cuModuleGetGlobal
    cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindAddr_v2 cuMulticastBindMem
    cuMulticastBindMem_v2 cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind
    cuProfilerInitialize cuSignalExternalSemaphoresAsync cuSignalExternalSemaphoresAsync_ptsz
    cuStreamBeginCaptureToCig cuStreamBeginRecaptureToGraph cuStreamEndCaptureToCig
    cuStreamGetDevResource cuStreamGetGreenCtx cuTensorMapEncodeIm2col
    cuTensorMapEncodeIm2colWide cuTexRefGetAddress cuTexRefSetAddress cuTexRefSetAddress2D
    cuVDPAUCtxCreate cuVDPAUCtxCreate_v2 cuVDPAUGetDevice
    cuWaitExternalSemaphoresAsync cuWaitExternalSemaphoresAsync_ptsz
}
