"""The functions: name -> (function, arguments, tolerance)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((64, 64)).astype(np.float32)
POSITIVE = np.abs(X) + np.float32(0.1)

ELEMENTWISE = """sin cos tan tanh exp log1p sqrt abs floor ceil sign square arctan sinh cosh expm1
cbrt reciprocal""".split()
REDUCTIONS = """sum prod max min mean std var argmax argmin cumsum cumprod sort argsort any all
median""".split()


def of_rows(name):
    return lambda v: getattr(jnp, name)(v, axis=1)


def layer_norm(v):
    return (v - v.mean(1, keepdims=True)) / jnp.sqrt(v.var(1, keepdims=True) + 1e-5)


def special_functions(v):
    positive = jnp.abs(v) + 1
    return lax.erf(v), lax.erf_inv(v * 0.2), lax.lgamma(positive), lax.digamma(positive)


def scan(v):
    return lax.scan(lambda carry, row: (carry + row, carry * row), jnp.zeros(64), v)


def loop(v):
    step = lambda state: (state[0] + 1, state[1] * 1.1)
    return lax.while_loop(lambda state: state[0] < 10, step, (0, v))


def bit_counts(v):
    whole = (v * 1000).astype(jnp.uint32)
    return lax.clz(whole) + lax.population_count(whole)


def windows(v):
    return lax.reduce_window(v, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")


TESTS = {name: (getattr(jnp, name), [POSITIVE], 1e-4) for name in ELEMENTWISE}
TESTS |= {name: (of_rows(name), [X / 2], 1e-3) for name in REDUCTIONS}
TESTS |= {
    "softmax": (lambda v: jax.nn.softmax(v, axis=-1), [X], 1e-4),
    "gelu": (jax.nn.gelu, [X], 1e-4),
    "layer_norm": (layer_norm, [X], 1e-4),
    "gradient": (jax.grad(lambda v: jnp.sum(jnp.tanh(v) ** 2)), [X], 1e-4),
    "scan": (scan, [X], 1e-4),
    "associative_scan": (lambda v: lax.associative_scan(jnp.maximum, v), [X], 0),
    "while_loop": (loop, [X], 1e-4),
    "cond": (lambda v: lax.cond(v.sum() > 0, jnp.sin, jnp.cos, v), [X], 1e-4),
    "gather": (lambda v: v[jnp.array([3, 1, 7])], [X], 0),
    "scatter_add": (lambda v: v.at[jnp.array([3, 1, 3])].add(1.0), [X], 1e-4),
    "transpose": (lambda v: v.T + 1, [X], 0),
    "reduce_window": (windows, [X], 0),
    "norm": (jnp.linalg.norm, [X], 1e-4),
    "top_k": (lambda v: lax.top_k(v, 5), [X], 0),
    "normal": (lambda v: jax.random.normal(jax.random.key(0), (100,)) + v[0, 0], [X], 1e-4),
    "bits": (lambda v: jax.random.bits(jax.random.key(3), (1000,)) + v, [np.uint32(5)], 0),
    "integers": (lambda v: (v.astype(jnp.int32) * 7 // 3) % 5, [X * 100], 0),
    "bf16": (lambda v: v.astype(jnp.bfloat16) * 2, [X], 0),
    "f8": (lambda v: v.astype(jnp.float8_e4m3fn), [X], 0),
    "bit_counts": (bit_counts, [POSITIVE], 0),
    "special_functions": (special_functions, [X], 1e-3),
    "complex": (lambda v: jnp.abs(v + 1j * v[::-1]), [X], 1e-4),
}
