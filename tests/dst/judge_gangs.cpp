// Jobs that may be on several servers: no part of an attempt starts before all are prepared, none runs beside one of
// another attempt, and what the database says of the attempt holds for all of its parts.
#include <algorithm>
#include <utility>

#include "dst/judge.h"

namespace sl::dst {

bool Judge::may_be_gang(std::int64_t job) const {
  const Life* life = find(job);
  return life && life->spec.servers > 1;
}

const Judge::Parts* Judge::parts_of(AttemptKey key) const {
  const auto at = gangs_.find(key);
  return at == gangs_.end() ? nullptr : &at->second;
}

void Judge::hear_of_part(const std::string& server, const wire::AttemptReport& report) {
  const auto at = gangs_.find({report.incarnation.job, report.incarnation.attempt});
  if (at != gangs_.end() && at->second.contains(server) && report.state == "prepared")
    at->second.at(server).is_prepared = true;
}

void Judge::part_started(const Running& running) {
  const auto [job, attempt] = running.key;
  const Parts* parts = parts_of(running.key);
  require(parts && parts->contains(running.server), "{} starts on {}, and the database does not know it",
          to_string(running.key), running.server);
  const Life* life = find(job);
  require(!life || std::cmp_less_equal(parts->size(), life->spec.servers), "{} is on {} servers and may be on {}",
          to_string(running.key), parts->size(), life->spec.servers);
  Part& part = gangs_[running.key][running.server];
  require(!part.has_started, "{} starts twice on {}", to_string(running.key), running.server);
  for (const auto& [pid, other] : truth_.running)
    require(other.key.job != job || other.key == running.key,
            "job {} runs twice: attempt {} on {} and attempt {} on {}", job, other.key.attempt, other.server, attempt,
            running.server);
  for (const auto& [server, one] : *parts)
    require(parts->size() == 1 || one.is_prepared, "{} starts on {} before {} is prepared", to_string(running.key),
            running.server, server);
  require(fmt::format("{}", fmt::join(running.gpus, ",")) == part.gpus, "{} has the GPUs {} of {} and finds others",
          to_string(running.key), part.gpus, running.server);
  part.has_started = true;
  if (part.rank > 0) return;  // the first one has the checkpoint
  AttemptTruth& truth = truth_.attempts[running.key];
  truth.started = heap_.now(), truth.server = running.server, truth.gpus = running.gpus;
}

// An order leaves only when what it rests on is durable.
void Judge::part_ordered(const std::string& server, const wire::ControllerMessage& message) {
  const auto check = [&](const Incarnation& incarnation, const char* what, std::string_view states) {
    const Life* life = find(incarnation.job);
    const bool is_present = life->row.attempt == incarnation.attempt;
    require(is_present && states.find(life->row.state) != std::string_view::npos,
            "{}.{} is {} on {}, and is {} with attempt {} in the database", incarnation.job, incarnation.attempt, what,
            server, life->row.state, life->row.attempt);
  };
  if (const auto* start = std::get_if<wire::StartAttempt>(&message)) {
    check(start->incarnation, "ordered to start", "starting");
    notes_cut_off({start->incarnation.job, start->incarnation.attempt}, heap_.now());
  }
  if (const auto* launch = std::get_if<wire::LaunchAttempt>(&message)) {
    check(launch->incarnation, "launched", "starting");
    for (const auto& [name, part] : *parts_of({launch->incarnation.job, launch->incarnation.attempt}))
      require(part.is_prepared, "{} is launched before {} is prepared", key_of(launch->incarnation), name);
  }
  if (const auto* stop = std::get_if<wire::StopAttempt>(&message)) {
    if (stop->reason == "part_ended") check(stop->incarnation, "stopped with the others", "starting running");
  }
  if (const auto* forget = std::get_if<wire::ForgetAttempt>(&message))
    must_be_over(server, {forget->incarnation.job, forget->incarnation.attempt}, "may be forgotten");
}

void Judge::check_gang(const Life& life, const std::string& from, const store::EventRow& event,
                       const store::JobRow& row) {
  const AttemptKey key{row.id, life.attempt};
  const Parts* parts = parts_of(key);
  const auto all = [&](auto holds) {
    return parts && std::all_of(parts->begin(), parts->end(), [&](const auto& item) { return holds(item.second); });
  };
  if (event.to == "starting") require(!life.cancel_is_promised, "job {} starts again though it is cancelled", row.id);
  if (event.to == "running")
    require(all([](const Part& part) { return part.has_started; }), "{} runs in the database, and not all of it",
            to_string(key));
  const bool leaves = is_active(from) && (!is_active(event.to) || event.to == "starting");
  require(!leaves || !truth_.runs(row.id), "{} is {} though a part of it runs", to_string(key), event.to);
  if (leaves) notes_cut_off(key, Instant{event.at_us});
  if (event.to == "succeeded")
    require(all([](const Part& part) { return part.end && part.end->exit_code == 0; }),
            "job {} succeeded, and not all parts of {} did", row.id, to_string(key));
  if (event.to == "cancelled")
    require(is_asked_to_cancel(row), "job {} is cancelled and nobody has asked for it", row.id);
  if (event.to == "failed" && event.text == "exit")
    require(parts && std::any_of(parts->begin(), parts->end(),
                                 [&](const auto& item) {
                                   const auto& end = item.second.end;
                                   return end && end->exit_code == row.exit_code && row.exit_code != 0;
                                 }),
            "job {} failed by an exit of {} that nobody has seen", row.id, to_string(key));
}

}  // namespace sl::dst
