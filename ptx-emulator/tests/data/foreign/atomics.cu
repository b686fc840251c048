// Atomics of every kind on global and on shared memory; each leaves a result that no order changes.

extern "C" __global__ void words(unsigned *all, int *signed_all) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int s = (int)(i * 2654435761u) >> 8;
    atomicAdd(&all[0], i);
    atomicSub(&all[1], 2 * i);
    atomicMin(&all[2], i ^ 0x155);
    atomicMax(&all[3], i ^ 0x155);
    atomicAnd(&all[4], ~(1u << (i % 9)));
    atomicOr(&all[5], 1u << (i % 13));
    atomicXor(&all[6], i);
    atomicInc(&all[7], 99);
    atomicDec(&all[8], 99);
    atomicExch(&all[9], 7);
    atomicCAS(&all[10], 5, 6);
    atomicAdd(&signed_all[0], s);
    atomicMin(&signed_all[1], s);
    atomicMax(&signed_all[2], s);
}

extern "C" __global__ void longs(unsigned long long *all, long long *signed_all) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x, x = i << 33 | i;
    atomicAdd(&all[0], x);
    atomicMin(&all[1], x + 5);
    atomicMax(&all[2], x);
    atomicAnd(&all[3], ~(1ull << (32 + i % 9)));
    atomicOr(&all[4], 1ull << (30 + i % 13));
    atomicXor(&all[5], x);
    atomicExch(&all[6], 7ull << 40);
    atomicCAS(&all[7], 5, 6);
    atomicMin(&signed_all[0], 100 - (long long)x);
    atomicMax(&signed_all[1], 100 - (long long)x);
}

// The forms without a result.
extern "C" __global__ void reductions(unsigned *all, float *f) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(&all[0]), "r"(i));
    asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(&all[1]), "r"(i));
    asm volatile("red.or.b32 [%0], %1;" ::"l"(&all[2]), "r"(1u << (i % 13)));
    asm volatile("red.global.inc.u32 [%0], %1;" ::"l"(&all[3]), "r"(9));
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(&f[0]), "f"((float)(i % 8)));
}

// Sums of small whole numbers, which are exact in any order.
extern "C" __global__ void floats(float *f, double *d) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&f[i % 4], (float)(i % 32));
    atomicAdd(&d[i % 4], 0.5 * (i % 32));
}

// What atomics return: every ticket once.
extern "C" __global__ void tickets(unsigned *next, unsigned *taken) {
    __shared__ unsigned in_block;
    if (threadIdx.x == 0) {
        in_block = 0;
    }
    __syncthreads();
    unsigned own = atomicAdd(&in_block, 1);
    __syncthreads();
    taken[atomicAdd(next, 1)] = blockIdx.x << 16 | own;
}

// A maximum of floats by compare-and-swap in a loop.
extern "C" __global__ void largest(const float *in, float *out) {
    float value = in[blockIdx.x * blockDim.x + threadIdx.x];
    int *address = (int *)out;
    int old = *address, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= value) {
            break;
        }
        old = atomicCAS(address, seen, __float_as_int(value));
    } while (old != seen);
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *out) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) {
        bins[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x] % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    }
}
