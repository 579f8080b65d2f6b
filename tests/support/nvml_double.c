/* Stands for the NVIDIA management library in tests: two GPUs, the second with a process of somebody else (pid 1). */
#include <stdio.h>

struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
struct process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)(unsigned long)(index + 1); return index < 2 ? 0 : 2; }
static unsigned index_of(void *device) { return (unsigned)(unsigned long)device - 1; }
int nvmlDeviceGetUUID(void *device, char *text, unsigned size) { return snprintf(text, size, "GPU-double-%u", index_of(device)) < 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { (void)device; return snprintf(text, size, "Double H200") < 0; }
int nvmlDeviceGetMemoryInfo(void *device, struct memory *m) { (void)device; m->total = 1000ULL << 20; m->used = 100ULL << 20; m->free = m->total - m->used; return 0; }
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *u) { u->gpu = 10 * (index_of(device) + 1); u->memory = 5; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { (void)device; (void)sensor; *celsius = 55; return 0; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) { (void)device; *milliwatts = 123000; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *list) {
  *count = index_of(device) == 1 ? 1 : 0;
  if (*count) list[0].pid = 1;
  return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "550.0") < 0; }
