#include "study/scoring.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/statistics.h"

namespace sl::study {
namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : percentile(values, 0.5);
}

}  // namespace

const Score& ScoreTable::score(const std::string& when, const std::string& method) const {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Row& at) { return at.when == when && at.score.method == method; });
  SL_CHECK(row != rows.end(), "the table has the row that is asked for");
  return row->score;
}

void Scoring::add(double truth, double predicted, std::optional<Range> range) {
  const bool is_answered = std::isfinite(predicted);
  ++score_.questions;
  if (!is_answered) ++score_.unanswered;
  constexpr double none = std::numeric_limits<double>::infinity();
  errors_.push_back(is_answered ? std::abs(predicted - truth) / truth : none);
  if (!range) return;
  if (range->low <= truth && truth <= range->high) ++covered_;
  widths_.push_back(is_answered ? (range->high - range->low) / predicted : none);
}

Score Scoring::score() const {
  Score made = score_;
  made.error = median_of(errors_);
  if (widths_.empty()) return made;
  made.covers = static_cast<double>(covered_) / static_cast<double>(widths_.size());
  made.width = median_of(widths_);
  return made;
}

}  // namespace sl::study
