// `plot util`: the share of GPUs held over time, for the cluster or per server.
#pragma once

#include <string>
#include <vector>

#include "plot/gantt.h"
#include "plot/history.h"

namespace sl::plot {

struct NamedHistory {
  std::string name;
  History history;
};

enum class By { cluster, server };

inline constexpr std::size_t exact_changes_max = 400;  // a line that changes more often is drawn as means
inline constexpr int mean_columns = 120;
inline constexpr std::size_t server_panels_max = 12;  // more servers than this are drawn as a map

// The share held in percent, as a step line: exact, or as means over `mean_columns` equal parts if it changes too
// often.
struct Allocation {
  std::vector<Point> points;
  bool is_mean = false;
};
Allocation allocation_of(const std::vector<std::vector<Range>>& busy, int gpu_first, int count, Range time);

// One line per history, in a panel each if there are more than two. By server: one panel per server, or a map if there are many. Errors "unknown-server",
// "bad-window", "too-many-servers" (a map shows one result only).
Result<Figure> utilization_figure(const std::vector<NamedHistory>& histories, By by, const Window& window);

}  // namespace sl::plot
