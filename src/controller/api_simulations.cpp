// Simulations on request: what is to be simulated becomes arguments of `sim compare`, each of which is checked here first.
#include <fmt/format.h>

#include <algorithm>

#include "base/whole_number.h"
#include "controller/api.h"
#include "controller/policy_views.h"
#include "controller/requests.h"
#include "controller/simulation_inputs.h"
#include "controller/simulations.h"
#include "policies/registry.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

constexpr std::size_t simulated_policies_max = 4;
constexpr std::int64_t history_days_max = 365;
constexpr double loads_max = 100;
constexpr std::int64_t day_us = 86'400'000'000;
constexpr const char* trace_file = "trace.csv";
constexpr const char* cluster_file = "cluster.toml";
// What `plot` draws, except lines, which need more than one number of jobs.
constexpr std::string_view chart_kinds[] = {"cdf", "bars", "lines", "util", "queue", "gantt"};

Error not_simulating() { return conflict("not-running", "simulations are made by a running controller"); }

// Several values, or one. The value of a parameter that is a list is a list itself, several are a list of lists.
std::vector<std::string> values_of(const boost::json::value& value, bool is_list) {
  const boost::json::array* const array = value.if_array();
  const bool is_several = array && (!is_list || (!array->empty() && array->front().is_array()));
  if (!is_several) return {parameter_text(value)};
  std::vector<std::string> values;
  for (const boost::json::value& each : *array) values.push_back(parameter_text(each));
  return values;
}

// A word of the command line, which names no file and ends neither the parameter nor the value.
Status check_value(const std::string& name, const std::string& value, bool is_list = false) {
  const bool is_fine =
      !value.empty() && value.find_first_of(is_list ? "\n\r\t =:/" : "\n\r\t =:/,") == std::string::npos;
  if (is_fine) return {};
  return invalid("bad-parameter", fmt::format("{} cannot be \"{}\"", name, value))
      .note("several values are a list of them");
}

// Adds the policy to what is shown and to the arguments. Returns how many runs it makes with one seed.
Result<int> add_policy(const SimulatedPolicyBody& body, const std::string& at, NewSimulation& wanted) {
  const auto fail = [&](Error error) { return std::move(error).at(at); };
  const PolicyEntry* entry = find_policy(body.name);
  if (!entry) return fail(make_policy(body.name, {}).error());
  for (const answers::SimulatedPolicy& other : wanted.shown.policies) {
    if (other.name == entry->info.name)
      return fail(invalid("bad-policies", entry->info.name + " is there twice")
                      .hint("give its parameter several values instead: {\"NAME\": [1, 2]}"));
  }
  answers::SimulatedPolicy shown{entry->info.name, {}};
  std::size_t runs = 1;
  for (const auto& [name, value] : body.parameters.value_or(std::map<std::string, boost::json::value>{})) {
    const auto fail_here = [&](Error error) { return std::move(error).at(at + "/parameters/" + name); };
    const ParameterInfo* const info = find_parameter(entry->info.parameters, name);
    const bool is_list = info && (info->type == ParameterType::ascending || info->type == ParameterType::names);
    std::vector<std::string> values = values_of(value, is_list);
    if (values.empty()) return fail_here(invalid("bad-parameter", name + " needs a value"));
    std::string text;
    for (const std::string& each : values) {
      if (Status fine = check_value(name, each, is_list); !fine.ok()) return fail_here(fine.error());
      if (const auto made = make_policy(entry->info.name, {{name, each}}); !made.ok()) return fail_here(made.error());
      text += (text.empty() ? "" : is_list ? "/" : ",") + each;
    }
    wanted.more.insert(wanted.more.end(), {"--param", fmt::format("{}.{}={}", entry->info.name, name, text)});
    runs *= values.size();
    if (runs > static_cast<std::size_t>(simulation_runs_max)) break;  // refused below
    shown.parameters.emplace(name, std::move(values));
  }
  wanted.shown.policies.push_back(std::move(shown));
  return static_cast<int>(runs);
}

