"""Loads the PTX texts that stand between backquotes in sources of Go, and counts the kernels that
the driver finds: load-ptx.py FILE..."""

import ctypes
import re
import sys

driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
found = 0
kernels = 0
for path in sys.argv[1:]:
    with open(path) as file:
        texts = re.findall(r"`([^`]*\.version[^`]*)`", file.read())
    for text in texts:
        module = ctypes.c_void_p()
        code = driver.cuModuleLoadData(ctypes.byref(module), text.encode() + b"\0")
        for name in re.findall(r"\.entry\s+([\w$]+)", text):
            function = ctypes.c_void_p()
            kernels += 1
            wrong = code or driver.cuModuleGetFunction(
                ctypes.byref(function), module, name.encode()
            )
            found += wrong == 0
            if wrong:
                print(f"{path}: {name}: error {wrong}")
print(f"{found} of {kernels} kernels")
sys.exit(found != kernels)
