"""Products of all types, by pointers and by tensor maps, grouped, scaled; flash attention."""

import numpy as np
import triton
import triton.language as tl

from launch import Buffer, close, launch
from suite import bf16, e4, e5, normal, rng, test


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    scn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GM: tl.constexpr,
    ACT: tl.constexpr,
    ACC: tl.constexpr,
    PREC: tl.constexpr,
):
    pid = tl.program_id(0)
    pm = tl.cdiv(M, BM)
    pn = tl.cdiv(N, BN)
    w = GM * pn
    gid = pid // w
    f = gid * GM
    gs = min(pm - f, GM)
    im = f + pid % w % gs
    jn = pid % w // gs
    om = (im * BM + tl.arange(0, BM)) % M
    on = (jn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    pa = a + om[:, None] * sam + ok[None, :] * sak
    pb = b + ok[:, None] * sbk + on[None, :] * sbn
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, ok[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=ACC, input_precision=PREC)
        pa += BK * sak
        pb += BK * sbk
    if ACT:
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    r = im * BM + tl.arange(0, BM)
    q = jn * BN + tl.arange(0, BN)
    tl.store(
        c + r[:, None] * scm + q[None, :] * scn,
        acc.to(c.dtype.element_ty),
        (r[:, None] < M) & (q[None, :] < N),
    )


def mm(
    dt,
    odt,
    tol,
    M=160,
    N=192,
    K=136,
    bt=False,
    BM=64,
    BN=64,
    BK=32,
    nw=4,
    ns=3,
    act=False,
    acc=tl.float32,
    prec="tf32",
    scale=1.0,
):
    a = (normal(M, K) * scale).astype(dt)
    b = (normal(K, N) * scale).astype(dt)
    c = Buffer(np.zeros((M, N), odt))
    bb = np.ascontiguousarray(b.T) if bt else b
    sb = (1, K) if bt else (N, 1)
    launch(
        matmul,
        (triton.cdiv(M, BM) * triton.cdiv(N, BN),),
        [
            Buffer(a),
            Buffer(bb),
            c,
            M,
            N,
            K,
            (K, "i32"),
            (1, "i32"),
            (sb[0], "i32"),
            (sb[1], "i32"),
            N,
            (1, "i32"),
        ],
        dict(BM=BM, BN=BN, BK=BK, GM=4, ACT=act, ACC=acc, PREC=prec),
        num_warps=nw,
        num_stages=ns,
    )
    ref = a.astype(np.float64) @ b.astype(np.float64)
    if act:
        ref = np.where(ref >= 0, ref, 0.01 * ref)
    close(c.get(), ref, tol)


@test
def test_mm_f16():
    mm(np.float16, np.float16, 0.002)


@test
def test_mm_f16_bt():
    mm(np.float16, np.float32, 0.001, bt=True, act=True)


@test
def test_mm_f16_big():
    mm(np.float16, np.float16, 0.002, M=256, N=256, K=128, BM=128, BN=128, BK=64, nw=8)


@test
def test_mm_f16acc():
    mm(np.float16, np.float16, 0.02, acc=tl.float16)


@test
def test_mm_bf16():
    mm(bf16, bf16, 0.01)


@test
def test_mm_tf32():
    mm(np.float32, np.float32, 0.02)


@test
def test_mm_tf32x3():
    mm(np.float32, np.float32, 0.0001, prec="tf32x3")


@test
def test_mm_ieee():
    mm(np.float32, np.float32, 1e-05, prec="ieee", BM=32, BN=32)


@test
def test_mm_f64():
    mm(np.float64, np.float64, 1e-12, acc=tl.float64, prec="ieee", BM=32, BN=32, BK=16)


@test
def test_mm_int8():
    mm(np.int8, np.int32, 0, acc=tl.int32, scale=20, BK=64)


@test
def test_mm_int8_bt():
    mm(np.int8, np.int32, 0, acc=tl.int32, scale=20, BK=64, bt=True)


@test
def test_mm_e4():
    mm(e4, np.float32, 0.01, BK=64)


@test
def test_mm_e4_bt():
    mm(e4, np.float32, 0.01, BK=64, bt=True)


@test
def test_mm_e5_bt():
    mm(e5, np.float32, 0.01, BK=64, bt=True)


@test
def test_mm_e5_f16():
    mm(e5, np.float16, 0.1, BK=32)


@triton.jit
def flash(
    Q, K, V, O, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    i = tl.program_id(0)
    h = tl.program_id(1)
    base = h * N * D
    rm = i * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + base + rm[:, None] * D + d[None, :])
    mi = tl.full([BM], -float("inf"), tl.float32)
    li = tl.zeros([BM], tl.float32) + 0.0
    acc = tl.zeros([BM, D], tl.float32)
    hi = (i + 1) * BM if CAUSAL else N
    for j in range(0, hi, BN):
        rn = j + tl.arange(0, BN)
        k = tl.load(K + base + rn[None, :] * D + d[:, None])
        s = tl.dot(q, k) * (scale * 1.44269504)
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, -1000000.0)
        m = tl.maximum(mi, tl.max(s, 1))
        p = tl.math.exp2(s - m[:, None])
        al = tl.math.exp2(mi - m)
        li = li * al + tl.sum(p, 1)
        acc = acc * al[:, None]
        v = tl.load(V + base + rn[:, None] * D + d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc)
        mi = m
    acc = acc / li[:, None]
    tl.store(O + base + rm[:, None] * D + d[None, :], acc.to(O.dtype.element_ty))


