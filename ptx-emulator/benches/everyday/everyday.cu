// Kernels of everyday kinds, as other people's programs have them: what `examples/everyday.rs` times
// the emulator on. `regenerate` compiles them.

#include <cuda_fp16.h>
#include <mma.h>

#define FULL 0xffffffffu

__device__ static float warp_sum(float x)
{
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(FULL, x, step);
    return x;
}

__device__ static float warp_max(float x)
{
    for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(FULL, x, step));
    return x;
}

// The sum of each block's share, by a grid-stride loop and a tree in shared memory.
extern "C" __global__ void reduce(const float *x, float *sums, int n)
{
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// Softmax of the rows of a matrix, a block for each.
extern "C" __global__ void softmax(const float *x, float *y, int columns)
{
    __shared__ float parts[32];
    const float *row = x + (size_t)blockIdx.x * columns;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
    most = warp_max(most);
    if (lane == 0) parts[warp] = most;
    __syncthreads();
    most = warp_max(lane < warps ? parts[lane] : -INFINITY);
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - most);
    sum = warp_sum(sum);
    if (lane == 0) parts[warp] = sum;
    __syncthreads();
    sum = warp_sum(lane < warps ? parts[lane] : 0.0f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[(size_t)blockIdx.x * columns + i] = expf(row[i] - most) / sum;
}

// A bias and GELU on four values at once.
extern "C" __global__ void gelu(const float4 *x, const float *bias, float4 *y, int n, int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    float *e = reinterpret_cast<float *>(&v);
    for (int k = 0; k < 4; k++) {
        float t = e[k] + bias[(4 * i + k) % columns];
        e[k] = 0.5f * t * (1.0f + tanhf(0.7978845608f * (t + 0.044715f * t * t * t)));
    }
    y[i] = v;
}

// Layer normalisation of rows, a warp for each.
extern "C" __global__ void layernorm(const float *x, const float *gain, const float *bias, float *y,
                                     int rows, int columns)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += (size_t)row * columns;
    y += (size_t)row * columns;
    float sum = 0, squares = 0;
    for (int i = lane; i < columns; i += 32) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    float mean = warp_sum(sum) / columns;
    float scale = rsqrtf(warp_sum(squares) / columns - mean * mean + 1e-5f);
    for (int i = lane; i < columns; i += 32) y[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

// Counts of byte values, in shared memory first.
extern "C" __global__ void histogram(const unsigned char *x, unsigned *counts, int n)
{
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i]], 1u);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

// Inclusive sums within each block.
extern "C" __global__ void scan(const int *x, int *y, int n)
{
    __shared__ int totals[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = i < n ? x[i] : 0;
    for (int step = 1; step < 32; step *= 2) {
        int from = __shfl_up_sync(FULL, v, step);
        if (lane >= step) v += from;
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int t = lane < blockDim.x / 32 ? totals[lane] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int from = __shfl_up_sync(FULL, t, step);
            if (lane >= step) t += from;
        }
        totals[lane] = t;
    }
    __syncthreads();
    if (warp > 0) v += totals[warp - 1];
    if (i < n) y[i] = v;
}

// Keys to the slots of a table whose size is no power of two.
extern "C" __global__ void hash(const unsigned *keys, unsigned *slots, int n, unsigned size, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = keys[i], all = 0;
    for (int round = 0; round < rounds; round++) {
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
        all += h % size + h / (size + round) + __popc(h) + __clz(h);
        h = (h << 7) | (h >> 25);
    }
    slots[i] = all;
}

// Accelerations by gravity, with tiles of bodies in shared memory.
extern "C" __global__ void nbody(const float4 *bodies, float4 *accelerations, int n)
{
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float x = 0, y = 0, z = 0;
    for (int base = 0; base < n; base += 128) {
        tile[threadIdx.x] = base + threadIdx.x < n ? bodies[base + threadIdx.x] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float f = tile[k].w * r * r * r;
            x += dx * f;
            y += dy * f;
            z += dz * f;
        }
        __syncthreads();
    }
    if (i < n) accelerations[i] = make_float4(x, y, z, 0);
}

// A polynomial of pairs of f16.
extern "C" __global__ void halves(const __half2 *x, __half2 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 v = x[i], sum = y[i], half = __float2half2_rn(0.5f);
    for (int k = 0; k < 16; k++) {
        sum = __hfma2(sum, v, half);
        sum = __hmax2(__hmin2(sum, __float2half2_rn(2.0f)), __float2half2_rn(-2.0f));
        sum = __hadd2(sum, __hmul2(v, half));
    }
    if (__hlt(__low2half(sum), __high2half(sum))) sum = __lowhigh2highlow(sum);
    y[i] = sum;
}

