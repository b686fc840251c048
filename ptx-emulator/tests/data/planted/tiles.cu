// Tiles in shared memory: stencils, transposes, products.
#include "variants.h"

template <int BUG>
__device__ void stencil(const float* in, float* out, int n) {
  __shared__ float tile[66];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  tile[t + 1] = i < n ? in[i] : 0.0f;  // @22
  if (BUG != 21 && t == 0) tile[0] = i > 0 ? in[i - 1] : 0.0f;
  if (t == 63) tile[65] = i + 1 < n ? in[i + 1] : 0.0f;
  if (BUG != 22) __syncthreads();
  if (i < n) out[i] = tile[t] + tile[t + 1] + tile[t + 2];  // @21 @22
}
VARIANT(stencil_right, stencil<0>, (const float* in, float* out, int n), (in, out, n))
VARIANT(stencil_21, stencil<21>, (const float* in, float* out, int n), (in, out, n))
VARIANT(stencil_22, stencil<22>, (const float* in, float* out, int n), (in, out, n))

template <int BUG>
__device__ void transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  int pitch = BUG == 23 ? columns + 8 : rows;
  if (x < rows && y < columns) out[y * pitch + x] = tile[threadIdx.x][threadIdx.y];  // @23
}
#define TRANSPOSE(NAME, BUG)                                                           \
  VARIANT(NAME, transpose<BUG>, (const float* in, float* out, int rows, int columns),  \
          (in, out, rows, columns))
TRANSPOSE(transpose_right, 0)
TRANSPOSE(transpose_23, 23)

template <int BUG>
__device__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float as[8][8], bs[8][8];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 8) {
    as[y][x] = a[row * n + k + x];       // @24
    bs[y][x] = b[(k + y) * n + column];  // @24
    __syncthreads();
    for (int i = 0; i < (BUG == 47 ? 9 : 8); i++) sum += as[y][i] * bs[i][x];  // @24 @47
    if (BUG != 24) __syncthreads();
  }
  c[row * n + column] = sum;
}
#define PRODUCT(NAME, BUG) \
  VARIANT(NAME, product<BUG>, (const float* a, const float* b, float* c, int n), (a, b, c, n))
PRODUCT(product_right, 0)
PRODUCT(product_24, 24)
PRODUCT(product_47, 47)

template <int BUG>
__device__ void scaled(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i < n) {
    const float* from = in + (BUG == 25 ? 1 : 0);
    float4 v = *(const float4*)(from + 4 * i);  // @25
    v.x *= factor, v.y *= factor, v.z *= factor, v.w *= factor;
    *(float4*)(out + 4 * i) = v;
  }
}
#define SCALED(NAME, BUG)                                                          \
  VARIANT(NAME, scaled<BUG>, (const float* in, float* out, int n, float factor),   \
          (in, out, n, factor))
SCALED(scaled_right, 0)
SCALED(scaled_25, 25)

// Two arrays in dynamic shared memory, of which the launch gives room for one.
__device__ void reverse(const int* in, int* out) {
  extern __shared__ int first[];
  int* second = first + blockDim.x;
  first[threadIdx.x] = in[threadIdx.x];
  second[threadIdx.x] = -in[threadIdx.x];  // @26
  __syncthreads();
  out[threadIdx.x] = first[blockDim.x - 1 - threadIdx.x] + second[threadIdx.x];
}
VARIANT(reversed, reverse, (const int* in, int* out), (in, out))
