#include "notify/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "wire/json.h"

namespace sl::notify {
namespace {

std::optional<std::string> text_or_none(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
std::optional<wire::Time> time_or_none(const std::optional<std::int64_t>& us) {
  return us ? std::optional(wire::Time{*us}) : std::nullopt;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min", whole / 60);
  if (whole < 86'400) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86'400, whole % 86'400 / 3600);
}

// What a job did, after "Job 5 train".
std::string deed(std::string_view word) {
  if (word == "started") return "has started";
  if (word == "succeeded") return "has succeeded";
  if (word == "failed") return "has failed";
  if (word == "preempted") return "was preempted";
  if (word == "migrated") return "moves to other GPUs";
  if (word == "resized") return "gets another number of GPUs";
  return "was " + std::string(word);  // cancelled, suspended
}

// "3 succeeded, 1 failed": how the members of an array have ended; empty for any other job.
std::string members_said(const store::JobRow& job) {
  boost::json::error_code error;
  const boost::json::value members =
      job.extra_json.starts_with('{') ? boost::json::parse(job.extra_json, error) : boost::json::value();
  if (error || !members.is_object()) return "";
  std::string text;
  for (const char* state : {"succeeded", "failed", "cancelled"}) {
    const boost::json::value* const count = members.get_object().if_contains(state);
    if (count && count->is_int64()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count->get_int64(), state);
  }
  return text;
}

std::string sentence_about(const store::JobRow& job, const std::string& word) {
  std::string text = fmt::format("Job {} {} {}", job.id, job.name, deed(word));
  if (!job.server.empty() && word == "started") text += " on " + job.server;
  const bool is_over = word == "succeeded" || word == "failed" || word == "cancelled";
  const std::string members = is_over ? members_said(job) : "";
  // Of an array, which runs no process itself, the time from its first start to its last end.
  const std::int64_t took_us =
      members.empty() ? job.run_us : job.finished_us.value_or(0) - job.first_start_us.value_or(0);
  if (is_over && job.first_start_us) text += " after " + duration_text(static_cast<double>(took_us) / 1e6);
  if (!members.empty()) return text + ": " + members;
  if (word == "failed" && !job.failure_message.empty()) return text + ": " + job.failure_message;
  if (word == "failed" && job.exit_code) return text + fmt::format(": exit code {}", *job.exit_code);
  if (word == "failed" && job.signal) return text + fmt::format(": signal {}", *job.signal);
  return text;
}

NoticeOfJob about(const store::JobRow& row) {
  return {row.id,
          row.name,
          row.user,
          row.state,
          text_or_none(row.server),
          row.attempt,
          row.exit_code,
          row.signal,
          text_or_none(row.failure_kind),
          text_or_none(row.failure_message),
          {row.submitted_us},
          time_or_none(row.first_start_us),
          time_or_none(row.finished_us),
          static_cast<double>(row.run_us) / 1e6};
}

bool is_asked(const std::vector<std::string>& words, const std::vector<std::string>& on) {
  return std::ranges::any_of(words, [&](const std::string& word) { return std::ranges::find(on, word) != on.end(); });
}

}  // namespace

std::vector<std::string> words_of(const store::EventRow& event) {
  if (event.kind == "server.state" && event.to == "down") return {std::string(wire::server_down_event)};
  if (event.kind == "job.group_started") return {"started"};
  if (event.kind != "job.state" || !event.job_id) return {};
  std::vector<std::string> words;
  if (event.text == "preempted") words.emplace_back("preempted");
  if (event.to == "running" && event.from == "starting") words.emplace_back("started");
  if (event.to == "migrating") words.emplace_back("migrated");
  if (event.to == "resizing") words.emplace_back("resized");
  if (event.to == "suspended") words.push_back(event.to);
  if (event.to == "succeeded" || event.to == "failed" || event.to == "cancelled") {
    words.push_back(event.to);
    words.emplace_back("finished");
  }
  return words;
}

Notice make_notice(const store::EventRow& event, const store::JobRow* job) {
  const std::vector<std::string> words = words_of(event);
  Notice notice;
  notice.event = words.empty() ? "" : words.front();
  notice.at = {event.at_us};
  notice.server = text_or_none(event.server);
  if (job) notice.job = about(*job);
  notice.text =
      job ? sentence_about(*job, notice.event)
          : fmt::format("Server {} is down: nothing starts there until its agent answers again", event.server);
  return notice;
}

std::vector<Target> targets_of(const store::EventRow& event, const store::JobRow* job, const Channels& channels) {
  const std::vector<std::string> words = words_of(event);
  std::vector<Target> targets;
  const auto add = [&](const Channels::Pointer& channel, const std::string& receiver) {
    const auto is_same = [&](const Target& target) { return target.channel == channel && target.receiver == receiver; };
    if (channel && std::ranges::none_of(targets, is_same)) targets.push_back({channel, receiver});
  };
  if (words.empty() || (job && job->group_id > 0)) return targets;  // of an array only the whole is told
  if (job) {
    const auto spec = wire::read_json<wire::JobSpec>(job->spec_json, wire::Unknown::ignore);
    for (const wire::NotifySpec& wanted : spec.ok() ? spec->notify : std::vector<wire::NotifySpec>()) {
      const wire::NotifyTarget to = wire::parse_notify_target(wanted.to);
      if (is_asked(words, wanted.on)) add(channels.resolve(job->user, to.channel), to.receiver);
    }
  }
  for (const Channels::Pointer& channel : channels.all()) {
    const bool is_meant = !job || channel->settings.shared || channel->owner == job->user;
    const bool is_later = event.seq > channel->settings.after_event;
    if (is_meant && is_later && is_asked(words, channel->settings.on)) add(channel, "");
  }
  return targets;
}

}  // namespace sl::notify
