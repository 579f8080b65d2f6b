#include "wire/keys.h"

#include <algorithm>

namespace sl::wire {
namespace {

namespace json = boost::json;

struct NotYet {
  std::string_view pointer;
  std::string_view instead;
};
constexpr NotYet not_yet[] = {
    {"/setup", "put the set-up into the command"},
    {"/on_log", "leave on_log out"},
    {"/metrics", "report through $SCHEDULEARN_METRICS_FILE"},
    {"/progress", "report through $SCHEDULEARN_METRICS_FILE"},
    {"/env_file", "list the variables under [env]; schedulearn submit reads such a file"},
    {"/resources/on", "ask for a GPU type: [resources] gpu_type"},
    {"/resources/not_on", "ask for a GPU type: [resources] gpu_type"},
    {"/training/batch_size_min", "no policy changes the size of a batch; leave it out"},
    {"/training/batch_size_max", "no policy changes the size of a batch; leave it out"},
    {"/checkpoint/every", "save as often as you like; leave every out"},
    {"/retry/backoff", "leave backoff out; a retry waits in the queue"},
};

// What a newer client writes for "nothing of this kind".
bool asks_nothing(const json::value& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty()) ||
         (value.is_string() && (value.get_string().empty() || value.get_string() == "none"));
}

const NotYet* find_not_yet(const std::string& pointer) {
  const auto* found = std::ranges::find(not_yet, pointer, &NotYet::pointer);
  return found == std::end(not_yet) ? nullptr : found;
}

}  // namespace

bool is_not_supported_yet(const std::string& pointer) { return find_not_yet(pointer) != nullptr; }

Status refuse_unsupported(const std::string& pointer, const json::value& value) {
  const NotYet* key = find_not_yet(pointer);
  if (!key || asks_nothing(value)) return {};
  return invalid("not-supported-yet", pointer.substr(pointer.rfind('/') + 1) + " is not supported yet")
      .hint(std::string(key->instead))
      .at(pointer);
}

}  // namespace sl::wire
