// The one file that includes CLI11. Every command: its options, its examples, one call.
#include "cli/cli.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "base/suggest.h"
#include "cli/commands.h"
#include "plot/commands.h"
#include "sim/commands.h"
#include "sim/trace_commands.h"
#include "wire/error.h"

namespace sl::cli {
namespace {

constexpr const char* version = SCHEDULEARN_VERSION;

constexpr const char* usage = R"(Schedulearn schedules deep-learning jobs on GPU servers.

  schedulearn up                                 start everything on this machine
  schedulearn submit --gpus 1 -- python train.py hand in a training
  schedulearn ls                                 see what runs and what waits

Jobs      submit run ls show logs why wait cancel
Cluster   status gpus events servers (ls lost) policy (ls show set history undo)
Research  sim (run compare)  plot (cdf gantt util lines bars)  trace (info import export gen ls)
System    up controller (run) agent (run) version help

schedulearn COMMAND --help shows examples and every option.
)";

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  if (entry && entry->pw_name) return entry->pw_name;
  const char* name = ::getenv("USER");
  return name ? name : "anonymous";
}

std::string read_secret(const std::string& path) {
  std::ifstream file(path);
  std::string secret;
  std::getline(file, secret);
  return secret;
}

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

// Help begins with examples: they are what most people look for.
class ExamplesFirst : public CLI::Formatter {
 public:
  std::map<const CLI::App*, std::string> examples;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const auto at = examples.find(app);
    const std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    return at == examples.end() || mode != CLI::AppFormatMode::Normal ? text : "Examples:\n" + at->second + "\n" + text;
  }
};

CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (inner->check_name(name)) return const_cast<CLI::App*>(inner);
  }
  return nullptr;
}

class CommandLine {
 public:
  CommandLine(const Roles& roles)
      : roles_(roles), app_("Schedulearn schedules deep-learning jobs on GPU servers.", "schedulearn") {
    app_.set_help_flag("-h,--help", "examples and options");
    app_.set_version_flag("--version", std::string("schedulearn ") + version);
    app_.fallthrough();
    app_.require_subcommand(0, 1);
    add_global_flags();
    add_job_commands();
    add_cluster_commands();
    add_research_commands();
    add_system_commands();
  }

  int run(int argc, char** argv);

 private:
  // A command with its examples on top of its help.
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& summary, const std::string& examples,
                    std::function<int()> action) {
    CLI::App* added = parent.add_subcommand(name, summary);
    added->set_help_flag("-h,--help", "examples and options");
    added->fallthrough();
    formatter_->examples[added] = examples;
    added->formatter(formatter_);
    added->final_callback([this, action = std::move(action)] { action_ = action; });
    return added;
  }
  void add_global_flags();
  void add_job_commands();
  void add_submit(const std::string& name, bool run);
  void add_cluster_commands();
  void add_system_commands();
  void add_research_commands();
  int simulate();
  void add_trace_commands();
  CLI::App* add_trace(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::string& examples, Status (*action)(const sim::TraceCommand&, const sim::Outputs&));
  void add_trace_filters(CLI::App& command);
  void add_simulation(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::string& examples);
  void add_plots();
  void add_plot(CLI::App& parent, const std::string& name, const std::string& summary, const std::string& examples);
  Context context() const;
  int explain_parse_error(const CLI::ParseError& error, int argc, char** argv);

  const Roles& roles_;
  std::shared_ptr<ExamplesFirst> formatter_ = std::make_shared<ExamplesFirst>();
  CLI::App app_;
  std::function<int()> action_;
  std::string url_ = "http://127.0.0.1:5000", json_, color_ = "auto";
  bool plain_ = false, quiet_ = false, no_color_ = false, no_input_ = false, yes_ = false;
  double timeout_s_ = 30;
  SubmitOptions submit_;
  std::map<std::string, std::string> flags_;
  ListOptions list_;
  LogsOptions logs_;
  WaitOptions wait_;
  std::vector<std::string> selectors_, parameters_, after_dashes_;
  std::string name_, wait_timeout_;
  int events_limit_ = 30;
  sim::SimulationOptions simulation_;
  sim::TraceCommand trace_;
  std::string simulated_policies_, duration_min_, duration_max_;
  plot::PlotOptions plot_;
  std::string typed_;  // the command as it was typed
  UpOptions up_;
  ControllerOptions controller_;
  AgentOptions agent_;
};

