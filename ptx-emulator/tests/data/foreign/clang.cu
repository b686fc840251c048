// Compiled by clang, without the headers of CUDA: aggregates by value, memory copies, local arrays, halves.
// clang 14 reads the textual form of CUDA with its own names for what the headers would define.

#define GLOBAL extern "C" __attribute__((global))
#define DEVICE __attribute__((device, noinline))
#define SHARED __attribute__((shared))

struct Options {
    int scale;
    short offsets[3];
    double weight;
    char tags[5];
};

DEVICE static Options shifted(Options options, int by) {
    for (int i = 0; i < 3; i++) {
        options.offsets[i] += by;
    }
    options.weight *= 2;
    return options;
}

GLOBAL void aggregates(Options options, double *out) {
    int i = __nvvm_read_ptx_sreg_tid_x();
    Options own = shifted(options, i);
    out[i] = own.scale * own.offsets[i % 3] + own.weight + own.tags[i % 5];
}

GLOBAL void copies(const char *in, char *out) {
    int i = __nvvm_read_ptx_sreg_tid_x();
    char local[24];
    __builtin_memcpy(local, in + 24 * i, 24);
    for (int at = 0; at < 24; at++) {
        local[at] += local[(at * 7 + i) % 24];
    }
    __builtin_memcpy(out + 24 * i, local, 24);
}

// Halves are loaded and stored, and computed with as floats.
GLOBAL void halves(const __fp16 *in, __fp16 *out) {
    int i = __nvvm_read_ptx_sreg_tid_x();
    float x = in[i];
    out[i] = x * 1.5f + (x < 0 ? -x : x);
}

GLOBAL void reversed(const long long *in, long long *out) {
    static SHARED long long tile[128];
    int i = __nvvm_read_ptx_sreg_tid_x();
    tile[i] = in[i];
    __syncthreads();
    out[i] = tile[__nvvm_read_ptx_sreg_ntid_x() - 1 - i];
}

GLOBAL void counted(int *out) {
    int i = __nvvm_read_ptx_sreg_tid_x();
    __nvvm_atom_add_gen_i(&out[i % 4], i);
    __nvvm_atom_max_gen_i(&out[4], i);
    __nvvm_atom_add_gen_f((float *)&out[5], 1.0f);
}
