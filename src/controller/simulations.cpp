#include "controller/simulations.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>
#include <filesystem>

#include "base/csv.h"
#include "base/suggest.h"
#include "base/whole_number.h"
#include "controller/simulation_files.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr CommandLimits simulation_limits{Duration::whole_seconds(600), std::int64_t{2} << 30};
constexpr CommandLimits short_limits{Duration::whole_seconds(20)};
constexpr const char* document_file = "simulation.json";
constexpr const char* results_folder = "results";

// What is on disk: times as numbers, and what is run.
struct KeptSimulation {
  std::int64_t created_us = 0, started_us = 0, finished_us = 0;
  json::value shown;
  std::vector<std::string> arguments;
};
BOOST_DESCRIBE_STRUCT(KeptSimulation, (), (created_us, started_us, finished_us, shown, arguments))

// The part of what is shown that is read back.
struct KeptFacts {
  std::string user, state, trace, servers, command;
  std::vector<answers::SimulatedPolicy> policies;
  int seeds = 1;
  std::optional<std::vector<std::int64_t>> job_counts;  // none in those of older controllers
  std::optional<std::vector<double>> loads;             // likewise
  std::optional<bool> keep_cpu_jobs;                    // likewise
  std::int64_t jobs = 0, left_out = 0;
  std::optional<answers::LeftOutJobs> left_out_reasons;  // likewise
  int gpus = 0;
  double load = 0;
  answers::SimulationProgress progress;
  std::optional<answers::SimulationFault> failure;
  std::vector<answers::SimulationResult> results;
};
BOOST_DESCRIBE_STRUCT(KeptFacts, (),
                      (user, state, trace, servers, command, policies, seeds, job_counts, loads, keep_cpu_jobs, jobs,
                       left_out, left_out_reasons, gpus, load, progress, failure, results))

// Of `trace info --json`.
struct TraceLoad {
  int gpus = 0;
  std::optional<double> load;  // none: all jobs are submitted at once
  std::int64_t jobs_too_wide = 0;
};
BOOST_DESCRIBE_STRUCT(TraceLoad, (), (gpus, load, jobs_too_wide))
struct TraceFacts {
  std::int64_t jobs = 0;
  TraceLoad load;
};
BOOST_DESCRIBE_STRUCT(TraceFacts, (), (jobs, load))

struct ComparedRuns {
  answers::LeftOutJobs left_out;
  std::vector<answers::SimulationResult> results;
};
BOOST_DESCRIBE_STRUCT(ComparedRuns, (), (left_out, results))

struct ListedWorkloads {
  std::vector<answers::Workload> items;
};
BOOST_DESCRIBE_STRUCT(ListedWorkloads, (), (items))

struct DrawnFigure {
  std::string title, summary, caption;
};
BOOST_DESCRIBE_STRUCT(DrawnFigure, (), (title, summary, caption))

// Of run.json (docs/formats/results.md).
struct WrittenResult {
  std::string jobs_file;
};
BOOST_DESCRIBE_STRUCT(WrittenResult, (), (jobs_file))
struct WrittenResults {
  std::vector<WrittenResult> results;
};
BOOST_DESCRIBE_STRUCT(WrittenResults, (), (results))

// The fields of a jobs file, in the order of its columns.
answers::SimulatedJob job_of(const Fields& fields) {
  const auto amount = [&](std::size_t at) {
    double value = 0;
    const std::string_view text = fields[at];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  };
  const auto number = [&](std::size_t at) { return parse_whole_number(fields[at]).value_or(0); };
  return {std::string(fields[0]),
          std::string(fields[1]),
          number(2),
          amount(3).value_or(0),
          amount(4),
          amount(5),
          amount(6),
          amount(7),
          amount(8),
          number(9),
          number(10),
          number(11),
          number(12)};
}

