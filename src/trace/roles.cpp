#include "trace/roles.h"

#include <algorithm>
#include <set>

#include "trace/numbers.h"

namespace sl::trace {
namespace {

constexpr std::size_t roles_max = 16;

struct Amount {
  std::string_view name;
  Resource resource;
  double unit;
};
constexpr Amount amounts[] = {{"cpus", Resource::cpu, 1},
                              {"mem_mib", Resource::memory, mebibyte},
                              {"disk_mib", Resource::disk, mebibyte},
                              {"net_mbit_s", Resource::network, 1e6}};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool read_count(std::string_view text, Role& into) {
  const std::size_t dots = text.find("..");
  const auto least = count_of(text.substr(0, dots));
  const auto wanted = dots == std::string_view::npos ? least : count_of(text.substr(dots + 2));
  if (!least || !wanted || *least < 1 || *wanted < *least) return false;
  into.count_min = *least;
  into.count_wanted = *wanted;
  return true;
}

bool read_need(std::string_view text, Role& into) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = text.substr(0, equals);
  const auto value = amount_of(text.substr(equals + 1));
  if (!value) return false;
  if (name == "gpus") {
    into.gpus = *value == 0 ? 0 : 1;
    return *value == 0 || *value == 1;
  }
  const auto* amount = std::ranges::find(amounts, name, &Amount::name);
  if (amount == std::end(amounts)) return false;
  into.demand[amount->resource] = *value * amount->unit;
  return true;
}

std::optional<Role> read_role(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ' ');
  Role role;
  if (parts.size() < 2 || !read_count(parts[1], role)) return std::nullopt;
  role.name = parts[0];
  for (std::size_t i = 2; i < parts.size(); ++i) {
    if (!read_need(parts[i], role)) return std::nullopt;
  }
  return role;
}

std::string plain(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::optional<std::vector<Role>> parse_roles(std::string_view text) {
  std::vector<Role> roles;
  std::set<std::string> names;
  bool any_gpu = false;
  for (const std::string_view one : split(text, '|')) {
    const auto role = read_role(one);
    if (!role || !names.insert(role->name).second) return std::nullopt;
    any_gpu = any_gpu || role->gpus > 0;
    roles.push_back(*role);
  }
  if (!any_gpu || roles.size() > roles_max) return std::nullopt;
  return roles;
}

std::string to_text(const std::vector<Role>& roles) {
  std::string text;
  for (const Role& role : roles) {
    text += (text.empty() ? "" : "|") + role.name + " " + std::to_string(role.count_min);
    if (role.count_wanted > role.count_min) text += ".." + std::to_string(role.count_wanted);
    if (role.gpus == 0) text += " gpus=0";
    for (const Amount& amount : amounts) {
      const double value = role.demand[amount.resource];
      if (value > 0) text += " " + std::string(amount.name) + "=" + plain(value / amount.unit);
    }
  }
  return text;
}

}  // namespace sl::trace
