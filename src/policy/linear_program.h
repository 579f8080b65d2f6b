// A small exact solver: maximize c*x subject to A*x <= b, x >= 0, with every b >= 0, so that x = 0 is a first solution.
// Dense simplex; for tens to a few hundred rows.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace sl {

class LinearProgram {
 public:
  explicit LinearProgram(std::size_t variables) : objective_(variables, 0.0) {}

  void set_objective(std::size_t variable, double coefficient) { objective_[variable] = coefficient; }
  // sum of coefficient * variable <= bound; bound >= 0.
  void add_row(std::vector<std::pair<std::size_t, double>> terms, double bound);
  // The best x; nothing if the objective is unbounded.
  std::optional<std::vector<double>> solve() const;

 private:
  struct Row {
    std::vector<std::pair<std::size_t, double>> terms;
    double bound = 0;
  };
  std::vector<double> objective_;
  std::vector<Row> rows_;
};

}  // namespace sl
