#include "plot/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "plot/csv.h"
#include "wire/read_file.h"

namespace sl::plot {
namespace {

constexpr int gpus_max = 1'000'000;

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
  return value;
}

// Reads events in order and tracks who holds what.
class HistoryReader {
 public:
  explicit HistoryReader(CsvReader csv) : csv_(std::move(csv)) {}
  Result<History> read();

 private:
  Status find_columns();
  Status apply();
  Status on_server(const std::string& name);
  Status on_server_lost(const std::string& name);
  Status on_start(const std::string& job);
  void end_holding(const std::string& job, BoxEnd end);
  void count_waiting(std::string_view event, const std::string& job);
  Result<std::vector<GpuPiece>> pieces(std::string_view text) const;
  Error bad(std::string message) const { return csv_.bad_row("bad-event", std::move(message)); }
  void finish();

  CsvReader csv_;
  std::size_t at_ = 0, event_ = 0, job_ = 0, gpus_ = 0, where_ = 0;
  History history_;
  std::unordered_map<std::string, int> servers_;
  std::unordered_map<std::string, Holding> open_;
  std::unordered_map<int, double> down_since_;
  std::unordered_set<std::string> waiting_;
  double now_ = 0;
  std::optional<double> first_submit_;
};

Status HistoryReader::find_columns() {
  for (const auto& [name, column] : {std::pair("at_s", &at_), std::pair("event", &event_), std::pair("job_id", &job_),
                                     std::pair("gpus", &gpus_), std::pair("where", &where_)}) {
    const Result<std::size_t> found = csv_.column(name);
    if (!found.ok()) return found.error();
    *column = *found;
  }
  return {};
}

Result<History> HistoryReader::read() {
  if (Status found = find_columns(); !found.ok()) return found.error();
  while (true) {
    const Result<bool> more = csv_.next();
    if (!more.ok()) return more.error();
    if (!*more) break;
    const auto at = csv_.number(at_);
    if (!at.ok()) return at.error();
    if (!*at) return bad("an event without a time");
    if (first_submit_ && **at < now_) return bad("earlier than the previous event");
    now_ = **at;
    if (Status applied = apply(); !applied.ok()) return applied.error();
  }
  finish();
  if (history_.servers.empty() || !first_submit_)
    return invalid("empty-data", "the events file holds no servers or no jobs");
  return std::move(history_);
}

Status HistoryReader::apply() {
  const std::string_view event = csv_.field(event_);
  const std::string job(csv_.field(job_));
  count_waiting(event, job);
  if (event == "server") return on_server(std::string(csv_.field(where_)));
  if (event == "server_lost") return on_server_lost(std::string(csv_.field(where_)));
  if (event == "submit") {
    if (!first_submit_) first_submit_ = now_;
    ++history_.jobs;
  } else if (event == "start" || event == "resume" || event == "resize" || event == "migrate") {
    return on_start(job);
  } else if (event == "finish" || event == "reject") {
    end_holding(job, BoxEnd::plain);
  } else if (event == "suspend" || event == "stop") {
    end_holding(job, BoxEnd::interrupted);
  } else if (event == "fail") {
    end_holding(job, BoxEnd::failed);
  } else if (event != "policy") {
    return bad("unknown event " + std::string(event));
  }
  return {};
}

// A job waits from its submission on, and whenever it holds no GPUs, until it ends.
void HistoryReader::count_waiting(std::string_view event, const std::string& job) {
  const bool begins = event == "submit" || event == "suspend" || event == "stop";
  const bool ends = event == "start" || event == "resume" || event == "finish" || event == "fail" || event == "reject";
  if (!(begins && waiting_.insert(job).second) && !(ends && waiting_.erase(job) > 0)) return;
  const auto count = static_cast<double>(waiting_.size());
  std::vector<Point>& points = history_.waiting;
  if (!points.empty() && points.back().x == now_) {
    points.back().y = count;
  } else {
    points.push_back({now_, count});
  }
}

Status HistoryReader::on_server(const std::string& name) {
  const std::optional<int> gpus = whole_number(csv_.field(gpus_));
  if (name.empty() || !gpus || *gpus < 1 || history_.gpus() > gpus_max - *gpus)
    return bad("not a server with its number of GPUs");
  const auto [known, is_new] = servers_.try_emplace(name, static_cast<int>(history_.servers.size()));
  if (is_new) {
    history_.servers.push_back({name, *gpus, history_.gpus()});
  } else if (const auto down = down_since_.find(known->second); down != down_since_.end()) {
    history_.outages.push_back({known->second, down->second, now_});
    down_since_.erase(down);
  }
  return {};
}

Status HistoryReader::on_server_lost(const std::string& name) {
  const auto server = servers_.find(name);
  if (server == servers_.end()) return bad("unknown server " + name);
  down_since_.try_emplace(server->second, now_);
  return {};
}

Status HistoryReader::on_start(const std::string& job) {
  Result<std::vector<GpuPiece>> gpus = pieces(csv_.field(where_));
  if (!gpus.ok()) return gpus.error();
  end_holding(job, BoxEnd::plain);
  if (gpus->empty()) return {};  // it needs none
  open_[job] = {job, now_, now_, std::move(*gpus), BoxEnd::plain};
  return {};
}

void HistoryReader::end_holding(const std::string& job, BoxEnd end) {
  auto held = open_.extract(job);
  if (held.empty()) return;
  held.mapped().to = now_;
  held.mapped().end = end;
  if (now_ > held.mapped().from) history_.holdings.push_back(std::move(held.mapped()));
}

// "gpu0:0-1+gpu0:4": the last colon separates server and GPUs, so that names may contain one. Empty: no GPUs.
Result<std::vector<GpuPiece>> HistoryReader::pieces(std::string_view text) const {
  std::vector<GpuPiece> found;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find('+', at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = piece.rfind(':');
    const auto server = servers_.find(std::string(piece.substr(0, colon)));
    if (colon == std::string_view::npos || server == servers_.end())
      return bad("not GPUs of a known server: " + std::string(piece));
    const std::string_view indices = piece.substr(colon + 1);
    const std::size_t dash = indices.find('-');
    const auto first = whole_number(indices.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number(indices.substr(dash + 1));
    const int count = history_.servers[static_cast<std::size_t>(server->second)].gpus;
    if (!first || !last || *first > *last || *last >= count) return bad("no such GPUs: " + std::string(piece));
    found.push_back({server->second, *first, *last});
  }
  return found;
}

// Jobs still running at the end hold their GPUs until then. Times count from the first submission.
void HistoryReader::finish() {
  std::vector<std::string> running;
  for (const auto& [job, _] : open_) running.push_back(job);
  std::sort(running.begin(), running.end());
  for (const std::string& job : running) end_holding(job, BoxEnd::plain);
  for (std::size_t s = 0; s < history_.servers.size(); ++s) {
    if (const auto down = down_since_.find(static_cast<int>(s)); down != down_since_.end())
      history_.outages.push_back({down->first, down->second, now_});
  }
  const double zero = first_submit_.value_or(0);
  for (Holding& holding : history_.holdings) holding.from -= zero, holding.to -= zero;
  for (Outage& outage : history_.outages) outage.from = std::max(0.0, outage.from - zero), outage.to -= zero;
  for (Point& point : history_.waiting) point.x -= zero;
  history_.end = now_ - zero;
}

std::vector<Range> merged(std::vector<Range> times) {
  std::sort(times.begin(), times.end(), [](const Range& a, const Range& b) { return a.low < b.low; });
  std::vector<Range> apart;
  for (const Range& time : times) {
    if (!apart.empty() && time.low <= apart.back().high) {
      apart.back().high = std::max(apart.back().high, time.high);
    } else {
      apart.push_back(time);
    }
  }
  return apart;
}

}  // namespace

Result<History> parse_history(const std::string& path, std::string text) {
  Result<CsvReader> csv = CsvReader::open(path, std::move(text));
  if (!csv.ok()) return csv.error();
  return HistoryReader(std::move(*csv)).read();
}

Result<History> read_history(const std::string& path) {
  Result<std::string> text = wire::read_file(path, wire::table_bytes_max);
  if (!text.ok()) return text.error();
  return parse_history(path, std::move(*text));
}

std::vector<std::vector<Range>> busy_times(const History& history) {
  std::vector<std::vector<Range>> busy(static_cast<std::size_t>(history.gpus()));
  for (const Holding& holding : history.holdings) {
    for (const GpuPiece& piece : holding.gpus) {
      const int base = history.servers[static_cast<std::size_t>(piece.server)].gpu_first;
      for (int g = base + piece.first; g <= base + piece.last; ++g)
        busy[static_cast<std::size_t>(g)].push_back({holding.from, holding.to});
    }
  }
  for (std::vector<Range>& times : busy) times = merged(std::move(times));
  return busy;
}

std::vector<Point> allocated(const std::vector<std::vector<Range>>& busy, int gpu_first, int count, double end) {
  std::vector<std::pair<double, int>> changes = {{0, 0}};
  for (int g = gpu_first; g < gpu_first + count; ++g) {
    for (const Range& time : busy[static_cast<std::size_t>(g)])
      changes.emplace_back(time.low, 1), changes.emplace_back(time.high, -1);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<Point> points;
  int now = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const double at = changes[i].first;
    for (; i < changes.size() && changes[i].first == at; ++i) now += changes[i].second;
    if (points.empty() || points.back().y != now) points.push_back({at, static_cast<double>(now)});
  }
  points.push_back({std::max(end, points.back().x), points.back().y});
  return points;
}

double allocated_share(const std::vector<std::vector<Range>>& busy, int gpu_first, int count, Range time) {
  double held = 0;
  for (int g = gpu_first; g < gpu_first + count; ++g) {
    const std::vector<Range>& times = busy[static_cast<std::size_t>(g)];
    auto at = std::lower_bound(times.begin(), times.end(), time.low,
                               [](const Range& r, double low) { return r.high <= low; });
    for (; at != times.end() && at->low < time.high; ++at)
      held += std::min(at->high, time.high) - std::max(at->low, time.low);
  }
  return time.high > time.low ? held / ((time.high - time.low) * count) : 0;
}

std::vector<double> allocated_shares(const History& history, Range time) {
  const auto busy = busy_times(history);
  std::vector<double> shares;
  for (const HistoryServer& server : history.servers)
    shares.push_back(allocated_share(busy, server.gpu_first, server.gpus, time));
  return shares;
}

}  // namespace sl::plot