// Part of the jobs of one result in a folder that `sim compare --out` wrote. Error "no-files".
Result<SimulatedJobs> jobs_in(const std::string& folder, std::size_t result, std::size_t from, std::size_t count) {
  constexpr std::string_view columns =
      "job_id,user,gpus,submit_s,start_s,finish_s,jct_s,wait_s,run_s,preemptions,resizes,migrations,failures";
  const auto written = wire::read_json<WrittenResults>(contents_of(folder + "/run.json"), wire::Unknown::ignore);
  const bool is_there = written.ok() && result < written->results.size();
  const std::string text = is_there ? contents_of(folder + "/" + written->results[result].jobs_file) : "";
  CsvRows rows(text);
  if (!rows.next() || rows.raw() != columns)
    return not_found("no-files", "the jobs of this simulation are not there any more").hint("simulate it again");
  SimulatedJobs jobs;
  for (; rows.next(); ++jobs.total) {
    if (rows.fields().size() == 13 && jobs.total >= from && jobs.items.size() < count)
      jobs.items.push_back(job_of(rows.fields()));
  }
  return jobs;
}

answers::SimulationFault fault_of(const Error& error) { return {error.code, error.message, error.notes, error.hints}; }

std::optional<wire::Time> time_of(std::int64_t us) { return us == 0 ? std::nullopt : std::optional(wire::Time{us}); }

// As one would type it.
std::string typed(const std::vector<std::string>& arguments) {
  std::string text = "schedulearn";
  for (const std::string& word : arguments) {
    const bool is_plain =
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:=/") ==
        std::string::npos;
    text += is_plain ? ' ' + word : " '" + word + '\'';
  }
  return text;
}

answers::Trace shown_workload(const answers::Workload& workload, std::optional<answers::TraceFigures> figures) {
  answers::Trace trace;
  static_cast<answers::Workload&>(trace) = workload;
  trace.figures = std::move(figures);
  return trace;
}

Error unknown_simulation(std::int64_t id) {
  return not_found("simulation-not-found", fmt::format("there is no simulation {}", id)).hint("schedulearn sim ls");
}

}  // namespace

Simulations::Simulations(const std::string& data_folder, RunCommand run, std::function<Instant()> clock, Post post,
                         std::function<void(std::int64_t)> changed)
    : folder_(data_folder + "/simulations"),
      run_(std::move(run)),
      clock_(std::move(clock)),
      post_(std::move(post)),
      changed_(std::move(changed)),
      uploaded_(data_folder + "/traces",
                {clock_, post_, [this](auto work) { desk_.put(std::move(work)); },
                 [this](const auto& arguments, const auto& where) { return run_short(arguments, where); }}),
      desk_thread_([this] { work(desk_); }),
      runner_thread_([this] { work(runner_); }) {}

Simulations::~Simulations() {
  is_ending_ = true;
  runner_.stop();
  runner_thread_.join();
  desk_.stop();
  desk_thread_.join();
}

void Simulations::work(Inbox& inbox) {
  std::deque<std::function<void()>> tasks;
  while (inbox.take(tasks, std::chrono::hours(1))) {
    for (auto& task : tasks) task();
    tasks.clear();
  }
}

Result<std::string> Simulations::run_short(const std::vector<std::string>& arguments, const std::string& folder) {
  return run_(arguments, folder, short_limits, [this](std::string_view) { return !is_ending_; });
}

std::string Simulations::folder_of(std::int64_t id) const { return fmt::format("{}/{}", folder_, id); }

// ---- what there is from earlier ----

void Simulations::open() {
  uploaded_.open();
  std::error_code missing;
  for (const auto& folder : fs::directory_iterator(folder_, missing)) {
    const auto id = parse_whole_number(folder.path().filename().string());
    if (!id) continue;
    next_id_ = std::max(next_id_, *id + 1);
    const auto kept =
        wire::read_json<KeptSimulation>(contents_of(folder.path() / document_file), wire::Unknown::ignore);
    const auto facts =
        kept.ok() ? wire::from_value<KeptFacts>(kept->shown, wire::Unknown::ignore) : Result<KeptFacts>(kept.error());
    if (!facts.ok()) {  // it had not been accepted
      erase_folder(*id);
      continue;
    }
    Entry& entry = entries_[*id];
    answers::SimulationDetails& shown = entry.shown;
    shown.id = *id, shown.user = facts->user, shown.state = facts->state;
    shown.created_at = {kept->created_us}, shown.started_at = time_of(kept->started_us);
    shown.finished_at = time_of(kept->finished_us);
    shown.trace = facts->trace, shown.servers = facts->servers, shown.command = facts->command;
    shown.policies = facts->policies, shown.seeds = facts->seeds;
    shown.job_counts = facts->job_counts.value_or(std::vector<std::int64_t>{});
    shown.loads = facts->loads.value_or(std::vector<double>{});
    shown.keep_cpu_jobs = facts->keep_cpu_jobs.value_or(false);
    shown.jobs = facts->jobs, shown.left_out = facts->left_out, shown.gpus = facts->gpus, shown.load = facts->load;
    shown.left_out_reasons = facts->left_out_reasons;
    shown.progress = facts->progress, shown.failure = facts->failure, shown.results = facts->results;
    entry.arguments = kept->arguments;
  }
  for (auto& [id, entry] : entries_) {
    if (!entry.shown.finished_at && run_) start(entry);
  }
}

