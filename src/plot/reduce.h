// Fewer points for the same picture. A line of 82,000 points has as many as paper can show after this.
#pragma once

#include <cstddef>
#include <vector>

namespace sl::plot {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

inline constexpr std::size_t points_max = 1000;

// At most `count_max` of the points (in points of paper, x never falling), first and last among them. First those that
// lie nearer than a twentieth of a point to the line without them are left out, then with growing tolerance
// (Ramer-Douglas-Peucker). Where that would be seen, each column of paper keeps its first, lowest, highest and last
// (M4: Jugel et al., VLDB 2014).
std::vector<Point> reduced(const std::vector<Point>& points, std::size_t count_max = points_max);

}  // namespace sl::plot