// What `--jobs` takes: how many of the jobs, from the first. Ascending, so that the last results have most.
Status add_job_counts(const SimulationBody& body, NewSimulation& wanted) {
  const bool is_one = body.jobs && !body.job_counts;
  if (body.jobs && body.job_counts) return invalid("bad-parameter", "one of jobs and job_counts").at("/job_counts");
  const std::vector<std::int64_t> counts =
      is_one ? std::vector{*body.jobs} : body.job_counts.value_or(std::vector<std::int64_t>{});
  if (is_one && counts.front() < 1) return invalid("bad-parameter", "jobs is 1 or more").at("/jobs");
  const bool is_ascending = std::ranges::adjacent_find(counts, std::greater_equal()) == counts.end();
  if (body.job_counts && (counts.size() < 2 || counts.front() < 1 || !is_ascending))
    return invalid("bad-parameter", "job_counts has two or more numbers from 1 on, in ascending order")
        .hint("{\"job_counts\": [50, 100, 200]}")
        .at("/job_counts");
  if (!counts.empty()) wanted.more.insert(wanted.more.end(), {"--jobs", fmt::format("{}", fmt::join(counts, ","))});
  if (body.job_counts) wanted.shown.job_counts = counts;
  return {};
}

// What `--load` takes. Ascending, likewise.
Status add_loads(const SimulationBody& body, NewSimulation& wanted) {
  if (!body.loads) return {};
  const std::vector<double>& loads = *body.loads;
  if (body.job_counts) return invalid("bad-parameter", "one of job_counts and loads").at("/loads");
  const bool is_ascending = std::ranges::adjacent_find(loads, std::greater_equal()) == loads.end();
  if (loads.empty() || !is_ascending || !(loads.front() > 0 && loads.back() <= loads_max))
    return invalid("bad-parameter",
                   fmt::format("loads are numbers above 0 and up to {}, in ascending order", loads_max))
        .hint("{\"loads\": [0.5, 0.8, 1.1]}: parts of what the servers can do")
        .at("/loads");
  wanted.more.insert(wanted.more.end(), {"--load", fmt::format("{}", fmt::join(loads, ","))});
  wanted.shown.loads = loads;
  return {};
}

Status add_policies(const SimulationBody& body, NewSimulation& wanted) {
  if (body.policies.empty() || body.policies.size() > simulated_policies_max)
    return invalid("bad-policies", fmt::format("one to {} policies can be compared at a time, not {}",
                                               simulated_policies_max, body.policies.size()))
        .hint("{\"policies\": [{\"name\": \"fifo\"}, {\"name\": \"srtf\"}]}")
        .at("/policies");
  const std::int64_t seeds = body.seeds.value_or(1);
  if (seeds < 1 || seeds > 10) return invalid("bad-parameter", "seeds is 1 to 10: how many").at("/seeds");
  std::string names;
  int runs = 0;
  for (std::size_t i = 0; i < body.policies.size(); ++i) {
    const auto added = add_policy(body.policies[i], fmt::format("/policies/{}", i), wanted);
    if (!added.ok()) return added.error();
    runs += *added;
    names += (names.empty() ? "" : ",") + wanted.shown.policies.back().name;
  }
  const std::size_t counts = body.job_counts ? body.job_counts->size() : body.loads ? body.loads->size() : 1;
  runs *= static_cast<int>(seeds) * static_cast<int>(std::clamp<std::size_t>(counts, 1, simulation_runs_max + 1));
  if (runs > simulation_runs_max)
    return invalid("simulation-too-large",
                   fmt::format("these are {} runs; {} can be made at a time", runs, simulation_runs_max))
        .hint("fewer values of parameters, seeds, numbers of jobs or loads");
  wanted.more.insert(wanted.more.end(), {"--policies", names});
  if (seeds > 1) wanted.more.insert(wanted.more.end(), {"--seeds", fmt::format("1..{}", seeds)});
  wanted.shown.seeds = static_cast<int>(seeds), wanted.shown.progress.runs = runs;
  wanted.shown.keep_cpu_jobs = body.keep_cpu_jobs.value_or(false);
  if (wanted.shown.keep_cpu_jobs) wanted.more.emplace_back("--keep-cpu-jobs");
  const Status counted = add_job_counts(body, wanted);
  return counted.ok() ? add_loads(body, wanted) : counted;
}

// What is no file's name: the command line would read it.
Status add_servers(const SimulationBody& body, const Core& core, NewSimulation& wanted) {
  if (body.servers) {
    const std::string& text = *body.servers;
    const bool is_pool = text.starts_with("pool:");
    const std::string_view shape = std::string_view(text).substr(is_pool ? 5 : 0);
    if (shape.empty() || shape.find_first_not_of(is_pool ? "0123456789" : "0123456789x+") != std::string_view::npos)
      return invalid("bad-servers", "not a cluster: " + text)
          .hint("4x8 is 4 servers of 8 GPUs; 8x4+2x8 are two kinds; pool:320 is one pool")
          .at("/servers");
    wanted.servers = wanted.shown.servers = text;
    return {};
  }
  auto file = servers_as_file(core, body.keep_cpu_jobs.value_or(false));
  if (!file.ok()) return file.error();
  wanted.files[cluster_file] = std::move(*file);
  wanted.servers = cluster_file, wanted.shown.servers = "this cluster";
  return {};
}

