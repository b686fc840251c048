"""Elementwise kernels, reductions, normalisations, scans, conversions and libdevice."""

import math

import numpy as np
import triton
import triton.language as tl

from launch import Buffer, close, launch
from suite import bf16, e4, e5, normal, rng, test
from triton.language.extra import libdevice


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, m) + tl.load(y + i, m), m)


@test
def test_add():
    for dt in (np.float32, np.float16, bf16, np.int32, np.int8, np.float64):
        x = (normal(1000) * 10).astype(dt)
        y = (normal(1000) * 10).astype(dt)
        o = Buffer(np.zeros(1000, dt))
        launch(add, (4,), [Buffer(x), Buffer(y), o, 1000], {"B": 256})
        close(o.get(), x + y, 0.01 if dt in (np.float16, bf16) else 1e-06)


@triton.jit
def softmax(o, x, s, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + r * s + c, m, other=-float("inf"))
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(o + r * s + c, e / tl.sum(e, 0), m)


@test
def test_softmax():
    x = normal(8, 781)
    o = Buffer(np.zeros_like(x))
    launch(softmax, (8,), [o, Buffer(x), 781, 781], {"B": 1024})
    e = np.exp(x - x.max(1, keepdims=True))
    close(o.get(), e / e.sum(1, keepdims=True), 1e-05)