// A product of matrices of 8-bit integers, by tiles.
extern "C" __global__ void dp4a(const int *a, const int *b, int *c, int n, int words)
{
    __shared__ int as[16][17], bs[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, sum = 0;
    for (int base = 0; base < words; base += 16) {
        as[threadIdx.y][threadIdx.x] = a[row * words + base + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(blockIdx.x * 16 + threadIdx.y) * words + base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum = __dp4a(as[threadIdx.y][k], bs[threadIdx.x][k], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// A product of f16 matrices by wmma, a warp for each tile of C.
extern "C" __global__ void wmma_gemm(const __half *a, const __half *b, float *c, int n)
{
    using namespace nvcuda::wmma;
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * 16, column = (blockIdx.x * (blockDim.x / 32) + warp) * 16;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(fa, a + row * n + k, n);
        load_matrix_sync(fb, b + k * n + column, n);
        mma_sync(fc, fa, fb, fc);
    }
    store_matrix_sync(c + row * n + column, fc, n, mem_row_major);
}

// The same by mma.sync, from shared memory by ldmatrix.
extern "C" __global__ void mma_gemm(const __half *a, const __half *b, float *c, int n)
{
    __shared__ __align__(16) __half as[64][24], bs[16][40];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = blockIdx.y * 64, column = blockIdx.x * 32;
    float d[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 64 * 8; i += 128)
            *(int *)&as[i / 8][2 * (i % 8)] = *(const int *)&a[(row + i / 8) * n + k + 2 * (i % 8)];
        for (int i = threadIdx.x; i < 16 * 16; i += 128)
            *(int *)&bs[i / 16][2 * (i % 16)] = *(const int *)&b[(k + i / 16) * n + column + 2 * (i % 16)];
        __syncthreads();
        unsigned fa[4], fb[2];
        unsigned at = (unsigned)__cvta_generic_to_shared(&as[16 * warp + lane % 16][8 * (lane / 16)]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(at));
        for (int j = 0; j < 4; j++) {
            at = (unsigned)__cvta_generic_to_shared(&bs[lane % 16][8 * j]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                         : "=r"(fb[0]), "=r"(fb[1]) : "r"(at));
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                         "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                         : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            c[(row + 16 * warp + lane / 4 + 8 * (i / 2)) * n + column + 8 * j + 2 * (lane % 4) + i % 2] = d[j][i];
}

// A transpose by tiles in shared memory, for any extents.
extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns)
{
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (column < columns && row + k < rows)
            tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * columns + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (column < rows && row + k < columns)
            y[(size_t)(row + k) * rows + column] = tile[threadIdx.x][threadIdx.y + k];
}

// One step of heat in two dimensions, with borders that stay.
extern "C" __global__ void stencil(const float *x, float *y, int width, int height)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height) return;
    int at = j * width + i;
    float v = x[at];
    if (i > 0 && i < width - 1 && j > 0 && j < height - 1)
        v += 0.2f * (x[at - 1] + x[at + 1] + x[at - width] + x[at + width] - 4 * v);
    y[at] = v;
}

// A sparse matrix by rows times a vector, a thread for each row.
extern "C" __global__ void spmv(const int *starts, const int *columns, const float *values, const float *x,
                                float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

// Level by level through a graph: new vertices at a distance.
extern "C" __global__ void bfs(const int *starts, const int *edges, int *distances, int *found, int n, int level)
{
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
        if (((volatile int *)distances)[v] == level)
            for (int k = starts[v]; k < starts[v + 1]; k++)
                if (atomicCAS(&distances[edges[k]], -1, level + 1) == -1) atomicAdd(found, 1);
}

// Fourier transforms of 1024 numbers, a block of 512 threads for each.
extern "C" __global__ void fft(float2 *data)
{
    __shared__ float2 v[1024];
    data += (size_t)blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1024; i += 512) v[__brev(i) >> 22] = data[i];
    __syncthreads();
#pragma unroll 1
    for (int half = 1; half < 1024; half *= 2) {
        int k = threadIdx.x % half, a = 2 * (threadIdx.x - k) + k, b = a + half;
        float s, c;
        sincosf(-3.14159265f * k / half, &s, &c);
        float2 p = v[a], q = v[b];
        float2 t = make_float2(q.x * c - q.y * s, q.x * s + q.y * c);
        v[a] = make_float2(p.x + t.x, p.y + t.y);
        v[b] = make_float2(p.x - t.x, p.y - t.y);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 1024; i += 512) data[i] = v[i];
}

// Sorts runs of 512 numbers by a bitonic network.
extern "C" __global__ void sort(int *data)
{
    __shared__ int v[512];
    int i = threadIdx.x;
    v[i] = data[blockIdx.x * 512 + i];
    __syncthreads();
#pragma unroll 1
    for (int size = 2; size <= 512; size *= 2)
#pragma unroll 1
        for (int step = size / 2; step > 0; step /= 2) {
            int other = i ^ step;
            if (other > i) {
                int a = v[i], b = v[other];
                if ((a > b) == ((i & size) == 0)) {
                    v[i] = b;
                    v[other] = a;
                }
            }
            __syncthreads();
        }
    data[blockIdx.x * 512 + i] = v[i];
}

// The price of an option by random walks.
extern "C" __global__ void monte_carlo(float *payoffs, int paths, unsigned seed)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = seed ^ (thread * 2654435761u + 1);
    float sum = 0;
    for (int k = 0; k < paths; k++) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        float u = (s >> 8) * (1.0f / 16777216.0f) + 1e-7f;
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        float w = (s >> 8) * (1.0f / 16777216.0f);
        float z = sqrtf(-2.0f * __logf(u)) * __cosf(6.2831853f * w);
        sum += fmaxf(100.0f * __expf(0.2f * z - 0.02f) - 100.0f, 0.0f);
    }
    payoffs[thread] = sum / paths;
}

// A grey image of one with three bytes per pixel, and its negative in pairs of pixels.
extern "C" __global__ void grey(const unsigned char *rgb, unsigned char *y, unsigned short *negative, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int g = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
    y[i] = (unsigned char)g;
    negative[i] = (unsigned short)(255 - g) << 8 | (unsigned char)g;
}

// A dot product and a scaled sum in f64.
extern "C" __global__ void doubles(const double *x, double *y, double *sums, int n, double a)
{
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double v = a * x[i] + y[i];
        y[i] = v;
        sum += v * x[i] / (1.0 + v * v);
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(FULL, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(sums, sum);
}
