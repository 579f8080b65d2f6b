#include "wire/ports.h"

#include <algorithm>
#include <cctype>

namespace sl::wire {
namespace {

constexpr std::size_t ports_max = 16;
constexpr int port_number_max = 65'535;
// Below, only privileged programs may listen.
constexpr int port_number_min = 1'024;

Status bad_port(const std::string& what, const std::string& name) {
  return invalid("bad-port", what)
      .hint("[ports] notebook = 8888, or notebook = 0 for any port, which the job finds in $SCHEDULEARN_PORT_NOTEBOOK")
      .at("/ports/" + name);
}

}  // namespace

bool is_port_name(std::string_view name) {
  return !name.empty() && name.size() <= 32 &&
         std::ranges::all_of(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; });
}

Status validate_ports(const JobSpec& spec) {
  if (spec.ports.size() > ports_max) return invalid("bad-port", "a job publishes at most 16 ports").at("/ports");
  for (const auto& [name, one] : spec.ports) {
    if (!is_port_name(name)) return bad_port("'" + name + "' is no name of a port: letters, digits and -", name);
    if (one.port != 0 && (one.port < port_number_min || one.port > port_number_max))
      return bad_port(std::to_string(one.port) + " is no port from 1024 to 65535, nor 0", name);
    for (const auto& [other, same] : spec.ports) {
      if (other != name && port_variable("PORT", other) == port_variable("PORT", name))
        return bad_port("'" + name + "' and '" + other + "' differ too little", name);
      if (other != name && one.port != 0 && same.port == one.port)
        return bad_port("'" + name + "' and '" + other + "' are the same port", name);
    }
  }
  return {};
}

std::string proxy_path(std::int64_t job, std::string_view name) {
  return "/jobs/" + std::to_string(job) + "/proxy/" + std::string(name) + "/";
}

std::string port_variable(std::string_view what, std::string_view name) {
  std::string text = "SCHEDULEARN_" + std::string(what) + "_";
  for (const char c : name) text += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace sl::wire
