/* libptxemu: runs NVIDIA PTX on the CPU, with checked memory, counters and sanitizers.
 *
 * Every function that can fail returns a ptxemu_status. The text of the calling thread's last
 * failure is ptxemu_last_error(): one line that says what was wrong, with which value.
 *
 * Threads: any thread may use any object, and several may use one at the same time, launches
 * included. Launches that run at the same time are as two streams of a GPU: memory that both use
 * is a race of theirs, and what they print may come in either report. An object must not be freed
 * while a call uses it. A null object is an error, or 0 where a function returns no status.
 *
 * Texts that a function returns belong to the object that they are asked of, and live as long as
 * it. Results are stored only where a function succeeds.
 *
 * A program that is compiled with this header runs with any library whose ptxemu_version() is not
 * smaller than PTXEMU_VERSION. */
#ifndef PTXEMU_H
#define PTXEMU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTXEMU_VERSION 2u

typedef uint32_t ptxemu_status;

enum {
  PTXEMU_SUCCESS = 0,
  PTXEMU_INVALID_ARGUMENT = 1, /* a null pointer, a wrong number, an address that is not free */
  PTXEMU_MALFORMED_PTX = 2,    /* the error names line and column */
  PTXEMU_NOT_FOUND = 3,        /* the module has no kernel or variable of that name */
  PTXEMU_UNSUPPORTED = 4,      /* the kernel needs an instruction that the error names */
  PTXEMU_OUT_OF_MEMORY = 5,    /* the capacity or the host's memory does not suffice */
  PTXEMU_OUT_OF_BOUNDS = 6,    /* a copy does not lie in one allocation */
  PTXEMU_REFUSED = 7,          /* a launch whose grid, block, cluster or arguments do not fit */
  PTXEMU_FAULT = 8,            /* the kernel did something wrong, and the launch ended there */
  PTXEMU_INTERNAL = 9          /* the emulator itself failed */
};

/* Sanitizers of a launch, to be combined. */
enum {
  PTXEMU_MEMCHECK = 1,  /* wrong addresses: these end a launch whether it is chosen or not */
  PTXEMU_RACECHECK = 2, /* accesses of several threads that nothing orders */
  PTXEMU_INITCHECK = 4, /* reads of memory that was never written */
  PTXEMU_SYNCCHECK = 8, /* barriers and warp operations that not all threads reach */
  PTXEMU_ALL_TOOLS = 15
};

typedef struct ptxemu_module ptxemu_module; /* PTX text */
typedef struct ptxemu_kernel ptxemu_kernel; /* an entry, decoded; outlives its module */
typedef struct ptxemu_memory ptxemu_memory; /* global and constant memory of one GPU */
typedef struct ptxemu_report ptxemu_report; /* what one launch did */

typedef struct {
  const char *name; /* as in the PTX text */
  uint32_t bytes;
  uint32_t align;  /* bytes */
  uint32_t offset; /* in the parameter block, bytes */
  uint32_t reserved;
} ptxemu_parameter;

/* A launch. What is 0 has its default. */
typedef struct {
  size_t struct_bytes; /* sizeof(ptxemu_launch_config) */
  uint32_t grid[3];    /* blocks; none may be 0 */
  uint32_t block[3];   /* threads; none may be 0 */
  uint32_t cluster[3]; /* blocks of a cluster; all 0: none, or those that the kernel requires */
  uint32_t dynamic_shared_bytes;
  uint64_t instruction_budget; /* warp instructions after which the launch faults; 0: 2^36 */
  uint32_t workers;            /* threads that run blocks; 0: as many as there are processors */
  uint32_t tools;              /* PTXEMU_MEMCHECK and others; 0: none */
  uint32_t counters;           /* not 0: the report's JSON has counters */
  uint32_t cooperative;        /* not 0: all blocks are resident, and may wait for each other
                                  (grid.sync()); since version 2, before it without effect */
} ptxemu_launch_config;

/* The library's version; greater than PTXEMU_VERSION where it can do more. */
uint32_t ptxemu_version(void);

/* The calling thread's last failure; empty before the first. It lives until the next one. */
const char *ptxemu_last_error(void);

/* The name of a status, such as "PTXEMU_FAULT". */
const char *ptxemu_status_name(ptxemu_status status);

/* Modules. Null bytes at the end of the text are left out. */
ptxemu_status ptxemu_module_load(const char *text, size_t bytes, ptxemu_module **module);
void ptxemu_module_free(ptxemu_module *module);
size_t ptxemu_module_kernel_count(const ptxemu_module *module);
/* In the order of the text; null beyond the last one. */
const char *ptxemu_module_kernel_name(const ptxemu_module *module, size_t index);
/* .target, for example "sm_80". */
const char *ptxemu_module_target(const ptxemu_module *module);
/* Address and bytes of a .global or .const variable in a memory, which is made there at first use.
 * Either result may be null. */
