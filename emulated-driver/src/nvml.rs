//! The functions of NVML (`libnvidia-ml.so.1`) that programs ask for their GPUs before they start
//! the driver, as Mojo does: which there are, their names, their memory and their architecture.
//! Programs look all functions up that they may call, so that the others are there as well.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::api::device::{bus_id, call as cuda, uuid, write_text};
use crate::api::unsupported::refuse;
use crate::code::{Code, Result};
use crate::device::EmulatedDevice;
use crate::pointer::{Out, Text};
use crate::state::{driver, initialise};

/// The family of NVIDIA's drivers that has CUDA 13.0.
const DRIVER_VERSION: &str = "580.0";

/// A GPU: its number and one more, so that no handle is null.
type Device = usize;

/// Codes of NVML, `nvmlReturn_t`, and their texts.
const TEXTS: [(u32, &CStr); 5] = [
    (0, c"Success"),
    (1, c"Uninitialized"),
    (2, c"Invalid Argument"),
    (3, c"Not Supported"),
    (6, c"Not Found"),
];
const UNKNOWN: (u32, &CStr) = (999, c"Unknown Error");

/// The code of NVML for one of the driver.
fn code_of(code: u32) -> u32 {
    match Code(code) {
        Code::SUCCESS => 0,
        Code::NOT_INITIALIZED => 1,
        Code::INVALID_VALUE | Code::INVALID_DEVICE => 2,
        Code::NOT_SUPPORTED => 3,
        Code::NOT_FOUND => 6,
        _ => UNKNOWN.0,
    }
}

fn ordinal(handle: Device) -> Result<c_int> {
    let number = handle.checked_sub(1).ok_or(Code::INVALID_VALUE)?;
    c_int::try_from(number).map_err(|_| Code::INVALID_VALUE)
}

fn device(handle: Device) -> Result<&'static EmulatedDevice> {
    Ok(driver()?.device(ordinal(handle)?)?.1)
}

fn write(to: Out<c_char>, length: c_uint, text: &str) -> Result {
    let length = c_int::try_from(length).map_err(|_| Code::INVALID_VALUE)?;
    write_text(to, length, text)
}

/// `nvmlPciInfo_t`: the bus's identifier in its old form, domain, bus, device, two identifiers of
/// the manufacturer, and the bus's identifier.
fn pci_info(number: usize) -> [u8; 68] {
    let mut info = [0; 68];
    let short = bus_id(number);
    let long = format!("0000{short}");
    info[..short.len()].copy_from_slice(short.as_bytes());
    info[20..24].copy_from_slice(&(number as u32 + 1).to_ne_bytes());
    info[36..36 + long.len()].copy_from_slice(long.as_bytes());
    info
}

/// Whether a text names the bus, with a domain of four digits or of eight.
fn is_bus(number: usize, text: &str) -> bool {
    let short = bus_id(number);
    text.eq_ignore_ascii_case(&short) || text.eq_ignore_ascii_case(&format!("0000{short}"))
}

fn uuid_text(number: usize) -> String {
    let digits: Vec<String> = uuid(number)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let group = |from: usize, to: usize| digits[from..to].concat();
    let groups = [
        group(0, 4),
        group(4, 6),
        group(6, 8),
        group(8, 10),
        group(10, 16),
    ];
    format!("GPU-{}", groups.join("-"))
}

/// The handle of the first GPU that passes.
fn find(to: Out<Device>, passes: impl Fn(usize) -> bool) -> Result {
    let mut all = 0..driver()?.devices.len();
    let found = all.find(|&number| passes(number));
    to.set(found.ok_or(Code::NOT_FOUND)? + 1)
}

fn by_index(index: c_uint, to: Out<Device>) -> Result {
    match (index as usize) < driver()?.devices.len() {
        true => to.set(index as usize + 1),
        false => Err(Code::INVALID_VALUE),
    }
}

fn count(to: Out<c_uint>) -> Result {
    to.set(driver()?.devices.len() as c_uint)
}

