#include "agent/gpu_probe.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace sl::agent {
namespace {

class SimulatedProbe : public GpuProbe {
 public:
  explicit SimulatedProbe(int count) : count_(count) {}
  bool simulated() const override { return true; }
  std::string driver_version() const override { return ""; }
  std::vector<wire::GpuReport> sample() override {
    std::vector<wire::GpuReport> reports;
    for (int i = 0; i < count_; ++i) {
      wire::GpuReport gpu;
      gpu.index = i;
      gpu.uuid = "SIMULATED-" + std::to_string(i);
      gpu.name = "Simulated GPU";
      gpu.memory_total_bytes = std::int64_t{8} << 30;
      reports.push_back(std::move(gpu));
    }
    return reports;
  }

 private:
  int count_;
};

class OneType : public GpuProbe {
 public:
  OneType(std::unique_ptr<GpuProbe> all, std::string name) : all_(std::move(all)), name_(std::move(name)) {}
  bool simulated() const override { return all_->simulated(); }
  std::string driver_version() const override { return all_->driver_version(); }
  std::vector<wire::GpuReport> sample() override {
    std::vector<wire::GpuReport> gpus = all_->sample();
    std::erase_if(gpus, [this](const wire::GpuReport& gpu) { return gpu.name != name_; });
    for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].index = static_cast<int>(i);
    return gpus;
  }

 private:
  std::unique_ptr<GpuProbe> all_;
  std::string name_;
};

// NVML's C interface according to its documentation, as far as used here. Every function returns 0 on success.
using Device = void*;
struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {  // of nvmlDeviceGetComputeRunningProcesses_v3
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

constexpr unsigned long long not_available = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE

struct Library {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*minor)(Device, unsigned*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;  // milliwatts
  int (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
};

template <typename Function>
void find(void* library, Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
}

class NvmlProbe : public GpuProbe {
 public:
  explicit NvmlProbe(const Library& nvml) : nvml_(nvml) {}
  bool simulated() const override { return false; }

  std::string driver_version() const override {
    char text[81] = "";
    return nvml_.driver && nvml_.driver(text, sizeof text) == 0 ? text : "";
  }

  std::vector<wire::GpuReport> sample() override {
    std::vector<wire::GpuReport> reports;
    unsigned count = 0;
    if (nvml_.count(&count) != 0) return reports;
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      if (nvml_.handle(i, &device) == 0)
        reports.push_back(look(static_cast<int>(i), device));  // otherwise it has fallen off the bus
    }
    return reports;
  }

 private:
  wire::GpuReport look(int index, Device device) const {
    wire::GpuReport gpu;
    gpu.index = index;
    char text[97] = "";
    if (nvml_.uuid && nvml_.uuid(device, text, sizeof text) == 0) gpu.uuid = text;
    if (unsigned minor = 0; nvml_.minor && nvml_.minor(device, &minor) == 0)
      gpu.device_number = static_cast<int>(minor);
    if (nvml_.name && nvml_.name(device, text, sizeof text) == 0) gpu.name = text;
    Memory memory{};
    if (nvml_.memory && nvml_.memory(device, &memory) == 0) {
      gpu.memory_total_bytes = static_cast<std::int64_t>(memory.total);
      gpu.memory_used_bytes = static_cast<std::int64_t>(memory.used);
    }
    Utilization utilization{};
    if (nvml_.utilization && nvml_.utilization(device, &utilization) == 0) gpu.utilization_pct = utilization.gpu;
    unsigned number = 0;
    if (nvml_.temperature && nvml_.temperature(device, 0, &number) == 0) gpu.temperature_celsius = number;
    if (nvml_.power && nvml_.power(device, &number) == 0) gpu.power_watts = number / 1000.0;
    std::array<ProcessInfo, 128> processes{};
    unsigned running = processes.size();
    if (nvml_.processes && nvml_.processes(device, &running, processes.data()) == 0) {
      for (unsigned p = 0; p < running && p < processes.size(); ++p) {
        wire::GpuProcess& process = gpu.outside.emplace_back();
        process.pid = processes[p].pid;
        if (processes[p].used_memory != not_available)
          process.memory_bytes = static_cast<std::int64_t>(processes[p].used_memory);
      }
    }
    return gpu;
  }

  Library nvml_;
};

}  // namespace

std::unique_ptr<GpuProbe> make_simulated(int count) { return std::make_unique<SimulatedProbe>(count); }

std::unique_ptr<GpuProbe> only_type(std::unique_ptr<GpuProbe> probe, const std::string& name) {
  if (!probe || name.empty()) return probe;
  auto one = std::make_unique<OneType>(std::move(probe), name);
  return one->sample().empty() ? nullptr : std::move(one);
}

std::unique_ptr<GpuProbe> open_nvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  Library nvml;
  find(library, nvml.init, "nvmlInit_v2");
  find(library, nvml.count, "nvmlDeviceGetCount_v2");
  find(library, nvml.handle, "nvmlDeviceGetHandleByIndex_v2");
  find(library, nvml.uuid, "nvmlDeviceGetUUID");
  find(library, nvml.minor, "nvmlDeviceGetMinorNumber");
  find(library, nvml.name, "nvmlDeviceGetName");
  find(library, nvml.memory, "nvmlDeviceGetMemoryInfo");
  find(library, nvml.utilization, "nvmlDeviceGetUtilizationRates");
  find(library, nvml.temperature, "nvmlDeviceGetTemperature");
  find(library, nvml.power, "nvmlDeviceGetPowerUsage");
  find(library, nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  find(library, nvml.driver, "nvmlSystemGetDriverVersion");
  unsigned count = 0;
  if (!nvml.init || !nvml.count || !nvml.handle || nvml.init() != 0 || nvml.count(&count) != 0 || count == 0)
    return nullptr;
  return std::make_unique<NvmlProbe>(nvml);
}

}  // namespace sl::agent
