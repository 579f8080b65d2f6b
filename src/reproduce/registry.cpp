#include "reproduce/registry.h"

#include "base/suggest.h"
#include "plot/text.h"

namespace sl::reproduce {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> list = {tetris_vs_fifo(),
                                               gandiva_ring(),
                                               gang_vs_default(),
                                               lyapunov_groups(),
                                               schedulearn_speedup(),
                                               schedulearn_scalability(),
                                               schedulearn_submission(),
                                               schedulearn_turnaround(),
                                               schedulearn_resnet(),
                                               schedulearn_utilization(),
                                               philly()};
  return list;
}

Result<const Experiment*> find_experiment(const std::string& name) {
  std::vector<std::string> names;
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return &experiment;
    names.push_back(experiment.name);
  }
  Error error = not_found("unknown-experiment", "there is no experiment " + name)
                    .note("the experiments are " + plot::joined(names, ", "));
  if (const auto near = did_you_mean(name, {names.begin(), names.end()}))
    error.hints.push_back("did you mean " + *near + "?");
  error.hints.push_back("schedulearn reproduce ls");
  return error;
}

}  // namespace sl::reproduce
