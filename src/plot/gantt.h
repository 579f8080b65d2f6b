// `plot gantt`: who held which GPU when, one row per GPU. A history of more than a few thousand boxes is drawn as a
// map of how much of each row was held.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/history.h"

namespace sl::plot {

// The part to draw: times in seconds since the first submission.
struct Window {
  std::optional<double> from, to;
  std::vector<std::string> servers;  // names; "gpu*" for all with that prefix; empty: all
};

inline constexpr std::size_t boxes_max = 2000;
inline constexpr int gpu_rows_max = 128;  // rows of GPUs; beyond this one row per server is drawn
inline constexpr int map_rows_max = 64, map_columns = 160;

// The boxes of a Gantt chart: jobs that share a GPU share its row, a job on neighbouring GPUs is one box. Rows are the
// GPUs of the chosen servers, from 0. For tests; `gantt_figure` draws them.
std::vector<Box> gantt_boxes(const History& history, const std::vector<int>& servers, Range time);

// Errors "unknown-server", "bad-window" (nothing of it lies in the history).
Result<Figure> gantt_figure(const History& history, const std::string& name, const Window& window);

// A map of the share held, one row per server (or group of servers): what gantt and util draw when there are many rows.
Figure allocation_map(const History& history, const std::vector<int>& servers, Range time);

Result<std::vector<int>> chosen_servers(const History& history, const std::vector<std::string>& names);
Result<Range> chosen_time(const History& history, const Window& window);

}  // namespace sl::plot
