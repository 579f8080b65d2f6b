// How good predictions are: what each method predicted, compared with what happened.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sl::study {

struct Score {
  std::string method;
  std::size_t questions = 0;
  // Median of |predicted - true| / true. Infinite: no answer to half of them; not a number: there was no question.
  double error = 0;
  std::optional<double>
      covers;                   // part of the questions in which the 80 % range held the truth; nothing: no range given
  std::optional<double> width;  // median of (high - low) / predicted
  std::size_t unanswered = 0;   // "never", or nothing known
};

// The scores of several methods on the same questions.
struct ScoreTable {
  struct Row {
    std::string when;  // after 40 %; on 8 GPUs
    Score score;
  };
  std::string title;
  std::vector<Row> rows;

  const Score& score(const std::string& when, const std::string& method) const;  // there must be one
};

// Collects the answers of one method.
class Scoring {
 public:
  explicit Scoring(std::string method) { score_.method = std::move(method); }
  struct Range {
    double low, high;
  };
  // An infinite prediction is no answer.
  void add(double truth, double predicted, std::optional<Range> range = {});
  Score score() const;

 private:
  Score score_;
  std::vector<double> errors_, widths_;
  std::size_t covered_ = 0;
};

}  // namespace sl::study
