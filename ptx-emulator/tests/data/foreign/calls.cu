// Functions that are not inlined: `.func` with `.param` passing, aggregates, recursion, calls through pointers.

struct Pair {
    int sum;
    float product;
    long long wide;
};

__device__ __noinline__ Pair combine(Pair a, short b, char c) {
    Pair result;
    result.sum = a.sum + b + c;
    result.product = a.product * b;
    result.wide = a.wide - c;
    return result;
}

__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ void swap_through(int *a, int *b) {
    int old = *a;
    *a = *b;
    *b = old;
}

typedef int (*Operation)(int, int);

__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }

__device__ Operation operations[3] = {plus, minus, times};

extern "C" __global__ void pairs(Pair *out) {
    int i = threadIdx.x;
    Pair start = {i, 0.5f * i, 1LL << 40};
    out[i] = combine(start, (short)(i - 10), (char)-i);
}

extern "C" __global__ void recursive(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

extern "C" __global__ void local_pointers(int *out) {
    int a = threadIdx.x, b = 100;
    if (threadIdx.x % 3 == 0) {
        swap_through(&a, &b);
    }
    out[2 * threadIdx.x] = a;
    out[2 * threadIdx.x + 1] = b;
}

// The lanes of a warp call three functions.
extern "C" __global__ void through_pointers(int *out) {
    int i = threadIdx.x;
    out[i] = operations[i % 3](i, 7);
}
