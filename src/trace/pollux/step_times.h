// How long a step takes on a placement, from measurements of some placements and batches.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/pollux/delaunay.h"

namespace sl::trace {

struct StepTime {
  double step_s = 0;  // forward and backward pass with synchronization
  double sync_s = 0;  // of that, synchronization
};

class StepTimes {
 public:
  // `placement`: GPUs of each server, 1 to 9, as digits, in the smallest of its rotations.
  void add(const std::string& placement, int local_batch, StepTime time);
  void add(int servers, int gpus, int local_batch, StepTime time);
  // After the last add().
  void triangulate();

  // On a placement that was measured, linear between its batches; on others linear in the tetrahedron of a Delaunay
  // triangulation of all (servers, GPUs, local batch) that it lies in, placements with the same numbers averaged.
  // Nothing: outside of what was measured. `local_batch` is that of one GPU in one pass.
  std::optional<StepTime> at(const std::vector<int>& placement, int local_batch) const;

  int local_batch_max() const { return local_batch_max_; }

 private:
  struct Measured {
    int local_batch = 0;
    StepTime time;
  };
  struct Mean {
    StepTime sum;
    int count = 0;
  };
  std::optional<StepTime> in_space(int servers, int gpus, int local_batch) const;

  std::map<std::string, std::vector<Measured>> by_placement_;  // by batch
  std::map<std::array<int, 3>, Mean> means_;
  std::vector<std::pair<std::array<int, 3>, StepTime>> others_;
  std::vector<StepTime> times_;  // of the points that were triangulated
  std::optional<Delaunay> triangulation_;
  int local_batch_max_ = 0;
  std::size_t servers_measured_ = 0;  // of the widest placement
};

}  // namespace sl::trace
