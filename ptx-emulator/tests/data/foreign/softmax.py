"""Compiles a row-wise softmax with Triton to the PTX beside this file. No GPU is needed."""

import pathlib
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(out, values, columns, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    inside = at < columns
    x = tl.load(values + row * columns + at, mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=inside)


source = ASTSource(
    fn=softmax,
    signature={"out": "*fp32", "values": "*fp32", "columns": "i32", "WIDTH": "constexpr"},
    constexprs={"WIDTH": 512},
)
compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4})
text = compiled.asm["ptx"]
# Neither comments, nor the folders of the compiler, nor DWARF beside the functions' names are of use.
text = re.sub(r"\s*//.*", "", text)
text = re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", text)
text = re.sub(r"\s*\.section\s+\.debug_(?!str)\w+\s*\{[^}]*\}", "", text)
(pathlib.Path(__file__).parent / "softmax.ptx").write_text(text.strip() + "\n")
