#include "plot/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/csv.h"
#include "base/suggest.h"
#include "plot/gantt_colors.h"
#include "plot/text.h"

namespace sl::plot {
namespace {

constexpr double row_height_most = 12, row_height_least = 2.5, height_wanted = 300;

const HistoryServer& server_at(const History& history, int index) {
  return history.servers[static_cast<std::size_t>(index)];
}

double height_for(double rows) { return rows * std::clamp(height_wanted / rows, row_height_least, row_height_most); }

// The part of a holding on one GPU, with its lane there.
struct Slot {
  std::size_t holding = 0;
  Range time;
  int lane = 0, lanes = 1;
};

// Overlapping holdings of one GPU get lanes next to each other, as many as each group needs.
void assign_lanes(std::vector<Slot>& slots) {
  std::stable_sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.time.low < b.time.low; });
  for (std::size_t begin = 0; begin < slots.size();) {
    std::vector<double> lane_free = {slots[begin].time.high};
    double group_end = slots[begin].time.high;
    std::size_t end = begin + 1;
    for (; end < slots.size() && slots[end].time.low < group_end; ++end) {
      const auto lane =
          std::find_if(lane_free.begin(), lane_free.end(), [&](double free) { return free <= slots[end].time.low; });
      slots[end].lane = static_cast<int>(lane - lane_free.begin());
      lane == lane_free.end() ? lane_free.push_back(slots[end].time.high) : void(*lane = slots[end].time.high);
      group_end = std::max(group_end, slots[end].time.high);
    }
    for (std::size_t i = begin; i < end; ++i) slots[i].lanes = static_cast<int>(lane_free.size());
    begin = end;
  }
}

// The slots of every GPU of the chosen servers, row by row.
std::vector<std::vector<Slot>> slots_of(const History& history, const std::vector<int>& servers, Range time) {
  std::map<int, int> first_row;
  int rows = 0;
  for (const int s : servers) first_row[s] = rows, rows += server_at(history, s).gpus;
  std::vector<std::vector<Slot>> slots(static_cast<std::size_t>(rows));
  for (std::size_t h = 0; h < history.holdings.size(); ++h) {
    const Holding& holding = history.holdings[h];
    if (holding.to <= time.low || holding.from >= time.high) continue;
    for (const GpuPiece& piece : holding.gpus) {
      const auto row = first_row.find(piece.server);
      if (row == first_row.end()) continue;
      for (int g = piece.first; g <= piece.last; ++g)
        slots[static_cast<std::size_t>(row->second + g)].push_back({h, {holding.from, holding.to}, 0, 1});
    }
  }
  for (std::vector<Slot>& row : slots) assign_lanes(row);
  return slots;
}

int gpus_of(const Holding& holding) {
  int gpus = 0;
  for (const GpuPiece& piece : holding.gpus) gpus += piece.last - piece.first + 1;
  return gpus;
}

std::string tooltip_of(const Holding& holding) {
  const std::string_view end = holding.end == BoxEnd::failed        ? ", failed"
                               : holding.end == BoxEnd::interrupted ? ", interrupted"
                                                                    : "";
  return fmt::format("job {}: {}, {} s to {} s{}", holding.job,
                     counted(static_cast<std::size_t>(gpus_of(holding)), "GPU"), figure_text(holding.from),
                     figure_text(holding.to), end);
}

Box box_of(const Holding& holding, const Slot& slot, int row, Range time) {
  const double height = 1.0 / slot.lanes, top = row + slot.lane * height;
  return {{std::max(holding.from, time.low), std::min(holding.to, time.high)},
          {top, top + height},
          0,
          holding.job,
          tooltip_of(holding),
          holding.to <= time.high ? holding.end : BoxEnd::plain};
}

std::vector<int> first_rows(const History& history, const std::vector<int>& servers) {
  std::vector<int> rows = {0};
  for (const int s : servers) rows.push_back(rows.back() + server_at(history, s).gpus);
  return rows;
}

std::string csv_of(const History& history, const std::vector<int>& servers, Range time) {
  std::string text = "job_id,from_s,to_s,server,gpu_first,gpu_last,end\n";
  for (const Holding& holding : history.holdings) {
    if (holding.to <= time.low || holding.from >= time.high) continue;
    for (const GpuPiece& piece : holding.gpus) {
      if (std::find(servers.begin(), servers.end(), piece.server) == servers.end()) continue;
      text += fmt::format("{},{:.12g},{:.12g},{},{},{},{}\n", csv_field(holding.job), holding.from, holding.to,
                          csv_field(server_at(history, piece.server).name), piece.first, piece.last,
                          holding.end == BoxEnd::failed        ? "failed"
                          : holding.end == BoxEnd::interrupted ? "interrupted"
                                                               : "");
    }
  }
  return text;
}

Panel time_panel(Range time) {
  Panel panel;
  panel.x = {"Time since first submission", Unit::seconds, time};
  return panel;
}

