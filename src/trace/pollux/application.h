// One of the six trainings that were measured for Pollux, as the simulator of its artifact knows it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/pollux/step_times.h"

namespace sl::trace {

// Of the gradient during an epoch.
struct GradientNoise {
  double norm_squared = 0, variance = 0;
};

class PolluxApplication {
 public:
  struct Epoch {
    double progress = 0;  // at its end, in examples divided by the smallest batch and weighed by efficiency
    GradientNoise noise;
  };

  int epochs = 0;           // until it is done
  int local_batch_max = 0;  // of one GPU in one pass; larger batches are accumulated over several passes
  StepTimes step_times;
  std::map<int, std::vector<Epoch>> by_batch;  // what was measured with each batch

  int batch_min() const { return by_batch.begin()->first; }
  int batch_max() const { return by_batch.rbegin()->first; }
  // At which progress epoch number `epoch`, from 1, is over: the least of all batches.
  double progress_after(int epoch) const;
  // During epoch number `epoch`, from 0, linear between the batches that were measured. `batch` is from batch_min() to
  // batch_max().
  GradientNoise noise(int batch, int epoch) const;
};

// "bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3". Null: there is no such training.
const PolluxApplication* find_pollux_application(std::string_view name);
std::vector<std::string> pollux_applications();

}  // namespace sl::trace
