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

/* How many launches have ended and were recorded since the last reset. Does not wait: any thread may call it
 * while launches run. */
size_t warpfold_emulator_launches(void);

/* Sets an option; returns 0, or -1 if the name or the value is not known.
 *   "workers"     host threads that run blocks; "0": one per core
 *   "checks"      "none", "all", or names separated by commas: races, initialisation, leaks
 *   "guard-device-memory"  "on": the host's own loads and stores in memory from cudaMalloc are a hazard
 *                 ("host-access") if checks are on, and end the process if they are not; "off"
 *   "step-limit"  warp instructions after which a block that has not ended counts as endless
 *   "schedule"    the order in which blocks and warps take their turn: "forwards", "backwards" or
 *                 "shuffled:SEED"
 *   "print-limit" lines of printf that a launch may print, the rest being counted; "0" is no limit
 *   "print-limit-in-all"  lines of printf that all launches from now on may print, which is said when it is
 *                 reached; "0" is no limit
 *   "fault-messages"  "on": what stops a kernel and why a call is refused is printed on stderr at once,
 *                 besides being reported; "off"
 *   "time-limit"  milliseconds after which a launch that has not ended counts as endless; "0" is no limit
 *   "launches-kept"  how many launches the report lists one by one; its totals include all of them
 *   "provenance"  "on": from now on, it is kept where values come from, beginning with nothing; "off"
 *   "variables"   "initial": waits for all work, and then gives all __device__ variables the values that they
 *                 had when the program began
 *   "work"        words for what the process does from now on: a hazard's key `during` repeats them
 *   "recording"   "0": launches are not recorded for the report until this is "1" again or all is reset
 */
int warpfold_emulator_option(const char* name, const char* value);

/* While the option "provenance" is on: waits for all work, then returns where the `count` values of `width`
 * bytes each at `results` in device memory come from, as JSON text (docs/reference/report.md). Valid until
 * the next call. "" if the option is off. */
const char* warpfold_emulator_provenance(const void* results, size_t width, size_t count);

/* Whether the option "provenance" is on. */
int warpfold_emulator_follows_values(void);

/* A library has made `count` values of `width` bytes at `result`, in the host's memory: each is `operation`,
 * named as PTX does ("add.f32"), of the values with its index at each of the `sources`; or, if that is "", a
 * copy of the only one. The program asked for it by `call`, such as "ncclAllReduce(...)", at `place`, as
 * "file:line". Does nothing while the option "provenance" is off. */
void warpfold_emulator_made(const void* result, const void* const* sources, size_t source_count, size_t width,
                            size_t count, const char* operation, const char* call, const char* place);

/* Stops what runs on the device and lets nothing start: a running launch fails with a message that says where
 * its threads are, and later launches fail immediately. Any thread may call it, at any time. */
void warpfold_emulator_interrupt(void);

/* The `size` bytes of device memory at `begin` are an input, which kernels may only read: with checks, a
 * kernel's store or atomic there is a hazard ("input-written"). There may be several inputs; a null pointer
 * says that from now on there is none. */
void warpfold_emulator_input(const void* begin, size_t size);

/* The `size` bytes of device memory at `begin` are a buffer of OpenCL's, which kernels may `read` and may
 * `write`: with checks, whatever else they do there is a hazard ("buffer-flags"), from the next launch on.
 * Where they may do both, it is as if this had never been called; so call it before the memory is freed. */
void warpfold_emulator_buffer(const void* begin, size_t size, int read, int write);

/* From now on, messages call the device memory whose allocation contains the byte at `begin` `name`, and
 * count its elements from `begin`. Does nothing if no live allocation contains `begin`. */
void warpfold_emulator_name(const void* begin, const char* name);

/* Why this thread's last error came about: the first call that was refused since the thread last called
 * cudaGetLastError. "" if none was, or if there is nothing more to say than what the error's name says.
 * `call`: the function, "launch" for <<<...>>>; `file` and `line`: where the program calls it, null and 0 if
 * unknown. All valid until this thread's next call of this or of cudaGetLastError. */
const char* warpfold_emulator_refusal(const char** call, const char** file, unsigned* line);

/* For a program's own handler of SIGSEGV, with the siginfo_t and the context that it was given: whether the
 * emulator has dealt with the fault, because it had closed that memory to the host. Then the handler returns,
 * and the instruction is tried again. */
int warpfold_emulator_takes_fault(const void* info, void* context);

/* NCCL's stand-in has found the program at fault: a hazard ("nccl"). */
void warpfold_emulator_fault(const char* message);

/* Device code that is not part of the program: PTX text, which is parsed when one of its kernels is first
 * requested. Never null. */
void* warpfold_emulator_module(const char* ptx);

/* A kernel of such a module by its mangled name, for cudaLaunchKernel; null if the PTX cannot be read or
 * has no such kernel, and then stderr says which. */
const void* warpfold_emulator_kernel(void* module, const char* name);

/* The sizes in bytes of that kernel's parameters, the first `most` of them; returns how many there are. */
size_t warpfold_emulator_parameters(const void* kernel, size_t* sizes, size_t most);

#ifdef __cplusplus
}
#endif

#endif
