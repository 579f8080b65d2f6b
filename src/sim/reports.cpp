#include "sim/reports.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sl::sim {
namespace {

constexpr Duration measuring_time = Duration::whole_seconds(30);

// A standard normal number for one epoch of one job (Box and Muller 1958).
double normal(std::uint64_t seed, std::size_t job, int epoch) {
  Random random = Random(seed).fork(job).fork(static_cast<std::uint64_t>(epoch));
  const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

bool is_same(SpeedSample a, const SpeedSample& b) {
  a.steps_per_s = b.steps_per_s;
  return a == b;
}

}  // namespace

Reports::Reports(const trace::Trace& trace, const Behaviours& behaviours, const Cluster& cluster, const Core& core,
                 std::uint64_t seed)
    : trace_(trace),
      behaviours_(behaviours),
      core_(core),
      seed_(seed),
      gpus_per_server_(cluster.gpus_per_server_max()),
      is_pool_(cluster.is_pool) {
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind)
    kind_of_server_.insert(kind_of_server_.end(), static_cast<std::size_t>(cluster.kinds[kind].count), kind);
}

void Reports::follow(const Behaviour& known, JobIndex place, const Training& training, Instant from) {
  Told& told = told_[training.job];
  const SpeedSample configuration = configuration_of(known, core_.job(place));
  if (!is_same(configuration, told.configuration)) {
    told.configuration = configuration;
    told.configured = from;
  }
  plan(known, place, training, told);
}

void Reports::plan(const Behaviour& known, JobIndex place, const Training& training, Told& told) {
  told.epoch_ends = end_of_epoch(known, training, told.epochs + 1);
  told.at = told.epoch_ends;
  if (told.configured.happened()) told.at = std::min(told.at, told.configured + measuring_time);
  if (told.at < training.ends) due_.push({told.at, training.job, place});
}

Instant Reports::end_of_epoch(const Behaviour& known, const Training& training, int epoch) const {
  const double epochs = epochs_of(known, training.job);
  if (!(epoch < epochs)) return Instant::never();
  const double left_then = static_cast<double>(trace_.jobs[training.job].duration.us) * (1 - epoch / epochs);
  const double until_then = (static_cast<double>(training.left.us) - left_then) / training.speed;
  return training.since + Duration{static_cast<std::int64_t>(std::ceil(std::max(0.0, until_then)))};
}

std::optional<AttemptProgressed> Reports::take(Trainings& trainings, Instant now) {
  while (next() <= now) {
    const Due due = due_.top();
    due_.pop();
    const auto known_job = told_.find(due.job);
    if (known_job == told_.end() || known_job->second.at != due.at) continue;
    Told& told = known_job->second;
    told.at = {};
    const Training* training = trainings.find(due.job);
    if (!training || !training->runs()) continue;  // it reports again once it continues
    const Behaviour& known = *behaviours_.of(due.job);
    const AttemptProgressed event = report(known, core_.job(due.place), *training, told, due.at);
    told.epochs = std::max(told.epochs, event.epoch);
    told.configured = {};
    plan(known, due.place, *training, told);
    return event;
  }
  return std::nullopt;
}

AttemptProgressed Reports::report(const Behaviour& known, const Job& job, const Training& training, const Told& told,
                                  Instant at) const {
  AttemptProgressed event;
  event.job = job.request.id;
  event.attempt = job.attempt;
  event.speed = told.configuration;
  event.speed->steps_per_s = training.speed * known.reference_steps_per_s(job.request.gpus, is_wide(training.job));
  if (at == told.epoch_ends) {
    event.epoch = told.epochs + 1;
    event.loss = loss_of(known, training.job, event.epoch);
  }
  const ServerIndex server = job.allocation.parts().front().server;
  if (const wire::ProfileSpeed* load = known.measured_near(kind_of_server_[server.value], told.configuration.workers)) {
    event.gpu_utilization_pct = load->gpu_utilization_pct;
    event.gpu_memory_used_bytes = load->gpu_memory_bytes;
  }
  return event;
}

SpeedSample Reports::configuration_of(const Behaviour& known, const Job& job) const {
  SpeedSample sample;
  sample.workers = job.allocation.count();
  sample.machines = is_pool_ ? 1 : static_cast<int>(job.allocation.parts().size());
  sample.gpu_type = core_.servers()[job.allocation.parts().front().server].description.gpu_type;
  sample.batch_size = known.profile().batch_size.value_or(0);
  sample.servers = known.profile().speeds.front().parameter_servers;
  sample.neighbour = neighbour_of(job);
  return sample;
}

// The first other job on its GPUs; none: it is alone there.
JobId Reports::neighbour_of(const Job& job) const {
  JobId neighbour = JobId::none();
  for (const ServerGpus& part : job.allocation.parts()) {
    part.gpus.for_each([&](int gpu) {
      core_.ledger().for_each_tenant(part.server, gpu, [&](JobIndex tenant) {
        const JobId id = core_.job(tenant).request.id;
        if (id != job.request.id && !neighbour.valid()) neighbour = id;
      });
    });
  }
  return neighbour;
}

double Reports::epochs_of(const Behaviour& known, std::size_t job) const {
  return known.epochs(trace_.jobs[job].duration.to_seconds(), trace_.jobs[job].gpus, is_wide(job));
}

std::optional<double> Reports::loss_of(const Behaviour& known, std::size_t job, int epoch) const {
  const trace::TraceDetails& details = trace_.details[trace_.jobs[job].details];
  const auto target = details.model ? details.model->target_loss : std::nullopt;
  const auto target_epoch = target ? known.epoch_of(*target) : std::nullopt;
  const double stretch = target_epoch ? *target_epoch / epochs_of(known, job) : 1;
  const auto loss = known.loss_after(epoch * stretch);
  if (!loss) return std::nullopt;
  return *loss * std::max(0.0, 1 + known.profile().loss->noise * normal(seed_, job, epoch));
}

}  // namespace sl::sim