@triton.jit
def layernorm(x, y, w, b, mean, rstd, s, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    x += r * s
    y += r * s
    acc = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        acc += tl.load(x + c, c < n, other=0.0).to(tl.float32)
    mu = tl.sum(acc, 0) / n
    acc = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        v = tl.load(x + c, c < n, other=0.0).to(tl.float32)
        v = tl.where(c < n, v - mu, 0.0)
        acc += v * v
    rs = 1 / tl.sqrt(tl.sum(acc, 0) / n + eps)
    tl.store(mean + r, mu)
    tl.store(rstd + r, rs)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        m = c < n
        v = (tl.load(x + c, m, other=0.0).to(tl.float32) - mu) * rs
        tl.store(y + c, v * tl.load(w + c, m) + tl.load(b + c, m), m)


@test
def test_layernorm():
    x = normal(6, 1000, dt=np.float16)
    w = normal(1000, dt=np.float16)
    b = normal(1000, dt=np.float16)
    y = Buffer(np.zeros_like(x))
    mu = Buffer(np.zeros(6, np.float32))
    rs = Buffer(np.zeros(6, np.float32))
    launch(
        layernorm,
        (6,),
        [Buffer(x), y, Buffer(w), Buffer(b), mu, rs, 1000, 1000, 1e-05],
        {"B": 256},
    )
    xf = x.astype(np.float64)
    m = xf.mean(1, keepdims=True)
    v = xf.var(1, keepdims=True)
    close(y.get(), (xf - m) / np.sqrt(v + 1e-05) * w.astype(float) + b.astype(float), 0.004)
    close(mu.get(), m[:, 0], 1e-05)


@triton.jit
def lnbwd(DX, DY, DW, DB, X, W, Mean, Rstd, Lock, s, N, G: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < N
    X += row * s
    DY += row * s
    DX += row * s
    lid = row % G
    Lock += lid
    Count = Lock + G
    DW = DW + lid * N + c
    DB = DB + lid * N + c
    x = tl.load(X + c, m, other=0).to(tl.float32)
    dy = tl.load(DY + c, m, other=0).to(tl.float32)
    w = tl.load(W + c, m).to(tl.float32)
    mu = tl.load(Mean + row)
    rs = tl.load(Rstd + row)
    xh = (x - mu) * rs
    wdy = w * dy
    xh = tl.where(m, xh, 0.0)
    wdy = tl.where(m, wdy, 0.0)
    c1 = tl.sum(xh * wdy, 0) / N
    c2 = tl.sum(wdy, 0) / N
    tl.store(DX + c, (wdy - (xh * c1 + c2)) * rs, m)
    pw = dy * xh
    pb = dy
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    cnt = tl.load(Count)
    if cnt == 0:
        tl.atomic_xchg(Count, 1)
    else:
        pw += tl.load(DW, m)
        pb += tl.load(DB, m)
    tl.store(DW, pw, m)
    tl.store(DB, pb, m)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@test
def test_lnbwd():
    M, N, G = (16, 300, 3)
    x = normal(M, N)
    dy = normal(M, N)
    w = normal(N)
    mu = x.mean(1)
    rs = 1 / np.sqrt(x.var(1) + 1e-05)
    dx = Buffer(np.zeros_like(x))
    dw = Buffer(np.zeros((G, N), np.float32))
    db = Buffer(np.zeros((G, N), np.float32))
    lock = Buffer(np.zeros(2 * G, np.int32))
    launch(
        lnbwd,
        (M,),
        [dx, Buffer(dy), dw, db, Buffer(x), Buffer(w), Buffer(mu), Buffer(rs), lock, N, N],
        {"G": G, "B": 512},
    )
    xh = (x - mu[:, None]) * rs[:, None]
    wdy = w * dy
    ref = (wdy - (xh * (xh * wdy).mean(1, keepdims=True) + wdy.mean(1, keepdims=True))) * rs[
        :, None
    ]
    close(dx.get(), ref, 0.0001)
    close(dw.get().sum(0), (dy * xh).sum(0), 0.0001)
    close(db.get().sum(0), dy.sum(0), 0.0001)


@triton.jit
def dropout(x, o, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, m)
    r = tl.rand(seed, i)
    tl.store(o + i, tl.where(r > p, v / (1 - p), 0.0), m)


def philox(seed, off):
    c = [off.astype(np.uint64) & 4294967295] + [np.zeros_like(off, dtype=np.uint64)] * 3
    k0, k1 = (np.uint64(seed & 4294967295), np.uint64(seed >> 32))
    A, Bc = (np.uint64(3528531795), np.uint64(3449720151))
    M = np.uint64(4294967295)
    for _ in range(10):
        pa, pb = (c[0] * A, c[2] * Bc)
        c = [pb >> np.uint64(32) ^ c[1] ^ k0, pb & M, pa >> np.uint64(32) ^ c[3] ^ k1, pa & M]
        k0 = k0 + np.uint64(2654435769) & M
        k1 = k1 + np.uint64(3144134277) & M
    return c[0]


@test
def test_dropout():
    n = 1000
    x = normal(n)
    o = Buffer(np.zeros_like(x))
    launch(dropout, (4,), [Buffer(x), o, n, 0.3, 123], {"B": 256})
    r = philox(123, np.arange(n)).astype(np.uint32).view(np.int32).astype(np.int64)
    r = np.where(r < 0, -r - 1, r).astype(np.float32) * np.float32(4.6566127342e-10)
    close(o.get(), np.where(r > np.float32(0.3), x / np.float32(0.7), 0), 1e-06)


@triton.jit
def misc(x, o, h, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, tl.cumsum(v, 0))
    tl.store(o + B + i, tl.sort(v))
    tl.store(o + 2 * B + i, tl.associative_scan(v, 0, _mx))
    a = tl.argmax(v, 0)
    b = tl.argmin(v, 0)
    tl.store(h + 32, a)
    tl.store(h + 33, b)
    k = (tl.abs(v) * 8).to(tl.int32)
    k = tl.minimum(k, 31)
    tl.store(h + tl.arange(0, 32), tl.histogram(k, 32))
    tl.store(o + 3 * B + i, tl.gather(v, i * 7 % B, 0))
    tl.store(o + 4 * B + i, tl.flip(v))
    y = tl.reshape(v, (B // 16, 16))
    tl.store(o + 5 * B + i, tl.reshape(tl.trans(y), (B,)))
    p, q = tl.split(tl.reshape(v, (B // 2, 2)))
    tl.store(o + 6 * B + i, tl.interleave(q, p))
    z = k * 0
    tl.atomic_add(h + 34 + k % 4, z + 1)
    tl.atomic_max(h + 38 + z, k)
    tl.atomic_min(h + 39 + z, k)
    tl.store(o + 7 * B + i, tl.softmax(v))
    tl.store(h + 40, tl.xor_sum(k, 0))


@triton.jit
def _mx(a, b):
    return tl.maximum(a, b)


@test
def test_misc():
    B = 256
    x = normal(B)
    o = Buffer(np.zeros((8, B), np.float32))
    h = Buffer(np.zeros(48, np.int32))
    launch(misc, (1,), [Buffer(x), o, h, B], {"B": B})
    g = o.get()
    H = h.get()
    close(g[0], np.cumsum(x), 1e-05)
    close(g[1], np.sort(x), 0)
    close(g[2], np.maximum.accumulate(x), 0)
    k = np.minimum((np.abs(x) * 8).astype(np.int32), 31)
    assert H[32] == x.argmax() and H[33] == x.argmin()
    assert (H[:32] == np.bincount(k, minlength=32)).all(), "hist"
    close(g[3], x[np.arange(B) * 7 % B], 0)
    close(g[4], x[::-1], 0)
    close(g[5], x.reshape(B // 16, 16).T.ravel(), 0)
    close(g[6], x.reshape(-1, 2)[:, ::-1].ravel(), 0)
    assert (H[34:38] == np.bincount(k % 4, minlength=4)).all()
    assert H[38] == k.max() and H[39] == 0
    assert H[40] == np.bitwise_xor.reduce(k)


@triton.jit
def mathk(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    C = tl.full([B], 50, v.dtype)
    tl.store(o + i, libdevice.sin(v * C))
    tl.store(o + B + i, libdevice.erf(v))
    tl.store(o + 2 * B + i, libdevice.tanh(v))
    tl.store(o + 3 * B + i, libdevice.pow(tl.abs(v), (C * 0 + 1.7).to(v.dtype)))
    tl.store(o + 4 * B + i, libdevice.log1p(tl.abs(v)))
    tl.store(o + 5 * B + i, libdevice.atan2(v, v * v - 1))
    tl.store(o + 6 * B + i, libdevice.tgamma(tl.abs(v) + 0.5))
    tl.store(o + 7 * B + i, libdevice.rint(v * 3))
    tl.store(o + 8 * B + i, libdevice.j0(v))
    tl.store(o + 9 * B + i, 1 / (1 + tl.exp(-v)))
    tl.store(o + 10 * B + i, 1 / tl.sqrt(tl.abs(v)))
    tl.store(o + 11 * B + i, libdevice.fmod(v * 10, (C * 0 + 0.7).to(v.dtype)))
    tl.store(o + 12 * B + i, tl.math.fma(v, v, v))
    tl.store(o + 13 * B + i, tl.floor(v * 3))
    tl.store(o + 14 * B + i, libdevice.cbrt(v))
    tl.store(o + 15 * B + i, v / (v + 3))


@test
def test_math():
    B = 512
    for dt, tol in ((np.float32, 3e-05), (np.float64, 1e-11)):
        x = normal(B).astype(dt)
        o = Buffer(np.zeros((16, B), dt))
        launch(mathk, (1,), [Buffer(x), o], {"B": B})
        g = o.get()
        X = x.astype(np.float64)
        v = np.vectorize
        for j, r in enumerate(
            [
                np.sin((x * dt(50)).astype(float)),
                v(math.erf)(X),
                np.tanh(X),
                np.abs(X) ** 1.7,
                np.log1p(np.abs(X)),
                np.arctan2(x, x * x - 1),
                v(math.gamma)(np.abs(X) + 0.5),
                np.rint(X * 3),
                None,
                1 / (1 + np.exp(-X)),
                1 / np.sqrt(np.abs(X)),
                np.fmod((x * dt(10)).astype(float), float(dt(0.7))),
                X * X + X,
                np.floor(X * 3),
                np.cbrt(X),
                X / (X + 3),
            ]
        ):
            if r is not None:
                if dt == np.float64 and j in (3, 11):
                    continue
                try:
                    close(g[j], r, tol)
                except AssertionError as e:
                    raise AssertionError(f"{dt.__name__} function {j}: {e}")


@triton.jit
def conv(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, v.to(tl.float8e4nv).to(tl.float32))
    tl.store(o + B + i, v.to(tl.float8e5).to(tl.float32))
    tl.store(o + 2 * B + i, v.to(tl.bfloat16).to(tl.float32))
    tl.store(o + 3 * B + i, v.to(tl.float16).to(tl.float8e5).to(tl.float16).to(tl.float32))
    tl.store(o + 4 * B + i, v.to(tl.int8).to(tl.float32))
    tl.store(o + 5 * B + i, v.to(tl.uint16).to(tl.float32))
    tl.store(o + 6 * B + i, v.to(tl.bfloat16).to(tl.float8e4nv).to(tl.bfloat16).to(tl.float32))


@test
def test_conv():
    B = 256
    x = np.concatenate([np.abs(normal(B // 2)) * 100, normal(B // 2)]).astype(np.float32)
    o = Buffer(np.zeros((7, B), np.float32))
    launch(conv, (1,), [Buffer(x), o], {"B": B})
    g = o.get()
    f = np.float32
    for j, r in enumerate(
        [
            x.astype(e4).astype(f),
            x.astype(e5).astype(f),
            x.astype(bf16).astype(f),
            x.astype(np.float16).astype(e5).astype(f),
        ]
    ):
        ok = np.isfinite(r)
        try:
            close(g[j][ok], r[ok], 0)
        except AssertionError as e:
            raise AssertionError(f"conv {j}: {e}")
    ok = (x >= 0) & (x < 65535)
    close(g[5][ok], np.trunc(x[ok]), 0)


@triton.jit
def asm(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    r = tl.inline_asm_elementwise(
        "prmt.b32 $0, $1, $2, 0x0123; lop3.b32 $0, $0, $1, $2, 0x96;",
        "=r,r,r",
        [v, v * 3],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(o + i, r)
    tl.store(o + B + i, tl.umulhi(v, v * 5))
    tl.store(o + 2 * B + i, v // 7)
    tl.store(o + 3 * B + i, v % 7)


@test
def test_asm():
    B = 128
    x = rng.integers(-(2**31), 2**31 - 1, B).astype(np.int32)
    o = Buffer(np.zeros((4, B), np.int32))
    launch(asm, (1,), [Buffer(x), o], {"B": B})
    g = o.get()
    y = (x.astype(np.int64) * 3).astype(np.int32)
    assert (
        g[0]
        == (x.view(np.uint32).byteswap() ^ x.view(np.uint32) ^ y.view(np.uint32)).view(np.int32)
    ).all(), "asm"
    q = (x / 7).astype(np.int64)
    assert (g[2] == np.trunc(x.astype(np.int64) / 7).astype(np.int64)).all(), "div"
    u = x.view(np.uint32).astype(object)
    w = (x.astype(np.int64) * 5).astype(np.int32).view(np.uint32).astype(object)
    assert (
        g[1].view(np.uint32) == np.array([int(p * r >> 32) for p, r in zip(u, w)], dtype=np.uint32)
    ).all(), "umulhi"
