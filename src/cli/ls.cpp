#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/commands.h"
#include "cli/expectation.h"
#include "cli/job_order.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

std::string remark(const json::value& job) {
  const std::string state = text_at(job, "state");
  if (value_at(job, "members").is_object()) {
    const std::string why = is_over(state) ? "" : text_at(value_at(job, "reason"), "text");
    return members_text(value_at(job, "members")) + (why.empty() ? "" : ": " + why);
  }
  if (const std::string why = text_at(value_at(job, "reason"), "text"); !why.empty()) return why;
  const std::string failure = text_at(value_at(job, "failure"), "message");
  if (!failure.empty()) return failure;
  const json::value& progress = value_at(job, "progress");
  if (!progress.is_object() || !value_at(progress, "done").is_number()) return "";
  std::string text = fmt::format("{} {:.10g}", text_at(progress, "unit"), number_at(progress, "done"));
  if (value_at(progress, "total").is_number()) text += fmt::format("/{:.10g}", number_at(progress, "total"));
  if (value_at(progress, "loss").is_number()) text += "  loss " + figure_text(number_at(progress, "loss"), 3);
  if (value_at(progress, "loss_is_not_finite") == true) text += "  loss not finite";
  if (value_at(progress, "accuracy").is_number())
    text += "  accuracy " + figure_text(number_at(progress, "accuracy"), 3);
  return text;
}

// When it ended, or is expected to start or end; else when it was submitted.
std::string when_text(const Context& context, const json::value& job) {
  if (is_over(text_at(job, "state"))) return clock_text(context, text_at(job, "finished_at"));
  const std::string expected = expected_text(context, job);
  return expected.empty() ? clock_text(context, text_at(job, "created_at")) : expected;
}

std::vector<std::string> row(const Context& context, const json::value& job) {
  const bool started = value_at(job, "started_at").is_string() && !value_at(job, "members").is_object();
  const std::string state = text_at(job, "state");
  return {fmt::format("{}", static_cast<std::int64_t>(number_at(job, "id"))),
          context.plain ? text_at(job, "name") : name_text(job),
          context.plain ? state : state_text(context, shown_state(job)),
          gpus_text(job),
          where_text(job),
          duration_text(number_at(job, "wait_s")),
          started ? duration_text(number_at(job, "run_s")) : "–",
          when_text(context, job),
          text_at(job, "user"),
          remark(job)};
}

void sort(std::vector<json::value>& jobs, const std::string& order) {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](const json::value& a, const json::value& b) { return is_listed_before(order, a, b); });
}

bool is_filtered(const ListOptions& options) {
  return !options.state.empty() || !options.user.empty() || !options.word.empty() || !options.label.empty() ||
         options.before > 0 || options.group > 0;
}

struct JobList {
  std::vector<json::value> items;
  std::set<std::int64_t> ids;  // of them: one that starts or ends between two questions is in both answers
  json::value next_cursor;
  std::int64_t total = 0;  // how many there are, shown or not
};

// Of a group one line tells enough, unless its members are asked for or filtered.
bool is_grouped(const Context& context, const ListOptions& options) {
  if (context.as_json) return false;
  return !options.members && options.group == 0 && options.state.empty() && options.word.empty() &&
         options.label.empty();
}

// What is needed of each job, as the parameter `fields`; empty: everything. Whole documents of 100,000 jobs are a gigabyte.
std::string fields_of(const Context& context) {
  if (context.as_json && context.json_fields.empty()) return "";
  std::set<std::string> fields{"id", "name", "state", "user", "wait_s", "run_s", "spec.gpus"};  // for the orders
  if (!context.as_json && !context.quiet)
    fields.insert({"created_at", "started_at", "finished_at", "placement", "members", "reason", "failure", "progress",
                   "estimate"});
  for (const std::string& field : context.json_fields) fields.insert(field.substr(0, field.find('.')));
  return fmt::format("{}", fmt::join(fields, ","));
}

Status add_jobs(const Context& context, const ListOptions& options, const std::string& states, int limit,
                JobList& list) {
  std::string query = "?limit=" + std::to_string(limit);
  if (!states.empty()) query += "&state=" + net::percent_encode(states);
  if (!options.user.empty()) query += "&user=" + net::percent_encode(options.user);
  if (options.group > 0) query += "&group=" + std::to_string(options.group);
  if (options.before > 0) query += "&before=" + std::to_string(options.before);
  if (!options.word.empty()) query += "&q=" + net::percent_encode(options.word);
  if (!options.label.empty()) query += "&label=" + net::percent_encode(options.label);
  if (is_grouped(context, options)) query += "&grouped=true";
  const std::string fields = fields_of(context);
  Result<json::value> found =
      context.get("/api/v1/jobs" + query + (fields.empty() ? "" : "&fields=" + net::percent_encode(fields)));
  // One of the list, as `total`, or none at all: print_json() says which there are.
  if (!found.ok() && found.error().code == "bad-field") found = context.get("/api/v1/jobs" + query);
  if (!found.ok()) return found.error();
  for (const json::value& job : value_at(*found, "items").as_array()) {
    if (list.ids.insert(job.at("id").to_number<std::int64_t>()).second) list.items.push_back(job);
  }
  list.next_cursor = value_at(*found, "next_cursor");
  list.total += static_cast<std::int64_t>(number_at(*found, "total"));
  return {};
}

