// Bit operations that have an instruction of their own.

extern "C" __global__ void words(const unsigned *in, unsigned *out) {
    unsigned a = in[3 * threadIdx.x], b = in[3 * threadIdx.x + 1], c = in[3 * threadIdx.x + 2];
    unsigned *to = out + 24 * threadIdx.x;
    to[0] = __byte_perm(a, b, c);
    to[1] = __funnelshift_l(a, b, c);
    to[2] = __funnelshift_r(a, b, c);
    to[3] = __funnelshift_lc(a, b, c);
    to[4] = __funnelshift_rc(a, b, c);
    to[5] = __popc(a);
    to[6] = __clz((int)a);
    to[7] = __brev(a);
    to[8] = __ffs((int)a);
    to[9] = (unsigned)__dp4a((int)a, (int)b, (int)c);
    to[10] = __dp4a(a, b, c);
    to[11] = __umulhi(a, b);
    to[12] = (unsigned)__mulhi((int)a, (int)b);
    to[13] = (unsigned)__mul24((int)a, (int)b);
    to[14] = __umul24(a, b);
    to[15] = __sad((int)a, (int)b, c);
    to[16] = __usad(a, b, c);
    to[17] = (unsigned)__hadd((int)a, (int)b);
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(to[18]) : "r"(a), "r"(c & 31), "r"(b & 31));
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(to[19]) : "r"(a), "r"(c & 31), "r"(b & 31));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(to[20]) : "r"(a), "r"(b), "r"(c & 31), "r"(a & 31));
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(to[21]) : "r"(a), "r"(b), "r"(c));
    asm("bfind.u32 %0, %1;" : "=r"(to[22]) : "r"(a));
    to[23] = a >= b ? (a | ~c) : (a & c) ^ b;
}

extern "C" __global__ void longs(const unsigned long long *in, unsigned long long *out) {
    unsigned long long a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
    unsigned long long *to = out + 10 * threadIdx.x;
    to[0] = __popcll(a);
    to[1] = __clzll((long long)a);
    to[2] = __brevll(a);
    to[3] = __umul64hi(a, b);
    to[4] = (unsigned long long)__mul64hi((long long)a, (long long)b);
    to[5] = a / (b | 1);
    to[6] = (unsigned long long)((long long)a % (long long)(b | 1));
    unsigned __int128 sum = (unsigned __int128)a * b + a;
    to[7] = (unsigned long long)(sum >> 64);
    to[8] = (unsigned long long)sum;
    asm("bfe.s64 %0, %1, 13, 21;" : "=l"(to[9]) : "l"(a));
}