// Servers whose GPUs are one row of a map.
struct MapRow {
  std::string label;
  std::vector<int> servers;
  int gpus = 0;
};

std::vector<MapRow> map_rows(const History& history, const std::vector<int>& servers) {
  const std::size_t each = (servers.size() + map_rows_max - 1) / map_rows_max;
  std::vector<MapRow> rows;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const HistoryServer& server = server_at(history, servers[i]);
    if (i % each == 0) rows.push_back({server.name, {}, 0});
    rows.back().servers.push_back(servers[i]);
    rows.back().gpus += server.gpus;
  }
  return rows;
}

double share_of(const History& history, const std::vector<std::vector<Range>>& busy, const MapRow& row, Range time) {
  double share = 0;
  for (const int s : row.servers) {
    const HistoryServer& server = server_at(history, s);
    share += allocated_share(busy, server.gpu_first, server.gpus, time) * server.gpus;
  }
  return share / row.gpus;
}

int level_of(double share) {
  if (share < 0.005) return 0;
  return std::min(shades - 1, 1 + static_cast<int>(share * (shades - 1) - 1e-9));
}

void add_shade(Panel& panel, const Shade& shade) {
  if (!panel.shaded.empty()) {
    Shade& last = panel.shaded.back();
    if (last.y.low == shade.y.low && last.level == shade.level && last.x.high == shade.x.low) {
      last.x.high = shade.x.high;
      return;
    }
  }
  panel.shaded.push_back(shade);
}

}  // namespace

Result<std::vector<int>> chosen_servers(const History& history, const std::vector<std::string>& names) {
  std::vector<bool> wanted(history.servers.size(), names.empty());
  std::vector<std::string_view> known;
  for (const HistoryServer& server : history.servers) known.push_back(server.name);
  for (const std::string& name : names) {
    bool found = false;
    for (std::size_t s = 0; s < known.size(); ++s) {
      const bool fits = name.ends_with('*') ? known[s].starts_with(name.substr(0, name.size() - 1)) : known[s] == name;
      if (fits) found = wanted[s] = true;
    }
    if (found) continue;
    Error error = not_found("unknown-server", "there is no server " + name)
                      .note("there are " + shortened(joined({known.begin(), known.end()}, ", "), 1, 120));
    if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
    return error;
  }
  std::vector<int> chosen;
  for (std::size_t s = 0; s < wanted.size(); ++s) {
    if (wanted[s]) chosen.push_back(static_cast<int>(s));
  }
  return chosen;
}

Result<Range> chosen_time(const History& history, const Window& window) {
  const Range time = {window.from.value_or(0), std::min(window.to.value_or(history.end), history.end)};
  if (!(history.end > 0)) return invalid("empty-data", "all jobs have length zero");
  if (!(time.high > time.low))
    return invalid("bad-window", "nothing lies between --from and --to")
        .note("times count from the first submission; the last event is " + duration_text(history.end) + " after it");
  return time;
}

std::vector<Box> gantt_boxes(const History& history, const std::vector<int>& servers, Range time) {
  const std::vector<std::vector<Slot>> slots = slots_of(history, servers, time);
  const std::vector<int> starts = first_rows(history, servers);
  std::vector<Box> boxes;
  std::unordered_map<std::size_t, std::size_t> growing;  // holding -> its box that ends at the current row
  for (std::size_t row = 0; row < slots.size(); ++row) {
    const auto here = static_cast<double>(row);
    const bool is_server_start = std::binary_search(starts.begin(), starts.end(), static_cast<int>(row));
    for (const Slot& slot : slots[row]) {
      const auto before = growing.find(slot.holding);
      if (!is_server_start && slot.lanes == 1 && before != growing.end() && boxes[before->second].y.high == here) {
        boxes[before->second].y.high = here + 1;
        continue;
      }
      const Holding& holding = history.holdings[slot.holding];
      if (slot.lanes == 1) growing[slot.holding] = boxes.size();
      boxes.push_back(box_of(holding, slot, static_cast<int>(row), time));
    }
  }
  if (boxes.size() <= boxes_max) color_boxes(boxes);  // more are not drawn
  return boxes;
}

Figure allocation_map(const History& history, const std::vector<int>& servers, Range time) {
  const std::vector<std::vector<Range>> busy = busy_times(history);
  const std::vector<MapRow> rows = map_rows(history, servers);
  Panel panel = time_panel(time);
  panel.y.range = {0, static_cast<double>(rows.size())};
  panel.height = height_for(static_cast<double>(rows.size()));
  const double width = (time.high - time.low) / map_columns;
  std::string csv = "server,from_s,to_s,allocated_pct\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Range y = {static_cast<double>(r), static_cast<double>(r + 1)};
    panel.y.rows.push_back({y, rows[r].label});
    for (int c = 0; c < map_columns; ++c) {
      const Range x = {time.low + c * width, c + 1 == map_columns ? time.high : time.low + (c + 1) * width};
      const double share = share_of(history, busy, rows[r], x);
      add_shade(panel, {x, y, level_of(share)});
      csv += fmt::format("{},{:.9g},{:.9g},{:.4g}\n", csv_field(rows[r].label), x.low, x.high, 100 * share);
    }
  }
  Figure figure;
  figure.shade_names = {"0", "≤ 25 %", "≤ 50 %", "≤ 75 %", "≤ 100 % of GPUs held"};
  figure.csv = std::move(csv);
  const std::size_t each = rows.front().servers.size();
  figure.caption =
      fmt::format("A row is {}{}, a column {}; the stronger the colour, the more of its GPU time was given to jobs.",
                  each == 1 ? "a server" : counted(each, "server"), each == 1 ? "" : " in order", duration_text(width));
  figure.panels.push_back(std::move(panel));
  return figure;
}

