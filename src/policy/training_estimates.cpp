#include "policy/training_estimates.h"

#include <algorithm>

namespace sl {

int TrainingEstimates::servers_of(const Job& job) {
  const JobModel* model = job.request.model.get();
  if (!model || model->mode.value_or(TrainingMode::all_reduce) == TrainingMode::all_reduce) return 0;
  for (const Role& role : model->roles) {
    if (role.name == "server" || role.name == "ps") return std::max(1, role.count_wanted);
  }
  return 1;
}

TrainingEstimates::Fit& TrainingEstimates::fit(const Snapshot& snapshot, JobIndex index) {
  while (!fits_.contains(index)) fits_.push_back({});
  const Job& job = snapshot.job(index);
  Fit& fit = fits_[index];
  if (fit.job != job.request.id) {
    fit = Fit{};
    fit.job = job.request.id;
  }
  if (!job.telemetry) return fit;
  const JobModel* model = job.request.model.get();
  const auto& speeds = job.telemetry->speeds;
  if (speeds.size() != fit.samples) {
    fit.samples = speeds.size();
    fit.speed.emplace(speeds, model ? model->mode.value_or(TrainingMode::all_reduce) : TrainingMode::all_reduce);
    std::vector<UtilitySample> samples;
    for (const SpeedSample& s : speeds) {
      if (model && model->steps_total && *model->steps_total > 0 && !s.neighbour.valid())
        samples.push_back({static_cast<double>(s.workers), static_cast<double>(s.servers),
                           s.steps_per_s / static_cast<double>(*model->steps_total)});
    }
    fit.utility = QuadraticUtility::fit(samples);
  }
  const auto& losses = job.telemetry->loss_by_epoch;
  if (losses.size() != fit.epochs) {
    fit.epochs = losses.size();
    fit.left = model && model->target_loss ? epochs_left(losses, *model->target_loss) : EpochsLeft{};
  }
  return fit;
}

double TrainingEstimates::speedup(const Snapshot& snapshot, JobIndex index, int gpus) {
  const Job& job = snapshot.job(index);
  if (const Fit& known = fit(snapshot, index); known.speed) {
    const bool spans = !job.request.single_server && gpus > snapshot.free.gpus_per_server_max();
    const Figure measured = known.speed->speedup(gpus, servers_of(job), spans);
    if (measured.known() && measured.value > 0) return measured.value;
  }
  const Figure known = snapshot.estimates.speedup(job, gpus);
  return known.known() && known.value > 0 ? known.value : std::min(gpus, job.request.gpus);
}

double TrainingEstimates::remaining_serial_s(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  const Fit& known = fit(snapshot, index);
  if (known.left.epochs.known() && known.epochs > 0) {
    const double ran_s = job.run_at(snapshot.now).to_seconds();
    const int gpus = std::max(1, job.allocation.empty() ? job.request.gpus : job.allocation.count());
    const double epoch_s = ran_s / static_cast<double>(known.epochs) * speedup(snapshot, index, gpus);
    if (epoch_s > 0) return std::min(known.left.epochs.value * epoch_s, 3.2e9);
  }
  return run_times_.remaining_serial(snapshot, job).to_seconds();
}

bool TrainingEstimates::is_early(const Snapshot& snapshot, JobIndex index) {
  const Fit& known = fit(snapshot, index);
  return known.left.epochs.known() && known.epochs < 5;
}

Figure TrainingEstimates::utility(const Snapshot& snapshot, JobIndex index, int workers) {
  const Fit& known = fit(snapshot, index);
  if (!known.utility) return Figure::unknown();
  return known.utility->at(workers, servers_of(snapshot.job(index)));
}

}  // namespace sl
