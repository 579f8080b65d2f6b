#include "study/run_time_scores.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <limits>
#include <queue>
#include <string_view>

#include "estimate/run_time_history.h"

namespace sl::study {
namespace {

struct Ending {
  Instant at;
  std::size_t job;
  friend bool operator>(const Ending& a, const Ending& b) { return std::pair(a.at, a.job) > std::pair(b.at, b.job); }
};

// What a user's finished jobs took.
struct Experience {
  double sum_s = 0, last_s = 0, count = 0;
};

class Replay {
 public:
  explicit Replay(const trace::Trace& trace) : trace_(trace) {}

  void submit(std::size_t job, bool is_asked) {
    finish_by(trace_.jobs[job].submitted);
    if (is_asked) ask(job);
    endings_.push({trace_.jobs[job].submitted + trace_.jobs[job].duration, job});
  }
  ScoreTable table() const {
    return {"Run time", {{"", history_score_.score()}, {"", mean_score_.score()}, {"", last_score_.score()}}};
  }

 private:
  RunTimeHistory::Kind kind_of(const trace::TraceJob& job) {
    const trace::TraceDetails* details = trace_.details_of(job);
    RunTimeHistory::Kind kind{.user = job.user, .gpus = job.gpus};
    if (details && !details->family.empty())
      kind.family = families_.try_emplace(details->family, static_cast<std::uint32_t>(families_.size())).first->second;
    return kind;
  }
  void finish_by(Instant now) {
    for (; !endings_.empty() && endings_.top().at <= now; endings_.pop()) {
      const trace::TraceJob& job = trace_.jobs[endings_.top().job];
      const double run_s = job.duration.to_seconds();
      history_.add(kind_of(job), run_s, endings_.top().at.to_seconds());
      Experience& known = users_[job.user];
      known.sum_s += run_s;
      known.last_s = run_s;
      ++known.count;
    }
  }
  void ask(std::size_t number) {
    constexpr double nothing = std::numeric_limits<double>::infinity();
    const trace::TraceJob& job = trace_.jobs[number];
    const double run_s = job.duration.to_seconds();
    if (!(run_s > 0)) return;
    const auto guess = history_.guess(kind_of(job));
    std::optional<Scoring::Range> range;
    if (guess) {
      const RunTimeHistory::Range held = history_.range(*guess);
      range = {held.low_s, held.high_s};
    }
    history_score_.add(run_s, guess ? guess->run_s : nothing, range);
    const auto user = users_.find(job.user);
    const bool is_known = user != users_.end();
    mean_score_.add(run_s, is_known ? user->second.sum_s / user->second.count : nothing);
    last_score_.add(run_s, is_known ? user->second.last_s : nothing);
  }

  const trace::Trace& trace_;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
  boost::unordered_flat_map<std::string_view, std::uint32_t> families_;
  boost::unordered_flat_map<std::uint32_t, Experience> users_;
  RunTimeHistory history_;
  Scoring history_score_{like_jobs}, mean_score_{user_mean}, last_score_{user_last};
};

}  // namespace

ScoreTable score_run_times(const trace::Trace& trace, double from) {
  Replay replay(trace);
  const auto first = static_cast<std::size_t>(from * static_cast<double>(trace.jobs.size()));
  for (std::size_t job = 0; job < trace.jobs.size(); ++job) replay.submit(job, job >= first);
  return replay.table();
}

}  // namespace sl::study
