// Kernels that `regenerate` compiles without optimisation.

// Layer normalisation of rows, a warp for each.
extern "C" __global__ void layernorm_debug(const float *x, float *y, int rows, int columns)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0, squares = 0;
    for (int i = lane; i < columns; i += 32) {
        float v = x[row * columns + i];
        sum += v;
        squares += v * v;
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
        squares += __shfl_xor_sync(0xffffffffu, squares, step);
    }
    float mean = sum / columns, scale = rsqrtf(squares / columns - mean * mean + 1e-5f);
    for (int i = lane; i < columns; i += 32) y[row * columns + i] = (x[row * columns + i] - mean) * scale;
}

// A matrix product by tiles.
extern "C" __global__ void tiles_debug(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[16][16], bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int base = 0; base < n; base += 16) {
        as[threadIdx.y][threadIdx.x] = a[row * n + base + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(base + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
