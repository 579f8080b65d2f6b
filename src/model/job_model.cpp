#include "model/job.h"

namespace sl {
namespace {

// Fills what `to` does not know from `from`.
template <typename T>
void fill(std::optional<T>& to, const std::optional<T>& from) {
  if (!to) to = from;
}
template <typename T>
void fill(std::vector<T>& to, const std::vector<T>& from) {
  if (to.empty()) to = from;
}
void fill(SpeedCurve& to, const SpeedCurve& from) {
  if (!to.is_measured()) to = from;
}

template <typename T>
void forget(T& figure) {
  figure = T();
}

// Figures that only measurements provide.
template <typename Visit>
void visit_measured(Visit visit) {
  visit(&JobModel::checkpoint_bytes);
  visit(&JobModel::gpu_memory_bytes);
  visit(&JobModel::gpu_utilization_pct);
  visit(&JobModel::restart_cost);
  visit(&JobModel::step_time_fixed_s);
  visit(&JobModel::step_time_per_sample_s);
  visit(&JobModel::speed_curve);
  visit(&JobModel::speed_by_gpu_type);
}

// Figures that the user can state as well.
template <typename Visit>
void visit_stated(Visit visit) {
  visit(&JobModel::parameter_bytes);
  visit(&JobModel::largest_tensor_bytes);
  visit(&JobModel::batch_size);
  visit(&JobModel::steps_total);
  visit(&JobModel::epochs_total);
  visit(&JobModel::mode);
  visit(&JobModel::target_loss);
  visit(&JobModel::budget);
  visit(&JobModel::roles);
  visit(&JobModel::gpu_counts_allowed);
}

}  // namespace

JobModel completed(JobModel said, const JobModel& measured) {
  const auto fill_member = [&](auto member) { fill(said.*member, measured.*member); };
  visit_measured(fill_member);
  visit_stated(fill_member);
  return said;
}

JobModel without_measurements(JobModel model) {
  visit_measured([&](auto member) { forget(model.*member); });
  return model;
}

}  // namespace sl
