// Facts that can be stated about a training in advance. Job files (section [training]), REST (`spec.training`), the
// flags of `submit` (--target-loss) and the columns of a trace use the same names; training_keys() describes each name
// once. Whatever is left out stays unknown: policies say what they assume instead (policy/needs.h).
#pragma once

#include <boost/describe.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/job.h"

namespace sl::wire {

struct TrainingSpec {
  std::optional<std::string> family;
  std::optional<int> epochs;
  std::optional<std::int64_t> steps;
  std::optional<int> batch_size;
  std::optional<double> target_loss;
  std::optional<double> budget;
  std::optional<std::string> mode;
  std::optional<std::int64_t> model_bytes, largest_tensor_bytes, checkpoint_bytes;
  std::optional<double> restart_s;
  friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;
};
BOOST_DESCRIBE_STRUCT(TrainingSpec, (),
                      (family, epochs, steps, batch_size, target_loss, budget, mode, model_bytes, largest_tensor_bytes,
                       checkpoint_bytes, restart_s))

struct TrainingKey {
  std::string_view name;
  std::string_view unit;  // "bytes" accepts texts like "12MiB", "seconds" texts like "90s"
  std::string_view meaning;
  // Reads a JSON number or a text. Errors name the place `at`.
  Status (*read)(const boost::json::value& value, const std::string& at, TrainingSpec& into);
  // Sets what schedulers see; does nothing if it was not stated.
  void (*tell)(const TrainingSpec& from, JobModel& into);
};
std::span<const TrainingKey> training_keys();

// Checks the values. Errors: "bad-training" with the key's place.
Status validate(const TrainingSpec& training);

// Copies what is stated into the model and leaves the rest alone.
void tell(const TrainingSpec& training, JobModel& model);

}  // namespace sl::wire
