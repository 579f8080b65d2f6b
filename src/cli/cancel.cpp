#include "cli/cancel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {

namespace {

// Those of the jobs that the list has with `filter`.
std::vector<json::value> listed(const Context& context, const std::set<std::int64_t>& ids, const std::string& filter) {
  std::vector<json::value> chosen;
  if (ids.empty()) return chosen;
  constexpr std::int64_t most = 100'000;  // of a list
  const std::int64_t first = *ids.begin(), last = *ids.rbegin();
  const auto list = context.get(fmt::format("/api/v1/jobs?before={}&limit={}{}&fields=id,name,state,members,group_id",
                                            last + 1, std::min(most, last - first + 1), filter));
  if (!list.ok()) return chosen;
  for (const json::value& job : value_at(*list, "items").as_array())
    if (ids.contains(static_cast<std::int64_t>(number_at(job, "id")))) chosen.push_back(job);
  std::ranges::reverse(chosen);  // the list has the newest first
  return chosen;
}

// How many jobs these are: of an array, its members of those `counts`, once.
std::size_t number_of_jobs(const std::vector<json::value>& chosen, const std::set<std::int64_t>& ids,
                           std::initializer_list<const char*> counts) {
  std::size_t jobs = 0;
  for (const json::value& job : chosen) {
    const json::value& members = value_at(job, "members");
    const auto group = static_cast<std::int64_t>(number_at(job, "group_id"));
    if (members.is_object()) {
      for (const char* count : counts) jobs += static_cast<std::size_t>(number_at(members, count));
    } else if (!ids.contains(group)) {
      ++jobs;
    }
  }
  return jobs;
}

// What a command is about to do something to that cannot be undone, as far as somebody is asked.
struct Concerned {
  std::vector<json::value> listed;
  std::size_t named = 0;  // how many were named, an array as one
  std::size_t jobs = 0;   // and how many these are
  bool asks = false;      // a single array that a script names is taken as told; people see how many jobs it is
};

// `filter`, `counts`: which jobs, and which members of arrays, are concerned.
Concerned concerned_by(const Context& context, const std::vector<std::int64_t>& ids, const std::string& filter,
                       std::initializer_list<const char*> counts) {
  const std::set<std::int64_t> distinct(ids.begin(), ids.end());
  const bool may_ask = (ids.size() > 1 || context.interactive) && !context.assume_yes;
  Concerned concerned{.listed = may_ask ? listed(context, distinct, filter) : std::vector<json::value>(),
                      .named = distinct.size()};
  concerned.jobs = distinct.size() - concerned.listed.size() + number_of_jobs(concerned.listed, distinct, counts);
  concerned.asks = may_ask && (ids.size() > 1 || concerned.jobs > 1);
  return concerned;
}

// What is about to be cancelled, for who is asked.
void print_chosen(const std::vector<json::value>& chosen, std::size_t count) {
  constexpr std::size_t shown_most = 10;
  for (std::size_t i = 0; i < std::min(chosen.size(), shown_most); ++i) {
    const std::string members = members_text(value_at(chosen[i], "members"));
    std::fprintf(stderr, "  %lld %s, %s\n", static_cast<long long>(number_at(chosen[i], "id")),
                 name_text(chosen[i]).c_str(), (members.empty() ? text_at(chosen[i], "state") : members).c_str());
  }
  if (count > shown_most) std::fprintf(stderr, "  and %zu more\n", count - shown_most);
}

}  // namespace

