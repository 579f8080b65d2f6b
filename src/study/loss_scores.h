// How good predictions of losses are on real trainings (docs/guide/estimates.md): what was predicted after a part of a
// training, compared with the rest of it. `schedulearn estimates losses` prints the scores, a test holds them to goals.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "study/scoring.h"

namespace sl::study {

struct LossTraining {
  std::string model;
  std::string half;            // "fit": constants of the estimators were chosen on it; "judge", or empty: they were not
  std::vector<double> losses;  // of each epoch
};

// Reads a CSV with the column `losses`, the losses of a training separated by |, and perhaps `model` and `half`.
// Errors: those of trace::read_text, "no-column", "bad-losses" (with the line).
Result<std::vector<LossTraining>> read_loss_trainings(const std::string& path);

inline constexpr const char *weighed_forms = "weighed forms", *single_form = "1/(b0 k + b1) + b2",
                            *line_through_half = "line, last half";

// Two tables, each after every part of `seen` (0.4: 40 % of its epochs): the loss of the last epoch, and the epochs left
// until the loss first is as low as the highest of the last three losses. The second is not asked where it has been
// there already. Each row is a method: that in use, the single form of Optimus, a line through the last half.
std::vector<ScoreTable> score_losses(const std::vector<LossTraining>& trainings, const std::vector<double>& seen);

}  // namespace sl::study