@test
def test_flash():
    for dt, causal in ((np.float16, True), (bf16, False), (e5, False)):
        H, N, D = (2, 128, 64)
        q, k, v = [(normal(H, N, D) * 0.5).astype(dt) for _ in range(3)]
        odt = np.float16 if dt != bf16 else bf16
        o = Buffer(np.zeros((H, N, D), odt))
        launch(
            flash,
            (N // 64, H),
            [Buffer(q), Buffer(k), Buffer(v), o, 0.125, N],
            dict(D=D, BM=64, BN=32, CAUSAL=causal),
            num_stages=2,
        )
        s = np.einsum("hid,hjd->hij", q.astype(float), k.astype(float)) * 0.125
        if causal:
            s = np.where(np.tril(np.ones((N, N))) > 0, s, -1000000.0)
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        close(o.get(), p @ v.astype(float), 0.08 if dt == e5 else 0.01)


@triton.jit
def tma_mm(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    NP: tl.constexpr,
    WS: tl.constexpr,
):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    s = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    for t in tl.range(s, nm * nn, NP, flatten=False, warp_specialize=WS):
        i = t // nn
        j = t % nn
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            x = da.load([i * BM, k * BK])
            y = db.load([j * BN, k * BK])
            acc = tl.dot(x, y.T, acc)
        dc.store([i * BM, j * BN], acc.to(c.dtype.element_ty))


def tma(dt, WS=False, BM=64, BN=64, BK=64, nw=4):
    M, N, K = (192, 128, 192)
    a = normal(M, K).astype(dt)
    b = normal(N, K).astype(dt)
    c = Buffer(np.zeros((M, N), np.float16))
    launch(
        tma_mm,
        (3,),
        [Buffer(a), Buffer(b), c, M, N, K],
        dict(BM=BM, BN=BN, BK=BK, NP=3, WS=WS),
        num_warps=nw,
        num_stages=3,
    )
    close(c.get(), a.astype(float) @ b.astype(float).T, 0.002 if dt != e4 else 0.01)


@test
def test_tma_f16():
    tma(np.float16)


@test
def test_tma_f16_8w():
    tma(np.float16, BM=128, nw=8)


@test
def test_tma_ws():
    tma(np.float16, WS=True, BM=128)


@test
def test_tma_e4():
    tma(e4)


@triton.jit
def grouped(
    A, B, C, sizes, G, NSM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    t = tl.program_id(0)
    last = 0
    for g in range(G):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        k = tl.load(sizes + g * 3 + 2)
        nm = tl.cdiv(m, BM)
        nn = tl.cdiv(n, BN)
        nt = nm * nn
        while t >= last and t < last + nt:
            a = tl.load(A + g).to(tl.pointer_type(tl.float16))
            b = tl.load(B + g).to(tl.pointer_type(tl.float16))
            c = tl.load(C + g).to(tl.pointer_type(tl.float16))
            q = t - last
            i = q // nn
            j = q % nn
            om = i * BM + tl.arange(0, BM)
            on = j * BN + tl.arange(0, BN)
            ok = tl.arange(0, BK)
            pa = a + om[:, None] * k + ok[None, :]
            pb = b + ok[:, None] * n + on[None, :]
            acc = tl.zeros((BM, BN), tl.float32)
            for kk in range(tl.cdiv(k, BK)):
                tl.multiple_of(pa, [16, 16])
                tl.multiple_of(pb, [16, 16])
                acc += tl.dot(tl.load(pa), tl.load(pb))
                pa += BK
                pb += BK * n
            tl.store(c + om[:, None] * n + on[None, :], acc.to(tl.float16))
            t += NSM
        last += nt


@test
def test_grouped():
    sz = [(64, 64, 32), (128, 64, 64), (64, 128, 96)]
    As = [Buffer(normal(m, k, dt=np.float16)) for m, n, k in sz]
    Bs = [Buffer(normal(k, n, dt=np.float16)) for m, n, k in sz]
    Cs = [Buffer(np.zeros((m, n), np.float16)) for m, n, k in sz]
    P = lambda l: Buffer(np.array([b.address for b in l], np.int64))
    launch(
        grouped,
        (2,),
        [P(As), P(Bs), P(Cs), Buffer(np.array(sz, np.int32)), 3],
        dict(NSM=2, BM=64, BN=64, BK=32),
    )
    for a, b, c in zip(As, Bs, Cs):
        close(c.get(), a.array.astype(float) @ b.array.astype(float), 0.002)


@triton.jit
def scaled(
    a,
    asc,
    b,
    bsc,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    AT: tl.constexpr,
    BT: tl.constexpr,
    PA: tl.constexpr,
    PB: tl.constexpr,
    VS: tl.constexpr,
):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    ka = tl.arange(0, K // PA)
    kb = tl.arange(0, K // PB)
    ks = tl.arange(0, K // VS)
    A = tl.load(a + m[:, None] * (K // PA) + ka[None, :])
    Bt = tl.load(b + n[None, :] * (K // PB) + kb[:, None])
    sa = tl.load(asc + m[:, None] * (K // VS) + ks[None, :])
    sb = tl.load(bsc + n[:, None] * (K // VS) + ks[None, :])
    r = tl.dot_scaled(A, sa, AT, Bt, sb, BT)
    tl.store(c + m[:, None] * N + n[None, :], r)


E2 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def fp4(rows, K):
    p = rng.integers(0, 256, (rows, K // 2)).astype(np.uint8)
    v = np.empty((rows, K))
    v[:, 0::2] = E2[p & 15]
    v[:, 1::2] = E2[p >> 4]
    return (p, v)


def f8(rows, K, dt):
    x = normal(rows, K, dt=dt)
    return (x, x.astype(float))


def sc(A, B, VS=32, sdt=None):
    M, N, K = (64, 64, 128)

    def mk(kind, rows):
        if kind == "e2m1":
            p, v = fp4(rows, K)
            return (p, v, 2)
        x, v = f8(rows, K, {"e4m3": e4, "e5m2": e5}[kind])
        return (x, v, 1)

    a, av, pa = mk(A, M)
    b, bv, pb = mk(B, N)
    if VS == 32:
        sa = rng.integers(124, 131, (M, K // VS)).astype(np.uint8)
        sb = rng.integers(124, 131, (N, K // VS)).astype(np.uint8)
        fa = 2.0 ** (sa.astype(int) - 127)
        fb = 2.0 ** (sb.astype(int) - 127)
    else:
        sa = (np.abs(normal(M, K // VS)) + 0.1).astype(e4)
        sb = (np.abs(normal(N, K // VS)) + 0.1).astype(e4)
        fa = sa.astype(float)
        fb = sb.astype(float)
    c = Buffer(np.zeros((M, N), np.float32))
    launch(
        scaled,
        (1,),
        [Buffer(a), Buffer(sa), Buffer(b), Buffer(sb), c],
        dict(M=M, N=N, K=K, AT=A, BT=B, PA=pa, PB=pb, VS=VS),
    )
    ref = av * np.repeat(fa, VS, 1) @ (bv * np.repeat(fb, VS, 1)).T
    close(c.get(), ref, 0.001)


@test
def test_scaled_e4e4():
    sc("e4m3", "e4m3")


@test
def test_scaled_e5e2():
    sc("e5m2", "e2m1")


@test
def test_scaled_e2e2():
    sc("e2m1", "e2m1")


@test
def test_scaled_nvfp4():
    sc("e2m1", "e2m1", VS=16)
