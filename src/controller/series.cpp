#include "controller/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "controller/views.h"

namespace sl::controller {
namespace {

constexpr Duration sample_every = Duration::whole_seconds(5);
constexpr std::int64_t minute_us = 60'000'000, steps_max = 1'000, steps_of_servers_max = 100;
constexpr std::size_t trainings_max = 300;
constexpr const char* gpu_metrics[] = {"gpu_utilization_pct", "gpu_memory_used_bytes", "gpu_temperature_celsius",
                                       "gpu_power_watts"};

std::int64_t minute_of(std::int64_t us) { return us / minute_us; }

std::size_t slot_of(std::int64_t minute) { return static_cast<std::size_t>(minute % MinuteRing::minutes_max); }

}  // namespace

// ---- a ring ----

std::array<float, MinuteRing::minutes_max> MinuteRing::unknown() {
  std::array<float, minutes_max> means{};
  means.fill(std::numeric_limits<float>::quiet_NaN());
  return means;
}

void MinuteRing::close() {
  if (count_ > 0) means_[slot_of(minute_)] = static_cast<float>(sum_ / count_);
  sum_ = 0, count_ = 0;
}

void MinuteRing::add(std::int64_t minute, double value) {
  if (minute != minute_) {
    close();
    // what is as old as a day, or was not measured
    const std::int64_t oldest = std::max<std::int64_t>(minute - minutes_max + 1, 0);
    for (std::int64_t gone = std::max(minute_ + 1, oldest); gone <= minute; ++gone)
      means_[slot_of(gone)] = std::numeric_limits<float>::quiet_NaN();
    minute_ = minute;
  }
  sum_ += value, ++count_;
}

std::optional<double> MinuteRing::at(std::int64_t minute) const {
  if (minute < 0 || minute > minute_ || minute <= minute_ - minutes_max) return std::nullopt;
  if (minute == minute_) return count_ > 0 ? std::optional(sum_ / count_) : std::nullopt;
  const float mean = means_[slot_of(minute)];
  return std::isnan(mean) ? std::nullopt : std::optional<double>(mean);
}

// ---- measuring ----

void Series::sample(const Logic& logic, Instant now) {
  if (sampled_.happened() && now < sampled_ + sample_every) return;
  sampled_ = now;
  const std::int64_t minute = minute_of(now.us);
  const answers::Cluster cluster = cluster_view(logic, now);
  cluster_["gpus_total"].add(minute, cluster.gpus.total);
  cluster_["gpus_allocated"].add(minute, cluster.gpus.allocated);
  for (const JobState state : {JobState::running, JobState::pending})
    cluster_["jobs_" + std::string(to_string(state))].add(minute, static_cast<double>(count_jobs(logic, state)));
  sample_gpus(logic, minute);
  sample_servers(logic, minute);
  sample_jobs(logic, minute);
}

void Series::sample_servers(const Logic& logic, std::int64_t minute) {
  for_each_server(logic.core(), [&](const Server& server, ServerIndex) {
    const Agent* agent = logic.agents().by_server(server.description.name);
    if (!agent || server.state == ServerState::down) return;
    Rings& rings = servers_[server.description.name];
    if (agent->cpu_utilization_pct) rings["cpu_utilization_pct"].add(minute, *agent->cpu_utilization_pct);
    if (agent->memory_used_bytes)
      rings["memory_used_bytes"].add(minute, static_cast<double>(*agent->memory_used_bytes));
  });
  std::erase_if(servers_, [&](const auto& server) { return !gpus_.contains(server.first); });
}

void Series::sample_jobs(const Logic& logic, std::int64_t minute) {
  std::set<std::int64_t> present;
  for (const JobIndex index : jobs_with_processes(logic.core())) {
    const std::int64_t id = logic.core().job(index).request.id.value;
    const JobEntry* entry = logic.book().find(JobId(id));
    boost::json::error_code error;
    const auto value = entry ? boost::json::parse(entry->row.progress_json, error) : boost::json::value();
    if (error || !value.is_object()) continue;
    present.insert(id);
    for (const char* name : {"done", "loss", "accuracy"}) {
      const auto* figure = value.get_object().if_contains(name);
      if (figure && figure->is_number()) jobs_[id][name].add(minute, figure->to_number<double>());
    }
  }
  for (auto job = jobs_.begin(); jobs_.size() > trainings_max && job != jobs_.end();)
    job = present.contains(job->first) ? std::next(job) : jobs_.erase(job);
}

void Series::sample_gpus(const Logic& logic, std::int64_t minute) {
  std::set<std::string> known;
  double busy = 0;
  int count = 0;
  for_each_server(logic.core(), [&](const Server& server, ServerIndex index) {
    known.insert(server.description.name);
    if (server.state == ServerState::down) return;  // what it said last is no measurement
    auto& gpus = gpus_[server.description.name];
    double busy_here = 0;
    int measured = 0, allocated = 0;
    for (int i = 0; i < server.description.gpus; ++i) {
      const answers::Gpu gpu = gpu_view(logic, server, index, i);
      GpuRings& rings = gpus[i];
      allocated += gpu.condition == "allocated";
      if (gpu.utilization_pct)
        rings[utilization].add(minute, *gpu.utilization_pct), busy_here += *gpu.utilization_pct, ++measured;
      if (gpu.memory_used_bytes) rings[memory].add(minute, static_cast<double>(*gpu.memory_used_bytes));
      if (gpu.temperature_celsius) rings[temperature].add(minute, *gpu.temperature_celsius);
      if (gpu.power_watts) rings[power].add(minute, *gpu.power_watts);
    }
    GpuMeans& here = gpu_means_[server.description.name];
    here.allocated.add(minute, allocated);
    if (measured > 0) here.utilization.add(minute, busy_here / measured);
    busy += busy_here;
    count += measured;
  });
  if (count > 0) cluster_["gpu_utilization_pct"].add(minute, busy / count);
  std::erase_if(gpus_, [&](const auto& server) { return !known.contains(server.first); });
  std::erase_if(gpu_means_, [&](const auto& server) { return !known.contains(server.first); });
}

// ---- showing ----

Series::Piece Series::frame(Instant now, std::int64_t hours, std::int64_t steps_most) {
  const std::int64_t minutes = hours * 60, step = (minutes + steps_most - 1) / steps_most;
  const std::int64_t steps = minutes / step, end = (minute_of(now.us) / step + 1) * step;
  return {(end - steps * step) * minute_us, end * minute_us, step * 60, {}};
}

// Between these minutes, both included; otherwise unknown.
Series::Line Series::line(const Piece& piece, std::string name, std::map<std::string, std::string> labels,
                          const MinuteRing& ring, std::int64_t first_minute, std::int64_t last_minute) {
  Line made{std::move(name), std::move(labels), {}};
  const std::int64_t step = piece.step_s / 60;
  for (std::int64_t at = minute_of(piece.from_us); at < minute_of(piece.to_us); at += step) {
    double sum = 0;
    int count = 0;
    for (std::int64_t minute = std::max(at, first_minute); minute <= std::min(at + step - 1, last_minute); ++minute) {
      if (const auto value = ring.at(minute)) sum += *value, ++count;
    }
    made.values.push_back(count > 0 ? std::optional(sum / count) : std::nullopt);
  }
  return made;
}

void Series::add_gpus(Piece& piece, const std::string& server, const std::optional<std::vector<int>>& only,
                      std::int64_t first_minute, std::int64_t last_minute) const {
  const auto found = gpus_.find(server);
  if (found == gpus_.end()) return;
  for (const auto& [index, rings] : found->second) {
    if (only && std::ranges::find(*only, index) == only->end()) continue;
    const std::map<std::string, std::string> labels{{"server", server}, {"gpu", std::to_string(index)}};
    for (std::size_t metric = 0; metric < rings.size(); ++metric)
      piece.lines.push_back(line(piece, gpu_metrics[metric], labels, rings[metric], first_minute, last_minute));
  }
}

Series::Piece Series::servers(Instant now, std::int64_t hours) const {
  constexpr std::int64_t always = std::numeric_limits<std::int64_t>::max();
  Piece piece = frame(now, hours, steps_of_servers_max);
  for (const auto& [name, rings] : gpu_means_) {
    piece.lines.push_back(line(piece, "gpus_allocated", {{"server", name}}, rings.allocated, 0, always));
    piece.lines.push_back(line(piece, "gpu_utilization_pct", {{"server", name}}, rings.utilization, 0, always));
  }
  return piece;
}

Series::Piece Series::cluster(Instant now, std::int64_t hours) const {
  Piece piece = frame(now, hours, steps_max);
  for (const auto& [name, ring] : cluster_)
    piece.lines.push_back(line(piece, name, {}, ring, 0, std::numeric_limits<std::int64_t>::max()));
  return piece;
}

Series::Piece Series::server(const std::string& name, Instant now, std::int64_t hours) const {
  Piece piece = frame(now, hours, steps_max);
  constexpr std::int64_t ever = std::numeric_limits<std::int64_t>::max();
  add_gpus(piece, name, std::nullopt, 0, ever);
  add_rings(piece, servers_, name, {{"server", name}}, 0, ever);
  return piece;
}

Series::Piece Series::job(const JobEntry& entry, Instant now, std::int64_t hours) const {
  Piece piece = frame(now, hours, steps_max);
  if (!entry.row.last_start_us || entry.placements.empty()) return piece;
  const std::int64_t first = minute_of(*entry.row.last_start_us),
                     last = minute_of(entry.row.finished_us.value_or(now.us)),
                     latest = entry.placements.back().incarnation;
  for (const store::PlacementRow& place : entry.placements) {
    if (place.incarnation != latest) continue;
    std::vector<int> gpus;
    parse_gpu_list(place.gpus).for_each([&](int gpu) { gpus.push_back(gpu); });
    add_gpus(piece, place.server, gpus, first, last);
    add_rings(piece, servers_, place.server, {{"server", place.server}}, first, last);
  }
  add_rings(piece, jobs_, entry.row.id, {}, first, last);
  return piece;
}

Series::Spent Series::spent(const std::string& server, GpuSet gpus, std::int64_t from_us, std::int64_t to_us) const {
  Spent spent;
  const auto found = gpus_.find(server);
  if (found == gpus_.end()) return spent;
  for (const auto& [index, rings] : found->second) {
    if (!gpus.has(index)) continue;
    const std::int64_t first = std::max(minute_of(from_us), minute_of(to_us) - MinuteRing::minutes_max);
    for (std::int64_t minute = first; minute * minute_us < to_us; ++minute) {
      const std::int64_t begin = std::max(from_us, minute * minute_us), end = std::min(to_us, (minute + 1) * minute_us);
      const double seconds = static_cast<double>(end - begin) * 1e-6;
      if (const auto watts = rings[power].at(minute))
        spent.energy_joules += *watts * seconds, spent.powered_s += seconds;
      if (const auto bytes = rings[memory].at(minute))
        spent.memory_bytes_peak = std::max(spent.memory_bytes_peak.value_or(0), *bytes);
    }
  }
  return spent;
}

}  // namespace sl::controller
