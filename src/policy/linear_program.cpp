#include "policy/linear_program.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "base/check.h"

namespace sl {
namespace {

constexpr double zero = 1e-11;

// Rows of (variables, slacks, bound), the last row is the negated objective. One block of memory, since it is large and
// made anew at every decision.
struct Tableau {
  std::size_t constraints, columns;
  std::vector<double> cells = std::vector<double>((constraints + 1) * columns, 0.0);
  std::vector<std::size_t> basis = std::vector<std::size_t>(constraints);  // by row: the variable it determines
  std::vector<std::uint32_t> used = {};  // columns of the pivot's row that are not zero

  std::span<double> row(std::size_t r) { return {cells.data() + r * columns, columns}; }
  std::span<const double> row(std::size_t r) const { return {cells.data() + r * columns, columns}; }
  std::span<double> objective() { return row(constraints); }

  // Steepest first; Bland's rule (lowest index) once pivots bring no improvement, so that the search cannot cycle.
  std::size_t entering(bool lowest_index) {
    const std::span<const double> gains = objective();
    std::size_t best = columns;
    for (std::size_t v = 0; v + 1 < columns; ++v) {
      if (gains[v] >= -zero) continue;
      if (best == columns || (!lowest_index && gains[v] < gains[best])) best = v;
      if (lowest_index) break;
    }
    return best;
  }

  std::size_t leaving(std::size_t column) const {
    std::size_t best = constraints;
    double best_ratio = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < constraints; ++r) {
      if (row(r)[column] <= zero) continue;
      const double ratio = row(r).back() / row(r)[column];
      const bool ties = best < constraints && std::abs(ratio - best_ratio) <= zero;
      if (ties ? basis[r] < basis[best] : ratio < best_ratio) {
        best = r;
        best_ratio = ratio;
      }
    }
    return best;
  }

  // Most entries of a row are zero: only the others change anything.
  void pivot(std::size_t at, std::size_t column) {
    const std::span<double> by = row(at);
    const double factor = by[column];
    used.clear();
    for (std::size_t v = 0; v < columns; ++v) {
      if (by[v] == 0) continue;
      by[v] /= factor;
      used.push_back(static_cast<std::uint32_t>(v));
    }
    for (std::size_t r = 0; r <= constraints; ++r) {
      const std::span<double> other = row(r);
      const double times = other[column];
      if (r == at || times == 0) continue;
      for (const std::uint32_t v : used) other[v] -= times * by[v];
    }
    basis[at] = column;
  }
};

}  // namespace

void LinearProgram::add_row(std::vector<std::pair<std::size_t, double>> terms, double bound) {
  SL_CHECK(bound >= 0, "zero satisfies every row");
  rows_.push_back({std::move(terms), bound});
}

std::optional<std::vector<double>> LinearProgram::solve() const {
  const std::size_t n = objective_.size(), m = rows_.size();
  Tableau tableau{m, n + m + 1};
  for (std::size_t r = 0; r < m; ++r) {
    const std::span<double> row = tableau.row(r);
    for (const auto& [variable, coefficient] : rows_[r].terms) row[variable] += coefficient;
    row[n + r] = 1;
    row.back() = rows_[r].bound;
    tableau.basis[r] = n + r;
  }
  for (std::size_t v = 0; v < n; ++v) tableau.objective()[v] = -objective_[v];

  // Every basis on the way satisfies all rows. Should rounding make the search cycle in spite of the rule, its last
  // solution is nearly as good.
  std::size_t pivots_left = 50 * (n + m);
  for (int idle = 0; pivots_left > 0; --pivots_left) {
    const std::size_t column = tableau.entering(idle > 20);
    if (column >= n + m) break;
    const std::size_t row = tableau.leaving(column);
    if (row == m) return std::nullopt;
    const double before = tableau.objective().back();
    tableau.pivot(row, column);
    idle = tableau.objective().back() > before + zero ? 0 : idle + 1;
  }
  std::vector<double> x(n, 0.0);
  for (std::size_t r = 0; r < m; ++r) {
    if (tableau.basis[r] < n) x[tableau.basis[r]] = tableau.row(r).back();
  }
  return x;
}

}  // namespace sl
