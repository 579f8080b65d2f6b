// A Delaunay triangulation of points in space, by qhull. Points that lie on one sphere, as on a grid, have several, and
// neighbouring grids may be cut differently, so that it matters in which tetrahedron a point is found. This one finds the
// same as SciPy's Delaunay.find_simplex, which the simulator of Pollux's artifact uses.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace sl::trace {

class Delaunay {
 public:
  using Point = Eigen::Vector3d;
  explicit Delaunay(std::vector<Point> points);

  // The point as a mean of four of the points.
  struct Mean {
    std::array<std::size_t, 4> points;
    Eigen::Vector4d weights;
  };
  // Nothing: it lies outside of all tetrahedra.
  std::optional<Mean> find(const Point& point) const;

 private:
  static constexpr std::size_t none = SIZE_MAX;
  struct Tetrahedron {
    std::array<std::size_t, 4> corners{};
    std::array<std::size_t, 4> neighbours{};  // opposite each corner; `none` at the hull
    Eigen::Matrix<double, 5, 1> plane;        // in four dimensions, of the corners lifted to a paraboloid; last: offset
    Eigen::Matrix3d to_weights;
    bool is_flat = false;
  };
  void set_weights(Tetrahedron& tetrahedron) const;
  double above_plane(const Tetrahedron& tetrahedron, const Point& point) const;
  Eigen::Vector4d weights(const Tetrahedron& tetrahedron, const Point& point) const;
  bool is_outside_of_all(const Point& point) const;
  std::size_t nearest(const Point& point) const;
  std::size_t walk(const Point& point, std::size_t from) const;
  std::size_t search(const Point& point) const;

  std::vector<Point> points_;
  std::vector<Tetrahedron> tetrahedra_;
  Point low_, high_;
  double paraboloid_scale_ = 1, paraboloid_shift_ = 0;
};

}  // namespace sl::trace
