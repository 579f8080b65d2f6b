/* Stands for the NVIDIA management library in tests: two GPUs, the second with a process of somebody else (pid 1). The
 * file that NVML_DOUBLE_STATE names makes the first fall off the bus ("gone"), or every call hang while it says "hang"; "uses PID" has that process on the second.
 * With NVML_DOUBLE_MIXED set the second is of another type, and nobody uses it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int state_is(const char *word) {
  char text[16] = "";
  const char *path = getenv("NVML_DOUBLE_STATE");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file) return 0;
  if (!fgets(text, sizeof text, file)) text[0] = 0;
  fclose(file);
  return strncmp(text, word, strlen(word)) == 0;
}
/* "uses PID": that process, instead of pid 1. */
static unsigned user_of_second(void) {
  unsigned pid = 1;
  const char *path = getenv("NVML_DOUBLE_STATE");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (file && fscanf(file, "uses %u", &pid) != 1) pid = 1;
  if (file) fclose(file);
  return pid;
}
static int gone(void) {
  while (state_is("hang")) usleep(10000);
  return state_is("gone");
}

struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
struct process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = gone() ? 1 : 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)(unsigned long)(index + (gone() ? 2 : 1)); return index < (gone() ? 1 : 2) ? 0 : 2; }
static unsigned index_of(void *device) { return (unsigned)(unsigned long)device - 1; }
int nvmlDeviceGetUUID(void *device, char *text, unsigned size) { return snprintf(text, size, "GPU-double-%u", index_of(device)) < 0; }
/* Files that no machine has, and not in the order of the indexes. */
int nvmlDeviceGetMinorNumber(void *device, unsigned *number) { *number = 201 - index_of(device); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { return snprintf(text, size, getenv("NVML_DOUBLE_MIXED") && index_of(device) == 1 ? "Double T4" : "Double H200") < 0; }
int nvmlDeviceGetMemoryInfo(void *device, struct memory *m) { (void)device; m->total = 1000ULL << 20; m->used = 100ULL << 20; m->free = m->total - m->used; return 0; }
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *u) { u->gpu = 10 * (index_of(device) + 1); u->memory = 5; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { (void)device; (void)sensor; *celsius = 55; return 0; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) { (void)device; *milliwatts = 123000; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *list) {
  *count = index_of(device) == 1 && !getenv("NVML_DOUBLE_MIXED") ? 1 : 0;
  if (*count) list[0].pid = user_of_second(), list[0].used = 3ULL << 30;
  return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "550.0") < 0; }
