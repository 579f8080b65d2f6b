#include "wire/roles.h"

#include <algorithm>
#include <set>

#include "wire/job_spec.h"
#include "wire/keys.h"

namespace sl::wire {
namespace {

constexpr std::size_t roles_max = 16, role_name_bytes_max = 32;
constexpr int members_max = 4096;

Error bad_role(std::size_t role, const char* key, const std::string& message) {
  return invalid("bad-roles", message).at("/roles/" + std::to_string(role) + key);
}

Status read_role(const boost::json::value& value, const std::string& at, RoleSpec& into) {
  if (!value.is_object()) return detail::wrong_type(at, "a table");
  std::optional<int> count_min;
  Keys keys(value.get_object(), at);
  keys.take("name", into.name).take("count", into.count).take("count_min", count_min).take("gpus", into.gpus);
  keys.section("resources", [&](Keys& k) {
    k.take("cpus", into.resources.cpus)
        .take("memory", into.resources.memory_bytes, parse_bytes)
        .take("memory_bytes", into.resources.memory_bytes, parse_bytes);
  });
  into.count_min = count_min.value_or(into.count);
  return keys.finish();
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= role_name_bytes_max && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

Status validate_role(const RoleSpec& role, std::size_t i) {
  if (!is_name(role.name)) return bad_role(i, "/name", "a role has a name of letters, digits, - and _, at most 32");
  if (role.count < 1 || role.count > members_max)
    return bad_role(i, "/count", "role " + role.name + " must have 1 to " + std::to_string(members_max) + " members")
        .hint("leave the role out if the job has no member of it");
  if (role.count_min < 1 || role.count_min > role.count)
    return bad_role(i, "/count_min", "count_min of role " + role.name + " must be 1 to its count");
  if (role.gpus < 0 || role.gpus > 1)
    return bad_role(i, "/gpus", "a member of role " + role.name + " has one GPU or none")
        .hint("ask for more members, each with a GPU of its own");
  if (role.resources.cpus.value_or(0) < 0 || role.resources.memory_bytes.value_or(0) < 0)
    return bad_role(i, "/resources", "resources cannot be negative");
  return {};
}

// GPUs of all members, with the least and the most there may be of each.
GpuRange gpus_of(const std::vector<RoleSpec>& roles) {
  GpuRange range{0, 0};
  for (const RoleSpec& role : roles) {
    range.min += role.gpus * role.count_min;
    range.max += role.gpus * role.count;
  }
  return range;
}

// What all members need together; unknown where no role says it.
template <typename T>
std::optional<T> sum_of(const std::vector<RoleSpec>& roles, std::optional<T> RoleResources::*amount) {
  std::optional<T> sum;
  for (const RoleSpec& role : roles) {
    if (role.resources.*amount) sum = sum.value_or(0) + *(role.resources.*amount) * static_cast<T>(role.count);
  }
  return sum;
}

// The whole is said by the roles, and nothing else may be said.
template <typename T>
Status settle(std::optional<T>& said, std::optional<T> sum, const char* key) {
  if (said && said != sum)
    return invalid("bad-roles", std::string(key) + " is that of each role's members, added up")
        .hint("give it under [roles.resources], per member, and leave it out of [resources]")
        .at(std::string("/resources/") + key);
  said = sum;
  return {};
}

}  // namespace

Status read_roles(const boost::json::value& value, const std::string& at, std::vector<RoleSpec>& into) {
  into.clear();
  if (value.is_null()) return {};
  if (!value.is_array()) return detail::wrong_type(at, "a list of tables: [[roles]]");
  if (value.get_array().size() > roles_max)
    return invalid("bad-roles", "a job has at most " + std::to_string(roles_max) + " roles").at(at);
  for (const boost::json::value& role : value.get_array()) {
    const std::string place = at + "/" + std::to_string(into.size());
    if (Status status = read_role(role, place, into.emplace_back()); !status.ok()) return status;
  }
  return {};
}

Status apply_roles(JobSpec& spec, bool says_gpus) {
  if (spec.roles.empty()) return {};
  if (Status status = validate_roles(spec); !status.ok()) return status;
  const GpuRange gpus = gpus_of(spec.roles);
  if (says_gpus && (spec.gpus.min != gpus.min || spec.gpus.max != gpus.max || !spec.gpus.allowed.empty()))
    return invalid("bad-roles", "the number of GPUs follows from the roles").hint("leave gpus out").at("/gpus");
  spec.gpus = gpus;
  if (spec.launch == "none") spec.launch = "ranks";
  if (Status status = settle(spec.resources.cpus, sum_of(spec.roles, &RoleResources::cpus), "cpus"); !status.ok())
    return status;
  return settle(spec.resources.memory_bytes, sum_of(spec.roles, &RoleResources::memory_bytes), "memory");
}

Status validate_roles(const JobSpec& spec) {
  if (spec.roles.empty()) return {};
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < spec.roles.size(); ++i) {
    if (Status status = validate_role(spec.roles[i], i); !status.ok()) return status;
    if (!names.insert(spec.roles[i].name).second)
      return bad_role(i, "/name", "there are two roles named " + spec.roles[i].name);
  }
  const GpuRange gpus = gpus_of(spec.roles);
  if (gpus.max == 0)
    return invalid("bad-roles", "no role has a GPU").hint("leave out gpus = 0 for the role that trains").at("/roles");
  for (std::size_t i = 0; i < spec.roles.size() && gpus.min == gpus.max; ++i) {
    if (spec.roles[i].count_min < spec.roles[i].count)
      return bad_role(i, "/count_min", "members without a GPU are added together with members that have one")
          .hint("give a role with GPUs a count_min too, or leave this one out");
  }
  if (spec.launch != "none" && spec.launch != "ranks")
    return invalid("bad-roles", "a job with roles starts its members itself").hint("leave launch out").at("/launch");
  return {};
}

std::vector<Role> to_model(const std::vector<RoleSpec>& roles) {
  std::vector<Role> made;
  for (const RoleSpec& role : roles) {
    Role& one = made.emplace_back();
    one.name = role.name;
    one.count_min = role.count_min;
    one.count_wanted = role.count;
    one.gpus = role.gpus;
    one.demand[Resource::cpu] = role.resources.cpus.value_or(0);
    one.demand[Resource::memory] = static_cast<double>(role.resources.memory_bytes.value_or(0));
  }
  return made;
}

}  // namespace sl::wire
