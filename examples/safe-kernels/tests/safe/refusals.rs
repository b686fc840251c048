//! What a launch refuses. What does not compile is in `src/refused.rs`.

use safe_kernels::PTX;
use safe_kernels::kernels::{tiled, transpose_padded, vecadd};
use warpladder::gpu::{ContractError, Error, Gpu, Layout};

fn message(result: Result<(), Error>) -> String {
    match result {
        Err(error @ Error::Contract(_)) => {
            let message = error.to_string();
            assert!(!message.contains('\n'), "{message}");
            message
        }
        other => panic!("{other:?} is not about the contract"),
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    let gpu = Gpu::emulated();
    let vecadd = gpu.typed_kernel::<vecadd::vecadd>(&PTX).unwrap();
    let [a, b] = [100, 99].map(|len| gpu.upload(&vec![1.0f32; len]).unwrap());
    let mut c = gpu.upload(&[f32::NAN; 100]).unwrap();
    assert_eq!(
        message(vecadd.launch(&gpu, (&a, &b, &mut c))),
        "argument 1 of vecadd has 99 elements along N, argument 0 has 100: give both the same"
    );
    assert_eq!(
        message(vecadd.launch(&gpu, (&b, &b, &mut c))),
        "argument 2 of vecadd has 100 elements along N, argument 0 has 99: give both the same"
    );
    // Nothing was launched.
    assert!(c.download().unwrap().iter().all(|c| c.is_nan()));
}

#[test]
fn products_of_sizes_that_do_not_match_are_refused() {
    let gpu = Gpu::emulated();
    let tiled = gpu.typed_kernel::<tiled::tiled<16, 1>>(&PTX).unwrap();
    let [a, b] = [[3, 4], [5, 6]].map(|[rows, columns]| {
        let array = gpu.upload(&vec![1.0f32; rows * columns]).unwrap();
        (array, Layout::row_major(rows, columns))
    });
    let mut c = gpu.upload(&[f32::NAN; 18]).unwrap();
    let (a, b) = (a.0.matrix(a.1).unwrap(), b.0.matrix(b.1).unwrap());
    let c = c.matrix_mut(Layout::row_major(3, 6)).unwrap();
    assert_eq!(
        message(tiled.launch(&gpu, (a, b, c))),
        "argument 1 of tiled_16_guarded has 5 elements along K, argument 0 has 4: give both the same"
    );
}

#[test]
fn extents_without_guards_are_multiples() {
    let gpu = Gpu::emulated();
    let transpose = gpu
        .typed_kernel::<transpose_padded::transpose_padded<32>>(&PTX)
        .unwrap();
    let input = gpu.upload(&vec![1.0f32; 64 * 33]).unwrap();
    let mut output = gpu.upload(&vec![f32::NAN; 64 * 33]).unwrap();
    let from = input.matrix(Layout::row_major(64, 33)).unwrap();
    let to = output.matrix_mut(Layout::row_major(33, 64)).unwrap();
    assert_eq!(
        message(transpose.launch(&gpu, (from, to))),
        "argument 0 of transpose_padded has 33 elements along Width, no multiple of 32: pad it, or \
         launch an instance with guards"
    );
}

#[test]
fn matrices_are_row_major_without_gaps() {
    let gpu = Gpu::emulated();
    let transpose = gpu
        .typed_kernel::<transpose_padded::transpose_padded<1>>(&PTX)
        .unwrap();
    let input = gpu.upload(&[1.0f32; 100]).unwrap();
    let mut output = gpu.upload(&[f32::NAN; 100]).unwrap();
    for layout in [
        Layout::column_major(4, 5),
        Layout::row_major(4, 5).leading(8),
        Layout::row_major(4, 5).batched(2, 20),
    ] {
        let from = input.matrix(layout).unwrap();
        let to = output.matrix_mut(Layout::row_major(5, 4)).unwrap();
        let message = message(transpose.launch(&gpu, (from, to)));
        assert!(message.contains("not row-major without gaps"), "{message}");
    }
    // A part of an array is one where its rows are whole.
    let from = input.matrix(Layout::row_major(4, 5).at(7)).unwrap();
    let to = output.matrix_mut(Layout::row_major(5, 4).at(3)).unwrap();
    transpose.launch(&gpu, (from, to)).unwrap();
    let output = output.download().unwrap();
    assert_eq!(output[3..23], [1.0; 20]);
    assert!(
        output[..3]
            .iter()
            .chain(&output[23..])
            .all(|value| value.is_nan())
    );
}

#[test]
fn arguments_are_of_the_same_device() {
    let (gpu, other) = (Gpu::emulated(), Gpu::emulated());
    let vecadd = gpu.typed_kernel::<vecadd::vecadd>(&PTX).unwrap();
    let a = gpu.upload(&[1.0f32; 8]).unwrap();
    let elsewhere = other.upload(&[1.0f32; 8]).unwrap();
    let mut c = gpu.upload(&[1.0f32; 8]).unwrap();
    let refused = vecadd.launch(&gpu, (&a, &elsewhere, &mut c));
    assert!(
        matches!(refused, Err(Error::WrongDevice { .. })),
        "{refused:?}"
    );
    let refused = vecadd.launch(&other, (&elsewhere, &elsewhere, &mut c));
    assert!(
        matches!(refused, Err(Error::WrongDevice { .. })),
        "{refused:?}"
    );
}

#[test]
fn nothing_is_launched_for_outputs_without_elements() {
    let gpu = Gpu::emulated();
    let vecadd = gpu.typed_kernel::<vecadd::vecadd>(&PTX).unwrap();
    let a = gpu.upload::<f32>(&[]).unwrap();
    let mut c = gpu.upload::<f32>(&[]).unwrap();
    vecadd.launch(&gpu, (&a, &a, &mut c)).unwrap();
    let timed = vecadd.time(&gpu, (&a, &a, &mut c), 3);
    let empty = ContractError::Empty { kernel: "vecadd" };
    assert!(
        matches!(&timed, Err(Error::Contract(error)) if *error == empty),
        "{timed:?}"
    );
}
