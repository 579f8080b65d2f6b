#include "policy/training_estimates.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace sl {

int TrainingEstimates::servers_of(const Job& job) {
  const JobModel* model = job.request.model.get();
  if (!model || model->mode.value_or(TrainingMode::all_reduce) == TrainingMode::all_reduce) return 0;
  for (const Role& role : model->roles) {
    if (role.name == "server" || role.name == "ps") return std::max(1, role.count_wanted);
  }
  return 1;
}

TrainingEstimates::Fit& TrainingEstimates::fit(const View& view, JobIndex index) {
  while (!fits_.contains(index)) fits_.push_back({});
  const Job& job = view.job(index);
  Fit& fit = fits_[index];
  if (fit.job != job.request.id) {
    fit = Fit{};
    fit.job = job.request.id;
  }
  if (!job.telemetry) return fit;
  if (job.telemetry->speeds.size() != fit.samples) fit_speeds(job, fit);
  if (job.telemetry->loss_by_epoch.size() != fit.epochs) fit_losses(view, job, fit);
  return fit;
}

void TrainingEstimates::fit_speeds(const Job& job, Fit& fit) {
  const JobModel* model = job.request.model.get();
  const auto& speeds = job.telemetry->speeds;
  fit.samples = speeds.size();
  fit.speed.emplace(speeds, model ? model->mode.value_or(TrainingMode::all_reduce) : TrainingMode::all_reduce);
  fit.utility.reset();
  if (!model || !model->steps_total || *model->steps_total <= 0) return;
  std::vector<UtilitySample> samples;
  std::set<int> workers;
  for (const SpeedSample& s : speeds) {
    if (s.neighbour.valid()) continue;
    samples.push_back({static_cast<double>(s.workers), static_cast<double>(s.servers),
                       s.steps_per_s / static_cast<double>(*model->steps_total)});
    workers.insert(s.workers);
  }
  if (workers.size() < 3) return;
  fit.utility = QuadraticUtility::fit(samples);
  fit.utility_workers_max = *workers.rbegin();
}

// Curves are fitted again when the history has grown by a tenth. Which epochs they use follows from the length of the
// history alone, so that a policy that was set a moment ago predicts the same.
void TrainingEstimates::fit_losses(const View& view, const Job& job, Fit& fit) {
  const JobModel* model = job.request.model.get();
  const auto& losses = job.telemetry->loss_by_epoch;
  const std::size_t before = fit.epochs, fitted = fit.fitted_epochs;
  fit.epochs = losses.size();
  fit.fitted_epochs = fit.epochs - fit.epochs % std::max<std::size_t>(1, fit.epochs / 10);
  const bool has_target = model && model->target_loss;
  fit.met_target = has_target && epoch_of_target(losses, *model->target_loss);
  if (fit.fitted_epochs == fitted && fit.epochs > before) return;
  const std::vector<double> known(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(fit.fitted_epochs));
  fit.left = {};
  if (has_target) fit.left = epochs_left(known, *model->target_loss);
  const bool is_known_otherwise =
      (model && model->epochs_total) || view.estimates.run_time_s(job, job.request.gpus).known();
  if (!has_target && !is_known_otherwise) fit.left = epochs_to_convergence(known);
}

double TrainingEstimates::speedup(const View& view, JobIndex index, int gpus) {
  const Job& job = view.job(index);
  if (const Fit& known = fit(view, index); known.speed) {
    const bool spans = !job.request.single_server() && gpus > view.free.gpus_per_server_max();
    const Figure measured = known.speed->speedup(gpus, servers_of(job), spans);
    if (measured.known() && measured.value > 0) return measured.value;
  }
  const SpeedCurve& curve = view.estimates.speed_curve(job);
  return curve.speed_on(curve.is_measured() ? gpus : std::min(gpus, job.request.gpus));
}

