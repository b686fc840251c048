// Fragments of the wmma interface, of floats and of integers, in all of its shapes.

#include <mma.h>

using namespace nvcuda;

template <int M, int N, typename T, typename Sum>
__device__ void product(const T *a, const T *b, Sum *c, bool by_column)
{
    wmma::fragment<wmma::matrix_a, M, N, 16, T, wmma::row_major> of_a;
    wmma::fragment<wmma::matrix_b, M, N, 16, T, wmma::col_major> of_b;
    wmma::fragment<wmma::matrix_b, M, N, 16, T, wmma::row_major> of_b_rows;
    wmma::fragment<wmma::accumulator, M, N, 16, Sum> of_c;
    wmma::load_matrix_sync(of_a, a, 24);
    wmma::load_matrix_sync(of_c, c, N, wmma::mem_row_major);
    if (by_column) {
        wmma::load_matrix_sync(of_b, b, 16);
        wmma::mma_sync(of_c, of_a, of_b, of_c);
    } else {
        wmma::load_matrix_sync(of_b_rows, b, N);
        wmma::mma_sync(of_c, of_a, of_b_rows, of_c);
    }
    for (int i = 0; i < of_c.num_elements; i++)
        of_c.x[i] *= 2;
    wmma::store_matrix_sync(c, of_c, N, wmma::mem_row_major);
}

template <typename T, typename Sum>
__device__ void shapes(const T *a, const T *b, Sum *c, int shape, bool by_column)
{
    if (shape == 0)
        product<16, 16>(a, b, c, by_column);
    else if (shape == 1)
        product<8, 32>(a, b, c, by_column);
    else
        product<32, 8>(a, b, c, by_column);
}

extern "C" __global__ void halves(const __half *a, const __half *b, float *c, int shape, bool by_column)
{
    shapes(a, b, c, shape, by_column);
}

extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c, int shape,
                                 bool by_column)
{
    shapes(a, b, c, shape, by_column);
}
