"""The functions, with arguments in odd shapes, and how far results may be apart."""

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import flex_attention

TESTS = {}


def test(*arguments, tolerance=1e-5):
    def add(function):
        TESTS[function.__name__] = (function, arguments, tolerance)
        return function

    return add


def floats(*shape, dtype=torch.float32, seed=7):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def integers(low, high, *shape, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(3), dtype=dtype)


@test(floats(33, 65), floats(65))
def broadcast_arithmetic(x, y):
    return (x * 2 + y) / (x.abs() + 1) - y**2


@test(floats(1001))
def special_functions(x):
    return torch.erf(x), torch.tanh(x), torch.exp(x), torch.log1p(x.abs()), torch.sin(x) + x.cos()


@test(floats(517).abs() + 0.1)
def more_special_functions(x):
    return torch.lgamma(x), x.rsqrt(), torch.atan2(x, 1 - x), torch.expm1(x), x**0.3


@test(floats(515))
def activations(x):
    return F.gelu(x), F.silu(x), F.gelu(x, approximate="tanh"), F.softplus(x), F.elu(x)


@test(integers(-1000, 1000, 777), integers(1, 50, 777))
def integer_arithmetic(x, y):
    return x // y, x % y, x << (y % 8), x ^ y, torch.bitwise_not(x), x >> 3


@test(integers(-128, 127, 301, dtype=torch.int8), integers(0, 255, 301, dtype=torch.uint8))
def small_integers(x, y):
    return x + 1, y * 3, x.to(torch.int32) * y.to(torch.int32), x.float() / 3


@test(floats(259) * 1e3)
def conversions(x):
    return x.to(torch.int32), x.half(), x.bfloat16(), x.double() / 3, x > 0, x.to(torch.int64)


@test(floats(31, 63, dtype=torch.bfloat16), floats(31, 63, dtype=torch.float16), tolerance=1e-2)
def halves(x, y):
    return x * x + 1, y.exp() * 0.5, (x.float() + y.float()).bfloat16()


@test(floats(17, 129))
def sums(x):
    return x.sum(1), x.sum(0), x.mean(), x.prod(1)


@test(floats(3, 70001), tolerance=1e-4)
def long_sums(x):
    return x.sum(1), x.amax(1), x.var(1), x.norm()


@test(floats(37, 91))
def extremes(x):
    return x.max(1), x.argmin(0), x.amin(1), (x > 3).any(), (x > -9).all(1)


@test(floats(19, 1000))
def softmax(x):
    return torch.softmax(x, 1), torch.log_softmax(x, 0), torch.logsumexp(x, 1)


@test(floats(13, 5003))
def long_softmax(x):
    return torch.softmax(x, 1)


@test(floats(23, 257), floats(257), floats(257))
def layer_norm(x, weight, bias):
    return F.layer_norm(x, (257,), weight, bias), F.rms_norm(x, (257,), weight)


@test(floats(4, 6, 17, 19), tolerance=1e-4)
def group_norm(x):
    return F.group_norm(x, 3), F.instance_norm(x)


@test(floats(11, 511), tolerance=1e-4)
def scans(x):
    return x.cumsum(1), x.cumsum(0), x.abs().add(0.5).cumprod(1), torch.logcumsumexp(x, 1)


@test(floats(9, 100))
def sorts(x):
    return x.sort(1), torch.argsort(x, dim=0, stable=True)


@test(floats(100, 16), integers(0, 100, 57))
def gathers(table, index):
    return table[index], F.embedding(index, table), table.gather(0, index[:, None] % 100)


@test(floats(57, 16), integers(0, 10, 57), tolerance=1e-4)
def scatters(values, index):
    zeros = torch.zeros(10, 16, device=values.device)
    counts = torch.zeros(10, dtype=torch.int32, device=values.device)
    ones = torch.ones_like(index, dtype=torch.int32)
    added = zeros.index_add(0, index, values)
    return added, counts.index_put((index,), ones, accumulate=True)


@test(floats(12, 7), floats(12, 9))
def joins(x, y):
    return torch.cat([x, y], 1), torch.stack([x, x + 1]), F.pad(x, (1, 2, 3, 0), value=4.0)


@test(floats(2, 3, 13, 17))
def pools(x):
    return F.max_pool2d(x, 3, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 4)


@test(floats(2, 3, 9, 11), tolerance=1e-4)
def interpolations(x):
    nearest = F.interpolate(x, scale_factor=2, mode="nearest")
    return nearest, F.interpolate(x, size=(20, 15), mode="bilinear", align_corners=False)


@test(floats(21, 33), integers(0, 33, 21), tolerance=1e-4)
def losses(x, target):
    return F.cross_entropy(x, target), F.mse_loss(x, x.sin()), F.huber_loss(x, x.cos())


@test(floats(40, 50))
def views(x):
    return x.t().contiguous() + 1, x.flip(1), x.roll(3, 1), x.tril(), x[1::3, ::2] * 2


@test(floats(64, 33), floats(64, 33))
def selections(x, y):
    return torch.where(x > y, x, y), x.masked_fill(x < 0, -1.0), x.clamp(-0.5, 0.5), x.sign()


@test(floats(1, 2, 70, 16), floats(1, 2, 90, 16), floats(1, 2, 90, 16), tolerance=1e-2)
def flexible_attention(q, k, v):
    def with_distance(score, b, h, i, j):
        return score - (i - j).abs() * 0.1

    return flex_attention(q, k, v, score_mod=with_distance)


@test(floats(1, 4, 16, 64), floats(1, 4, 64, 16), tolerance=1e-4)
def small_products(x, y):
    return (x.unsqueeze(-1) * y.unsqueeze(-3)).sum(-2)


@test(floats(300), tolerance=1e-6)
def complex_flow(x):
    for _ in range(6):
        x = torch.where(x > 0, x - 0.25, x * 1.5 + 0.1)
    return x


@test(floats(29, 31, dtype=torch.float64), tolerance=1e-12)
def doubles(x):
    return x.exp(), x.sum(1), x.sqrt().nan_to_num(2.0), torch.softmax(x, 1)


@test(floats(1025), torch.linspace(-2, 2, 33))
def searches(x, edges):
    return torch.bucketize(x, edges), torch.searchsorted(edges, x)


@test(floats(16, 24), tolerance=1e-4)
def gradients(x):
    return torch.func.grad(lambda x: (F.gelu(x).softmax(1) * x).sum())(x)