// ---- making one ----

void Simulations::create(NewSimulation wanted, const std::string& user, Then<answers::Simulation> then) {
  if (!run_) return then(conflict("not-running", "simulations are made by a running controller"));
  std::size_t open = checking_;
  for (const auto& [id, entry] : entries_) open += entry.shown.finished_at ? 0 : 1;
  if (open >= simulations_open_max)
    return then(unavailable("too-many-simulations", fmt::format("{} simulations wait or run already", open))
                    .hint("wait until one has ended, or remove one: DELETE /api/v1/simulations/ID"));
  ++checking_;
  const std::int64_t id = next_id_++;
  desk_.put([this, id, wanted = std::move(wanted), user, then = std::move(then)]() mutable {
    auto checked = check(wanted, folder_of(id));
    if (!checked.ok()) erase_folder(id);
    post_([this, id, wanted = std::move(wanted), user, then = std::move(then), checked = std::move(checked)]() mutable {
      --checking_;
      checked.ok() ? enter(id, std::move(wanted), user, *checked, then) : then(checked.error());
    });
  });
}

// On the desk's thread. The commands say what is wrong with the trace and the servers.
Result<Simulations::Checked> Simulations::check(const NewSimulation& wanted, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return unavailable("cannot-write", "cannot make the folder " + folder + ": " + error.message());
  for (const auto& [name, text] : wanted.files) {
    if (Status written = write_whole(fs::path(folder) / name, text); !written.ok()) return written.error();
  }
  for (const auto& [name, file] : wanted.linked) {
    fs::create_hard_link(file, fs::path(folder) / name, error);
    if (error) return unavailable("cannot-write", "cannot use " + file + ": " + error.message());
  }
  std::vector<std::string> arguments = {"trace", "info", wanted.trace, "--servers", wanted.servers, "--json"};
  for (std::size_t i = 0; i < wanted.more.size(); ++i) {
    if (wanted.more[i] == "--keep-cpu-jobs") arguments.push_back(wanted.more[i]);
    if (wanted.more[i] == "--jobs")  // the most of several
      arguments.insert(arguments.end(), {"--jobs", wanted.more[i + 1].substr(wanted.more[i + 1].rfind(',') + 1)});
  }
  const auto facts = read_printed<TraceFacts>(run_short(arguments, folder));
  if (!facts.ok()) {
    Error why = facts.error();
    why.pointer = why.code == "bad-servers" || why.code == "bad-cluster" ? "/servers" : "/trace";
    if (why.code == "bad-servers")
      why.hints = {"4x8 is 4 servers of 8 GPUs; 8x4+2x8 are two kinds; pool:320 is one pool"};
    return why;
  }
  const std::int64_t left_out = facts->load.jobs_too_wide;
  if (left_out == facts->jobs)
    return invalid("trace-empty", fmt::format("every job asks for more than the {} GPUs there are", facts->load.gpus))
        .hint("simulate more servers, or narrower jobs")
        .at("/servers");
  if (!wanted.shown.loads.empty() && !facts->load.load)
    return invalid("bad-parameter", "no load can be set: all jobs of the trace are submitted at once")
        .hint("simulate it as it is, without loads")
        .at("/loads");
  return Checked{facts->jobs - left_out, left_out, facts->load.gpus, facts->load.load.value_or(0)};
}

