#include "cli/job_file_errors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "wire/error.h"
#include "wire/error_codes.h"
#include "wire/job_file.h"
#include "wire/json.h"
#include "wire/source_line.h"

namespace sl::cli {
namespace {

constexpr std::size_t told_most = 10;

// Removes what the pointer names, or the list that it is in. False: it is not there.
bool remove_at(json::object& object, std::string_view pointer) {
  const auto at = object.find(wire::detail::take_key(pointer));
  if (at == object.end()) return false;
  if (!pointer.empty() && at->value().is_object()) return remove_at(at->value().get_object(), pointer);
  object.erase(at);
  return true;
}

// Of what stands in the file, and was not replaced by a flag.
std::optional<wire::Place> place_of(const Error& error, const json::object& whole, const JobFile& file) {
  boost::system::error_code missing;
  if (file.text.empty() || error.pointer.empty() || error.pointer[0] != '/') return std::nullopt;
  const json::value in_file(file.object), used(whole);
  const json::value* said = in_file.find_pointer(error.pointer, missing);
  const json::value* read = used.find_pointer(error.pointer, missing);
  if (!said || !read || (!said->is_object() && *said != *read)) return std::nullopt;
  return wire::place_in_toml(file.text, error.pointer, error.code == "unknown-key");
}

Error with_place(Error error, const json::object& whole, const JobFile& file) {
  const auto place = place_of(error, whole, file);
  if (!place) return file.path.empty() ? error : wire::in_file(std::move(error), file.path);
  error.notes.push_back("in " + file.path + ", " + wire::place_text(*place));
  return wire::with_source_line(std::move(error), file.text, *place);
}

}  // namespace

Error everything_wrong(const Error& first, json::object whole, const JobFile& file) {
  Error error = with_place(first, whole, file);
  // What would be wrong if each thing that is were not there; a command is always needed.
  std::string pointer = first.pointer;
  std::set<std::string> told = {pointer};
  while (told.size() < told_most && (remove_at(whole, pointer) || pointer == "/command")) {
    if (pointer == "/command") whole["command"] = "true";
    const auto next = wire::job_from_json(whole, file.base_dir);
    if (next.ok() || next.error().pointer.empty()) break;
    pointer = next.error().pointer;
    if (!told.insert(pointer).second) break;  // it lacks what was removed
    const Error also = with_place(next.error(), whole, file);
    const auto hints = wire::hints_of(also);
    error.notes.push_back("also: " + also.message + " [" + also.code + "]" +
                          (hints.empty() ? "" : "; " + hints.front()));
    error.notes.insert(error.notes.end(), also.notes.begin(), also.notes.end());
  }
  return error;
}

}  // namespace sl::cli
