//! What a launch did.

use std::ffi::{CString, c_char};

use ptx_emulator::sanitize::Finding;
use ptx_emulator::{Counters, Kernel, LaunchError, Report};

use crate::error::c_text;
use crate::pointer::{Object, Out};

/// `ptxemu_report`.
pub struct LaunchReport {
    blocks: u64,
    warp_instructions: u64,
    findings: Vec<CString>,
    printed: Vec<u8>,
    json: CString,
}

/// The JSON of a report.
#[derive(serde::Serialize)]
struct Json<'a> {
    kernel: &'a str,
    fault: Option<String>,
    blocks: u64,
    warp_instructions: u64,
    counters: Option<serde_json::Value>,
    findings: &'a [Finding],
}

impl LaunchReport {
    pub(crate) fn new(
        kernel: &Kernel,
        ended: &Result<Report, LaunchError>,
        counters: Option<&Counters>,
        findings: &[Finding],
        mut printed: Vec<u8>,
    ) -> Self {
        let (blocks, warp_instructions) = match ended {
            Ok(report) => (report.blocks, report.warp_instructions),
            Err(_) => (0, 0),
        };
        let counters = counters.map(|counters| {
            serde_json::json!({
                "total": counters.total(),
                "footprint": counters.footprint(),
                "by_class": counters.by_class(),
                "lines": counters.lines(),
            })
        });
        let json = Json {
            kernel: kernel.name(),
            fault: ended.as_ref().err().map(LaunchError::to_string),
            blocks,
            warp_instructions,
            counters,
            findings,
        };
        // Numbers and texts alone: nothing in it has no form in JSON.
        let json = serde_json::to_string(&json).unwrap_or_default();
        printed.push(0);
        LaunchReport {
            blocks,
            warp_instructions,
            findings: findings.iter().map(|one| c_text(one.to_string())).collect(),
            printed,
            json: c_text(json),
        }
    }
}

/// `ptxemu_report_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_report_free(report: Object<LaunchReport>) {
    report.free();
}

/// `ptxemu_report_blocks`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_report_blocks(report: Object<LaunchReport>) -> u64 {
    report.get().map_or(0, |report| report.blocks)
}

/// `ptxemu_report_warp_instructions`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_report_warp_instructions(report: Object<LaunchReport>) -> u64 {
    report.get().map_or(0, |report| report.warp_instructions)
}

/// `ptxemu_report_finding_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_report_finding_count(report: Object<LaunchReport>) -> usize {
    report.get().map_or(0, |report| report.findings.len())
}

/// `ptxemu_report_finding`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_report_finding(
    report: Object<LaunchReport>,
    index: usize,
) -> *const c_char {
    let report = report.get().ok();
    let finding = report.and_then(|report| report.findings.get(index));
    finding.map_or(std::ptr::null(), |finding| finding.as_ptr())
}

/// `ptxemu_report_printed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_report_printed(
    report: Object<LaunchReport>,
    bytes: Out<usize>,
) -> *const c_char {
    let printed = report.get().map(|report| report.printed.as_slice());
    bytes.set_optional(printed.as_ref().map_or(0, |printed| printed.len() - 1));
    printed.map_or(std::ptr::null(), |printed| printed.as_ptr().cast())
}

/// `ptxemu_report_json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_report_json(report: Object<LaunchReport>) -> *const c_char {
    let json = report.get().map(|report| report.json.as_ptr());
    json.unwrap_or(std::ptr::null())
}
