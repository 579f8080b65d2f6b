#include "policy/linear_program.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace sl {
namespace {

constexpr double zero = 1e-11;

// Rows of (variables, slacks, bound), the last row is the negated objective.
struct Tableau {
  std::vector<std::vector<double>> rows;
  std::vector<std::size_t> basis;   // by row: the variable it determines
  std::vector<std::uint32_t> used;  // columns of the pivot's row that are not zero

  std::vector<double>& objective() { return rows.back(); }

  // Steepest first; Bland's rule (lowest index) once pivots bring no improvement, so that the search cannot cycle.
  std::size_t entering(bool lowest_index) {
    std::size_t best = objective().size();
    for (std::size_t v = 0; v + 1 < objective().size(); ++v) {
      if (objective()[v] >= -zero) continue;
      if (best == objective().size() || (!lowest_index && objective()[v] < objective()[best])) best = v;
      if (lowest_index) break;
    }
    return best;
  }

  std::size_t leaving(std::size_t column) const {
    std::size_t best = basis.size();
    double best_ratio = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < basis.size(); ++r) {
      if (rows[r][column] <= zero) continue;
      const double ratio = rows[r].back() / rows[r][column];
      const bool ties = best < basis.size() && std::abs(ratio - best_ratio) <= zero;
      if (ties ? basis[r] < basis[best] : ratio < best_ratio) {
        best = r;
        best_ratio = ratio;
      }
    }
    return best;
  }

  // Most entries of a row are zero: only the others change anything.
  void pivot(std::size_t row, std::size_t column) {
    std::vector<double>& by = rows[row];
    const double factor = by[column];
    used.clear();
    for (std::size_t v = 0; v < by.size(); ++v) {
      if (by[v] == 0) continue;
      by[v] /= factor;
      used.push_back(static_cast<std::uint32_t>(v));
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double times = rows[r][column];
      if (r == row || times == 0) continue;
      for (const std::uint32_t v : used) rows[r][v] -= times * by[v];
    }
    basis[row] = column;
  }
};

}  // namespace

void LinearProgram::add_row(const std::vector<std::pair<std::size_t, double>>& terms, double bound) {
  SL_CHECK(bound >= 0, "zero satisfies every row");
  std::vector<double> row(objective_.size(), 0.0);
  for (const auto& [variable, coefficient] : terms) row[variable] += coefficient;
  rows_.push_back(std::move(row));
  bounds_.push_back(bound);
}

std::optional<std::vector<double>> LinearProgram::solve() const {
  const std::size_t n = objective_.size(), m = rows_.size();
  Tableau tableau;
  for (std::size_t r = 0; r < m; ++r) {
    std::vector<double> row = rows_[r];
    row.resize(n + m + 1, 0.0);
    row[n + r] = 1;
    row.back() = bounds_[r];
    tableau.rows.push_back(std::move(row));
    tableau.basis.push_back(n + r);
  }
  std::vector<double> last(n + m + 1, 0.0);
  for (std::size_t v = 0; v < n; ++v) last[v] = -objective_[v];
  tableau.rows.push_back(std::move(last));

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
    if (tableau.basis[r] < n) x[tableau.basis[r]] = tableau.rows[r].back();
  }
  return x;
}

}  // namespace sl
