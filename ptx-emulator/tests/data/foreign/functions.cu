// Approximate functions, and those of the mathematical library.

extern "C" __global__ void approximate(const float *in, float *out) {
    float x = in[threadIdx.x];
    float *to = out + 10 * threadIdx.x;
    to[0] = __sinf(x);
    to[1] = __cosf(x);
    asm("ex2.approx.f32 %0, %1;" : "=f"(to[2]) : "f"(x));
    asm("lg2.approx.f32 %0, %1;" : "=f"(to[3]) : "f"(x));
    asm("rcp.approx.f32 %0, %1;" : "=f"(to[4]) : "f"(x));
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(to[5]) : "f"(x));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(to[6]) : "f"(x));
    asm("tanh.approx.f32 %0, %1;" : "=f"(to[7]) : "f"(x));
    asm("div.approx.f32 %0, %1, %2;" : "=f"(to[8]) : "f"(x), "f"(3.7f));
    asm("div.full.f32 %0, %1, %2;" : "=f"(to[9]) : "f"(x), "f"(3.7f));
}

extern "C" __global__ void rounded(const float *in, float *out) {
    float a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
    float *to = out + 12 * threadIdx.x;
    to[0] = __fdiv_rn(a, b);
    to[1] = __frcp_rn(a);
    to[2] = __fsqrt_rn(fabsf(a));
    to[3] = __fadd_rz(a, b);
    to[4] = __fmul_ru(a, b);
    to[5] = __fmaf_rd(a, b, 1.0f);
    to[6] = rintf(a);
    to[7] = floorf(a);
    to[8] = truncf(a);
    to[9] = (float)(int)a;
    to[10] = __saturatef(a);
    to[11] = copysignf(a, b);
}

extern "C" __global__ void library(const float *in, float *out) {
    float x = in[threadIdx.x];
    float *to = out + 8 * threadIdx.x;
    to[0] = sinf(x);
    to[1] = cosf(1000.0f * x);
    to[2] = expf(x);
    to[3] = logf(x);
    to[4] = powf(x, 1.7f);
    to[5] = erff(x);
    to[6] = atan2f(x, 2.0f);
    to[7] = cbrtf(x);
}

extern "C" __global__ void library_f64(const double *in, double *out) {
    double x = in[threadIdx.x];
    double *to = out + 7 * threadIdx.x;
    to[0] = sin(x);
    to[1] = cos(100000.0 * x);
    to[2] = exp(x);
    to[3] = log(x);
    to[4] = sqrt(x);
    to[5] = 1.0 / x;
    to[6] = pow(x, 1.7);
}
