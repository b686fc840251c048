// Arrays in local memory, indexed by values that the compiler does not know.

extern "C" __global__ void digits(const unsigned *in, unsigned *out) {
    unsigned counts[10];
    for (int d = 0; d < 10; d++) {
        counts[d] = 0;
    }
    for (unsigned value = in[threadIdx.x]; value != 0; value /= 10) {
        counts[value % 10]++;
    }
    unsigned most = 0;
    for (int d = 1; d < 10; d++) {
        if (counts[d] > counts[most]) {
            most = d;
        }
    }
    out[threadIdx.x] = most;
}

extern "C" __global__ void sorted(const double *in, double *out) {
    double values[8];
    for (int i = 0; i < 8; i++) {
        values[i] = in[8 * threadIdx.x + i];
    }
#pragma unroll 1
    for (int i = 1; i < 8; i++) {
        double value = values[i];
        int j = i;
#pragma unroll 1
        for (; j > 0 && values[j - 1] > value; j--) {
            values[j] = values[j - 1];
        }
        values[j] = value;
    }
    for (int i = 0; i < 8; i++) {
        out[8 * threadIdx.x + i] = values[i];
    }
}

extern "C" __global__ void bytes(const unsigned char *in, unsigned char *out) {
    unsigned char text[16];
    for (int i = 0; i < 16; i++) {
        text[in[i] & 15] = (unsigned char)(i + threadIdx.x);
    }
    for (int i = 0; i < 16; i++) {
        out[16 * threadIdx.x + i] = text[i];
    }
}
