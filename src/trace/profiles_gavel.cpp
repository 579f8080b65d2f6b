// Trainings that were measured for Gavel (Narayanan et al., OSDI 2020) on V100, P100 and K80 GPUs, alone and in pairs
// on one GPU. The speeds are from stanford-futuredata/gavel, simulation_throughputs.json (MIT licence), rounded to four
// digits. A step is one batch on one GPU; on several GPUs the batches of all of them count.
//
// Gavel measured neither utilization nor memory. We derive them so that they agree with what it did measure:
//   utilization   a training that keeps the fraction k of its speed next to a second one of its kind uses 1 / (2 k) of
//   a GPU
//   memory        two trainings fit on a GPU of 16 GB exactly if Gavel could run them together on a V100
#include <algorithm>
#include <array>
#include <cmath>

#include "trace/published_profiles.h"

namespace sl::trace {
namespace {

struct GavelFamily {
  const char* name;
  const char* title;  // as in Gavel's table
  int batch_size;     // per GPU
  double memory_gb;
};
constexpr GavelFamily gavel_families[] = {
    {"gavel-resnet18", "ResNet-18 (batch size 128)", 128, 3},
    {"gavel-resnet50", "ResNet-50 (batch size 64)", 64, 5.5},
    {"gavel-resnet50-large", "ResNet-50 (batch size 128)", 128, 12.5},
    {"gavel-transformer", "Transformer (batch size 64)", 64, 5.5},
    {"gavel-lm", "LM (batch size 80)", 80, 5.5},
    {"gavel-recommendation", "Recommendation (batch size 2048)", 2048, 5.5},
    {"gavel-a3c", "A3C", 4, 5.5},
    {"gavel-cyclegan", "CycleGAN", 1, 5.5},
};

struct GavelSpeed {
  const char* family;
  const char* gpu_type;
  std::array<double, 4> steps_per_s;  // on 1, 2, 4, 8 GPUs; 0: not measured
};
// clang-format off
constexpr GavelSpeed gavel_speeds[] = {
    {"gavel-resnet18", "V100", {17.99, 23.99, 69.95, 162.1}},
    {"gavel-resnet18", "P100", {11.68, 24.23, 45.35, 85.08}},
    {"gavel-resnet18", "K80", {1.807, 3.631, 6.982, 13.66}},
    {"gavel-resnet50", "V100", {4.395, 7.922, 9.452, 17.3}},
    {"gavel-resnet50", "P100", {2.619, 5.516, 10.36, 18.22}},
    {"gavel-resnet50", "K80", {0.619, 1.264, 2.412, 4.569}},
    {"gavel-resnet50-large", "V100", {2.497, 4.223, 7.029, 10.29}},
    {"gavel-resnet50-large", "P100", {1.584, 2.881, 5.191, 9.935}},
    {"gavel-resnet50-large", "K80", {0.3472}},
    {"gavel-transformer", "V100", {8.618, 15.88, 19.66, 49.65}},
    {"gavel-transformer", "P100", {5.092, 7.887, 13.31, 19.94}},
    {"gavel-transformer", "K80", {1.752, 3.063, 5.031, 8.976}},
    {"gavel-lm", "V100", {28.24, 58.09, 74.81, 231.2}},
    {"gavel-lm", "P100", {21.16, 31.84, 55, 82.93}},
    {"gavel-lm", "K80", {6.054, 10.01, 16.39, 28.29}},
    {"gavel-recommendation", "V100", {7.47}},
    {"gavel-recommendation", "P100", {16.6}},
    {"gavel-recommendation", "K80", {10.44}},
    {"gavel-a3c", "V100", {7.176}},
    {"gavel-a3c", "P100", {5.681}},
    {"gavel-a3c", "K80", {3.439}},
    {"gavel-cyclegan", "V100", {4.426}},
    {"gavel-cyclegan", "P100", {2.403}},
    {"gavel-cyclegan", "K80", {0.5048}},
};

// clang-format on

struct GavelPair {
  const char* family;
  const char* gpu_type;
  std::array<double, std::size(gavel_families)> steps_per_s;  // next to each family, in their order; 0: they do not fit
};
// clang-format off
constexpr GavelPair pairs[] = {
    {"gavel-resnet18", "V100", {14.06, 11.43, 9.115, 17.99, 16.16, 16.59, 17.99, 14.57}},
    {"gavel-resnet50", "V100", {3.217, 2.189, 0, 2.55, 2.915, 2.609, 2.951, 2.516}},
    {"gavel-resnet50-large", "V100", {1.864, 0, 0, 0, 0, 0, 0, 0}},
    {"gavel-transformer", "V100", {4.453, 1.774, 0, 6.416, 4.607, 6.198, 5.769, 4.81}},
    {"gavel-lm", "V100", {20.61, 13.15, 0, 23.33, 17.49, 23.82, 20.25, 16.56}},
    {"gavel-recommendation", "V100", {3.299, 1.533, 0, 5.185, 4.432, 2.31, 7.47, 2.332}},
    {"gavel-a3c", "V100", {4.394, 1.684, 0, 6.2, 3.006, 4.925, 3.657, 4.562}},
    {"gavel-cyclegan", "V100", {2.092, 1.122, 0, 3.006, 1.553, 2.155, 3.163, 2.765}},
    {"gavel-resnet18", "P100", {6.288, 5.809, 5.791, 6.523, 8.045, 10.32, 6.432, 6.588}},
    {"gavel-resnet50", "P100", {1.508, 1.336, 0, 1.494, 1.817, 2.382, 1.439, 1.555}},
    {"gavel-resnet50-large", "P100", {0.7727, 0, 0, 0.7805, 0, 1.156, 0.735, 0}},
    {"gavel-transformer", "P100", {2.639, 2.396, 2.411, 2.692, 3.144, 3.879, 2.624, 2.613}},
    {"gavel-lm", "P100", {9.555, 8.534, 0, 10.08, 10.21, 15.58, 10.89, 9.662}},
    {"gavel-recommendation", "P100", {10.86, 8.388, 10.81, 11.56, 11.98, 10.67, 9.364, 8.274}},
    {"gavel-a3c", "P100", {3.393, 3.047, 3.026, 3.534, 3.102, 3.574, 3.296, 2.986}},
    {"gavel-cyclegan", "P100", {1.084, 0.9754, 0, 1.178, 1.392, 1.811, 1.2, 1.119}},
    {"gavel-resnet18", "K80", {0.9504, 0.879, 0, 1.015, 1.047, 1.327, 0.8612, 0.9643}},
    {"gavel-resnet50", "K80", {0.3388, 0, 0, 0.3478, 0.3466, 0.4307, 0.3092, 0}},
    {"gavel-resnet50-large", "K80", {0, 0, 0, 0, 0, 0, 0, 0}},
    {"gavel-transformer", "K80", {0.814, 0.7673, 0, 0.9044, 0.9029, 1.201, 0.7295, 0.83}},
    {"gavel-lm", "K80", {3.308, 3.134, 0, 3.508, 3.033, 4.615, 3.374, 3.26}},
    {"gavel-recommendation", "K80", {5.599, 5.769, 0, 5.871, 4.763, 4.995, 3.828, 4.169}},
    {"gavel-a3c", "K80", {1.933, 1.869, 0, 2.089, 1.516, 1.929, 1.622, 1.466}},
    {"gavel-cyclegan", "K80", {0.25, 0, 0, 0.2749, 0.2896, 0.3835, 0.2929, 0.2712}},
};
// clang-format on

std::size_t place_of(std::string_view family) {
  return static_cast<std::size_t>(std::find_if(std::begin(gavel_families), std::end(gavel_families),
                                               [&](const GavelFamily& f) { return f.name == family; }) -
                                  std::begin(gavel_families));
}

// The fraction of its speed kept next to a second training of its kind; 0: there is no room for two.
double kept_beside_itself(const GavelSpeed& alone) {
  for (const GavelPair& pair : pairs) {
    if (std::string_view(pair.family) == alone.family && std::string_view(pair.gpu_type) == alone.gpu_type)
      return pair.steps_per_s[place_of(alone.family)] / alone.steps_per_s[0];
  }
  return 0;
}

void add_speeds(const GavelSpeed& row, double memory_gb, wire::TrainingProfile& profile) {
  const double kept = kept_beside_itself(row);
  for (std::size_t i = 0; i < row.steps_per_s.size(); ++i) {
    if (row.steps_per_s[i] <= 0) continue;
    wire::ProfileSpeed& speed = profile.speeds.emplace_back();
    speed.gpus = 1 << i;
    speed.gpu_type = row.gpu_type;
    speed.steps_per_s = row.steps_per_s[i];
    speed.gpu_utilization_pct = kept > 0.5 ? std::round(50 / kept) : 100;
    speed.gpu_memory_bytes = static_cast<std::int64_t>(memory_gb * 1e9);
  }
}

wire::TrainingProfile make_profile(const GavelFamily& family) {
  wire::TrainingProfile profile;
  profile.family = family.name;
  profile.origin = std::string("Gavel (OSDI 2020), ") + family.title + ", stanford-futuredata/gavel, MIT";
  profile.batch_size = family.batch_size;
  for (const GavelSpeed& row : gavel_speeds) {
    if (std::string_view(row.family) == family.name) add_speeds(row, family.memory_gb, profile);
  }
  for (const GavelPair& row : pairs) {
    if (std::string_view(row.family) != family.name) continue;
    for (std::size_t other = 0; other < std::size(gavel_families); ++other)
      profile.shared.push_back({gavel_families[other].name, row.gpu_type, row.steps_per_s[other]});
  }
  return profile;
}

}  // namespace

std::vector<wire::TrainingProfile> gavel_profiles() {
  std::vector<wire::TrainingProfile> profiles;
  for (const GavelFamily& family : gavel_families) profiles.push_back(make_profile(family));
  return profiles;
}

}  // namespace sl::trace
