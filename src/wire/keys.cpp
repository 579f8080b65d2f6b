#include "wire/keys.h"

#include <algorithm>

namespace sl::wire {
namespace {

namespace json = boost::json;

struct Elsewhere {
  std::string_view pointer;
  std::string_view instead;
};
constexpr Elsewhere elsewhere[] = {
    {"/on_log", "which ends are tried again: [retry] on; what has failed: schedulearn logs ID --errors"},
    {"/metrics", "report through $SCHEDULEARN_METRICS_FILE"},
    {"/env_file", "list the variables under [env]; schedulearn submit reads such a file"},
    {"/training/batch_size_min", "the training divides its batch by $SCHEDULEARN_NUM_GPUS itself"},
    {"/training/batch_size_max", "the training divides its batch by $SCHEDULEARN_NUM_GPUS itself"},
};

// What a newer client writes for "nothing of this kind".
bool asks_nothing(const json::value& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty()) ||
         (value.is_string() && (value.get_string().empty() || value.get_string() == "none"));
}

const Elsewhere* find_elsewhere(const std::string& pointer) {
  const auto* found = std::ranges::find(elsewhere, pointer, &Elsewhere::pointer);
  return found == std::end(elsewhere) ? nullptr : found;
}

}  // namespace

bool is_done_elsewhere(const std::string& pointer) { return find_elsewhere(pointer) != nullptr; }

Status refuse_elsewhere(const std::string& pointer, const json::value& value) {
  const Elsewhere* key = find_elsewhere(pointer);
  if (!key || asks_nothing(value)) return {};
  return invalid("unknown-key", "a job has no key " + pointer.substr(pointer.rfind('/') + 1))
      .hint(std::string(key->instead))
      .at(pointer);
}

}  // namespace sl::wire
