// Votes, shuffles, matches and reductions, by whole warps and by parts of them.

extern "C" __global__ void votes(const int *in, unsigned *out) {
    int i = threadIdx.x, x = in[i];
    unsigned half = i % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    unsigned *to = out + 8 * i;
    to[0] = __ballot_sync(0xffffffffu, x > 0);
    to[1] = __any_sync(0xffffffffu, x == 3);
    to[2] = __all_sync(0xffffffffu, x < 100);
    to[3] = __ballot_sync(half, x > 0);
    to[4] = __match_any_sync(0xffffffffu, x);
    int agree;
    to[5] = __match_all_sync(half, x / 100, &agree);
    to[6] = agree;
    to[7] = 0;
    if (x > 0) {
        to[7] = __activemask();
    }
}

extern "C" __global__ void shuffles(const int *in, int *out) {
    int i = threadIdx.x, x = in[i];
    int *to = out + 8 * i;
    to[0] = __shfl_sync(0xffffffffu, x, 5);
    to[1] = __shfl_sync(0xffffffffu, x, x & 31);
    to[2] = __shfl_up_sync(0xffffffffu, x, 3);
    to[3] = __shfl_down_sync(0xffffffffu, x, 3);
    to[4] = __shfl_xor_sync(0xffffffffu, x, 9);
    to[5] = __shfl_up_sync(0xffffffffu, x, 2, 8);
    to[6] = __shfl_down_sync(0xffffffffu, x, 2, 8);
    to[7] = __shfl_sync(0xffffffffu, x, 1, 4);
}

extern "C" __global__ void reductions(const int *in, unsigned *out) {
    int i = threadIdx.x, x = in[i];
    unsigned half = i % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    unsigned *to = out + 8 * i;
    to[0] = __reduce_add_sync(0xffffffffu, (unsigned)x);
    to[1] = (unsigned)__reduce_min_sync(0xffffffffu, x);
    to[2] = __reduce_min_sync(0xffffffffu, (unsigned)x);
    to[3] = (unsigned)__reduce_max_sync(half, x);
    to[4] = __reduce_max_sync(half, (unsigned)x);
    to[5] = __reduce_and_sync(half, (unsigned)x);
    to[6] = __reduce_or_sync(0xffffffffu, (unsigned)x);
    to[7] = __reduce_xor_sync(0xffffffffu, (unsigned)x);
}

// An inclusive sum by shuffles, of doubles: two shuffles each.
extern "C" __global__ void scan(const double *in, double *out) {
    double sum = in[threadIdx.x];
    for (int by = 1; by < 32; by *= 2) {
        double other = __shfl_up_sync(0xffffffffu, sum, by);
        if (threadIdx.x % 32 >= by) {
            sum += other;
        }
    }
    out[threadIdx.x] = sum;
}