int cancel_jobs(const Context& context, const std::vector<std::string>& selectors, const wire::Cancellation& wanted) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  const Concerned concerned =
      concerned_by(context, *ids, std::string("&state=") + unfinished_states, {"waiting", "running"});
  if (concerned.asks && context.interactive) print_chosen(concerned.listed, concerned.named);
  if (const auto sure = confirm(context, "cancel " + plural(concerned.jobs, "job"), concerned.asks);
      !sure.ok() || !*sure)
    return sure.ok() ? 1 : fail(sure.error());
  json::object body;
  if (!wanted.reason.empty()) body["reason"] = wanted.reason;
  if (!wanted.signal.empty()) body["signal"] = wanted.signal;
  if (wanted.now) body["now"] = true;
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> job =
        context.call("POST", "/api/v1/jobs/" + std::to_string(id) + "/cancel", json::serialize(body));
    if (!job.ok()) {
      // Of all that had not ended, some have since.
      const bool is_over = job.error().code == "job-finished" && std::ranges::find(selectors, "all") != selectors.end();
      if (!is_over) status = fail(job.error());
      continue;
    }
    if (context.as_json) {
      context.print_json(*job);
    } else if (!context.quiet) {
      const bool over = value_at(*job, "finished_at").is_string();
      std::printf("%s job %lld %s %s\n", context.unicode ? "⊘" : "-", static_cast<long long>(id),
                  name_text(*job).c_str(), over ? "is cancelled" : "is being stopped");
    }
  }
  return status;
}

namespace {

int signal_jobs(const Context& context, const std::vector<std::string>& selectors, const std::string& signal) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> job = context.call("POST", "/api/v1/jobs/" + std::to_string(id) + "/signal",
                                                 json::serialize(json::object{{"signal", signal}}));
    if (!job.ok()) {
      status = fail(job.error());
      continue;
    }
    if (context.as_json)
      context.print_json(*job);
    else if (!context.quiet)
      std::printf("job %lld %s gets the signal %s\n", static_cast<long long>(id), name_text(*job).c_str(),
                  wire::plain_signal(signal).c_str());
  }
  return status;
}

int remove_jobs(const Context& context, const std::vector<std::string>& selectors) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  const Concerned concerned = concerned_by(context, *ids, "", {"total"});
  if (const auto sure = confirm(context, "remove " + plural(concerned.jobs, "job") + " for good", concerned.asks);
      !sure.ok() || !*sure)
    return sure.ok() ? 1 : fail(sure.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> removed = context.call("DELETE", "/api/v1/jobs/" + std::to_string(id), "");
    if (!removed.ok()) {
      status = fail(removed.error());
      continue;
    }
    if (context.as_json) {
      context.print_json(*removed);
    } else if (!context.quiet) {
      const auto members = static_cast<std::size_t>(number_at(*removed, "removed", 1)) - 1;
      std::printf("job %lld is removed%s\n", static_cast<long long>(id),
                  members == 0 ? "" : (" with its " + plural(members, "member")).c_str());
    }
  }
  return status;
}

}  // namespace

void EndCommands::add_to(CLI::App& app) {
  CLI::App* cancel =
      command_(app, "cancel", "Stop jobs, or take them out of the queue.",
               "  schedulearn cancel 5\n  schedulearn cancel 5 --reason 'wrong data'\n  schedulearn cancel 5 --now\n"
               "  schedulearn cancel all --yes\n",
               [this] { return cancel_jobs(context_(), selectors_, wanted_); });
  cancel->add_option("job", selectors_, "5, 1-5, 12_3 (of an array), last, all or a name")->required();
  cancel->add_option("--reason", wanted_.reason, "why, for those who look at the job later");
  auto* now = cancel->add_flag("--now", wanted_.now, "kill it at once, without the 30 s that it has to end");
  cancel->add_option("--signal", wanted_.signal, "what asks it to end: INT, HUP, USR1 ... (TERM)")->excludes(now);
  CLI::App* signal = command_(app, "signal", "Send jobs that run a signal; what they do then is up to them.",
                              "  schedulearn signal 5 USR1\n  schedulearn signal 5,7-9 HUP\n",
                              [this] { return signal_jobs(context_(), {job_}, signal_); });
  signal->add_option("job", job_, "5, 1-5, 12_3 (of an array), last, all or a name")->required();
  signal->add_option("signal", signal_, "TERM, INT, HUP, QUIT, USR1, USR2 or KILL")->required();
  command_(app, "rm", "Remove jobs that have ended, with their events and their output, for good.",
           "  schedulearn rm 5\n  schedulearn rm 5,7-9 --yes\n", [this] { return remove_jobs(context_(), selectors_); })
      ->add_option("job", selectors_, "5, 1-5, 12_3 (of an array), last or a name")
      ->required();
}

}  // namespace sl::cli