Figure TrainingEstimates::epochs_left_of(const Job& job, const Fit& fit) {
  if (fit.epochs == 0) return Figure::unknown();
  if (fit.met_target) return {1, Confidence::high};
  const JobModel* model = job.request.model.get();
  const bool is_stated = model && model->epochs_total;
  const double since = static_cast<double>(fit.epochs - fit.fitted_epochs);
  const Figure& predicted = fit.left.epochs;
  if (predicted.known() && (predicted.confidence > Confidence::low || !is_stated))
    return {std::max(1.0, predicted.value - since), predicted.confidence};
  if (!is_stated) return Figure::unknown();
  return {std::max(1.0, static_cast<double>(*model->epochs_total) - static_cast<double>(fit.epochs)),
          Confidence::medium};
}

// From the steps of an epoch and the speed on one GPU; else from the time its epochs took on the GPUs it had.
double TrainingEstimates::epoch_serial_s(const View& view, JobIndex index) {
  const Job& job = view.job(index);
  const Fit& known = fit(view, index);
  const JobModel* model = job.request.model.get();
  if (known.speed && model && model->steps_total && model->epochs_total && *model->epochs_total > 0) {
    const Figure speed = known.speed->steps_per_s({1, servers_of(job), false});
    const double steps = static_cast<double>(*model->steps_total) / *model->epochs_total;
    if (speed.known() && speed.value > 0) return steps / speed.value;
  }
  const Duration ran = job.run_at(view.now);
  if (ran.us <= 0) return 0;
  const double gpus = static_cast<double>(job.attained_at(view.now)) / static_cast<double>(ran.us);
  const int held = std::max(1, static_cast<int>(gpus + 0.5));
  return ran.to_seconds() / static_cast<double>(known.epochs) * speedup(view, index, held);
}

double TrainingEstimates::remaining_serial_s(const View& view, JobIndex index) {
  const Job& job = view.job(index);
  if (const Figure left = epochs_left_of(job, fit(view, index)); left.known()) {
    const double epoch_s = epoch_serial_s(view, index);
    if (epoch_s > 0) return std::min(left.value * epoch_s, 3.2e9);
  }
  return run_times_.remaining(view, job, 1).to_seconds();
}

Duration TrainingEstimates::time_left(const View& view, JobIndex index) {
  const int gpus = view.job(index).allocation.count();
  return Duration::seconds(remaining_serial_s(view, index) / speedup(view, index, gpus));
}

bool TrainingEstimates::is_early(const View& view, JobIndex index) {
  const Fit& known = fit(view, index);
  return known.left.epochs.known() && known.epochs < 5;
}

bool TrainingEstimates::has_met_target(const View& view, JobIndex index) { return fit(view, index).met_target; }

double TrainingEstimates::whole_serial_s(const View& view, JobIndex index) {
  const Job& job = view.job(index);
  const Fit& known = fit(view, index);
  if (const Figure left = epochs_left_of(job, known); left.known()) {
    const double epoch_s = epoch_serial_s(view, index);
    if (epoch_s > 0) return (left.value + static_cast<double>(known.epochs)) * epoch_s;
  }
  return std::max(1e-3, run_times_.total(view, job, 1).to_seconds());
}

double TrainingEstimates::progress_per_s(const View& view, JobIndex index, int gpus) {
  const Fit& known = fit(view, index);
  if (known.utility) {
    const int measured = std::min(gpus, known.utility_workers_max);
    const Figure utility = known.utility->at(measured, servers_of(view.job(index)));
    if (utility.known()) return std::max(0.0, utility.value);
  }
  return speedup(view, index, gpus) / whole_serial_s(view, index);
}

std::string TrainingEstimates::standing(const View& view, JobIndex index, int gpus, RunTimes run_times) {
  const Job& job = view.job(index);
  TrainingEstimates training(run_times);
  if (training.has_met_target(view, index)) return "its loss has met its target";
  const double work_s = training.remaining_serial_s(view, index);
  const auto left_s = [&](int count) { return work_s / training.speedup(view, index, count); };
  std::string text = epochs_left_of(job, training.fit(view, index)).known()
                         ? "about " + duration_text(left_s(gpus)) + " left on " + std::to_string(gpus) +
                               (gpus == 1 ? " GPU" : " GPUs") + ", by the epochs it reported"
                         : run_times.standing(view, job, gpus);
  if (gpus >= job.request.gpus_max) return text;
  return text + "; one more GPU would save " + duration_text(std::max(0.0, left_s(gpus) - left_s(gpus + 1)));
}

}  // namespace sl
