// Static and dynamic shared memory of several types, and generic pointers into it.

__shared__ int module_level[64];

extern "C" __global__ void reduce(const float *in, float *out) {
    __shared__ float partial[256];
    int i = threadIdx.x;
    partial[i] = in[blockIdx.x * 256 + i];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (i < half) {
            partial[i] += partial[i + half];
        }
        __syncthreads();
    }
    if (i == 0) {
        out[blockIdx.x] = partial[0];
    }
}

extern "C" __global__ void mixed(int *out) {
    extern __shared__ long long dynamic[];
    __shared__ short shorts[64];
    __shared__ double doubles[64];
    int i = threadIdx.x;
    dynamic[i] = 1000LL * i;
    shorts[i] = (short)-i;
    doubles[i] = 0.25 * i;
    module_level[i] = i * i;
    __syncthreads();
    int j = 63 - i;
    out[i] = (int)dynamic[j] + shorts[j] + (int)(4 * doubles[j]) + module_level[j];
}

__device__ __noinline__ int sum_of(const int *values, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

// The same function reads shared, global and local memory.
extern "C" __global__ void generic(const int *in, int *out) {
    int own[4];
    for (int i = 0; i < 4; i++) {
        own[i] = in[i] + threadIdx.x;
    }
    module_level[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const int *from = threadIdx.x % 3 == 0 ? module_level : threadIdx.x % 3 == 1 ? in : own;
    out[threadIdx.x] = sum_of(from, 4);
}

extern "C" __global__ void counted(int *out) {
    int odd = threadIdx.x % 2;
    int count = __syncthreads_count(odd);
    int all = __syncthreads_and(threadIdx.x < 64);
    int any = __syncthreads_or(threadIdx.x == 5);
    out[threadIdx.x] = count * 100 + all * 10 + any;
}