// The workload with its parameters as `--trace` takes it. `known`: all of them.
Status add_workload(const TraceBody& trace, const std::vector<answers::Workload>& known, NewSimulation& wanted) {
  const std::string& name = *trace.workload;
  if (const auto found = find_workload(known, name); !found.ok()) {
    Error error = found.error();
    error.kind = ErrorKind::invalid;  // the path is there
    return std::move(error).at("/trace/workload");
  }
  std::string text = name;
  for (const auto& [key, value] : trace.parameters.value_or(std::map<std::string, boost::json::value>{})) {
    const std::string one = parameter_text(value);
    for (const std::string& part : {key, one}) {
      if (Status fine = check_value(key, part); !fine.ok()) return fine.error();
    }
    text += (text == name ? ":" : ",") + key + '=' + one;
  }
  wanted.trace = wanted.shown.trace = text;
  return {};
}

Status add_uploaded(const std::string& name, const UploadedTraces& uploaded, NewSimulation& wanted) {
  if (const auto found = uploaded.find(name); !found.ok()) {
    Error error = found.error();
    error.kind = ErrorKind::invalid;  // the path is there
    return std::move(error).at("/trace/name");
  }
  wanted.linked[trace_file] = uploaded.file_of(name);
  wanted.trace = trace_file, wanted.shown.trace = name;
  return {};
}

Status check_source(const TraceBody& trace) {
  const int sources =
      (trace.workload ? 1 : 0) + (trace.name ? 1 : 0) + (trace.csv ? 1 : 0) + (trace.history_days ? 1 : 0);
  if (sources != 1)
    return invalid("bad-trace", "trace has one of workload, name, csv and history_days")
        .hint("{\"trace\": {\"workload\": \"poisson\", \"parameters\": {\"jobs\": 200}}}")
        .at("/trace");
  if (trace.parameters && !trace.workload) return invalid("bad-trace", "only a workload has parameters").at("/trace");
  if (trace.history_days && (*trace.history_days < 1 || *trace.history_days > history_days_max))
    return invalid("bad-parameter", fmt::format("history_days is 1 to {}", history_days_max)).at("/trace/history_days");
  return {};
}

}  // namespace

void Api::create_simulation(Call call) {
  if (!simulations_) return call.fail(not_simulating());
  if (const Status json = expect_json(call, "a simulation"); !json.ok()) return call.fail(json.error());
  const auto body = wire::read_json<SimulationBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  auto wanted = std::make_shared<NewSimulation>();
  Status fine = check_source(body->trace);
  if (fine.ok()) fine = add_policies(*body, *wanted);
  if (fine.ok()) fine = add_servers(*body, logic_.core(), *wanted);
  if (!fine.ok()) return call.fail(fine.error());
  const auto go_on = [this, call, wanted] {
    simulations_->create(std::move(*wanted), call.user(), [call](const Result<answers::Simulation>& made) {
      made.ok() ? call.send(202, *made) : call.fail(made.error());
    });
  };
  if (body->trace.csv) {
    wanted->files[trace_file] = *body->trace.csv;
    wanted->trace = trace_file, wanted->shown.trace = "a trace of its user's";
    return go_on();
  }
  if (body->trace.name) {
    const Status named = add_uploaded(*body->trace.name, simulations_->uploaded(), *wanted);
    return named.ok() ? go_on() : call.fail(named.error());
  }
  if (body->trace.workload) {
    return simulations_->workloads(
        [call, wanted, go_on, trace = body->trace](const Result<std::vector<answers::Workload>>& known) {
          const Status named = known.ok() ? add_workload(trace, *known, *wanted) : Status(known.error());
          named.ok() ? go_on() : call.fail(named.error());
        });
  }
  const std::int64_t days = *body->trace.history_days;
  wanted->trace = trace_file, wanted->shown.trace = fmt::format("this cluster's last {} d", days);
  history_.ask<std::string>([since_us = call.now.us - days * day_us, keeps_cpu_jobs = wanted->shown.keep_cpu_jobs](
                                store::Reader& reader) { return past_as_trace(reader, since_us, keeps_cpu_jobs); },
                            [call, wanted, go_on](Result<std::string> text) {
                              if (!text.ok()) return call.fail(text.error());
                              wanted->files[trace_file] = std::move(*text);
                              go_on();
                            });
}

void Api::list_simulations(Call call) {
  std::vector<std::string> texts;
  if (simulations_)
    for (const answers::Simulation& each : simulations_->list()) texts.push_back(wire::json_text(wire::to_value(each)));
  send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
}

