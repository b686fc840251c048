// A switch that becomes an indexed branch, loops with breaks, and divergence.

extern "C" __global__ void by_case(const int *in, int *out) {
    int x = in[threadIdx.x], *to = out + 4 * threadIdx.x;
    switch (x) {
    case 0: to[0] = 17; to[1] = to[2] + 1; break;
    case 1: to[1] = x * 31 ^ 5; break;
    case 2: to[2] = __popc(x + 100); to[0] = 8; break;
    case 3: to[3] = x << 7; to[2] = to[3] + to[1]; break;
    case 4: for (int i = 0; i < 4; i++) { to[i] *= x; } break;
    case 5: to[0] = to[1]; to[1] = to[2]; break;
    case 6: to[2] = x / 3 + 1000; // falls through
    case 7: to[3] = to[2] % 4 - 9; break;
    case 8: to[1] = __clz(x); to[3] = -1; break;
    case 9: to[0] = x * x * x; return;
    default: to[2] = -x;
    }
    to[3] += 1;
}

extern "C" __global__ void collatz(const unsigned *in, unsigned *out) {
    unsigned long long value = in[threadIdx.x];
    unsigned steps = 0;
    while (value != 1) {
        if (value % 2 == 0) {
            value /= 2;
        } else {
            value = 3 * value + 1;
        }
        if (++steps == 500) {
            break;
        }
    }
    out[threadIdx.x] = steps;
}
