// Constant memory, volatile and cached accesses, vectors, fences, and special registers.

__constant__ int coefficients[5] = {3, -1, 4, -1, 5};
__constant__ float scale = 0.25f;
__device__ int counter = 40;
__device__ const int *pointer_to_constant = coefficients;

extern "C" __global__ void polynomial(const int *x, float *out) {
    int value = 0;
    for (int i = 4; i >= 0; i--) {
        value = value * x[threadIdx.x] + coefficients[i];
    }
    out[threadIdx.x] = scale * value + coefficients[threadIdx.x % 5];
}

extern "C" __global__ void accesses(const float4 *in, float4 *out, volatile int *flags) {
    int i = threadIdx.x;
    float4 a = __ldg(&in[i]);
    float4 b = __ldcs(&in[i]);
    float2 c = __ldcg((const float2 *)&in[i]);
    flags[i] = flags[i] + 1;
    __threadfence();
    float4 sum = {a.x + b.x, a.y + b.y, a.z + c.x, a.w + c.y};
    __stcg(&out[i], sum);
    __threadfence_block();
    __stwt(&out[i].x, sum.x + flags[i]);
    __threadfence_system();
}

extern "C" __global__ void globals(int *out) {
    if (threadIdx.x == 0) {
        counter += 2;
    }
    __syncthreads();
    out[threadIdx.x] = counter + (threadIdx.x < 5 ? pointer_to_constant[threadIdx.x] : 0);
}

extern "C" __global__ void specials(unsigned *out) {
    unsigned i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned *to = out + 8 * (i * blockDim.x * blockDim.y * blockDim.z + thread);
    to[0] = i;
    to[1] = thread;
    asm("mov.u32 %0, %%laneid;" : "=r"(to[2]));
    asm("mov.u32 %0, %%warpid;" : "=r"(to[3]));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(to[4]));
    long long before = clock64();
    unsigned early = clock();
    __nanosleep(10);
    to[5] = clock64() > before && clock() != early;
    asm("mov.u32 %0, %%nsmid;" : "=r"(to[6]));
    unsigned sm;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    to[7] = sm < to[6];
}
