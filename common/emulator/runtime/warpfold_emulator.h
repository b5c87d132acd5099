/* What the emulator tells a program that asks. A program looks these functions up with dlsym(RTLD_DEFAULT,
 * ...) and links to nothing: on a GPU, with NVIDIA's runtime, the look-up finds null. */
#ifndef WARPFOLD_EMULATOR_H
#define WARPFOLD_EMULATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface: 1. */
int warpfold_emulator_interface(void);

/* Forgets the launches and hazards recorded so far in this process. */
void warpfold_emulator_reset(void);

/* Waits for all work, then returns the report of what was recorded since the last reset as JSON text
 * (docs/reference/report.md): {"launches": [...], "hazards": [...]}. Valid until the next call. */
const char* warpfold_emulator_report(void);

/* Sets an option; returns 0, or -1 where name or value is not known.
 *   "workers"     host threads that run blocks; "0": one per core
 *   "checks"      "none", "all", or names separated by commas: races, initialisation, leaks
 *   "guard-device-memory"  "on": the host's own loads and stores in memory from cudaMalloc are a hazard
 *                 ("host-access") where checks are on, and end the process where they are not; "off"
 *   "step-limit"  warp instructions after which a block that has not ended is called endless
 *   "schedule"    in which order blocks and warps take their turn: "forwards", "backwards" or "shuffled:SEED"
 *   "print-limit" lines of printf that a launch may print, what is beyond is counted and left out; "0" is no
 *                 limit
 *   "time-limit"  milliseconds after which a launch that has not ended is called endless; "0" is no limit
 *   "launches-kept" how many launches the report tells of one by one; of more it has the totals
 *   "recording"   "0": launches are not kept for the report until this is "1" again or all is reset */
int warpfold_emulator_option(const char* name, const char* value);

/* Stops what runs on the device, and lets nothing start: a launch that was under way fails with a message
 * that says where its threads stand, later ones fail at once. Any thread may call it, at any time. */
void warpfold_emulator_interrupt(void);

/* The `size` bytes of device memory at `begin` are an input, which kernels may only read: with checks, a
 * kernel's store or atomic there is a hazard ("input-written"). It replaces the input named before; size 0
 * names none. */
void warpfold_emulator_input(const void* begin, size_t size);

/* In what is said from now on, the device memory that was allocated with the byte at `begin` in it is called
 * `name`, and its elements are counted from `begin`. Nothing where no live allocation holds `begin`. */
void warpfold_emulator_name(const void* begin, const char* name);

/* Device code that is no part of the program: PTX text, which is read when a kernel of it is first asked for.
 * Never null. */
void* warpfold_emulator_module(const char* ptx);

/* A kernel of such a module by its mangled name, for cudaLaunchKernel; null where the PTX cannot be read or
 * holds no such kernel, and then stderr says which. */
const void* warpfold_emulator_kernel(void* module, const char* name);

/* The sizes in bytes of that kernel's parameters, the first `most` of them; returns how many there are. */
size_t warpfold_emulator_parameters(const void* kernel, size_t* sizes, size_t most);

#ifdef __cplusplus
}
#endif

#endif