ptxemu_status ptxemu_module_variable(const ptxemu_module *module, const ptxemu_memory *memory,
                                     const char *name, uint64_t *address, uint64_t *bytes);

/* Kernels. */
ptxemu_status ptxemu_kernel_get(const ptxemu_module *module, const char *name,
                                ptxemu_kernel **kernel);
void ptxemu_kernel_free(ptxemu_kernel *kernel);
size_t ptxemu_kernel_parameter_count(const ptxemu_kernel *kernel);
ptxemu_status ptxemu_kernel_parameter(const ptxemu_kernel *kernel, size_t index,
                                      ptxemu_parameter *parameter);
/* Bytes of static shared memory. */
uint32_t ptxemu_kernel_shared_bytes(const ptxemu_kernel *kernel);
/* Most threads of a block: 1024, or what .maxntid or .reqntid say. */
uint32_t ptxemu_kernel_max_threads(const ptxemu_kernel *kernel);

/* Memory of at most `capacity` bytes, in allocations that are zero at first. */
ptxemu_status ptxemu_memory_create(uint64_t capacity, ptxemu_memory **memory);
void ptxemu_memory_free(ptxemu_memory *memory);
/* Bytes of all allocations, each rounded up to 256. */
uint64_t ptxemu_memory_used(const ptxemu_memory *memory);
/* Addresses are those that kernels use, multiples of 256. */
ptxemu_status ptxemu_alloc(const ptxemu_memory *memory, uint64_t bytes, uint64_t *address);
/* Address of an allocation's first byte. Later accesses of kernels to it are faults. */
ptxemu_status ptxemu_release(const ptxemu_memory *memory, uint64_t address);
ptxemu_status ptxemu_write(const ptxemu_memory *memory, uint64_t address, const void *from,
                           size_t bytes);
ptxemu_status ptxemu_read(const ptxemu_memory *memory, uint64_t address, void *to, size_t bytes);
ptxemu_status ptxemu_fill(const ptxemu_memory *memory, uint64_t address, uint8_t value,
                          uint64_t bytes);
/* Kernels find `bytes` bytes of the program's memory `host` at `address`, or, where that is 0, at
 * the address that the program has them at. Both addresses are equal modulo 4. The memory must be
 * readable and writable until it is unmapped or the emulated memory is freed, and the program must
 * not use it while a kernel runs. It counts as written. */
ptxemu_status ptxemu_map(const ptxemu_memory *memory, uint64_t address, void *host,
                         uint64_t bytes);
/* `address` is that for kernels. */
ptxemu_status ptxemu_unmap(const ptxemu_memory *memory, uint64_t address);
/* Counts memory as written, which the program wrote through a mapping, for PTXEMU_INITCHECK. */
ptxemu_status ptxemu_mark_written(const ptxemu_memory *memory, uint64_t address, uint64_t bytes);

/* Launches: returns when all blocks have run. `arguments` has a pointer to the bytes of each of
 * `count` parameters. `report` may be null; where the kernel ran to its end or to a fault, it gets
 * a report to be freed, else null. Findings of sanitizers leave the status PTXEMU_SUCCESS. */
ptxemu_status ptxemu_launch(const ptxemu_kernel *kernel, const ptxemu_memory *memory,
                            const ptxemu_launch_config *config, const void *const *arguments,
                            size_t count, ptxemu_report **report);
/* The same with the parameter block as it lies in memory: ptxemu_parameter.offset. */
ptxemu_status ptxemu_launch_packed(const ptxemu_kernel *kernel, const ptxemu_memory *memory,
                                   const ptxemu_launch_config *config, const void *block,
                                   size_t bytes, ptxemu_report **report);

/* Reports. */
void ptxemu_report_free(ptxemu_report *report);
uint64_t ptxemu_report_blocks(const ptxemu_report *report);
uint64_t ptxemu_report_warp_instructions(const ptxemu_report *report);
size_t ptxemu_report_finding_count(const ptxemu_report *report);
/* One line: the tool, the problem, and both sides with source line, block and thread. */
const char *ptxemu_report_finding(const ptxemu_report *report, size_t index);
/* What the kernel printed, and its length; `bytes` may be null. */
const char *ptxemu_report_printed(const ptxemu_report *report, size_t *bytes);
/* {"kernel", "fault", "blocks", "warp_instructions", "counters", "findings"}: "fault" is a text or
 * null, "counters" null unless they were asked for. */
const char *ptxemu_report_json(const ptxemu_report *report);

/* The function of gpuocelot that emulated GPUs call: runs the first kernel of a text. Each pointer
 * is itself an argument: an address, or a number in its lowest bytes. Kernels use addresses of the
 * process: the writable memory around every argument of 8 bytes is mapped for the launch (Linux). A
 * failure is a line on standard error, and ptxemu_last_error(). */
void ptx_run(const char *text, int count, void **arguments, int block_x, int block_y, int block_z,
             int grid_x, int grid_y, int grid_z, int shared_bytes);

#ifdef __cplusplus
}
#endif

#endif