void Simulations::enter(std::int64_t id, NewSimulation wanted, const std::string& user, const Checked& checked,
                        const Then<answers::Simulation>& then) {
  const std::int64_t runs = wanted.shown.progress.runs;
  if (checked.jobs * runs > simulated_jobs_max) {
    desk_.put([this, id] { erase_folder(id); });
    return then(invalid("simulation-too-large", fmt::format("{} runs of {} jobs are {} jobs, more than {}", runs,
                                                            checked.jobs, checked.jobs * runs, simulated_jobs_max))
                    .hint("ask for fewer jobs, policies or seeds; or use: schedulearn sim compare"));
  }
  Entry& entry = entries_[id];
  static_cast<answers::Simulation&>(entry.shown) = std::move(wanted.shown);
  entry.shown.id = id, entry.shown.user = user, entry.shown.state = "queued";
  entry.shown.created_at = {clock_().us};
  entry.shown.jobs = checked.jobs, entry.shown.left_out = checked.left_out, entry.shown.gpus = checked.gpus,
  entry.shown.load = checked.load;
  entry.arguments = {"sim", "compare", "--trace", wanted.trace, "--servers", wanted.servers};
  entry.arguments.insert(entry.arguments.end(), wanted.more.begin(), wanted.more.end());
  entry.shown.command = typed(entry.arguments);
  for (const char* const word : {"--out", results_folder, "--events", "--json", "--progress"})
    entry.arguments.emplace_back(word);
  keep(entry, [this, id, then](const Status& kept) {  // what was accepted survives the controller
    const auto found = entries_.find(id);
    if (found == entries_.end()) return then(unknown_simulation(id));
    if (!kept.ok()) {
      std::ignore = remove(id);
      return then(kept.error());
    }
    start(found->second);
    forget_oldest();
    then(static_cast<const answers::Simulation&>(found->second.shown));
  });
}

void Simulations::start(Entry& entry) {
  entry.shown.state = "queued", entry.shown.started_at.reset(), entry.shown.progress.part = 0;
  changed_(entry.shown.id);
  runner_.put([this, id = entry.shown.id, arguments = entry.arguments, is_unwanted = entry.is_unwanted] {
    run(id, arguments, is_unwanted);
  });
}

// On the runner's thread.
void Simulations::run(std::int64_t id, const std::vector<std::string>& arguments,
                      const std::shared_ptr<std::atomic<bool>>& is_unwanted) {
  if (is_ending_ || *is_unwanted) return;
  post_([this, id] {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    found->second.shown.state = "running", found->second.shown.started_at = wire::Time{clock_().us};
    changed_(id);
  });
  auto printed = run_(arguments, folder_of(id), simulation_limits, [&](std::string_view line) {
    const auto progress = wire::read_json<answers::SimulationProgress>(line, wire::Unknown::ignore);
    if (progress.ok())
      post_([this, id, progress = *progress] {
        const auto found = entries_.find(id);
        if (found == entries_.end()) return;
        found->second.shown.progress = progress;
        changed_(id);
      });
    return !is_ending_ && !*is_unwanted;
  });
  if (is_ending_) return;  // it runs again after the next start
  post_([this, id, printed = std::move(printed)]() mutable { on_end(id, std::move(printed)); });
}

void Simulations::on_end(std::int64_t id, Result<std::string> printed) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return desk_.put([this, id] { erase_folder(id); });  // it was removed meanwhile
  Entry& entry = found->second;
  auto runs = read_printed<ComparedRuns>(printed);
  entry.shown.finished_at = wire::Time{clock_().us};
  if (runs.ok()) {
    entry.shown.results = std::move(runs->results);
    entry.shown.left_out_reasons = std::move(runs->left_out);
    entry.shown.jobs = 0;  // without the impossible ones
    for (const auto& run : entry.shown.results) entry.shown.jobs = std::max(entry.shown.jobs, run.jobs);
    entry.shown.state = "succeeded", entry.shown.progress.part = 1;
    entry.shown.progress.runs_done = entry.shown.progress.runs;
  } else {
    entry.shown.state = "failed", entry.shown.failure = fault_of(runs.error());
  }
  keep(entry, {});  // if the disk is full, it runs again after the next start
  changed_(id);
}

void Simulations::keep(const Entry& entry, const std::function<void(const Status&)>& then) {
  const auto us = [](const std::optional<wire::Time>& time) { return time ? time->us : 0; };
  const KeptSimulation kept{entry.shown.created_at.us, us(entry.shown.started_at), us(entry.shown.finished_at),
                            wire::to_value(entry.shown), entry.arguments};
  desk_.put([this, path = folder_of(entry.shown.id) + "/" + document_file, text = wire::json_text(wire::to_value(kept)),
             then] {
    const Status written = write_whole(path, text);
    if (then) post_([then, written] { then(written); });
  });
}

