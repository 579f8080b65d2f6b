// Cluster files: TOML; every key is checked by name and range before the simulation begins.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>
#include <functional>
#include <set>

#include "base/suggest.h"
#include "sim/cluster.h"
#include "wire/job_file.h"
#include "wire/job_spec.h"

namespace sl::sim {
namespace {

namespace json = boost::json;

// A table whose keys are read one by one; it keeps the first error, so that reading is a plain list.
class Table {
 public:
  Table(const json::object& object, std::string name) : object_(object), name_(std::move(name)) {}

  void number(const char* key, double low, double high, const std::function<void(double)>& keep) {
    const json::value* value = find(key);
    if (!value) return;
    if (!value->is_number()) return fail(key, "is not a number");
    const double n = value->to_number<double>();
    if (!(n >= low && n <= high)) return fail(key, fmt::format("must lie between {} and {}", low, high));
    keep(n);
  }
  void count(const char* key, int low, int high, int& to) {
    number(key, low, high, [&](double n) {
      n == static_cast<int>(n) ? void(to = static_cast<int>(n)) : fail(key, "must be a whole number");
    });
  }
  void text(const char* key, std::string& to) {
    const json::value* value = find(key);
    if (!value) return;
    const auto separates = [](unsigned char c) { return c < ' ' || c == 127 || std::strchr(",|+:", c); };
    if (!value->is_string() || value->as_string().empty() || std::ranges::any_of(value->as_string(), separates))
      return fail(key, "must be a name, without , | + and :");
    to = value->as_string();
  }
  void duration(const char* key, const std::function<void(Duration)>& keep) {
    const json::value* value = find(key);
    if (!value) return;
    if (value->is_string()) {
      const auto seconds = wire::parse_duration_s(std::string(value->as_string()));
      if (!seconds.ok()) return fail(key, "is not a duration: write 90s, 15m, 2h or 1d");
      return keep(Duration::seconds(*seconds));
    }
    number(key, 0, 1e11, [&](double n) { keep(Duration::seconds(n)); });
  }
  void duration(const char* key, Duration& to) {
    duration(key, [&](Duration d) { to = d; });
  }
  void bytes(const char* key, const std::function<void(std::int64_t)>& keep) {
    const json::value* value = find(key);
    if (!value) return;
    if (!value->is_string()) return fail(key, "is not a size: write 16GiB");
    const auto bytes = wire::parse_bytes(std::string(value->as_string()));
    constexpr std::int64_t least = 1 << 20;  // "16" is 16 bytes, which nobody means
    if (bytes.ok() && *bytes > 0 && *bytes < least) return fail(key, "is less than a MiB: write 16GiB");
    bytes.ok() ? keep(*bytes) : fail(key, "is not a size: write 16GiB");
  }
  void tables(const char* key, const std::function<Status(const json::object&, std::size_t)>& each) {
    const json::value* value = find(key);
    if (!value) return;
    if (!value->is_array()) return fail(key, fmt::format("must be a list: [[{}]]", key));
    for (std::size_t i = 0; i < value->as_array().size() && fault_.ok(); ++i) {
      const json::value& entry = value->as_array()[i];
      if (!entry.is_object()) return fail(key, fmt::format("must be a list of tables: [[{}]]", key));
      fault_ = each(entry.as_object(), i);
    }
  }
  void table(const char* key, const std::function<Status(const json::object&)>& read) {
    const json::value* value = find(key);
    if (!value) return;
    value->is_object() ? void(fault_ = read(value->as_object())) : fail(key, fmt::format("must be a table: [{}]", key));
  }
  void fail(const char* key, const std::string& what) {
    if (fault_.ok()) fault_ = invalid("bad-cluster", fmt::format("{}{} {}", name_, key, what));
  }
  // The first error, unknown keys included.
  Status done() {
    if (!fault_.ok()) return fault_;
    for (const auto& [key, value] : object_) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      Error error = invalid("bad-cluster", fmt::format("there is no key {}{}", name_, std::string_view(key)));
      if (const auto near = did_you_mean(key, known_)) error.hints.push_back("did you mean " + *near + "?");
      return error;
    }
    return {};
  }

