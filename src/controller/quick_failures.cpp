#include "controller/quick_failures.h"

#include <algorithm>

namespace sl::controller {
namespace {

constexpr std::size_t known_max = 64;  // ends of each kind that are kept of one user

void keep(std::deque<QuickFailures::End>& latest, const QuickFailures::End& end) {
  latest.push_back(end);
  if (latest.size() > known_max) latest.pop_front();
}

}  // namespace

void QuickFailures::add_good(const End& end) {
  pardon(end.server, end.at);
  std::deque<End>& good = user_of(end).good;
  std::erase_if(good, [&](const End& known) { return known.command == end.command && known.server == end.server; });
  keep(good, end);
}

void QuickFailures::add_failure(const End& end) {
  std::deque<End>& failures = user_of(end).failures;
  std::erase_if(failures, [&](const End& known) { return known.job == end.job && known.server == end.server; });
  keep(failures, end);
}

QuickFailures::OfUser& QuickFailures::user_of(const End& end) {
  if (!dropped_.happened() || end.at >= dropped_ + window) {
    dropped_ = end.at;
    const auto is_old = [&](const std::deque<End>& ends) { return ends.empty() || ends.back().at < end.at - window; };
    std::erase_if(users_, [&](const auto& item) { return is_old(item.second.failures) && is_old(item.second.good); });
  }
  return users_[end.user];
}

std::vector<JobId> QuickFailures::against(const std::string& server, Instant now,
                                          const RunsElsewhere& runs_elsewhere) const {
  const Instant window_start = now - window;
  const auto from = counts_from_.find(server);
  const Instant since = from == counts_from_.end() ? window_start : std::max(window_start, from->second);
  std::vector<JobId> jobs;
  for (const auto& [name, user] : users_) {
    const std::vector<JobId> of_user = against(user, server, window_start, since, runs_elsewhere);
    jobs.insert(jobs.end(), of_user.begin(), of_user.end());
  }
  return jobs;
}

std::vector<JobId> QuickFailures::against(const OfUser& user, const std::string& server, Instant window_start,
                                          Instant since, const RunsElsewhere& runs_elsewhere) {
  std::vector<JobId> compared, others;
  for (const End& failure : user.failures) {
    if (failure.at <= window_start) continue;
    if (failure.server != server) return {};
    if (failure.at <= since) continue;
    const bool ran_elsewhere = std::any_of(user.good.begin(), user.good.end(), [&](const End& good) {
      return good.command == failure.command && good.server != server && good.at > window_start;
    });
    (ran_elsewhere || runs_elsewhere(failure.user, failure.command) ? compared : others).push_back(failure.job);
  }
  if (compared.empty() && !others.empty()) compared.push_back(others.back());
  return compared;
}

}  // namespace sl::controller