void Simulations::forget_oldest() {
  while (entries_.size() > simulations_kept_max) {
    const auto oldest =
        std::ranges::find_if(entries_, [](const auto& each) { return each.second.shown.finished_at.has_value(); });
    if (oldest == entries_.end() || !remove(oldest->first).ok()) return;
  }
}

// On the desk's thread, or before it has work.
void Simulations::erase_folder(std::int64_t id) {
  std::error_code ignored;
  fs::remove_all(folder_of(id), ignored);
}

// ---- what there is ----

std::vector<answers::Simulation> Simulations::list() const {
  std::vector<answers::Simulation> all;
  for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) all.push_back(each->second.shown);
  return all;
}

Result<answers::SimulationDetails> Simulations::find(std::int64_t id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return unknown_simulation(id);
  return found->second.shown;
}

Status Simulations::remove(std::int64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return unknown_simulation(id);
  *found->second.is_unwanted = true;
  const bool is_running = found->second.shown.state == "running";
  entries_.erase(found);
  if (!is_running) desk_.put([this, id] { erase_folder(id); });
  changed_(id);
  return {};
}

Result<const answers::SimulationDetails*> Simulations::finished(std::int64_t id, std::optional<int> result) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return unknown_simulation(id);
  const answers::SimulationDetails& shown = found->second.shown;
  if (shown.state != "succeeded")
    return conflict("simulation-unfinished", fmt::format("simulation {} has no results: it is {}", id, shown.state));
  const auto results = static_cast<int>(shown.results.size());
  if (result && *result >= results)
    return invalid("bad-parameter", fmt::format("result is 0 to {}, not {}", results - 1, *result));
  return &shown;
}

void Simulations::draw(std::int64_t id, const ChartWish& wish, Then<answers::SimulationChart> then) {
  const auto found = finished(id, wish.result);
  if (!found.ok()) return then(found.error());
  const answers::SimulationDetails& shown = **found;
  std::vector<std::string> arguments = {"plot",
                                        wish.kind,
                                        "--run",
                                        results_folder,
                                        "--out",
                                        "chart.svg",
                                        "--csv",
                                        "chart.csv",
                                        "--json",
                                        "--theme",
                                        wish.theme,
                                        "--width",
                                        std::to_string(wish.width_mm)};
  if (!wish.metric.empty()) arguments.insert(arguments.end(), {"--metric", wish.metric});
  if (wish.by_server) arguments.insert(arguments.end(), {"--by", "server"});
  // Those with as many jobs, or at the same load.
  const auto choose = [&](const answers::SimulationResult& result) {
    if (!shown.job_counts.empty()) arguments.insert(arguments.end(), {"--where", fmt::format("jobs={}", result.jobs)});
    if (result.load) arguments.insert(arguments.end(), {"--where", fmt::format("load={}", *result.load)});
  };
  if (wish.result) {
    const answers::SimulationResult& result = shown.results[static_cast<std::size_t>(*wish.result)];
    arguments.insert(arguments.end(), {"--policy", result.policy, "--seed", std::to_string(result.seed)});
    for (const auto& [name, value] : result.parameters)
      arguments.insert(arguments.end(), {"--where", name + "=" + value});
    choose(result);
  } else if (wish.kind != "bars" && wish.kind != "lines" && !shown.results.empty()) {
    arguments.insert(arguments.end(), {"--seed", std::to_string(shown.results.front().seed)});
  }
  if (wish.kind == "lines" && !shown.loads.empty()) arguments.insert(arguments.end(), {"--x", "load"});
  if (const std::size_t counts = shown.job_counts.size() + shown.loads.size();
      !wish.result && wish.kind != "lines" && counts > 0)
    choose(shown.results.at((counts - 1) * static_cast<std::size_t>(shown.seeds)));
  desk_.put([this, id, kind = wish.kind, arguments = std::move(arguments), then = std::move(then)] {
    auto chart = drawn(arguments, folder_of(id));
    if (chart.ok()) chart->kind = kind;
    post_([then, chart = std::move(chart)]() mutable { then(std::move(chart)); });
  });
}

