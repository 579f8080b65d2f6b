#include "wire/training.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/suggest.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/utf8.h"

namespace sl::wire {
namespace {

constexpr std::pair<std::string_view, TrainingMode> modes[] = {
    {"all_reduce", TrainingMode::all_reduce},
    {"parameter_server_sync", TrainingMode::parameter_server_sync},
    {"parameter_server_async", TrainingMode::parameter_server_async}};
constexpr std::size_t family_bytes_max = 128;

enum class Unit : std::uint8_t { none, bytes, seconds };

// Reads the text of a flag or a column.
Result<double> parse_number(std::string_view text, Unit unit) {
  if (unit == Unit::seconds) return parse_duration_s(text);
  if (unit == Unit::bytes) {
    const auto bytes = parse_bytes(text);
    return bytes.ok() ? Result<double>(static_cast<double>(*bytes)) : Result<double>(bytes.error());
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid("bad-training", "not a number: " + std::string(text));
  return number;
}

template <Unit unit, typename Number>
Status read_number(const boost::json::value& value, const std::string& at, std::optional<Number>& into) {
  if (!value.is_string()) return detail::read(value, into, Unknown::reject, at);
  const auto number = parse_number(value.get_string(), unit);
  if (!number.ok()) {
    Error error = number.error();
    error.message = at.substr(at.rfind('/') + 1) + " is " + error.message;
    return std::move(error).at(at);
  }
  return detail::read(boost::json::value(*number), into, Unknown::reject, at);
}

// One row: how `said` is read, and its place in the model.
template <auto said, auto known, Unit unit = Unit::none>
constexpr TrainingKey number(std::string_view name, std::string_view unit_name, std::string_view meaning) {
  return {name, unit_name, meaning,
          [](const boost::json::value& value, const std::string& at, TrainingSpec& into) {
            return read_number<unit>(value, at, into.*said);
          },
          [](const TrainingSpec& from, JobModel& into) {
            if (from.*said) into.*known = *(from.*said);
          }};
}

template <auto said>
constexpr TrainingKey word(std::string_view name, std::string_view meaning,
                           void (*tell)(const TrainingSpec&, JobModel&)) {
  return {name, "", meaning,
          [](const boost::json::value& value, const std::string& at, TrainingSpec& into) {
            return detail::read(value, into.*said, Unknown::reject, at);
          },
          tell};
}

void tell_mode(const TrainingSpec& from, JobModel& into) {
  for (const auto& [name, mode] : modes) {
    if (from.mode == name) into.mode = mode;
  }
}

void tell_restart(const TrainingSpec& from, JobModel& into) {
  if (from.restart_s) into.restart_cost = Duration::seconds(*from.restart_s);
}

// clang-format off
constexpr std::array keys = {
    word<&TrainingSpec::family>("family", "trainings of one family run alike and use its profile (default: the name)",
                                [](const TrainingSpec&, JobModel&) {}),
    number<&TrainingSpec::epochs, &JobModel::epochs_total>("epochs", "epochs", "number of passes over the data"),
    number<&TrainingSpec::steps, &JobModel::steps_total>("steps", "steps", "number of steps of the whole training"),
    number<&TrainingSpec::batch_size, &JobModel::batch_size>("batch_size", "samples", "samples in one step, over all GPUs"),
    number<&TrainingSpec::target_loss, &JobModel::target_loss>("target_loss", "loss", "the training is done once the loss of an epoch is as low as this"),
    number<&TrainingSpec::budget, &JobModel::budget>("budget", "cost", "what the training may cost, in the units of policy coach"),
    word<&TrainingSpec::mode>("mode", "all_reduce, parameter_server_sync or parameter_server_async", tell_mode),
    number<&TrainingSpec::model_bytes, &JobModel::parameter_bytes, Unit::bytes>("model_bytes", "bytes", "size of the parameters"),
    number<&TrainingSpec::largest_tensor_bytes, &JobModel::largest_tensor_bytes, Unit::bytes>("largest_tensor_bytes", "bytes", "size of the largest tensor; with model_bytes: the skew"),
    number<&TrainingSpec::checkpoint_bytes, &JobModel::checkpoint_bytes, Unit::bytes>("checkpoint_bytes", "bytes", "size of a checkpoint"),
    TrainingKey{"restart_s", "seconds", "time to stop and continue elsewhere",
                [](const boost::json::value& value, const std::string& at, TrainingSpec& into) {
                  return read_number<Unit::seconds>(value, at, into.restart_s);
                },
                tell_restart},
};
// clang-format on

Error bad_training(const std::string& key, const std::string& message) {
  return invalid("bad-training", message).at("/training/" + key);
}

Status validate_words(const TrainingSpec& training) {
  if (training.family) {
    const bool has_control = training.family->find_first_of(std::string_view("\0\n\r\t", 4)) != std::string::npos;
    if (training.family->empty() || training.family->size() > family_bytes_max || has_control ||
        !is_utf8(*training.family))
      return bad_training("family", "a family has a name of 1 to 128 bytes on one line");
  }
  if (!training.mode) return {};
  std::vector<std::string_view> known;
  for (const auto& [name, mode] : modes) known.push_back(name);
  if (std::find(known.begin(), known.end(), *training.mode) != known.end()) return {};
  Error error = bad_training("mode", "unknown mode " + *training.mode);
  error.notes.emplace_back("it is one of all_reduce, parameter_server_sync, parameter_server_async");
  if (const auto near = did_you_mean(*training.mode, known)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

}  // namespace

std::span<const TrainingKey> training_keys() { return keys; }

Status validate(const TrainingSpec& training) {
  if (Status words = validate_words(training); !words.ok()) return words;
  Status status;
  boost::mp11::mp_for_each<detail::Members<TrainingSpec>>([&](auto member) {
    const auto& value = training.*member.pointer;
    using Value = std::decay_t<decltype(*value)>;
    if constexpr (std::is_arithmetic_v<Value>) {
      if (status.ok() && value && !(static_cast<double>(*value) > 0 && static_cast<double>(*value) < 1e18))
        status = bad_training(member.name, std::string(member.name) + " must be above zero");
    }
  });
  if (!status.ok()) return status;
  if (training.model_bytes && training.largest_tensor_bytes && *training.largest_tensor_bytes > *training.model_bytes)
    return bad_training("largest_tensor_bytes", "the largest tensor is larger than the model");
  return {};
}

void tell(const TrainingSpec& training, JobModel& model) {
  for (const TrainingKey& key : keys) key.tell(training, model);
}

}  // namespace sl::wire