void Api::with_simulation(const Call& call, const std::function<void(const answers::SimulationDetails&)>& work) {
  if (!simulations_) return call.fail(not_simulating());
  const auto id = parse_whole_number(call.captured.front());
  const auto found = id ? simulations_->find(*id)
                        : not_found("simulation-not-found", "there is no simulation " + call.captured.front());
  found.ok() ? work(*found) : call.fail(found.error());
}

void Api::get_simulation(Call call) {
  with_simulation(call, [&](const answers::SimulationDetails& found) { call.send(200, found); });
}

void Api::list_simulation_results(Call call) {
  with_simulation(call, [&](const answers::SimulationDetails& found) {
    std::vector<std::string> texts;
    for (const answers::SimulationResult& each : found.results) texts.push_back(wire::json_text(wire::to_value(each)));
    send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
  });
}

void Api::list_simulated_jobs(Call call) {
  const auto result = call.number("result", -1, 0, simulation_runs_max - 1);
  const auto limit = call.number("limit", list_items_max, 1, list_items_max);
  const auto cursor = call.cursor();
  if (!result.ok()) return call.fail(result.error());
  if (!limit.ok()) return call.fail(limit.error());
  if (!cursor.ok()) return call.fail(cursor.error());
  const auto from = static_cast<std::size_t>(cursor->value_or(0));
  with_simulation(call, [&](const answers::SimulationDetails& found) {
    simulations_->jobs(found.id, *result < 0 ? std::nullopt : std::optional(static_cast<int>(*result)), from,
                       static_cast<std::size_t>(*limit), [this, call, from](Result<SimulatedJobs> jobs) {
                         if (!jobs.ok()) return call.fail(jobs.error());
                         send_list(call,
                                   {.count = jobs->total, .text_of = [from, jobs = std::move(*jobs)](std::size_t i) {
                                      return wire::json_text(wire::to_value(jobs.items[i - from]));
                                    }});
                       });
  });
}

void Api::remove_simulation(Call call) {
  with_simulation(call, [&](const answers::SimulationDetails& found) {
    if (!call.identity.may_see(found.user))
      return call.fail(denied("not-yours", fmt::format("simulation {} is {}'s", found.id, found.user)));
    const Status removed = simulations_->remove(found.id);
    removed.ok() ? call.send(200, answers::RemovedSimulation{found.id}) : call.fail(removed.error());
  });
}

void Api::get_simulation_chart(Call call) {
  const std::string& kind = call.captured[1];
  const std::string theme = call.request.parameter("theme").value_or("auto");
  const auto width = call.number("width_mm", 160, 60, 400);
  const auto result = call.number("result", -1, 0, simulation_runs_max - 1);
  if (std::ranges::find(chart_kinds, kind) == std::end(chart_kinds))
    return call.fail(
        not_found("no-such-path", "there is no chart " + kind).hint("cdf, bars, lines, util, queue or gantt"));
  if (!width.ok()) return call.fail(width.error());
  if (!result.ok()) return call.fail(result.error());
  if (theme != "auto" && theme != "light" && theme != "dark")
    return call.fail(invalid("bad-parameter", "theme is auto, light or dark, not " + theme));
  const auto by = call.request.parameter("by");
  if (by && (*by != "server" || kind != "util"))
    return call.fail(invalid("bad-parameter", "by is server, of util; or left out"));
  const std::string metric = call.request.parameter("metric").value_or("");
  if (const Status fine = metric.empty() ? Status() : check_value("metric", metric);
      !fine.ok() || metric.starts_with('-'))
    return call.fail(invalid("unknown-metric", "there is no metric " + metric)
                         .hint("the results of the simulation have the names: avg_jct_s, makespan_s"));
  with_simulation(call, [&](const answers::SimulationDetails& found) {
    simulations_->draw(found.id,
                       {kind, theme, static_cast<int>(*width), metric,
                        *result < 0 ? std::nullopt : std::optional(static_cast<int>(*result)), by.has_value()},
                       [call](const Result<answers::SimulationChart>& chart) {
                         chart.ok() ? call.send(200, *chart) : call.fail(chart.error());
                       });
  });
}

void Api::list_workloads(Call call) {
  if (!simulations_) return call.fail(not_simulating());
  simulations_->workloads([this, call](const Result<std::vector<answers::Workload>>& known) {
    if (!known.ok()) return call.fail(known.error());
    std::vector<std::string> texts;
    for (const answers::Workload& each : *known) texts.push_back(wire::json_text(wire::to_value(each)));
    send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
  });
}

}  // namespace sl::controller
