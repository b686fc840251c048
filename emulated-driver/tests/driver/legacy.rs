//! Launches and contexts as before CUDA 4.0.

use super::*;

#[test]
fn a_function_remembers_its_block_and_its_arguments() {
    let context = context();
    let add = function(load(ADD).1, c"add").1;
    let buffers = [alloc(128), alloc(128), alloc(128)];
    let values: Vec<u32> = (0..32).collect();
    assert_eq!(upload(buffers[0], &values), 0);
    assert_eq!(upload(buffers[1], &values), 0);
    let block =
        |x: c_int| call!(cuFuncSetBlockShape(add => Handle, x => c_int, 1 => c_int, 1 => c_int));
    assert_eq!([block(2048), block(0), block(16)], [1, 1, 0]);
    assert_eq!(call!(cuParamSetSize(add => Handle, 28 => c_uint)), 0);
    let from = buffers.as_ptr();
    let code = call!(cuParamSetv(
        add => Handle, 0 => c_int, from => *const u64, 24 => c_uint
    ));
    assert_eq!(code, 0);
    let count = |n: c_uint| call!(cuParamSeti(add => Handle, 24 => c_int, n => c_uint));
    assert_eq!(count(32), 0);
    assert_eq!(
        call!(cuLaunchGrid(add => Handle, 2 => c_int, 1 => c_int)),
        0
    );
    let mut result = [0; 32];
    assert_eq!(download(buffers[2], &mut result), 0);
    assert!(result.iter().zip(&values).all(|(sum, one)| *sum == 4 * one));

    // A size that is less than that of the parameters.
    assert_eq!(call!(cuParamSetSize(add => Handle, 24 => c_uint)), 0);
    assert_eq!(call!(cuLaunch(add => Handle)), 1);
    assert_eq!(call!(cuCtxDestroy_v2(context => Handle)), 0);
}

#[test]
fn a_context_lives_until_its_last_user_detaches() {
    let context = context();
    let mut same = NONE;
    let to: *mut Handle = &mut same;
    assert_eq!(call!(cuCtxAttach(to => *mut Handle, 0 => c_uint)), 0);
    assert_eq!(same, context);
    assert_eq!(call!(cuCtxDetach(context => Handle)), 0);
    assert_eq!(call!(cuCtxSynchronize()), 0);
    assert_eq!(call!(cuCtxDetach(context => Handle)), 0);
    assert_eq!(call!(cuCtxDetach(context => Handle)), 201);
    assert_eq!(call!(cuCtxSynchronize()), 201);
}