 private:
  const json::value* find(const char* key) {
    known_.emplace_back(key);
    return fault_.ok() ? object_.if_contains(key) : nullptr;
  }
  const json::object& object_;
  std::string name_;
  std::vector<std::string_view> known_;
  Status fault_;
};

Status read_kind(const json::object& object, std::size_t number, ServerKind& kind) {
  Table table(object, fmt::format("servers[{}].", number));
  table.count("count", 1, 200'000, kind.count);
  table.count("gpus", 1, GpuSet::capacity, kind.gpus);
  table.text("name", kind.name);
  table.text("gpu_type", kind.gpu_type);
  table.number("speed", 1e-6, 1e6, [&](double x) { kind.speed = x; });
  const auto bandwidth = [&](const char* key, std::optional<double>& to) {
    table.number(key, 0, 1e6, [&](double gb_s) { to = gb_s > 0 ? std::optional(gb_s * 1e9) : std::nullopt; });
  };
  bandwidth("bandwidth_inside_gb_s", kind.bandwidth_inside_bytes_per_s);
  bandwidth("bandwidth_network_gb_s", kind.bandwidth_network_bytes_per_s);
  table.number("cpus", 0, 1e6, [&](double x) { kind.capacity[Resource::cpu] = x; });
  table.bytes("memory", [&](std::int64_t n) { kind.capacity[Resource::memory] = static_cast<double>(n); });
  table.bytes("gpu_memory", [&](std::int64_t n) { kind.gpu_memory_bytes = n; });
  return table.done();
}

Status read_costs(const json::object& object, Costs& costs) {
  Table table(object, "costs.");
  table.duration("stop", costs.stop);
  table.duration("restart", costs.restart);
  const auto in_place = [&](const char* key, std::optional<Duration>& cost) {
    Duration stated{-1};
    table.duration(key, stated);
    if (stated.us >= 0) cost = stated;
  };
  in_place("suspend", costs.suspend);
  in_place("resume", costs.resume);
  table.duration("migrate", costs.migrate);
  table.duration("resize", costs.resize);
  return table.done();
}

Status read_interference(const json::object& object, Interference& interference) {
  Table table(object, "interference.");
  table.number("server_slowdown", 0, 100, [&](double x) { interference.server_slowdown = x; });
  table.number("sharing_efficiency", 0.01, 1, [&](double x) { interference.sharing_efficiency = x; });
  table.number("spanning_speed", 0.01, 1, [&](double x) { interference.spanning_speed = x; });
  return table.done();
}

Status read_faults(const json::object& object, Faults& faults) {
  Table table(object, "faults.");
  table.duration("server_mtbf", faults.server_mtbf);
  table.duration("server_repair", faults.server_repair);
  table.duration("job_mtbf", faults.job_mtbf);
  table.count("job_retries", 0, 1'000, faults.job_retries);
  table.duration("checkpoint_every", [&](Duration d) { faults.checkpoint_every = d; });
  return table.done();
}

Status read_event(const json::object& object, std::size_t number, ServerEvent& event) {
  Table table(object, fmt::format("events[{}].", number));
  std::string kind;
  table.duration("at", [&](Duration at) { event.at = Instant{at.us}; });
  table.text("server", event.server);
  table.text("event", kind);
  if (Status read = table.done(); !read.ok()) return read;
  if (!event.at.happened() || event.server.empty() || (kind != "lost" && kind != "back"))
    return invalid("bad-cluster", fmt::format("events[{}] needs at, server and event = \"lost\" or \"back\"", number));
  event.lost = kind == "lost";
  return {};
}

Status check(const Cluster& cluster) {
  if (cluster.kinds.empty()) return invalid("bad-cluster", "the cluster has no [[servers]]");
  if (cluster.servers() > 200'000) return invalid("bad-cluster", "the cluster has more than 200000 servers");
  std::set<std::string> names;
  for (const ServerDescription& server : cluster.descriptions()) {
    if (!names.insert(server.name).second)
      return invalid("bad-cluster", "two servers would have the name " + server.name)
          .hint("servers[].name is the beginning of their names, before their numbers");
  }
  for (const ServerEvent& event : cluster.events) {
    if (!names.contains(event.server))
      return invalid("bad-cluster", "events name a server that does not exist: " + event.server);
  }
  return {};
}

}  // namespace

Result<Cluster> parse_cluster_file(const std::string& text, const std::string& path) {
  Result<json::object> object = wire::toml_to_json(text);
  if (!object.ok()) return Error(object.error()).note("in " + path);
  Cluster cluster;
  Table table(*object, "");
  table.tables("servers", [&](const json::object& kind, std::size_t i) {
    return read_kind(kind, i, cluster.kinds.emplace_back());
  });
  table.table("costs", [&](const json::object& costs) { return read_costs(costs, cluster.costs); });
  table.table("interference", [&](const json::object& o) { return read_interference(o, cluster.interference); });
  table.table("faults", [&](const json::object& faults) { return read_faults(faults, cluster.faults); });
  table.tables("events", [&](const json::object& event, std::size_t i) {
    return read_event(event, i, cluster.events.emplace_back());
  });
  Status read = table.done();
  if (read.ok()) read = check(cluster);
  if (!read.ok()) return Error(read.error()).note("in " + path);
  std::stable_sort(cluster.events.begin(), cluster.events.end(),
                   [](const ServerEvent& a, const ServerEvent& b) { return a.at < b.at; });
  return cluster;
}

}  // namespace sl::sim