// Everything unfinished, however much it is, and the latest that have ended; with a limit, as much of that as can be shown
// where the order tells. One page if a state or a page is asked for.
Result<JobList> find_jobs(const Context& context, const ListOptions& options) {
  constexpr int most = 100'000, usual = 30;
  const int limit = options.limit.value_or(usual);
  JobList list;
  if (options.all || !options.state.empty() || options.before > 0) {
    if (Status added = add_jobs(context, options, options.state, options.all ? most : limit, list); !added.ok())
      return added.error();
    return list;
  }
  const bool are_first_enough = options.limit && (options.sort.empty() || options.sort == "id");
  const std::vector<std::string> parts =  // a job that starts meanwhile is not missed
      are_first_enough ? std::vector<std::string>{waiting_states, working_states}
                       : std::vector<std::string>{unfinished_states};
  for (const std::string& states : parts) {
    if (Status added = add_jobs(context, options, states, are_first_enough ? limit : most, list); !added.ok())
      return added.error();
  }
  const int ended = std::max(std::min(5, limit), limit - static_cast<int>(std::min<std::int64_t>(list.total, limit)));
  if (Status added = add_jobs(context, options, finished_states, ended, list); !added.ok()) return added.error();
  return list;
}

// A group of which members run waits only in part.
bool waits_for_its_start(const json::value& job) {
  return text_at(job, "state") == "pending" && number_at(value_at(job, "members"), "running") == 0;
}

// Counts of the whole cluster, whatever was listed.
void print_footer(const Context& context, const JobList& found) {
  const std::vector<json::value>& jobs = found.items;
  const Result<json::value> cluster = context.get("/api/v1/cluster");
  std::string text;
  if (cluster.ok()) {
    const json::value& counts = value_at(*cluster, "jobs");
    text = fmt::format("{} running, {} pending", number_at(counts, "running"), number_at(counts, "pending"));
    text += other_states_text(counts) + ".";
  }
  if (found.total > static_cast<std::int64_t>(jobs.size()))
    text += fmt::format(" {} of {} shown; -a shows all.", jobs.size(), found.total);
  std::printf("%s\n", text.c_str());
  if (context.past) return;  // it waits for a controller
  const auto waiting = std::find_if(jobs.rbegin(), jobs.rend(), waits_for_its_start);
  if (waiting != jobs.rend())
    std::printf("Why is one waiting:  schedulearn why %lld\n", static_cast<long long>(number_at(*waiting, "id")));
}

}  // namespace

int list_jobs(const Context& context, const ListOptions& options) {
  Result<JobList> found = find_jobs(context, options);
  if (!found.ok()) return fail(found.error());
  std::vector<json::value>& jobs = found->items;
  sort(jobs, options.sort);
  if (options.limit && !options.all && jobs.size() > static_cast<std::size_t>(*options.limit)) {
    jobs.resize(static_cast<std::size_t>(*options.limit));
    found->next_cursor = nullptr;  // it would go on behind jobs that are not shown
  }
  if (context.as_json) {
    context.print_json(json::object{{"items", json::array(jobs.begin(), jobs.end())},
                                    {"next_cursor", found->next_cursor},
                                    {"total", found->total}});
    return 0;
  }
  Table table({"ID", "NAME", "STATE", "GPUS", "WHERE", "WAITED", "RAN", "WHEN", "USER", ""}, {0, 3, 5, 6});
  table.may_shrink(1, {8, 5, 6, 4, 7});
  for (const json::value& job : jobs) {
    if (context.quiet)
      std::printf("%lld\n", static_cast<long long>(number_at(job, "id")));
    else
      table.add(row(context, job));
  }
  if (jobs.empty() && options.group > 0) {
    const auto group = context.get("/api/v1/jobs/" + std::to_string(options.group));
    if (!group.ok()) return fail(group.error());
  }
  if (context.quiet) return 0;
  if (jobs.empty()) {
    std::printf("No jobs%s. Submit one:  schedulearn submit --gpus 1 -- python train.py\n",
                is_filtered(options) ? " like that" : " yet");
    return 0;
  }
  std::fputs(table.text(context).c_str(), stdout);
  if (!context.plain) print_footer(context, *found);
  return 0;
}

}  // namespace sl::cli