// On the desk's thread, where one chart is made after the other.
Result<answers::SimulationChart> Simulations::drawn(const std::vector<std::string>& arguments,
                                                    const std::string& folder) {
  const auto figure = read_printed<DrawnFigure>(run_short(arguments, folder));
  if (!figure.ok()) return figure.error();
  return answers::SimulationChart{.kind = {},
                                  .title = figure->title,
                                  .summary = figure->summary,
                                  .caption = figure->caption,
                                  .svg = contents_of(folder + "/chart.svg"),
                                  .csv = contents_of(folder + "/chart.csv")};
}

void Simulations::jobs(std::int64_t id, std::optional<int> result, std::size_t from, std::size_t count,
                       Then<SimulatedJobs> then) {
  const auto found = finished(id, result);
  if (!found.ok()) return then(found.error());
  const std::size_t results = (*found)->results.size();
  if (!result && results != 1)
    return then(invalid("bad-parameter", fmt::format("result says of which of the {} results, from 0", results))
                    .hint(fmt::format("/api/v1/simulations/{}/jobs?result=0", id)));
  desk_.put([this, folder = folder_of(id), at = static_cast<std::size_t>(result.value_or(0)), from, count,
             then = std::move(then)] {
    auto jobs = jobs_in(folder + "/" + results_folder, at, from, count);
    post_([then, jobs = std::move(jobs)]() mutable { then(std::move(jobs)); });
  });
}

void Simulations::workloads(Then<std::vector<answers::Workload>> then) {
  if (!run_) return then(conflict("not-running", "simulations are made by a running controller"));
  if (!workloads_.empty()) return then(workloads_);
  desk_.put([this, then = std::move(then)] {
    auto listed = read_printed<ListedWorkloads>(run_short({"trace", "ls", "--json"}, "/"));
    post_([this, then, listed = std::move(listed)]() mutable {
      if (!listed.ok()) return then(listed.error());
      workloads_ = std::move(listed->items);
      then(workloads_);
    });
  });
}

Result<answers::Workload> find_workload(const std::vector<answers::Workload>& known, const std::string& name) {
  std::vector<std::string_view> names;
  for (const answers::Workload& each : known) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  Error error = not_found("unknown-workload", "there is no workload " + name);
  if (const auto near = did_you_mean(name, names)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

void Simulations::trace(const std::string& name, Then<answers::Trace> then) {
  if (const auto uploaded = uploaded_.find(name); uploaded.ok()) return then(*uploaded);
  if (const auto known = counted_.find(name); known != counted_.end()) return then(known->second);
  workloads([this, name, then = std::move(then)](const Result<std::vector<answers::Workload>>& known) {
    const auto found = known.ok() ? find_workload(*known, name) : Result<answers::Workload>(known.error());
    found.ok() ? count(*found, then) : then(found.error());
  });
}

void Simulations::traces(Then<std::vector<answers::Trace>> then) {
  workloads([this, then = std::move(then)](const Result<std::vector<answers::Workload>>& known) {
    if (!known.ok()) return then(known.error());
    std::vector<answers::Trace> all = uploaded_.list();
    for (const answers::Workload& workload : *known) {
      const auto found = counted_.find(workload.name);
      all.push_back(found == counted_.end() ? shown_workload(workload, std::nullopt) : found->second);
    }
    then(std::move(all));
  });
}

void Simulations::upload(UploadedTraces::Piece piece, Then<answers::TraceUpload> then) {
  const auto shared = std::make_shared<UploadedTraces::Piece>(std::move(piece));
  workloads([this, shared, then = std::move(then)](const Result<std::vector<answers::Workload>>& known) {
    if (!known.ok()) return then(known.error());
    if (find_workload(*known, shared->name).ok())
      return then(conflict("trace-exists", "there is a workload " + shared->name).hint("give the trace another name"));
    uploaded_.put(std::move(*shared), then);
  });
}

void Simulations::count(const answers::Workload& workload, Then<answers::Trace> then) {
  auto& waiting = wait_for_trace_[workload.name];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  desk_.put([this, workload] {
    auto figures = read_printed<answers::TraceFigures>(run_short({"trace", "info", workload.name, "--json"}, "/"));
    post_([this, workload, figures = std::move(figures)]() mutable {
      const auto told = std::move(wait_for_trace_.extract(workload.name).mapped());
      if (figures.ok()) counted_[workload.name] = shown_workload(workload, std::move(*figures));
      for (const auto& tell : told) figures.ok() ? tell(counted_[workload.name]) : tell(figures.error());
    });
  });
}

}  // namespace sl::controller