void CommandLine::add_global_flags() {
  app_.add_option("--url", url_, "where the controller is")->envname("SCHEDULEARN_URL")->group("Everywhere");
  app_.add_option("--json", json_, "the REST document instead of text; --json=id,state chooses fields")
      ->expected(0, 1)
      ->default_str("*")
      ->group("Everywhere");
  app_.add_flag("--plain", plain_, "tab-separated, one record a line")->group("Everywhere");
  app_.add_flag("-q,--quiet", quiet_, "ids only")->group("Everywhere");
  app_.add_option("--color", color_, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group("Everywhere");
  app_.add_flag("--no-color", no_color_, "the same as --color never")->group("Everywhere");
  app_.add_flag("--no-input", no_input_, "never ask")->group("Everywhere");
  app_.add_flag("-y,--yes", yes_, "do not ask for confirmation")->group("Everywhere");
  app_.add_option("--timeout", timeout_s_, "seconds to wait for an answer")
      ->check(CLI::PositiveNumber)
      ->group("Everywhere");
}

void CommandLine::add_submit(const std::string& name, bool run) {
  const std::string examples = "  schedulearn " + name + " --gpus 1 -- python train.py --epochs 10\n  schedulearn " +
                               name + " job.toml\n  schedulearn " + name + " --gpus 2 --launch torchrun -- train.py\n";
  CLI::App* c = command(app_, name, run ? "Submit a job, follow its output, end with its exit code." : "Hand in a job.",
                        examples, [this, run] {
                          SubmitOptions options = submit_;
                          options.command = after_dashes_;
                          for (const auto& [key, text] : flags_) {
                            if (!text.empty()) options.keys[key] = text;
                          }
                          if (run) options.follow = options.wait = options.cancel_on_interrupt = true;
                          return submit(context(), options);
                        });
  c->add_option("file", submit_.file, "job file (TOML or JSON), - for standard input");
  const auto key = [&](const char* flag, const char* name_of_key, const char* help) {
    c->add_option(flag, flags_[name_of_key], help);
  };
  key("--name", "name", "what to call it");
  key("--gpus", "gpus", "how many GPUs, or a range: 2, 1..4");
  key("--servers", "servers", "on how many servers");
  key("--gpu-type", "resources.gpu_type", "a GPU of this name");
  key("--gpu-memory", "resources.gpu_memory", "memory of each GPU: 10GiB");
  key("--cpus", "resources.cpus", "processor cores");
  key("--memory", "resources.memory", "main memory: 64GiB");
  key("--image", "image", "container image");
  key("--launch", "launch", "none, torchrun or ranks");
  key("--framework", "framework", "pytorch, tensorflow, …");
  key("-C,--workdir", "workdir", "working directory (default: here)");
  key("--time-limit", "time.limit", "stop it after running this long: 2h");
  key("--estimate", "time.estimate", "how long you think it runs");
  key("--priority", "priority", "higher goes first");
  key("--checkpoint-dir", "checkpoint.dir", "it saves its state here and can be stopped and resumed");
  key("--checkpoint-signal", "checkpoint.signal", "signal that asks it to save (TERM)");
  key("--grace", "checkpoint.grace", "how long it may take to save");
  key("--retry", "retry.max", "try again this often");
  c->add_option("-e,--env", submit_.env, "NAME=VALUE, or NAME to pass on yours");
  c->add_option("--set", submit_.set, "any key of the job file: --set time.limit=2h");
  c->add_flag_callback(
      "--hold", [this] { flags_["hold"] = "true"; }, "wait until it is released");
  c->add_flag_callback(
      "--no-preempt", [this] { flags_["preemptible"] = "false"; }, "never interrupt it");
  c->add_flag_callback(
      "--no-migrate", [this] { flags_["migratable"] = "false"; }, "never move it");
  if (!run) {
    c->add_flag("-f,--follow", submit_.follow, "follow the output");
    c->add_flag("--wait", submit_.wait, "wait until it has ended");
    c->add_flag("-n,--dry-run", submit_.dry_run, "say what would happen");
  }
}

void CommandLine::add_job_commands() {
  add_submit("submit", false);
  add_submit("run", true);
  CLI::App* ls =
      command(app_, "ls", "What runs, waits and has ended.",
              "  schedulearn ls\n  schedulearn ls --state pending,running\n  schedulearn ls --all --json=id,state\n",
              [this] { return list_jobs(context(), list_); });
  ls->alias("ps");
  ls->alias("queue");
  ls->add_option("--state", list_.state, "only these states, separated by commas");
  ls->add_option("--user", list_.user, "only this user's");
  ls->add_option("--name", list_.word, "only names that contain this");
  ls->add_option("--limit", list_.limit, "at most this many")->check(CLI::Range(1, 100'000));
  ls->add_flag("-a,--all", list_.all, "no limit");
  command(app_, "show", "Everything about a job.", "  schedulearn show 5\n  schedulearn show last --json\n",
          [this] { return show_job(context(), selectors_); })
      ->add_option("job", selectors_, "5, 1-5, 1,3, last, all or a name")
      ->required();
  CLI::App* log = command(app_, "logs", "A job's output.",
                          "  schedulearn logs 5\n  schedulearn logs -f last\n  schedulearn logs --tail 20 mnist\n",
                          [this] { return logs(context(), logs_); });
  log->add_option("job", logs_.selectors, "5, last or a name")->required();
  log->add_flag("-f,--follow", logs_.follow, "go on until the job has ended");
  log->add_option("--tail", logs_.tail, "only the last lines")->check(CLI::NonNegativeNumber);
  log->add_option("--attempt", logs_.attempt, "of an earlier attempt")->check(CLI::PositiveNumber);
  command(app_, "why", "Why a job waits.", "  schedulearn why 5\n", [this] { return why(context(), name_); })
      ->add_option("job", name_, "5, last or a name")
      ->required();
  CLI::App* wait = command(app_, "wait", "Wait until jobs have ended; one job's exit code is ours.",
                           "  schedulearn wait 5\n  schedulearn wait all --for 1h\n", [this] {
                             if (!wait_timeout_.empty()) {
                               const auto seconds = wire::parse_duration_s(wait_timeout_);
                               if (!seconds.ok()) return fail(seconds.error());
                               wait_.timeout_s = *seconds;
                             }
                             catch_interrupts();
                             return wait_jobs(context(), wait_);
                           });
  wait->add_option("job", wait_.selectors, "5, 1-5, last, all or a name")->required();
  wait->add_option("--for", wait_timeout_, "give up after this long: 10m (exit status 124)");
  command(app_, "cancel", "Stop jobs, or take them out of the queue.",
          "  schedulearn cancel 5\n  schedulearn cancel all --yes\n",
          [this] { return cancel_jobs(context(), selectors_); })
      ->add_option("job", selectors_, "5, 1-5, last, all or a name")
      ->required();
}

void CommandLine::add_cluster_commands() {
  command(app_, "status", "The controller, its servers and the queue in short.", "  schedulearn status\n",
          [this] { return cluster_status(context()); });
  command(app_, "gpus", "Every GPU and who has it.", "  schedulearn gpus\n", [this] { return list_gpus(context()); });
  command(app_, "events", "What has happened, newest last.", "  schedulearn events --limit 50\n",
          [this] { return list_events(context(), events_limit_); })
      ->add_option("--limit", events_limit_, "how many")
      ->check(CLI::Range(1, 10'000));
  CLI::App* servers = app_.add_subcommand("servers", "Servers: ls, lost.");
  servers->require_subcommand(1);
  servers->fallthrough();
  command(*servers, "ls", "The servers and how they stand.", "  schedulearn servers ls\n",
          [this] { return cluster_status(context()); });
  command(*servers, "lost", "Declare a server dead: its jobs go back to the queue and start elsewhere.",
          "  schedulearn servers lost gpu4\n", [this] { return declare_server_lost(context(), name_); })
      ->add_option("name", name_, "a server that does not answer any more")
      ->required();

  CLI::App* policy = app_.add_subcommand("policy", "Scheduling policies: ls, show, set, history, undo.");
  policy->require_subcommand(1);
  policy->fallthrough();
  command(*policy, "ls", "The policies there are.", "  schedulearn policy ls\n",
          [this] { return list_policies(context()); });
  command(*policy, "show", "A policy, what it is good for, its parameters.",
          "  schedulearn policy show\n  schedulearn policy show fifo\n",
          [this] { return show_policy(context(), name_); })
      ->add_option("name", name_, "default: the one in force");
  CLI::App* set = command(*policy, "set", "Switch the policy while jobs wait and run; none is lost.",
                          "  schedulearn policy set round_robin\n  schedulearn policy set fifo --param preset=seed\n",
                          [this] { return set_policy(context(), name_, parameters_); });
  set->add_option("name", name_, "see: schedulearn policy ls")->required();
  set->add_option("--param", parameters_, "name=value");
  command(*policy, "history", "Which policy was in force since when, and who chose it.",
          "  schedulearn policy history\n", [this] { return policy_history(context()); });
  command(*policy, "undo", "Back to the policy before, with its parameters; within 10 minutes.",
          "  schedulearn policy undo\n", [this] { return undo_policy(context()); });
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

int CommandLine::simulate() {
  sim::SimulationOptions options = simulation_;
  options.json = context().as_json;
  options.plain = context().plain;
  options.show_progress = context().interactive && !context().quiet;
  options.policies = split_at_commas(simulated_policies_);
  options.parameters = parameters_;
  options.command = typed_;
  options.interrupted = [] { return interrupts() > 0; };
  for (const auto& [text, seconds] :
       {std::pair(&duration_min_, &options.duration_min_s), std::pair(&duration_max_, &options.duration_max_s)}) {
    if (text->empty()) continue;
    const auto parsed = wire::parse_duration_s(*text);
    if (!parsed.ok()) return fail(parsed.error());
    *seconds = *parsed;
  }
  catch_interrupts();
  const Result<bool> done = sim::compare(options, std::cout);
  if (!done.ok()) return fail(done.error());
  return *done ? 0 : 130;
}

void CommandLine::add_simulation(CLI::App& parent, const std::string& name, const std::string& summary,
                                 const std::string& examples) {
  sim::SimulationOptions& options = simulation_;
  CLI::App* c = command(parent, name, summary, examples, [this] { return simulate(); });
  c->add_option("--trace", options.trace, "CSV, plain or .gz, with job_id, submit_time_s, gpus and duration_s")
      ->required();
  c->add_option("--servers", options.servers, "the cluster: 32x8 is 32 servers of 8 GPUs; or 8x4+2x8, or a file");
  c->add_option("--policy,--policies", simulated_policies_, "see: schedulearn policy ls; all: every one")->required();
  c->add_option("--param", parameters_, "[POLICY.]NAME=VALUE; several values, one run for each: knob=4,8");
  c->add_option("--switch", options.switches, "TIME=POLICY: change to it so long after the first submission");

  c->add_option("--seed,--seeds", options.seeds, "1..10: one run for each, with 95 % intervals");
  c->add_option("--jobs", options.job_counts, "only the first so many; several, one run for each: 100,200,400");
  c->add_option("--max-gpus", options.gpus_max, "leave out wider jobs")->check(CLI::PositiveNumber);
  c->add_option("--oversize", options.oversize, "jobs wider than that: drop, fail or clip")
      ->check(CLI::IsMember({"drop", "fail", "clip"}));
  c->add_option("--min-duration", duration_min_, "shorter jobs are made this long: 1s");
  c->add_option("--max-duration", duration_max_, "longer jobs are made this long: 2d");
  c->add_option("--elastic", options.elastic, "0.5..2: jobs run on half to twice the GPUs they ask for");
  c->add_option("--profile", options.profile, "how fast then: linear, or a profile of docs/guide/simulator.md");
  c->add_option("--restart-cost", options.restart_cost_s, "seconds lost each time a preempted job goes on")
      ->check(CLI::NonNegativeNumber);
  c->add_flag("--blind", options.blind, "policies see the users' estimates, not the true durations");
  c->add_option("--semantics", options.semantics, "reproduce a published simulator to the second: tiresias or lucid");

  c->add_option("--metrics", options.metrics, "columns of the table: avg_jct_s,makespan_s; all: every one");
  c->add_option("--out", options.folder, "keep the results in this folder, for schedulearn plot");
  c->add_flag("--events", options.events, "with every start, stop and end");
  c->add_option("--jobs-out", options.jobs_out, "write every job's times to this CSV");
  c->add_option("--events-out", options.events_out, "write every start, stop and end to this CSV");
}

void CommandLine::add_research_commands() {
  CLI::App* group = app_.add_subcommand("sim", "Run policies on a trace under a virtual clock: run, compare.");
  group->require_subcommand(1);
  group->fallthrough();
  add_simulation(*group, "run", "Simulate one policy on a trace.",
                 "  schedulearn sim run --trace philly.csv.gz --servers 32x8 --policy fifo --jobs-out jobs.csv\n");
  add_simulation(*group, "compare", "Simulate several policies on the same trace, on all cores.",
                 "  schedulearn sim compare --trace philly.csv.gz --servers 32x8 --policies fifo,srtf,tiresias\n"
                 "  schedulearn sim compare --trace t.csv --policies all --seeds 1..10 --out results\n");
  add_plots();
  add_trace_commands();
}

void CommandLine::add_plot(CLI::App& parent, const std::string& name, const std::string& summary,
                           const std::string& examples) {
  CLI::App* c = command(parent, name, summary, examples, [this, name] {
    plot::PlotOptions options = plot_;
    options.chart = name;
    options.command = typed_;
    options.version = std::string("schedulearn ") + version;
    options.json = context().as_json;
    const Status done = plot::plot(options, std::cout);
    return done.ok() ? 0 : fail(done.error());
  });
  const auto list = [&](const char* flag, std::vector<std::string>& into, const char* help) {
    return c->add_option(flag, into, help)->delimiter(',');
  };
  CLI::Option* run = list("--run", plot_.runs, "result folders, as sim compare --out wrote them");
  if (name == "cdf") {
    list("--jobs", plot_.jobs, "instead: files with a row for every job")->excludes(run);
  } else {
    run->required();
  }
  list("--policy,--policies", plot_.policies, "only these policies");
  c->add_option("--seed", plot_.seed, "only this seed");
  list("--where", plot_.where, "only results with key=value, of a parameter or a number");
  const bool is_in_time = name == "gantt" || name == "util";
  if (!is_in_time)
    list("--metric", plot_.metrics, name == "cdf" ? "jct, wait, slowdown or run" : "one or more numbers");
  if (name == "cdf") c->add_option("--scale", plot_.scale, "of the x axis: auto, linear or log");
  if (name == "lines") c->add_option("--x", plot_.x, "jobs, seed, a parameter or a number");
  if (name == "util") c->add_option("--by", plot_.by, "cluster or server");
  if (is_in_time) {
    c->add_option("--from", plot_.from, "time since the first submission: 2h");
    c->add_option("--to", plot_.to, "time since the first submission: 3h");
    list("--servers", plot_.servers, "only these: gpu0,gpu1 or gpu*");
  }
  c->add_option("-o,--out", plot_.out, "NAME.svg, NAME.png or - (default: the chart's name, here)");
  c->add_option("--csv", plot_.csv, "where the numbers go (default: beside the picture)");
  c->add_option("--width", plot_.width_mm, "millimetres");
  c->add_option("--theme", plot_.theme, "auto (as the reader's system is), light or dark");
}

void CommandLine::add_plots() {
  CLI::App* group = app_.add_subcommand("plot", "Pictures of simulations: cdf, gantt, util, lines, bars.");
  group->require_subcommand(1);
  group->fallthrough();
  add_plot(*group, "cdf", "Which share of the jobs needed at most so long.",
           "  schedulearn plot cdf --run results\n  schedulearn plot cdf --run results --metric wait --out wait.svg\n"
           "  schedulearn plot cdf --jobs fifo.csv,sjf.csv\n");
  add_plot(*group, "gantt", "Who held which GPU when.",
           "  schedulearn plot gantt --run results --policy fifo\n"
           "  schedulearn plot gantt --run results --policy fifo --from 1h --to 3h --servers gpu0,gpu1\n");
  add_plot(*group, "util", "Which share of the GPUs was held over time.",
           "  schedulearn plot util --run results\n  schedulearn plot util --run results --policy fifo --by server\n");
  add_plot(*group, "lines", "Numbers of results over jobs, seed or a parameter.",
           "  schedulearn plot lines --run results --x jobs --metric makespan,turnaround\n");
  add_plot(*group, "bars", "Numbers of results, a bar for each policy.",
           "  schedulearn plot bars --run results\n  schedulearn plot bars --run results --metric avg_wait_s\n");
}


CLI::App* CommandLine::add_trace(CLI::App& parent, const std::string& name, const std::string& summary,
                                 const std::string& examples,
                                 Status (*action)(const sim::TraceCommand&, const sim::Outputs&)) {
  return command(parent, name, summary, examples, [this, action] {
    trace_.json = context().as_json;
    for (const auto& [text, seconds] : {std::pair(&duration_min_, &trace_.filter.duration_min_s),
                                        std::pair(&duration_max_, &trace_.filter.duration_max_s)}) {
      if (text->empty()) continue;
      const auto parsed = wire::parse_duration_s(*text);
      if (!parsed.ok()) return fail(parsed.error());
      *seconds = *parsed;
    }
    const Status done = action(trace_, {std::cout, std::cerr});
    return done.ok() ? 0 : fail(done.error());
  });
}

void CommandLine::add_trace_filters(CLI::App& c) {
  c.add_option("--max-gpus", trace_.filter.gpus_max, "leave out wider jobs")->check(CLI::PositiveNumber);
  c.add_option("--oversize", trace_.filter.oversize, "jobs wider than that: drop, fail or clip")
      ->check(CLI::IsMember({"drop", "fail", "clip"}));
  c.add_option("--min-duration", duration_min_, "shorter jobs are made this long: 1s");
  c.add_option("--max-duration", duration_max_, "longer jobs are made this long: 2d");
  c.add_option("--jobs", trace_.filter.jobs, "only the first so many")->check(CLI::PositiveNumber);
}

void CommandLine::add_trace_commands() {
  CLI::App* group = app_.add_subcommand("trace", "Traces of jobs: info, import, export, gen, ls.");
  group->require_subcommand(1);
  group->fallthrough();
  const auto add_out = [this](CLI::App* c) {
    c->add_option("-o,--out", trace_.out, "file, .gz to compress it; default: standard output");
  };
  const auto add_seed = [this](CLI::App* c) {
    c->add_option("--seed", trace_.seed, "of a workload: the same seed, the same bytes");
  };
  CLI::App* info =
      add_trace(*group, "info", "What is in a trace: jobs, sizes, durations, load.",
                "  schedulearn trace info philly.csv.gz --servers 32x8\n  schedulearn trace info poisson:jobs=5000\n",
                sim::trace_info);
  info->add_option("trace", trace_.source, "CSV file, plain or .gz, or a workload")->required();
  info->add_option("--servers", trace_.servers, "say how full it keeps this cluster: 32x8");
  add_trace_filters(*info);
  add_seed(info);
  CLI::App* take = add_trace(*group, "import", "Make a trace of a published one: Philly, Helios, Alibaba PAI, SWF.",
                             "  schedulearn trace import philly cluster_job_log --out philly.csv.gz\n"
                             "  schedulearn trace import pai pai_job_table.csv pai_task_table.csv --out pai.csv.gz\n",
                             sim::trace_import);
  take->add_option("format", trace_.format, "philly, helios, pai or swf")
      ->required()
      ->check(CLI::IsMember({"philly", "helios", "pai", "swf"}));
  take->add_option("files", trace_.files, "plain or .gz")->required();
  add_out(take);
  add_trace_filters(*take);
  CLI::App* write = add_trace(*group, "export", "Write a trace, or a part of it, as CSV or SWF.",
                              "  schedulearn trace export philly.csv.gz --jobs 1000 --max-gpus 8 --out small.csv\n"
                              "  schedulearn trace export philly.csv.gz --format swf --out philly.swf\n",
                              sim::trace_export);
  write->add_option("trace", trace_.source, "CSV file, plain or .gz, or a workload")->required();
  write->add_option("--format", trace_.format, "csv or swf")->check(CLI::IsMember({"csv", "swf"}));
  add_out(write);
  add_trace_filters(*write);
  add_seed(write);
  CLI::App* make = add_trace(*group, "gen", "Make a trace from a workload and a seed.",
                             "  schedulearn trace gen poisson jobs=5000 load=0.9 --seed 7 --out t.csv.gz\n"
                             "  schedulearn trace gen thesis/pytorch-mnist jobs=20\n",
                             sim::trace_generate);
  make->add_option("workload", trace_.source, "see: schedulearn trace ls")->required();
  make->add_option("values", trace_.values, "KEY=VALUE of its parameters");
  add_out(make);
  add_trace_filters(*make);
  add_seed(make);
  add_trace(*group, "ls", "The workloads there are, or one with its parameters.",
            "  schedulearn trace ls\n  schedulearn trace ls poisson\n", sim::trace_list)
      ->add_option("workload", trace_.source, "show the parameters of this one");
}

void CommandLine::add_system_commands() {
  CLI::App* up =
      command(app_, "up", "Controller and agent on this machine, until Ctrl-C.",
              "  schedulearn up\n  schedulearn up --simulate 4\n  schedulearn up --listen 127.0.0.1:0 --data ./data\n",
              [this] { return roles_.up(up_); });
  up->add_option("--data", up_.data, "data directory (default: ~/.local/share/schedulearn)")
      ->envname("SCHEDULEARN_DATA");
  up->add_option("--simulate", up_.simulate, "this many GPUs that do not exist (default 4 when there is no real one)");
  up->add_option("--listen", up_.listen, "address and port");
  up->add_flag("--no-open", up_.no_open, "do not open a browser");
  CLI::App* controller = app_.add_subcommand("controller", "The daemon with the queue: run.");
  controller->require_subcommand(1);
  controller->fallthrough();
  CLI::App* run = command(*controller, "run", "Run the controller in the foreground.",
                          "  schedulearn controller run --data /var/lib/schedulearn\n",
                          [this] { return roles_.controller(controller_); });
  run->add_option("--data", controller_.data, "data directory")->required();
  run->add_option("--listen", controller_.listen, "address and port");
  run->add_option("--token-file", controller_.token_file,
                  "first line: the token everybody must show; needed beyond loopback");
  CLI::App* agent = app_.add_subcommand("agent", "The daemon on each server: run.");
  agent->require_subcommand(1);
  agent->fallthrough();
  CLI::App* serve = command(*agent, "run", "Run the agent of this server in the foreground.",
                            "  schedulearn agent run --join http://lab:5000 --data /var/lib/schedulearn-agent\n",
                            [this] { return roles_.agent(agent_); });
  serve->add_option("--join", agent_.join, "where the controller is")->required();
  serve->add_option("--data", agent_.data, "data directory")->required();
  serve->add_option("--name", agent_.name, "the server's name (default: the host's)");
  serve->add_option("--simulate", agent_.simulate, "this many GPUs that do not exist")->check(CLI::Range(1, 64));
  serve->add_option("--token-file", agent_.token_file, "first line: the controller's token");
  command(app_, "version", "The version of this program.", "  schedulearn version\n", [] {
    std::printf("schedulearn %s\n", version);
    return 0;
  });
  command(app_, "help", "How to use it.", "  schedulearn help\n  schedulearn help submit\n", [this] {
    if (selectors_.empty()) {
      std::fputs(usage, stdout);
      return 0;
    }
    const CLI::App* of = &app_;
    for (const std::string& word : selectors_) {
      of = find_command(*of, word);
      if (!of) return fail(invalid("unknown-command", "there is no command " + word).hint("schedulearn help"));
    }
    std::fputs(of->help().c_str(), stdout);
    return 0;
  })->add_option("command", selectors_, "of this command");
}

Context CommandLine::context() const {
  Context c;
  c.url = url_;
  while (c.url.ends_with('/')) c.url.pop_back();
  c.user = user_name();
  c.token = variable("SCHEDULEARN_TOKEN");
  if (const std::string file = variable("SCHEDULEARN_TOKEN_FILE"); !file.empty()) c.token = read_secret(file);
  c.timeout_s = timeout_s_;
  c.as_json = app_.count("--json") > 0;
  if (c.as_json && json_ != "*" && !json_.empty()) {
    for (std::size_t at = 0; at <= json_.size();) {
      const std::size_t comma = std::min(json_.find(',', at), json_.size());
      c.json_fields.push_back(json_.substr(at, comma - at));
      at = comma + 1;
    }
  }
  c.plain = plain_;
  c.quiet = quiet_;
  const bool terminal = ::isatty(STDOUT_FILENO) != 0 && variable("TERM") != "dumb";
  c.color = color_ == "always" || (color_ == "auto" && !no_color_ && terminal && variable("NO_COLOR").empty()) ||
            (color_ == "auto" && !no_color_ && !variable("CLICOLOR_FORCE").empty());
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) locale = locale.empty() ? variable(name) : locale;
  c.unicode = locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  c.interactive = !no_input_ && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  c.assume_yes = yes_;
  return c;
}

// The word that was not understood, and the one that was probably meant.
int CommandLine::explain_parse_error(const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> known;
  const CLI::App* at = &app_;
  for (int i = 1; i < argc; ++i) {
    if (const CLI::App* inner = find_command(*at, argv[i])) at = inner;
  }
  for (const CLI::App* level : {static_cast<const CLI::App*>(&app_), at}) {
    for (const CLI::App* inner : level->get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(inner->get_name());
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  Error problem = invalid("usage", error.what());
  std::vector<std::string_view> views(known.begin(), known.end());
  for (int i = 1; i < argc && problem.hints.empty() && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word(argv[i], std::string_view(argv[i]).find('=') == std::string_view::npos
                                        ? std::string_view(argv[i]).size()
                                        : std::string_view(argv[i]).find('='));
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const bool flag = word.starts_with("--");
    const bool is_command = i == 1 || (i == 2 && (at->get_name() == "policy" || at->get_name() == "servers" ||
                                                  at->get_name() == "controller" || at->get_name() == "agent" ||
                                                  at->get_name() == "sim" || at->get_name() == "plot"));
    if (!flag && !is_command) continue;
    problem.message = flag ? "there is no flag " + word : "there is no command " + word;
    problem.code = flag ? "unknown-flag" : "unknown-command";
    if (const auto near = did_you_mean(word, views)) problem.hints.push_back("did you mean " + *near + "?");
  }
  problem.hints.push_back(at == &app_ ? "schedulearn help" : "schedulearn help " + at->get_name());
  if (problem.hints.size() > 2) problem.hints.resize(2);
  return fail(problem);
}

int CommandLine::run(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) typed_ += (i > 0 ? " " : "") + std::string(i > 0 ? argv[i] : "schedulearn");
  if (argc == 1) {
    std::fputs(usage, stdout);
    return 0;
  }
  // What follows -- is the job's command, whatever it looks like.
  int ours = argc;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      ours = i;
      after_dashes_.assign(argv + i + 1, argv + argc);
      break;
    }
  }
  try {
    app_.parse(ours, argv);
  } catch (const CLI::CallForHelp& help) {
    if (app_.get_subcommands().empty()) return std::fputs(usage, stdout), 0;
    return app_.exit(help);
  } catch (const CLI::Success& done) {
    return app_.exit(done);
  } catch (const CLI::ParseError& error) {
    return explain_parse_error(error, ours, argv);
  }
  if (action_) return action_();
  std::fputs(usage, stdout);
  return 0;
}

}  // namespace

int run_cli(int argc, char** argv, const Roles& roles) { return CommandLine(roles).run(argc, argv); }

}  // namespace sl::cli