macro_rules! nvml {
    ($(fn $($name:ident)|+ ($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(nvml!(@each [$($name)*] ($($argument: $kind),*) $body);)*
    };
    (@each [$($name:ident)*] $arguments:tt $body:block) => {
        $(nvml!(@one $name $arguments $body);)*
    };
    (@unsupported $($name:ident)*) => {
        $(
            /// Not supported. In C a caller may pass arguments that a function does not take.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() -> u32 {
                code_of(crate::guard(stringify!($name), || refuse(stringify!($name))))
            }
        )*
    };
    (@one $name:ident ($($argument:ident: $kind:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        #[doc = concat!("`", stringify!($name), "` of NVML.")]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> u32 {
            code_of(crate::guard(stringify!($name), || $body))
        }
    };
}

nvml! {
    fn nvmlInit | nvmlInit_v2() { initialise() }
    fn nvmlInitWithFlags(_flags: c_uint) { initialise() }
    fn nvmlShutdown() { Ok(()) }

    fn nvmlSystemGetDriverVersion(to: Out<c_char>, length: c_uint) {
        write(to, length, DRIVER_VERSION)
    }
    fn nvmlSystemGetNVMLVersion(to: Out<c_char>, length: c_uint) {
        write(to, length, &format!("13.{DRIVER_VERSION}"))
    }
    fn nvmlSystemGetCudaDriverVersion | nvmlSystemGetCudaDriverVersion_v2(to: Out<c_int>) {
        cuda::cuDriverGetVersion(to)
    }

    fn nvmlDeviceGetCount | nvmlDeviceGetCount_v2(to: Out<c_uint>) { count(to) }
    fn nvmlDeviceGetHandleByIndex | nvmlDeviceGetHandleByIndex_v2(
        index: c_uint, to: Out<Device>,
    ) {
        by_index(index, to)
    }
    fn nvmlDeviceGetHandleByUUID(wanted: Text, to: Out<Device>) {
        let wanted = wanted.get()?;
        find(to, |number| uuid_text(number) == wanted)
    }
    fn nvmlDeviceGetHandleByPciBusId | nvmlDeviceGetHandleByPciBusId_v2(
        wanted: Text, to: Out<Device>,
    ) {
        let wanted = wanted.get()?;
        find(to, |number| is_bus(number, &wanted))
    }
    fn nvmlDeviceGetIndex(handle: Device, to: Out<c_uint>) {
        device(handle)?;
        to.set(handle as c_uint - 1)
    }
    fn nvmlDeviceGetName(handle: Device, to: Out<c_char>, length: c_uint) {
        write(to, length, &device(handle)?.full_name())
    }
    fn nvmlDeviceGetUUID(handle: Device, to: Out<c_char>, length: c_uint) {
        device(handle)?;
        write(to, length, &uuid_text(handle - 1))
    }
    fn nvmlDeviceGetPciInfo | nvmlDeviceGetPciInfo_v2 | nvmlDeviceGetPciInfo_v3(
        handle: Device, to: Out<[u8; 68]>,
    ) {
        device(handle)?;
        to.set(pci_info(handle - 1))
    }
    fn nvmlDeviceGetCudaComputeCapability(handle: Device, major: Out<c_int>, minor: Out<c_int>) {
        let capability = device(handle)?.capability;
        major.set(capability.0)?;
        minor.set(capability.1)
    }
    // Nothing slows an emulated GPU down, and no process is known to use it.
    fn nvmlDeviceGetCurrentClocksThrottleReasons | nvmlDeviceGetCurrentClocksEventReasons
        | nvmlDeviceGetSupportedClocksThrottleReasons | nvmlDeviceGetSupportedClocksEventReasons(
        handle: Device, to: Out<u64>,
    ) {
        device(handle)?;
        to.set(0)
    }
    fn nvmlDeviceGetComputeRunningProcesses | nvmlDeviceGetComputeRunningProcesses_v2
        | nvmlDeviceGetComputeRunningProcesses_v3 | nvmlDeviceGetGraphicsRunningProcesses
        | nvmlDeviceGetGraphicsRunningProcesses_v2 | nvmlDeviceGetGraphicsRunningProcesses_v3
        | nvmlDeviceGetMPSComputeRunningProcesses | nvmlDeviceGetMPSComputeRunningProcesses_v2
        | nvmlDeviceGetMPSComputeRunningProcesses_v3(
        handle: Device, count: Out<c_uint>, _all: Out<u64>,
    ) {
        device(handle)?;
        count.set(0)
    }
    // The mode that is, and the one from the next start on.
    fn nvmlDeviceGetMigMode | nvmlDeviceGetEccMode(
        handle: Device, now: Out<c_uint>, next: Out<c_uint>,
    ) {
        device(handle)?;
        now.set(0)?;
        next.set(0)
    }
    fn nvmlDeviceGetTotalEccErrors(
        handle: Device, _kind: c_uint, _counter: c_uint, to: Out<u64>,
    ) {
        device(handle)?;
        to.set(0)
    }
    fn nvmlDeviceGetMinorNumber(handle: Device, to: Out<c_uint>) {
        device(handle)?;
        to.set(handle as c_uint - 1)
    }
    fn nvmlDeviceGetComputeMode(handle: Device, to: Out<c_uint>) {
        device(handle)?;
        to.set(0)
    }
    fn nvmlDeviceGetPersistenceMode(handle: Device, to: Out<c_uint>) {
        device(handle)?;
        to.set(1)
    }
    fn nvmlDeviceGetArchitecture(handle: Device, to: Out<c_uint>) {
        to.set(match device(handle)?.capability {
            (7, 0) => 5,
            (7, _) => 6,
            (8, 9) => 8,
            (8, _) => 7,
            (9, _) => 9,
            _ => 10,
        })
    }
    fn nvmlDeviceGetClockInfo | nvmlDeviceGetMaxClockInfo(
        handle: Device, kind: c_uint, to: Out<c_uint>,
    ) {
        // In MHz: of graphics, of multiprocessors, of memory.
        let khz = match kind {
            0 | 1 => device(handle)?.clock_khz,
            2 => device(handle)?.memory_clock_khz,
            _ => return Err(Code::NOT_SUPPORTED),
        };
        to.set((khz / 1000).cast_unsigned())
    }
    fn nvmlDeviceGetMemoryInfo_v2(handle: Device, to: Out<[u64; 5]>) {
        let [version, ..] = to.get()?;
        let total = device(handle)?.memory_bytes();
        let used = driver()?.used_bytes(handle - 1);
        to.set([version, total, 0, total - used.min(total), used])
    }
    fn nvmlDeviceGetMemoryInfo(handle: Device, to: Out<[u64; 3]>) {
        let total = device(handle)?.memory_bytes();
        let used = driver()?.used_bytes(handle - 1);
        to.set([total, total - used.min(total), used])
    }
}

/// The text of a code.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: u32) -> *const c_char {
    let text = TEXTS.iter().find(|(known, _)| *known == code);
    text.unwrap_or(&UNKNOWN).1.as_ptr()
}

nvml! { @unsupported
    nvmlComputeInstanceDestroy nvmlComputeInstanceGetInfo_v2 nvmlDeviceClearAccountingPids
    nvmlDeviceClearCpuAffinity nvmlDeviceClearEccErrorCounts nvmlDeviceClearFieldValues
    nvmlDeviceCreateGpuInstance nvmlDeviceCreateGpuInstanceWithPlacement nvmlDeviceDiscoverGpus
    nvmlDeviceGetAPIRestriction nvmlDeviceGetAccountingBufferSize nvmlDeviceGetAccountingMode
    nvmlDeviceGetAccountingPids nvmlDeviceGetAccountingStats nvmlDeviceGetAccountingStats_v2
    nvmlDeviceGetActiveVgpus nvmlDeviceGetAdaptiveClockInfoStatus
    nvmlDeviceGetAdaptiveTgpModeInfo_v1 nvmlDeviceGetAddressingMode nvmlDeviceGetAttributes_v2
    nvmlDeviceGetAutoBoostedClocksEnabled nvmlDeviceGetBAR1MemoryInfo
    nvmlDeviceGetBBXTimeData_v1 nvmlDeviceGetBankRemapperStatus_v1 nvmlDeviceGetBoardId
    nvmlDeviceGetBoardPartNumber nvmlDeviceGetBrand nvmlDeviceGetBridgeChipInfo
    nvmlDeviceGetBusType nvmlDeviceGetC2cModeInfoV nvmlDeviceGetCapabilities
    nvmlDeviceGetClkMonStatus nvmlDeviceGetClock nvmlDeviceGetClockOffsets
    nvmlDeviceGetComputeInstanceId nvmlDeviceGetConfComputeGpuAttestationReport
    nvmlDeviceGetConfComputeGpuCertificate nvmlDeviceGetConfComputeMemSizeInfo
    nvmlDeviceGetConfComputeProtectedMemoryUsage nvmlDeviceGetCoolerInfo
    nvmlDeviceGetCpuAffinity nvmlDeviceGetCpuAffinityWithinScope nvmlDeviceGetCreatableVgpus
    nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetCurrPcieLinkWidth
    nvmlDeviceGetCurrentClockFreqs nvmlDeviceGetDecoderUtilization nvmlDeviceGetDefaultEccMode
    nvmlDeviceGetDeviceHandleFromMigDeviceHandle nvmlDeviceGetDisplayActive
    nvmlDeviceGetDisplayMode nvmlDeviceGetDramEncryptionMode nvmlDeviceGetDriverModel_v2
    nvmlDeviceGetDynamicPstatesInfo nvmlDeviceGetEncoderCapacity nvmlDeviceGetEncoderSessions
    nvmlDeviceGetEncoderStats nvmlDeviceGetEncoderUtilization nvmlDeviceGetEnforcedPowerLimit
    nvmlDeviceGetFBCSessions nvmlDeviceGetFBCStats nvmlDeviceGetFanControlPolicy_v2
    nvmlDeviceGetFanSpeed nvmlDeviceGetFanSpeedRPM nvmlDeviceGetFanSpeed_v2
    nvmlDeviceGetFieldValues nvmlDeviceGetGpcClkMinMaxVfOffset nvmlDeviceGetGpcClkVfOffset
    nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetGpuFabricInfo_v4 nvmlDeviceGetGpuInstanceById
    nvmlDeviceGetGpuInstanceId nvmlDeviceGetGpuInstancePossiblePlacements_v2
    nvmlDeviceGetGpuInstanceProfileInfoByIdV nvmlDeviceGetGpuInstanceProfileInfoV
    nvmlDeviceGetGpuInstanceRemainingCapacity nvmlDeviceGetGpuInstances
    nvmlDeviceGetGpuMaxPcieLinkGeneration nvmlDeviceGetGpuOperationMode
    nvmlDeviceGetGpuUptime_v1 nvmlDeviceGetGridLicensableFeatures_v4
    nvmlDeviceGetGspFirmwareMode nvmlDeviceGetGspFirmwareVersion nvmlDeviceGetHandleBySerial
    nvmlDeviceGetHandleByUUIDV nvmlDeviceGetHostVgpuMode nvmlDeviceGetHostname_v1
    nvmlDeviceGetInforomConfigurationChecksum nvmlDeviceGetInforomImageVersion
    nvmlDeviceGetInforomVersion nvmlDeviceGetIrqNum nvmlDeviceGetJpgUtilization
    nvmlDeviceGetLastBBXFlushTime nvmlDeviceGetMarginTemperature
    nvmlDeviceGetMaxCustomerBoostClock nvmlDeviceGetMaxMigDeviceCount
    nvmlDeviceGetMaxPcieLinkGeneration nvmlDeviceGetMaxPcieLinkWidth
    nvmlDeviceGetMemClkMinMaxVfOffset nvmlDeviceGetMemClkVfOffset nvmlDeviceGetMemoryAffinity
    nvmlDeviceGetMemoryBusWidth nvmlDeviceGetMemoryErrorCounter nvmlDeviceGetMemoryLimits_v1
    nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetMinMaxClockOfPState
    nvmlDeviceGetMinMaxFanSpeed nvmlDeviceGetModuleId nvmlDeviceGetMultiGpuBoard
    nvmlDeviceGetNumFans nvmlDeviceGetNumGpuCores nvmlDeviceGetNumaNodeId
    nvmlDeviceGetNvLinkCapability nvmlDeviceGetNvLinkErrorCounter nvmlDeviceGetNvLinkInfo
    nvmlDeviceGetNvLinkInfo_v3 nvmlDeviceGetNvLinkRemoteDeviceType
    nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetNvLinkState
    nvmlDeviceGetNvLinkTelemetrySamples_v1 nvmlDeviceGetNvLinkVersion nvmlDeviceGetNvlinkBwMode
    nvmlDeviceGetNvlinkNvlePrivateInfo_v1 nvmlDeviceGetNvlinkRemapTableInfo_v1
    nvmlDeviceGetNvlinkSupportedBwModes nvmlDeviceGetOfaUtilization nvmlDeviceGetP2PStatus
    nvmlDeviceGetPciInfoExt nvmlDeviceGetPcieLinkMaxSpeed nvmlDeviceGetPcieReplayCounter
    nvmlDeviceGetPcieSpeed nvmlDeviceGetPcieThroughput nvmlDeviceGetPdi
    nvmlDeviceGetPerformanceModes nvmlDeviceGetPerformanceState nvmlDeviceGetPgpuMetadataString
    nvmlDeviceGetPlatformInfo nvmlDeviceGetPowerManagementDefaultLimit
    nvmlDeviceGetPowerManagementLimit nvmlDeviceGetPowerManagementLimitConstraints
    nvmlDeviceGetPowerMizerMode_v1 nvmlDeviceGetPowerSource nvmlDeviceGetPowerState
    nvmlDeviceGetPowerUsage nvmlDeviceGetProcessUtilization
    nvmlDeviceGetProcessesUtilizationInfo nvmlDeviceGetRemappedRows nvmlDeviceGetRemappedRows_v2
    nvmlDeviceGetRepairStatus nvmlDeviceGetRetiredPages nvmlDeviceGetRetiredPagesPendingStatus
    nvmlDeviceGetRetiredPages_v2 nvmlDeviceGetRowRemapperHistogram
    nvmlDeviceGetRunningProcessDetailList nvmlDeviceGetSamples nvmlDeviceGetSerial
    nvmlDeviceGetSramEccErrorStatus nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts
    nvmlDeviceGetSupportedEventTypes nvmlDeviceGetSupportedGraphicsClocks
    nvmlDeviceGetSupportedMemoryClocks nvmlDeviceGetSupportedPerformanceStates
    nvmlDeviceGetSupportedVgpus nvmlDeviceGetTargetFanSpeed nvmlDeviceGetTemperatureThreshold
    nvmlDeviceGetTemperatureV nvmlDeviceGetThermalSettings nvmlDeviceGetTopologyCommonAncestor
    nvmlDeviceGetTopologyNearestGpus nvmlDeviceGetTotalEnergyConsumption
    nvmlDeviceGetUnrepairableMemoryFlag_v1 nvmlDeviceGetUtilizationRates
    nvmlDeviceGetVbiosVersion nvmlDeviceGetVgpuCapabilities nvmlDeviceGetVgpuHeterogeneousMode
    nvmlDeviceGetVgpuInstancesUtilizationInfo nvmlDeviceGetVgpuMetadata
    nvmlDeviceGetVgpuProcessUtilization nvmlDeviceGetVgpuProcessesUtilizationInfo
    nvmlDeviceGetVgpuSchedulerCapabilities nvmlDeviceGetVgpuSchedulerLog
    nvmlDeviceGetVgpuSchedulerLog_v2 nvmlDeviceGetVgpuSchedulerState
    nvmlDeviceGetVgpuSchedulerState_v2 nvmlDeviceGetVgpuTypeCreatablePlacements
    nvmlDeviceGetVgpuTypeSupportedPlacements nvmlDeviceGetVgpuUtilization
    nvmlDeviceGetVirtualizationMode nvmlDeviceIsMigDeviceHandle
    nvmlDeviceLockNvlinkRemapTable_v1 nvmlDeviceModifyDrainState nvmlDeviceOnSameBoard
    nvmlDevicePerfMetricsGetSamples_v1 nvmlDevicePowerSmoothingActivatePresetProfile
    nvmlDevicePowerSmoothingSetState nvmlDevicePowerSmoothingUpdatePresetProfileParam
    nvmlDeviceQueryDrainState nvmlDeviceReadPRMCounters_v1 nvmlDeviceReadWritePRM_v1
    nvmlDeviceRegisterEvents nvmlDeviceRemoveGpu_v2 nvmlDeviceResetGpuLockedClocks
    nvmlDeviceResetMemoryLockedClocks nvmlDeviceResetNvLinkErrorCounters
    nvmlDeviceSetAPIRestriction nvmlDeviceSetAccountingMode nvmlDeviceSetAdaptiveTgpMode_v1
    nvmlDeviceSetAutoBoostedClocksEnabled nvmlDeviceSetClockOffsets nvmlDeviceSetComputeMode
    nvmlDeviceSetConfComputeUnprotectedMemSize nvmlDeviceSetCpuAffinity
    nvmlDeviceSetDefaultAutoBoostedClocksEnabled nvmlDeviceSetDefaultFanSpeed_v2
    nvmlDeviceSetDramEncryptionMode nvmlDeviceSetDriverModel nvmlDeviceSetEccMode
    nvmlDeviceSetFanControlPolicy nvmlDeviceSetFanSpeed_v2 nvmlDeviceSetGpuLockedClocks
    nvmlDeviceSetGpuOperationMode nvmlDeviceSetHostname_v1 nvmlDeviceSetMemoryLimits_v1
    nvmlDeviceSetMemoryLockedClocks nvmlDeviceSetMigMode
    nvmlDeviceSetNvLinkDeviceLowPowerThreshold nvmlDeviceSetNvlinkBwMode
    nvmlDeviceSetNvlinkBwModeAsync_v1 nvmlDeviceSetNvlinkNvleReady_v1
    nvmlDeviceSetPersistenceMode nvmlDeviceSetPowerManagementLimit_v2
    nvmlDeviceSetPowerMizerMode_v1 nvmlDeviceSetRusdSettings_v1
    nvmlDeviceSetTemperatureThreshold nvmlDeviceSetVgpuCapabilities
    nvmlDeviceSetVgpuHeterogeneousMode nvmlDeviceSetVgpuSchedulerState
    nvmlDeviceSetVgpuSchedulerState_v2 nvmlDeviceSetVirtualizationMode
    nvmlDeviceSetupNvlinkNvleEncryptionKey_v1 nvmlDeviceValidateInforom
    nvmlDeviceVgpuForceGspUnload nvmlEventSetCreate nvmlEventSetFree
    nvmlEventSetGetContextCount_v1 nvmlEventSetGetContextData_v1 nvmlEventSetGetContextInfo_v1
    nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1
    nvmlEventSetRegisterGpuOperationalEvents_v1 nvmlEventSetWait_v2 nvmlEventSetWait_v3
    nvmlGetExcludedDeviceCount nvmlGetExcludedDeviceInfoByIndex nvmlGetVgpuCompatibility
    nvmlGetVgpuDriverCapabilities nvmlGetVgpuVersion nvmlGpuInstanceCreateComputeInstance
    nvmlGpuInstanceCreateComputeInstanceWithPlacement nvmlGpuInstanceDestroy
    nvmlGpuInstanceGetActiveVgpus nvmlGpuInstanceGetComputeInstanceById
    nvmlGpuInstanceGetComputeInstancePossiblePlacements
    nvmlGpuInstanceGetComputeInstanceProfileInfoV
    nvmlGpuInstanceGetComputeInstanceRemainingCapacity nvmlGpuInstanceGetComputeInstances
    nvmlGpuInstanceGetCreatableVgpus nvmlGpuInstanceGetInfo
    nvmlGpuInstanceGetVgpuHeterogeneousMode nvmlGpuInstanceGetVgpuSchedulerLog
    nvmlGpuInstanceGetVgpuSchedulerLog_v2 nvmlGpuInstanceGetVgpuSchedulerState
    nvmlGpuInstanceGetVgpuSchedulerState_v2 nvmlGpuInstanceGetVgpuTypeCreatablePlacements
    nvmlGpuInstanceSetVgpuHeterogeneousMode nvmlGpuInstanceSetVgpuSchedulerState
    nvmlGpuInstanceSetVgpuSchedulerState_v2 nvmlSetVgpuVersion nvmlSystemEventSetCreate
    nvmlSystemEventSetFree nvmlSystemEventSetWait nvmlSystemGetCPER_v1
    nvmlSystemGetConfComputeCapabilities nvmlSystemGetConfComputeGpusReadyState
    nvmlSystemGetConfComputeKeyRotationThresholdInfo nvmlSystemGetConfComputeSettings
    nvmlSystemGetConfComputeSettings_v2 nvmlSystemGetConfComputeState nvmlSystemGetDriverBranch
    nvmlSystemGetHicVersion nvmlSystemGetNvlinkBwMode nvmlSystemGetProcessName
    nvmlSystemGetTopologyGpuSet nvmlSystemRegisterEvents nvmlSystemSetConfComputeGpusReadyState
    nvmlSystemSetConfComputeKeyRotationThresholdInfo nvmlSystemSetNvlinkBwMode nvmlUnitGetCount
    nvmlUnitGetDevices nvmlUnitGetFanSpeedInfo nvmlUnitGetHandleByIndex nvmlUnitGetLedState
    nvmlUnitGetPsuInfo nvmlUnitGetTemperature nvmlUnitGetUnitInfo nvmlUnitSetLedState
    nvmlVgpuInstanceClearAccountingPids nvmlVgpuInstanceGetAccountingMode
    nvmlVgpuInstanceGetAccountingPids nvmlVgpuInstanceGetAccountingStats
    nvmlVgpuInstanceGetEccMode nvmlVgpuInstanceGetEncoderCapacity
    nvmlVgpuInstanceGetEncoderSessions nvmlVgpuInstanceGetEncoderStats
    nvmlVgpuInstanceGetFBCSessions nvmlVgpuInstanceGetFBCStats nvmlVgpuInstanceGetFbUsage
    nvmlVgpuInstanceGetFrameRateLimit nvmlVgpuInstanceGetGpuInstanceId
    nvmlVgpuInstanceGetGpuPciId nvmlVgpuInstanceGetLicenseInfo_v2
    nvmlVgpuInstanceGetLicenseStatus nvmlVgpuInstanceGetMdevUUID nvmlVgpuInstanceGetMetadata
    nvmlVgpuInstanceGetPlacementId nvmlVgpuInstanceGetRuntimeStateSize nvmlVgpuInstanceGetType
    nvmlVgpuInstanceGetUUID nvmlVgpuInstanceGetVmDriverVersion nvmlVgpuInstanceGetVmID
    nvmlVgpuInstanceSetEncoderCapacity nvmlVgpuTypeGetBAR1Info nvmlVgpuTypeGetCapabilities
    nvmlVgpuTypeGetClass nvmlVgpuTypeGetDeviceID nvmlVgpuTypeGetFbReservation
    nvmlVgpuTypeGetFrameRateLimit nvmlVgpuTypeGetFramebufferSize
    nvmlVgpuTypeGetGpuInstanceProfileId nvmlVgpuTypeGetGspHeapSize nvmlVgpuTypeGetLicense
    nvmlVgpuTypeGetMaxInstances nvmlVgpuTypeGetMaxInstancesPerGpuInstance
    nvmlVgpuTypeGetMaxInstancesPerVm nvmlVgpuTypeGetName nvmlVgpuTypeGetNumDisplayHeads
    nvmlVgpuTypeGetResolution
}
