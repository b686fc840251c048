// Kernels with bugs planted on purpose. The body of each is a template; argument 0 gives the right
// kernel, another number the one with that bug. `@N` marks the lines of bug N.
#pragma once

// VARIANT(kernel, body<N>, (parameters), (arguments))
#define VARIANT(NAME, BODY, PARAMETERS, ARGUMENTS) \
  extern "C" __global__ void NAME PARAMETERS { BODY ARGUMENTS; }
