#include "wire/names.h"

#include <algorithm>

#include "wire/visible.h"

namespace sl::wire {

bool is_name(std::string_view name, std::string_view more) {
  constexpr std::size_t length_max = 64;
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || more.find(c) != more.npos;
  };
  const bool begins_well = !name.empty() && name.front() != '-' && name.front() != '.';
  return begins_well && name.size() <= length_max && std::ranges::all_of(name, fits);
}

Status check_server_name(std::string_view name) {
  constexpr std::size_t shown_max = 80;
  if (is_name(name, "._-")) return {};
  return invalid("server-name", name.empty()
                                    ? "a server needs a name"
                                    : "the name of a server has up to 64 letters, digits and . _ -, and begins "
                                      "with neither a dot nor a dash: " +
                                          visible(name.substr(0, shown_max)))
      .hint("--name NAME");
}

}  // namespace sl::wire
