#include "plot/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sl::plot {
namespace {

constexpr double tolerance_least = 0.05, tolerance_seen = 0.4, column_fine = 0.1;

std::vector<Point> extremes_of_columns(const std::vector<Point>& points, double column_width) {
  std::vector<Point> kept;
  for (std::size_t begin = 0; begin < points.size();) {
    const double column = std::floor((points[begin].x - points.front().x) / column_width);
    std::size_t end = begin, lowest = begin, highest = begin;
    for (; end < points.size() && std::floor((points[end].x - points.front().x) / column_width) == column; ++end) {
      if (points[end].y < points[lowest].y) lowest = end;
      if (points[end].y > points[highest].y) highest = end;
    }
    std::array<std::size_t, 4> chosen = {begin, lowest, highest, end - 1};
    std::sort(chosen.begin(), chosen.end());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (i == 0 || chosen[i] != chosen[i - 1]) kept.push_back(points[chosen[i]]);
    }
    begin = end;
  }
  return kept;
}

double distance(const Point& p, const Point& a, const Point& b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = std::hypot(dx, dy);
  return length == 0 ? std::hypot(p.x - a.x, p.y - a.y) : std::abs(dx * (p.y - a.y) - dy * (p.x - a.x)) / length;
}

std::vector<Point> simplified(const std::vector<Point>& points, double tolerance) {
  std::vector<bool> keep(points.size(), false);
  keep.front() = keep.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open = {{0, points.size() - 1}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    std::size_t farthest = first;
    double most = tolerance;
    for (std::size_t i = first + 1; i < last; ++i) {
      if (const double d = distance(points[i], points[first], points[last]); d > most) most = d, farthest = i;
    }
    if (farthest == first) continue;
    keep[farthest] = true;
    open.emplace_back(first, farthest);
    open.emplace_back(farthest, last);
  }
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (keep[i]) kept.push_back(points[i]);
  }
  return kept;
}

}  // namespace

std::vector<Point> reduced(const std::vector<Point>& points, std::size_t count_max) {
  if (points.size() <= count_max) return points;
  const std::vector<Point> fine = extremes_of_columns(points, column_fine);
  for (double tolerance = tolerance_least; tolerance <= tolerance_seen; tolerance *= 2) {
    std::vector<Point> fewer = simplified(fine, tolerance);
    if (fewer.size() <= count_max) return fewer;
  }
  const auto columns = static_cast<double>(std::max<std::size_t>(1, count_max / 4 - 1));
  return extremes_of_columns(fine, std::max(1e-9, (points.back().x - points.front().x) / columns));
}

}  // namespace sl::plot
