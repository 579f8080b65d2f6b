#include "sim/behaviour.h"

#include <algorithm>
#include <cmath>

namespace sl::sim {
namespace {

constexpr double slowest_kept = 0.01;  // for two trainings that do not fit on a GPU together

}  // namespace

Behaviour::Behaviour(const wire::TrainingProfile& profile, const Cluster& cluster)
    : profile_(profile), spanning_speed_(cluster.interference.spanning_speed) {
  for (const wire::ProfileSpeed& speed : profile.speeds) {
    Speeds& of_type = by_type_[speed.gpu_type];
    if (!of_type.one_server.empty() || !of_type.several_servers.empty()) continue;
    of_type.one_server = wire::steps_per_s_by_gpus(profile, speed.gpu_type, wire::Span::one_server);
    of_type.several_servers = wire::steps_per_s_by_gpus(profile, speed.gpu_type, wire::Span::several_servers);
  }
  for (const ServerKind& kind : cluster.kinds) {
    const auto known = by_type_.find(kind.gpu_type);
    const std::string& type = known != by_type_.end() ? kind.gpu_type : profile.speeds.front().gpu_type;
    kinds_.push_back({type, &by_type_.at(type), known != by_type_.end() ? 1 : kind.speed});
  }
}

double Behaviour::at(const std::vector<double>& table, int gpus) {
  return table[std::min(static_cast<std::size_t>(gpus), table.size()) - 1];
}

double Behaviour::steps_per_s(std::size_t kind, int gpus, bool several_servers) const {
  const auto& [type, speeds, factor] = kinds_[kind];
  if (!several_servers)
    return factor * at(speeds->one_server.empty() ? speeds->several_servers : speeds->one_server, gpus);
  return speeds->several_servers.empty() ? factor * spanning_speed_ * at(speeds->one_server, gpus)
                                         : factor * at(speeds->several_servers, gpus);
}

double Behaviour::reference_steps_per_s(int gpus, bool several_servers) const {
  const Speeds& speeds = by_type_.at(profile_.speeds.front().gpu_type);
  const bool several = speeds.one_server.empty() || (several_servers && !speeds.several_servers.empty());
  return at(several ? speeds.several_servers : speeds.one_server, gpus);
}

std::optional<double> Behaviour::kept_beside(std::string_view family, std::size_t kind) const {
  const Kind& on = kinds_[kind];
  for (const wire::ProfileShared& shared : profile_.shared) {
    if (shared.with != family || shared.gpu_type != on.gpu_type) continue;
    return std::max(slowest_kept, shared.steps_per_s / (steps_per_s(kind, 1, false) / on.factor));
  }
  return std::nullopt;
}

double Behaviour::most_kept(std::size_t kind) const {
  double most = 1;
  for (const wire::ProfileShared& shared : profile_.shared)
    most = std::max(most, kept_beside(shared.with, kind).value_or(1));
  return most;
}

const wire::ProfileSpeed* Behaviour::measured_near(std::size_t kind, int gpus) const {
  const wire::ProfileSpeed* nearest = nullptr;
  for (const wire::ProfileSpeed& speed : profile_.speeds) {
    if (speed.gpu_type != kinds_[kind].gpu_type || speed.gpus > gpus) continue;
    if (!nearest || speed.gpus > nearest->gpus) nearest = &speed;
  }
  return nearest;
}

double Behaviour::epochs(double reference_s, int gpus, bool several_servers) const {
  if (!profile_.steps_per_epoch) return profile_.epochs.value_or(0);
  return reference_s * reference_steps_per_s(gpus, several_servers) / *profile_.steps_per_epoch;
}

std::optional<double> Behaviour::loss_after(double epoch) const {
  if (!profile_.loss) return std::nullopt;
  if (const auto& curve = profile_.loss->curve) return 1 / (curve->b0 * epoch + curve->b1) + curve->b2;
  const std::vector<double>& losses = profile_.loss->by_epoch;
  const double place = std::clamp(epoch - 1, 0.0, static_cast<double>(losses.size() - 1));
  const auto before = static_cast<std::size_t>(place);
  const std::size_t after = std::min(before + 1, losses.size() - 1);
  return losses[before] + (losses[after] - losses[before]) * (place - static_cast<double>(before));
}

std::optional<double> Behaviour::epoch_of(double target_loss) const {
  if (!profile_.loss) return std::nullopt;
  if (const auto& curve = profile_.loss->curve) {
    if (curve->b0 <= 0 || target_loss <= curve->b2) return std::nullopt;
    return std::max(1.0, (1 / (target_loss - curve->b2) - curve->b1) / curve->b0);
  }
  const std::vector<double>& losses = profile_.loss->by_epoch;
  const auto reached = std::find_if(losses.begin(), losses.end(), [&](double loss) { return loss <= target_loss; });
  if (reached == losses.end()) return std::nullopt;
  return static_cast<double>(reached - losses.begin() + 1);
}

Behaviours::Behaviours(const trace::Trace& trace, const Cluster& cluster) : trace_(trace) {
  std::map<const wire::TrainingProfile*, const Behaviour*> known;
  for (std::size_t i = 0; i < trace.details.size(); ++i) {
    const auto& profile = trace.details[i].profile;
    if (!profile) continue;
    const Behaviour*& behaviour = known[profile.get()];
    if (!behaviour) behaviour = all_.emplace_back(std::make_unique<Behaviour>(*profile, cluster)).get();
    by_details_.resize(trace.details.size());
    by_details_[i] = behaviour;
  }
}

}  // namespace sl::sim