namespace {

std::size_t jobs_in_view(const History& history, const std::vector<int>& servers, Range time) {
  std::set<std::string_view> jobs;
  for (const Holding& holding : history.holdings) {
    if (holding.to <= time.low || holding.from >= time.high) continue;
    const bool is_here = std::any_of(holding.gpus.begin(), holding.gpus.end(), [&](const GpuPiece& piece) {
      return std::find(servers.begin(), servers.end(), piece.server) != servers.end();
    });
    if (is_here) jobs.insert(holding.job);
  }
  return jobs.size();
}

// "In view: 12 of 60 jobs, 8 of 16 GPUs, 1 to 3 h."
std::string in_view(const History& history, const std::vector<int>& servers, Range time, int gpus) {
  const auto part = [](std::size_t shown, std::size_t all, std::string_view thing) {
    return shown == all ? counted(all, thing)
                        : with_commas(static_cast<double>(shown), 0) + " of " + counted(all, thing);
  };
  return fmt::format("In view: {}, {}, {} to {}.", part(jobs_in_view(history, servers, time), history.jobs, "job"),
                     part(static_cast<std::size_t>(gpus), static_cast<std::size_t>(history.gpus()), "GPU"),
                     figure_text(time.low / time_unit(time.high).seconds), text_in(time_unit(time.high), time.high));
}

Figure exact_gantt(const History& history, const std::vector<int>& servers, Range time, std::vector<Box> boxes) {
  Panel panel = time_panel(time);
  const std::vector<int> starts = first_rows(history, servers);
  panel.y.range = {0, static_cast<double>(starts.back())};
  panel.height = height_for(starts.back());
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const Range rows = {static_cast<double>(starts[i]), static_cast<double>(starts[i + 1])};
    panel.y.rows.push_back({rows, server_at(history, servers[i]).name});
    for (const Outage& outage : history.outages) {
      if (outage.server == servers[i] && outage.to > time.low && outage.from < time.high)
        panel.lost.push_back(
            {{std::max(outage.from, time.low), std::min(outage.to, time.high)}, rows, 0, "", "server lost"});
    }
  }
  Figure figure;
  const auto has = [&](BoxEnd end) {
    return std::any_of(boxes.begin(), boxes.end(), [&](const Box& b) { return b.end == end; });
  };
  figure.caption = "A row is a GPU, a box a job on it with its id; colours only tell neighbours apart.";
  if (has(BoxEnd::interrupted)) figure.caption += " A dark wedge at the end: the job was interrupted.";
  if (has(BoxEnd::failed)) figure.caption += " A cross: the attempt failed.";
  if (!panel.lost.empty()) figure.caption += " Grey: the server was lost.";
  figure.csv = csv_of(history, servers, time);
  panel.boxes = std::move(boxes);
  figure.panels.push_back(std::move(panel));
  return figure;
}

}  // namespace

Result<Figure> gantt_figure(const History& history, const std::string& name, const Window& window) {
  const Result<std::vector<int>> servers = chosen_servers(history, window.servers);
  if (!servers.ok()) return servers.error();
  const Result<Range> time = chosen_time(history, window);
  if (!time.ok()) return time.error();
  const int gpus = first_rows(history, *servers).back();
  std::vector<Box> boxes;
  if (gpus <= gpu_rows_max) boxes = gantt_boxes(history, *servers, *time);
  const bool is_exact = gpus <= gpu_rows_max && boxes.size() <= boxes_max;
  Figure figure =
      is_exact ? exact_gantt(history, *servers, *time, std::move(boxes)) : allocation_map(history, *servers, *time);
  figure.kind = "gantt";
  figure.title = "GPUs and their jobs, " + name;
  figure.summary =
      fmt::format("{} on {} of {} under {}, from {} to {} after the first submission.", counted(history.jobs, "job"),
                  counted(static_cast<std::size_t>(gpus), "GPU"), counted(servers->size(), "server"), name,
                  text_in(time_unit(time->high), time->low), text_in(time_unit(time->high), time->high));
  if (!is_exact) figure.caption += " Too many boxes for one picture: --from, --to and --servers show jobs.";
  figure.caption += " " + in_view(history, *servers, *time, gpus);
  return figure;
}

}  // namespace sl::plot
