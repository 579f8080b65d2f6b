// Trainings that were measured for Pollux (Qiao et al., OSDI 2021) on servers of four T4 GPUs, with a fixed batch size:
// their speeds, and their error after each epoch. From petuum/adaptdl, branch osdi21-artifact, simulator (Apache-2.0):
// step times of placements, interpolated linearly to the batch that each GPU gets, and validation figures.
//
// The figure that falls is called the loss here: 1 - accuracy for the image classifiers, the word error rate for
// DeepSpeech2, the validation loss for YOLOv3.
#include "trace/published_profiles.h"

namespace sl::trace {
namespace {

struct PolluxSpeed {
  int gpus, servers;
  double steps_per_s;
};
struct PolluxFamily {
  const char* name;
  const char* title;
  int batch_size, steps_per_epoch;
  std::vector<PolluxSpeed> one_server, several_servers;
  std::vector<double> loss_by_epoch;
};

// clang-format off
const std::vector<PolluxFamily>& pollux_families() {
  static const std::vector<PolluxFamily> all = {
    {"pollux-cifar10", "ResNet-18 on CIFAR-10, batch size 512", 512, 98,
     {{1, 1, 2.819}, {2, 1, 4.781}, {3, 1, 6.745}, {4, 1, 9.111}},
     {{2, 2, 5.031}, {4, 2, 5.28}, {8, 2, 5.863}, {12, 3, 6.548}, {16, 4, 6.575}},
     {0.5423, 0.3914, 0.3667, 0.3467, 0.2561, 0.2352, 0.2886, 0.2032, 0.189, 0.1573, 0.2012, 0.1753, 0.1873, 0.1611, 0.1569, 0.1575, 0.1578, 0.149, 0.1353, 0.1281, 0.1247, 0.1387, 0.1454, 0.158, 0.1116, 0.1105, 0.1103, 0.1055, 0.1312, 0.1075, 0.1189, 0.1069, 0.1163, 0.1022, 0.0965, 0.1019, 0.0987, 0.1011, 0.0998, 0.0895, 0.0861, 0.0934, 0.0941, 0.0895, 0.0863, 0.0797, 0.0816, 0.0848, 0.0814, 0.0856, 0.0802, 0.0795, 0.0756, 0.0719, 0.0729, 0.0801, 0.0788, 0.0674, 0.0672, 0.0692, 0.0648, 0.0623, 0.0655, 0.0646, 0.0658, 0.0587, 0.0622, 0.0602, 0.0606, 0.0598, 0.0591, 0.0614, 0.0591, 0.0559, 0.0572, 0.0552, 0.0574, 0.0568, 0.0569, 0.0548, 0.057, 0.0563, 0.0545, 0.0547, 0.0552, 0.0551, 0.055, 0.0541, 0.0565, 0.0543, 0.0538, 0.0551, 0.0552, 0.0542, 0.055, 0.0544, 0.0543, 0.0535, 0.0536, 0.0534}},
    {"pollux-imagenet", "ResNet-50 on ImageNet, batch size 200", 200, 6406,
     {{1, 1, 1.083}, {2, 1, 1.988}, {3, 1, 2.7}, {4, 1, 3.275}},
     {{2, 2, 1.96}, {4, 2, 2.182}, {8, 2, 1.829}, {12, 3, 2.797}, {16, 4, 2.324}},
     {0.8444, 0.6805, 0.6024, 0.5829, 0.5989, 0.5304, 0.525, 0.5283, 0.4927, 0.5229, 0.5046, 0.5406, 0.498, 0.4711, 0.4826, 0.4799, 0.522, 0.4708, 0.4633, 0.4745, 0.458, 0.4694, 0.4857, 0.4818, 0.4865, 0.4453, 0.4728, 0.4641, 0.4573, 0.4552, 0.3248, 0.3149, 0.3063, 0.3042, 0.3049, 0.3052, 0.3024, 0.3039, 0.302, 0.3042, 0.3033, 0.309, 0.3027, 0.3022, 0.3074, 0.3025, 0.3054, 0.3015, 0.3069, 0.3021, 0.3024, 0.3039, 0.3104, 0.3059, 0.3067, 0.3024, 0.3022, 0.3015, 0.2981, 0.3025, 0.2612, 0.2571, 0.2549, 0.2548, 0.2522, 0.2508, 0.2496, 0.2489, 0.2488, 0.249, 0.2477, 0.2474, 0.2457, 0.2468, 0.2473, 0.2465, 0.2469, 0.2458, 0.2452, 0.2467, 0.2447, 0.2457, 0.245, 0.2444, 0.2428, 0.2444, 0.2436, 0.2441, 0.2453, 0.2442}},
    {"pollux-deepspeech2", "DeepSpeech2 on CMU ARCTIC, batch size 80", 80, 89,
     {{1, 1, 0.3936}, {2, 1, 0.7821}, {3, 1, 1.116}, {4, 1, 1.205}},
     {{2, 2, 0.7527}, {4, 2, 0.8492}, {8, 2, 0.8078}, {12, 3, 0.9152}, {16, 4, 0.9783}},
     {0.9977, 0.904, 0.7136, 0.6021, 0.5328, 0.5535, 0.4968, 0.4421, 0.4086, 0.4009, 0.3604, 0.3781, 0.3697, 0.3627, 0.3261, 0.3159, 0.3001, 0.2817, 0.2764, 0.2777, 0.2647, 0.2541, 0.2489, 0.2421, 0.2414, 0.2392, 0.2382, 0.2378, 0.2369, 0.2371, 0.2358, 0.2358, 0.2342, 0.2345, 0.2347, 0.2342, 0.2329, 0.2329, 0.2332, 0.2334, 0.2332, 0.2329, 0.2326, 0.2329, 0.2324, 0.2316, 0.2317, 0.2318, 0.2324, 0.2326, 0.232, 0.2321, 0.2323, 0.2324, 0.2321, 0.2324, 0.2324, 0.2321, 0.2321, 0.2323, 0.2326, 0.2323, 0.2318, 0.2318, 0.2316, 0.2316, 0.2313, 0.2316, 0.2323, 0.232, 0.2323, 0.2314, 0.2311, 0.2321, 0.2317, 0.2314, 0.2307, 0.2305, 0.231, 0.2308}},
    {"pollux-yolov3", "YOLOv3 on PASCAL VOC, batch size 16", 16, 1035,
     {{1, 1, 1.746}, {2, 1, 2.804}, {3, 1, 2.082}, {4, 1, 2.188}},
     {{2, 2, 1.235}, {4, 2, 0.8325}, {8, 2, 0.5963}, {12, 3, 0.8022}, {16, 4, 0.8515}},
     {23.66, 21.48, 20.19, 17.6, 17.18, 16.58, 17.16, 15.44, 15.33, 15.4, 15.78, 15.36, 15.07, 14.06, 14.62, 15.14, 14.99, 13.66, 14.7, 14.06, 13.95, 14.19, 13.25, 13.49, 12.95, 13.24, 13.03, 13.22, 12.74, 12.82, 12.62, 12.87, 12.75, 12.96, 12.87, 12.97, 12.76, 13.02, 13.13, 12.29, 12.3, 12.26, 12.26, 12.25, 12.34, 12.25, 12.05, 12.18, 12.4, 12.61}},
  };
  return all;
}
// clang-format on

wire::TrainingProfile make_profile(const PolluxFamily& family) {
  wire::TrainingProfile profile;
  profile.family = family.name;
  profile.origin = std::string("Pollux (OSDI 2021), ") + family.title + ", petuum/adaptdl, Apache-2.0";
  profile.epochs = static_cast<int>(family.loss_by_epoch.size());
  profile.steps_per_epoch = family.steps_per_epoch;
  profile.batch_size = family.batch_size;
  for (const auto* speeds : {&family.one_server, &family.several_servers}) {
    for (const PolluxSpeed& speed : *speeds)
      profile.speeds.push_back(
          {.gpus = speed.gpus, .servers = speed.servers, .gpu_type = "T4", .steps_per_s = speed.steps_per_s});
  }
  profile.loss = wire::ProfileLoss{.by_epoch = family.loss_by_epoch, .curve = {}};
  return profile;
}

}  // namespace

std::vector<wire::TrainingProfile> pollux_profiles() {
  std::vector<wire::TrainingProfile> profiles;
  for (const PolluxFamily& family : pollux_families()) profiles.push_back(make_profile(family));
  return profiles;
}

}  // namespace sl::trace
