// Fewer points for the same picture: a line of 82,000 points keeps only as many as are visible on paper.
#pragma once

#include <cstddef>
#include <vector>

namespace sl::plot {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

inline constexpr std::size_t points_max = 1000;

// At most `count_max` of the points (in points of paper, x never falling), including the first and the last. Points
// within a twentieth of a point of the line without them go first, then more with growing tolerance
// (Ramer-Douglas-Peucker). If that would be visible, each column of paper keeps its first, lowest, highest and last
// point instead (M4: Jugel et al., VLDB 2014).
std::vector<Point> reduced(const std::vector<Point>& points, std::size_t count_max = points_max);

}  // namespace sl::plot
