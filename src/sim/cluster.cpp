#include "sim/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "wire/read_file.h"

namespace sl::sim {
namespace {

constexpr int servers_max = 200'000;

Error not_a_cluster(const std::string& text) {
  return invalid("bad-servers", "not a cluster: " + text)
      .hint("--servers 32x8 is 32 servers of 8 GPUs (up to 64 each), 8x4+2x8 are two kinds, pool:320 is one pool")
      .hint("or the path of a cluster file: --servers cluster.toml");
}

std::optional<int> count_of(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= most;
  return good ? std::optional(value) : std::nullopt;
}

Result<Cluster> parse_shapes(const std::string& text) {
  Cluster cluster;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t plus = std::min(text.find('+', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, plus - at);
    const std::size_t x = part.find('x');
    if (x == std::string_view::npos) return not_a_cluster(text);
    const auto servers = count_of(part.substr(0, x), servers_max);
    const auto gpus = count_of(part.substr(x + 1), GpuSet::capacity);
    if (!servers || !gpus) return not_a_cluster(text);
    ServerKind kind;
    kind.count = *servers;
    kind.gpus = *gpus;
    cluster.kinds.push_back(kind);
    at = plus + 1;
  }
  if (cluster.servers() > servers_max) return not_a_cluster(text);
  return cluster;
}

constexpr std::string_view pool_prefix = "pool:";
constexpr int pool_most = 1'000'000;

// The core knows servers of at most GpuSet::capacity GPUs: a pool is as many of them as it takes, and jobs see no border
// between them.
Result<Cluster> parse_pool(const std::string& text) {
  const auto gpus = count_of(std::string_view(text).substr(pool_prefix.size()), pool_most);
  if (!gpus || !text.starts_with(pool_prefix)) {
    return invalid("bad-servers", "not a pool: " + text)
        .hint("--servers pool:320 is one pool of 320 GPUs: 1 to 1000000, and no servers besides");
  }
  Cluster cluster;
  cluster.is_pool = true;
  ServerKind kind;
  kind.name = "pool";
  kind.gpus = GpuSet::capacity;
  kind.count = *gpus / GpuSet::capacity;
  if (kind.count > 0) cluster.kinds.push_back(kind);
  kind.gpus = *gpus % GpuSet::capacity;
  kind.count = 1;
  if (kind.gpus > 0) cluster.kinds.push_back(kind);
  return cluster;
}

bool looks_like_shapes(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789x+") == std::string::npos;
}

}  // namespace

Cluster Cluster::uniform(int servers, int gpus) {
  Cluster cluster;
  cluster.kinds.resize(1);
  cluster.kinds.front().count = servers;
  cluster.kinds.front().gpus = gpus;
  return cluster;
}

int Cluster::servers() const {
  int n = 0;
  for (const ServerKind& kind : kinds) n += kind.count;
  return n;
}

int Cluster::gpus() const {
  int n = 0;
  for (const ServerKind& kind : kinds) n += kind.count * kind.gpus;
  return n;
}

int Cluster::gpus_per_server_max() const {
  if (is_pool) return gpus();
  int most = 0;
  for (const ServerKind& kind : kinds) most = std::max(most, kind.gpus);
  return most;
}

double Cluster::speed_max() const {
  double most = 0;
  for (const ServerKind& kind : kinds) most = std::max(most, kind.speed);
  return most;
}

bool Cluster::has_one_speed() const {
  return std::ranges::all_of(kinds, [](const ServerKind& kind) { return kind.speed == 1; });
}

double Cluster::gpu_speed_total() const {
  double sum = 0;
  for (const ServerKind& kind : kinds) sum += kind.count * kind.gpus * kind.speed;
  return sum;
}

std::vector<ServerDescription> Cluster::descriptions() const {
  std::vector<ServerDescription> servers;
  std::map<std::string, int> numbers;
  for (const ServerKind& kind : kinds) {
    ServerDescription server;
    server.gpus = kind.gpus;
    server.gpu_memory_bytes = kind.gpu_memory_bytes;
    server.capacity = kind.capacity;
    server.bandwidth_inside_bytes_per_s = kind.bandwidth_inside_bytes_per_s;
    server.bandwidth_network_bytes_per_s = kind.bandwidth_network_bytes_per_s;
    server.simulated = true;
    server.in_pool = is_pool;
    for (int i = 0; i < kind.count; ++i) {
      server.name = fmt::format("{}{}", kind.name, numbers[kind.name]++);
      servers.push_back(server);
    }
  }
  return servers;
}

Result<Cluster> read_cluster(const std::string& text) {
  if (text.starts_with(pool_prefix) || text.find("+pool:") != std::string::npos) return parse_pool(text);
  if (looks_like_shapes(text)) return parse_shapes(text);
  const auto content = wire::read_file(text, wire::document_bytes_max);
  if (content.ok()) return parse_cluster_file(*content, text);
  const bool is_path = text.find_first_of("./") != std::string::npos;
  return !is_path && content.error().code == "no-such-file" ? not_a_cluster(text) : content.error();
}

}  // namespace sl::sim
