// The roles of a job whose members run together: `[[roles]]` of a job file, `spec.roles` in REST. What the job asks for
// as a whole (GPUs, CPUs, memory) follows from them and is written into the specification beside them.
#pragma once

#include <boost/describe.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace sl::wire {

struct JobSpec;

struct RoleResources {  // of one member
  std::optional<int> cpus;
  std::optional<std::int64_t> memory_bytes;
  friend bool operator==(const RoleResources&, const RoleResources&) = default;
};
BOOST_DESCRIBE_STRUCT(RoleResources, (), (cpus, memory_bytes))

struct RoleSpec {
  std::string name;
  int count = 1;      // members wanted
  int count_min = 1;  // fewer do not start; `count` where it is left out
  int gpus = 1;       // of one member: 1 or 0
  RoleResources resources;
  friend bool operator==(const RoleSpec&, const RoleSpec&) = default;
};
BOOST_DESCRIBE_STRUCT(RoleSpec, (), (name, count, count_min, gpus, resources))

Status read_roles(const boost::json::value& value, const std::string& at, std::vector<RoleSpec>& into);
// Sets what follows from the roles: gpus, resources, launch = "ranks". Error "bad-roles" where the specification says
// otherwise. Does nothing without roles.
Status apply_roles(JobSpec& spec, bool says_gpus);
// What is wrong with the values. Errors: "bad-roles" with the key's place.
Status validate_roles(const JobSpec& spec);
// As schedulers see them.
std::vector<Role> to_model(const std::vector<RoleSpec>& roles);

}  // namespace sl::wire
