// Who held which GPU when: the events of a result as intervals.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plot/figure.h"

namespace sl::plot {

struct HistoryServer {
  std::string name;
  int gpus = 0;
  int gpu_first = 0;  // GPUs are numbered consecutively over all servers
};

struct GpuPiece {
  int server = 0;
  int first = 0, last = 0;  // indices on the server, both included
};

// A stretch of time in which a job held the same GPUs.
struct Holding {
  std::string job;
  double from = 0, to = 0;
  std::vector<GpuPiece> gpus;
  BoxEnd end = BoxEnd::plain;
};

struct Outage {
  int server = 0;
  double from = 0, to = 0;
};

// Times are seconds since the first submission; nothing lies after `end`.
struct History {
  std::vector<HistoryServer> servers;
  std::vector<Holding> holdings;  // ordered by their ends
  std::vector<Outage> outages;
  double end = 0;
  std::size_t jobs = 0;        // number of jobs submitted
  std::vector<Point> waiting;  // how many jobs wait for GPUs, after each change, from 0 on
  int gpus() const { return servers.empty() ? 0 : servers.back().gpu_first + servers.back().gpus; }
};

// Reads NAME.events.csv (docs/formats/results.md). Errors: those of CSV, "bad-event" with its line, "empty-data".
Result<History> read_history(const std::string& path);
Result<History> parse_history(const std::string& path, std::string text);

// For each GPU, the times when it was held, in order and disjoint: two jobs on it at once form one interval.
std::vector<std::vector<Range>> busy_times(const History& history);

// How many of the `count` GPUs from `gpu_first` on are held: a point at each change, from 0 to the end.
std::vector<Point> allocated(const std::vector<std::vector<Range>>& busy, int gpu_first, int count, double end);

// The fraction of the range in which they are held: GPU-seconds divided by GPUs times seconds.
double allocated_share(const std::vector<std::vector<Range>>& busy, int gpu_first, int count, Range time);
// The same for each server.
std::vector<double> allocated_shares(const History& history, Range time);

}  // namespace sl::plot
