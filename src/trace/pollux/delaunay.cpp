#include "trace/pollux/delaunay.h"

#include <libqhull_r/libqhull_r.h>

#include <Eigen/LU>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace sl::trace {
namespace {

constexpr double tolerance = 100 * std::numeric_limits<double>::epsilon();

}  // namespace

Delaunay::Delaunay(std::vector<Point> points) : points_(std::move(points)) {
  low_ = high_ = points_.front();
  std::vector<double> coordinates;
  for (const Point& point : points_) {
    coordinates.insert(coordinates.end(), point.begin(), point.end());
    low_ = low_.cwiseMin(point);
    high_ = high_.cwiseMax(point);
  }
  qhT state;
  qh_zero(&state, stderr);
  std::string options = "qhull d Qt Qbb Qc Qz Q12";
  const int failed =
      qh_new_qhull(&state, 3, static_cast<int>(points_.size()), coordinates.data(), 0, options.data(), nullptr, stderr);
  SL_CHECK(failed == 0, "the points can be triangulated");
  paraboloid_scale_ = state.last_newhigh / (state.last_high - state.last_low);
  paraboloid_shift_ = -state.last_low * paraboloid_scale_;

  std::unordered_map<unsigned, std::size_t> numbers;
  for (const facetT* facet = state.facet_list; facet->next; facet = facet->next) {
    if (!facet->upperdelaunay) numbers.emplace(facet->id, numbers.size());
  }
  for (const facetT* facet = state.facet_list; facet->next; facet = facet->next) {
    if (facet->upperdelaunay) continue;
    Tetrahedron made;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto* corner = static_cast<vertexT*>(facet->vertices->e[i].p);
      const auto* neighbour = static_cast<facetT*>(facet->neighbors->e[i].p);
      const auto number = numbers.find(neighbour->id);
      made.corners.at(i) = static_cast<std::size_t>(qh_pointid(&state, corner->point));
      made.neighbours.at(i) = number == numbers.end() ? none : number->second;
    }
    if (facet->toporient) {
      std::swap(made.corners[0], made.corners[1]);
      std::swap(made.neighbours[0], made.neighbours[1]);
    }
    made.plane << facet->normal[0], facet->normal[1], facet->normal[2], facet->normal[3], facet->offset;
    set_weights(made);
    tetrahedra_.push_back(made);
  }
  int kept = 0, bytes = 0;
  qh_freeqhull(&state, 0);
  qh_memfreeshort(&state, &kept, &bytes);
}

void Delaunay::set_weights(Tetrahedron& tetrahedron) const {
  Eigen::Matrix3d edges;
  for (std::size_t i = 0; i < 3; ++i)
    edges.col(static_cast<Eigen::Index>(i)) = points_[tetrahedron.corners.at(i)] - points_[tetrahedron.corners[3]];
  const Eigen::PartialPivLU<Eigen::Matrix3d> solver(edges);
  tetrahedron.is_flat = edges.determinant() == 0 || solver.rcond() < 1000 * std::numeric_limits<double>::epsilon();
  if (!tetrahedron.is_flat) tetrahedron.to_weights = solver.inverse();
}

// In SciPy's order of operations: which of two planes through the same points is higher is decided by rounding.
double Delaunay::above_plane(const Tetrahedron& tetrahedron, const Point& point) const {
  double square = 0, height = tetrahedron.plane[4];
  for (Eigen::Index i = 0; i < 3; ++i) {
    square += point[i] * point[i];
    height += tetrahedron.plane[i] * point[i];
  }
  return height + tetrahedron.plane[3] * (square * paraboloid_scale_ + paraboloid_shift_);
}

Eigen::Vector4d Delaunay::weights(const Tetrahedron& tetrahedron, const Point& point) const {
  const Eigen::Vector3d first = tetrahedron.to_weights * (point - points_[tetrahedron.corners[3]]);
  return {first[0], first[1], first[2], 1 - first[0] - first[1] - first[2]};
}

bool Delaunay::is_outside_of_all(const Point& point) const {
  return (point.array() < low_.array() - tolerance).any() || (point.array() > high_.array() + tolerance).any();
}

// Uphill over the planes of neighbours, until the point is above one or no neighbour's is higher.
std::size_t Delaunay::nearest(const Point& point) const {
  std::size_t at = 0;
  double best = above_plane(tetrahedra_[at], point);
  for (bool moved = true; moved && best <= 0;) {
    moved = false;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t neighbour = tetrahedra_[at].neighbours.at(k);
      if (neighbour == none) continue;
      const double height = above_plane(tetrahedra_[neighbour], point);
      if (height <= best + tolerance * (1 + std::fabs(best))) continue;
      at = neighbour;
      best = height;
      moved = true;
    }
  }
  return at;
}

// From tetrahedron to tetrahedron, through the face that the point lies beyond.
std::size_t Delaunay::walk(const Point& point, std::size_t at) const {
  for (std::size_t steps = 0; steps <= tetrahedra_.size() / 4; ++steps) {
    const Tetrahedron& here = tetrahedra_[at];
    if (here.is_flat) return search(point);
    const Eigen::Vector4d found = weights(here, point);
    std::size_t beyond = 0;
    while (beyond < 4 && found[static_cast<Eigen::Index>(beyond)] >= -tolerance) ++beyond;
    if (beyond == 4) return found.maxCoeff() <= 1 + tolerance ? at : search(point);
    at = here.neighbours.at(beyond);
    if (at == none) return none;
  }
  return search(point);
}

// The first of all in which it is; instead of a flat one, its neighbours.
std::size_t Delaunay::search(const Point& point) const {
  const auto has = [&](std::size_t number) {
    if (number == none || tetrahedra_[number].is_flat) return false;
    const Eigen::Vector4d found = weights(tetrahedra_[number], point);
    return found.minCoeff() >= -tolerance && found.maxCoeff() <= 1 + tolerance;
  };
  for (std::size_t i = 0; i < tetrahedra_.size(); ++i) {
    if (has(i)) return i;
    if (!tetrahedra_[i].is_flat) continue;
    for (const std::size_t neighbour : tetrahedra_[i].neighbours) {
      if (has(neighbour)) return neighbour;
    }
  }
  return none;
}

std::optional<Delaunay::Mean> Delaunay::find(const Point& point) const {
  if (is_outside_of_all(point)) return {};
  const std::size_t at = walk(point, nearest(point));
  if (at == none) return {};
  return Mean{tetrahedra_[at].corners, weights(tetrahedra_[at], point)};
}

}  // namespace sl::trace
