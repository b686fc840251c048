/* c = a + b on the emulator: `vector_add FILE.ptx`, where the kernel `add` takes a, b, c and n. */
#include <ptxemu.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                              \
  do {                                                                           \
    ptxemu_status status = (call);                                               \
    if (status != PTXEMU_SUCCESS) {                                              \
      fprintf(stderr, "%s: %s\n", ptxemu_status_name(status), ptxemu_last_error()); \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

enum { N = 1000 };

int main(int count, char **arguments) {
  static char text[1 << 16];
  static float a[N], b[N], c[N];
  FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
  if (file == NULL) return 2;
  size_t bytes = fread(text, 1, sizeof text, file);
  fclose(file);

  ptxemu_module *module;
  ptxemu_kernel *kernel;
  ptxemu_memory *memory;
  CHECK(ptxemu_module_load(text, bytes, &module));
  CHECK(ptxemu_kernel_get(module, "add", &kernel));
  CHECK(ptxemu_memory_create(1 << 20, &memory));

  /* Two vectors are copied to the device, the third is the program's own memory. */
  uint64_t in[2], out = (uint64_t)(uintptr_t)c;
  for (int i = 0; i < N; i++) {
    a[i] = (float)i;
    b[i] = 0.5f;
  }
  for (int i = 0; i < 2; i++) {
    CHECK(ptxemu_alloc(memory, sizeof a, &in[i]));
    CHECK(ptxemu_write(memory, in[i], i == 0 ? a : b, sizeof a));
  }
  CHECK(ptxemu_map(memory, 0, c, sizeof c));

  uint32_t n = N;
  const void *each[] = {&in[0], &in[1], &out, &n};
  ptxemu_launch_config config = {
      .struct_bytes = sizeof config,
      .grid = {(N + 127) / 128, 1, 1},
      .block = {128, 1, 1},
      .tools = PTXEMU_ALL_TOOLS,
      .counters = 1,
  };
  ptxemu_report *report;
  CHECK(ptxemu_launch(kernel, memory, &config, each, 4, &report));
  for (int i = 0; i < N; i++) {
    if (c[i] != (float)i + 0.5f) return 3;
  }
  printf("%llu blocks, %zu findings\n%s\n", (unsigned long long)ptxemu_report_blocks(report),
         ptxemu_report_finding_count(report), ptxemu_report_json(report));
  ptxemu_report_free(report);
  ptxemu_memory_free(memory);
  ptxemu_kernel_free(kernel);
  ptxemu_module_free(module);
  return 0;
}
