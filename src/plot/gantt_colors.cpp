// The boxes that touch form a planar graph, so some box always has at most five neighbours among the others. Taking
// such a box away first and colouring it last (smallest-last order; Matula and Beck, JACM 1983) needs at most six
// colours. Jobs with several boxes are not planar and may need more than there are; then boxes are coloured one by one.
#include "plot/gantt_colors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

namespace sl::plot {
namespace {

constexpr double hair = 1.0 / 250;  // of the picture's width
constexpr double same = 1e-9;

using Neighbours = std::vector<std::vector<std::size_t>>;

// Above 0: they overlap by that much; below: the gap between them.
double overlap(Range a, Range b) { return std::min(a.high, b.high) - std::max(a.low, b.low); }

bool touch(const Box& a, const Box& b, double gap_max) {
  const double x = overlap(a.x, b.x), y = overlap(a.y, b.y);
  return (x >= -gap_max - same && y > same) || (y >= -same && x > same);
}

Neighbours neighbours_of(const std::vector<Box>& boxes, const std::vector<std::size_t>& node_of, std::size_t nodes,
                         double gap_max) {
  Neighbours neighbours(nodes);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::size_t a = node_of[i], b = node_of[j];
      if (a == b || boxes[i].label == boxes[j].label || !touch(boxes[i], boxes[j], gap_max)) continue;
      neighbours[a].push_back(b);
      neighbours[b].push_back(a);
    }
  }
  for (std::vector<std::size_t>& list : neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbours;
}

// The node with the fewest neighbours left comes last, and so on.
std::vector<std::size_t> smallest_last(const Neighbours& neighbours) {
  std::vector<std::size_t> degree, order;
  for (const auto& list : neighbours) degree.push_back(list.size());
  std::vector<bool> is_gone(neighbours.size());
  while (order.size() < neighbours.size()) {
    std::size_t least = neighbours.size();
    for (std::size_t i = 0; i < degree.size(); ++i) {
      if (!is_gone[i] && (least == neighbours.size() || degree[i] < degree[least])) least = i;
    }
    is_gone[least] = true;
    order.push_back(least);
    for (const std::size_t other : neighbours[least]) --degree[other];
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Each node prefers the colour of its number, so that all colours are used. Empty if they do not suffice.
std::vector<int> colored(const Neighbours& neighbours) {
  std::vector<int> colors(neighbours.size(), -1);
  for (const std::size_t node : smallest_last(neighbours)) {
    std::array<bool, box_colors> is_taken{};
    for (const std::size_t other : neighbours[node]) {
      if (colors[other] >= 0) is_taken[static_cast<std::size_t>(colors[other])] = true;
    }
    for (std::size_t i = 0; i < box_colors && colors[node] < 0; ++i) {
      const std::size_t color = (node + i) % box_colors;
      if (!is_taken[color]) colors[node] = static_cast<int>(color);
    }
    if (colors[node] < 0) return {};
  }
  return colors;
}

// Jobs numbered by their first box.
std::vector<std::size_t> jobs_of(const std::vector<Box>& boxes, std::size_t& count) {
  std::vector<std::size_t> by_start(boxes.size()), node_of(boxes.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) by_start[i] = i;
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](std::size_t a, std::size_t b) { return boxes[a].x.low < boxes[b].x.low; });
  std::unordered_map<std::string_view, std::size_t> jobs;
  for (const std::size_t i : by_start) node_of[i] = jobs.try_emplace(boxes[i].label, jobs.size()).first->second;
  count = jobs.size();
  return node_of;
}

bool color_nodes(std::vector<Box>& boxes, const std::vector<std::size_t>& node_of, std::size_t nodes, double gap_max) {
  const std::vector<int> colors = colored(neighbours_of(boxes, node_of, nodes, gap_max));
  if (colors.size() != nodes) return false;
  for (std::size_t i = 0; i < boxes.size(); ++i) boxes[i].color = colors[node_of[i]];
  return true;
}

}  // namespace

void color_boxes(std::vector<Box>& boxes) {
  Range all{INFINITY, -INFINITY};
  for (const Box& box : boxes) all = {std::min(all.low, box.x.low), std::max(all.high, box.x.high)};
  const double gap_max = hair * std::max(0.0, all.high - all.low);
  std::size_t jobs = 0;
  const std::vector<std::size_t> job_of = jobs_of(boxes, jobs);
  if (color_nodes(boxes, job_of, jobs, gap_max)) return;
  std::vector<std::size_t> one_each(boxes.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) one_each[i] = i;
  if (!color_nodes(boxes, one_each, boxes.size(), gap_max)) color_nodes(boxes, one_each, boxes.size(), 0);
}

}  // namespace sl::plot
