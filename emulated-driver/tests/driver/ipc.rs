//! Memory that processes share: the other one is this test again.

use std::process::Command;

use super::*;

/// A handle for another process.
type Ticket = [u64; 8];

const OTHER: &str = "WARPLADDER_TEST_TICKET";

/// What the first process told the other one.
fn told() -> Option<Ticket> {
    let text = std::env::var(OTHER).ok()?;
    let words: Vec<u64> = text
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    words.try_into().ok()
}

/// Runs a test of this file again, in another process that is told a ticket.
fn run_other(test: &str, ticket: Ticket) {
    let words: Vec<String> = ticket.iter().map(u64::to_string).collect();
    let program = std::env::current_exe().expect("this test has a path");
    let ended = Command::new(program)
        .args([test, "--exact"])
        .env(OTHER, words.join(" "))
        .output()
        .expect("the test starts");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

fn open(ticket: Ticket) -> (u32, u64) {
    let mut address = 0;
    let to: *mut u64 = &mut address;
    // Tickets are passed by value: in C a structure of 64 bytes.
    #[repr(C)]
    struct ByValue(Ticket);
    let code = call!(cuIpcOpenMemHandle_v2(
        to => *mut u64, ByValue(ticket) => ByValue, 1 => c_uint
    ));
    (code, address)
}

fn export(address: u64) -> (u32, Ticket) {
    let mut ticket = [0; 8];
    let to: *mut Ticket = &mut ticket;
    let code = call!(cuIpcGetMemHandle(to => *mut Ticket, address => u64));
    (code, ticket)
}

#[test]
fn another_process_has_the_memory_of_this_one() {
    context();
    let add = function(load(ADD).1, c"add").1;
    if let Some(ticket) = told() {
        let (code, address) = open(ticket);
        assert_eq!(code, 0);
        assert_eq!(open(ticket), (0, address));
        let mut found = [0; 3];
        assert_eq!((download(address, &mut found), found), (0, [5, 6, 7]));
        assert_eq!(launch(add, NONE, [address; 3], 2), 0);
        assert_eq!(call!(cuCtxSynchronize()), 0);
        assert_eq!(call!(cuMemFree_v2(address => u64)), 1);
        assert_eq!(call!(cuIpcCloseMemHandle(address => u64)), 0);
        assert_eq!(download(address, &mut found), 0);
        assert_eq!(call!(cuIpcCloseMemHandle(address => u64)), 0);
        assert_eq!(call!(cuIpcCloseMemHandle(address => u64)), 1);
        assert_eq!(download(address, &mut found), 1);
        return;
    }
    // Small allocations and large ones lie in different memory of the host.
    for bytes in [12, 3 << 20] {
        let address = alloc(bytes);
        assert_eq!(upload(address, &[5, 6, 7]), 0);
        let (code, ticket) = export(address);
        assert_eq!(code, 0);
        assert_eq!(export(address), (0, ticket));
        // Not in the process itself.
        assert_eq!(open(ticket).0, 201);
        run_other("ipc::another_process_has_the_memory_of_this_one", ticket);
        let mut found = [0; 3];
        // The other's kernel multiplied by its own `scale` of 3, and added.
        assert_eq!((download(address, &mut found), found), (0, [20, 24, 7]));
        assert_eq!(call!(cuMemFree_v2(address => u64)), 0);
        assert_eq!(export(address).0, 1);
    }
    assert_eq!(open([1; 8]).0, 1);
}

/// Physical memory is shared by a file, here within one process.
#[test]
fn physical_memory_is_exported_as_a_file() {
    context();
    let bytes = 2usize << 20;
    // Pinned, by a file; on device 0.
    let properties = [1u64 << 32 | 1, 1, 0, 0];
    let (mut handle, mut other, mut file) = (NONE, NONE, -1);
    let (to, from): (*mut Handle, *const [u64; 4]) = (&mut handle, &properties);
    let code = call!(cuMemCreate(
        to => *mut Handle, bytes => usize, from => *const [u64; 4], 0 => u64
    ));
    assert_eq!(code, 0);
    let number: *mut c_int = &mut file;
    let code = call!(cuMemExportToShareableHandle(
        number => *mut c_int, handle => Handle, 1 => c_uint, 0 => u64
    ));
    assert_eq!(code, 0);
    let to: *mut Handle = &mut other;
    let code = call!(cuMemImportFromShareableHandle(
        to => *mut Handle, file as usize => usize, 1 => c_uint
    ));
    assert_eq!(code, 0);
    let addresses = [handle, other].map(|handle| {
        let mut address = 0u64;
        let to: *mut u64 = &mut address;
        let code = call!(cuMemAddressReserve(
            to => *mut u64, bytes => usize, 0 => usize, 0 => u64, 0 => u64
        ));
        assert_eq!(code, 0);
        let code = call!(cuMemMap(
            address => u64, bytes => usize, 0 => usize, handle => Handle, 0 => u64
        ));
        assert_eq!(code, 0);
        let access: *const [c_int; 3] = &[1, 0, 3];
        let code = call!(cuMemSetAccess(
            address => u64, bytes => usize, access => *const [c_int; 3], 1 => usize
        ));
        assert_eq!(code, 0);
        address
    });
    assert_eq!(upload(addresses[0] + 8, &[5, 6]), 0);
    let mut found = [0; 2];
    assert_eq!((download(addresses[1] + 8, &mut found), found), (0, [5, 6]));
    let code = call!(cuMemExportToShareableHandle(
        number => *mut c_int, handle => Handle, 2 => c_uint, 0 => u64
    ));
    assert_eq!(code, 801);
}

#[test]
fn events_for_other_processes_take_no_time() {
    context();
    let get = |flags: c_uint| {
        let (mut event, mut ticket): (Handle, Ticket) = (NONE, [9; 8]);
        let (to, place): (*mut Handle, *mut Ticket) = (&mut event, &mut ticket);
        assert_eq!(call!(cuEventCreate(to => *mut Handle, flags => c_uint)), 0);
        let code = call!(cuIpcGetEventHandle(place => *mut Ticket, event => Handle));
        (code, ticket == [0; 8])
    };
    assert_eq!([get(0), get(2), get(6)], [(1, true), (1, true), (0, false)]);
}
