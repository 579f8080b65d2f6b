// The cluster of a simulation and how the world treats jobs on it. Either "32x8" (32 servers of 8 GPUs) or a TOML file
// (docs/formats/cluster.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/server.h"

namespace sl::sim {

struct ServerKind {
  int count = 1;
  int gpus = 8;
  std::string name = "gpu";  // servers are called gpu0, gpu1, …, counted over all kinds of that name
  std::string gpu_type;
  double speed = 1;  // of a training there, relative to the durations in the trace
  std::optional<std::int64_t> gpu_memory_bytes;
  ResourceVector capacity;                              // zero: unlimited
  std::optional<double> bandwidth_inside_bytes_per_s;   // between its GPUs
  std::optional<double> bandwidth_network_bytes_per_s;  // of its network card
};

// The cost of interrupting a training. It holds its GPUs while it stops and while it comes back.
struct Costs {
  Duration stop, restart;                   // stopped at a checkpoint, started again
  std::optional<Duration> suspend, resume;  // in place, on one server; nothing: as a stop and a restart
  Duration migrate, resize;
  friend bool operator==(const Costs&, const Costs&) = default;
};

// How trainings slow each other down. A training runs at the lowest speed of its servers.
struct Interference {
  double server_slowdown = 0;     // 1 / (1 + this * GPUs that others use on the server)
  double sharing_efficiency = 1;  // combined speed of several trainings on one GPU, relative to one alone
  double spanning_speed = 1;      // speed of a training on several servers, relative to one
  bool any() const { return server_slowdown > 0 || sharing_efficiency != 1 || spanning_speed != 1; }
};

// Random faults, drawn from the seed. Times between them are exponential with these means; 0: never.
struct Faults {
  Duration server_mtbf, server_repair = Duration::whole_seconds(3600);
  Duration job_mtbf;    // of a training on one GPU; on n GPUs it fails n times as often
  int job_retries = 3;  // after that many it has failed for good
  std::optional<Duration>
      checkpoint_every;  // work since the last checkpoint is done again; nothing: no work is ever lost
  friend bool operator==(const Faults&, const Faults&) = default;
};

struct ServerEvent {  // a planned loss or return
  Instant at;
  std::string server;
  bool lost = true;
};

struct Cluster {
  std::vector<ServerKind> kinds;
  Costs costs;
  Interference interference;
  Faults faults;
  std::vector<ServerEvent> events;
  bool is_pool = false;  // all GPUs are one to every job; the kinds only say how many there are

  static Cluster uniform(int servers, int gpus);
  int servers() const;
  int gpus() const;
  int gpus_per_server_max() const;  // a pool counts as one server
  double speed_max() const;
  double gpu_speed_total() const;                       // GPUs weighted by their speed
  std::vector<ServerDescription> descriptions() const;  // without GPU types, which a core interns
  bool has_one_speed() const;                           // that of the durations in the trace, on every server
  bool is_uniform() const { return kinds.size() == 1 && kinds.front().speed == 1; }
};

// `text` is "32x8", "8x4+2x8", "pool:320" (320 GPUs, of which a job may have any) or the path of a file. Errors:
// "bad-servers", "no-such-file", "bad-cluster" with line and column.
Result<Cluster> read_cluster(const std::string& text);
Result<Cluster> parse_cluster_file(const std::string& toml, const std::string& path);

}  // namespace sl::sim
