#include "cli/research.h"

#include <iostream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/plot.h"
#include "cli/plot_inputs.h"
#include "cli/usage.h"
#include "plot/series.h"
#include "python_policy/loader.h"
#include "wire/error.h"
#include "wire/job_spec.h"
#include "wire/json.h"

namespace sl::cli {
namespace {

// Of --min-duration and --max-duration, where they are given.
Status check_durations(double least_s, const std::string& given_max, double most_s) {
  if (given_max.empty()) return {};
  if (most_s <= 0) return invalid("bad-flag", "--max-duration is above zero").hint("--max-duration 2d");
  if (least_s > most_s) return invalid("bad-flag", "--min-duration is longer than --max-duration");
  return {};
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

// --json=FIELDS: of the document, or of each run.
void print_fields(const Context& context, const std::string& text) {
  auto document = wire::parse_json(text);
  if (!document.ok() || !document->is_object()) return;
  json::object& object = document->as_object();
  object["items"] = object["results"];
  context.print_json(*document);
}

}  // namespace

Result<PolicyEntry> read_policy_file(const std::string& path) {
  const auto script = python_policy::read_script(path);
  if (!script.ok()) return script.error();
  return python_policy::make_loader(python_policy::simulation_settings())(script->file, script->source);
}

int Research::say(bool& as_json, const std::function<Status(std::ostream&)>& action) const {
  const Context context = context_();
  as_json = context.is_for_programs();
  std::ostringstream said;
  const bool is_changed = context.plain || !context.json_fields.empty();
  const Status done = action(is_changed ? said : std::cout);
  if (!done.ok()) return fail(done.error());
  const auto document = wire::parse_json(said.str());
  if (document.ok())
    context.print_for_programs(*document);
  else
    std::cout << said.str();  // nothing, or a trace
  return 0;
}

int Research::simulate() {
  SimulationOptions options = simulation_;
  options.json = context_().as_json;
  options.plain = context_().plain;
  options.columns = context_().columns;
  options.show_progress = context_().interactive && !context_().quiet;
  options.policies = split_at_commas(simulated_policies_);
  options.parameters = parameters_;
  options.command = typed_;
  options.read_policy = read_policy_file;
  options.interrupted = [] { return interrupts() > 0; };
  for (const auto& [text, seconds] :
       {std::pair(&duration_min_, &options.duration_min_s), std::pair(&duration_max_, &options.duration_max_s)}) {
    if (text->empty()) continue;
    const auto parsed = wire::parse_duration_s(*text);
    if (!parsed.ok()) return fail(parsed.error());
    *seconds = *parsed;
  }
  if (const Status sound = check_durations(options.duration_min_s, duration_max_, options.duration_max_s); !sound.ok())
    return fail(sound.error());
  catch_interrupts(true);
  const Context context = context_();
  std::ostringstream said;
  const Result<bool> done = compare(options, context.json_fields.empty() ? std::cout : said);
  if (!said.str().empty()) print_fields(context, said.str());  // also what was finished before one has failed
  if (!done.ok()) return fail(done.error());
  return *done ? 0 : 130;
}

void Research::add_simulation(CLI::App& parent, const std::string& name, const std::string& summary,
                              const std::string& examples) {
  SimulationOptions& options = simulation_;
  CLI::App* c = command_(parent, name, summary, examples, [this] { return simulate(); });
  c->add_option("--trace", options.trace,
                "CSV, plain or .gz, or a workload: poisson:jobs=1000; see: schedulearn trace ls")
      ->required();
  c->add_option("--servers", options.servers,
                "the cluster: 32x8 is 32 servers of 8 GPUs; or 8x4+2x8, or pool:320, one pool of GPUs, or a file");
  c->add_option("--policy,--policies", simulated_policies_,
                "see: schedulearn policy ls; all: every one; ./mine.py: a policy of your own")
      ->required();
  c->add_option("--param", parameters_, "[POLICY.]NAME=VALUE; several values, one run per value: knob=4,8");
  c->add_option("--switch", options.switches,
                "TIME=POLICY[:NAME=VALUE,...]: switch to this policy this long after the first submission");

  c->add_option("--seed,--seeds", options.seeds, "1..10: one run per seed, with 95 % intervals");
  c->add_option("--jobs", options.job_counts,
                "only this many jobs from the start; several numbers, one run per number: 100,200,400");
  c->add_option(
      "--load", options.loads,
      "let jobs come closer together or further apart, until they are this load; one run per value: 0.5,0.8,1.1");
  c->add_option("--max-gpus", options.gpus_max, "leave out wider jobs")->check(above_zero());
  c->add_flag("--keep-cpu-jobs", options.keep_cpu_jobs, "keep jobs without a GPU, which are left out otherwise");
  c->add_option("--oversize", options.oversize, "what to do with wider jobs: drop, fail or clip")
      ->check(one_of({"drop", "fail", "clip"}));
  c->add_option("--min-duration", duration_min_, "lengthen shorter jobs to this: 1s");
  c->add_option("--max-duration", duration_max_, "shorten longer jobs to this: 2d");
  c->add_option("--elastic", options.elastic, "0.5..2: jobs run on half to twice the GPUs they ask for");
  c->add_option("--profile", options.profile,
                "with --elastic: their speedup, linear or a profile of docs/guide/simulator.md");
  c->add_option("--profiles", options.profiles,
                "files: how trainings of a family really run, for jobs whose profile or model names that family");
  c->add_option("--costs", options.costs, "what interruptions cost, as measured: schedulearn profile costs --out FILE");
  c->add_option("--restart-cost", options.restart_cost_s,
                "seconds lost each time a preempted job continues, unless its profile says how many")
      ->check(not_negative());
  c->add_flag("--blind", options.blind, "policies know only what users state and running jobs report");
  c->add_option("--semantics", options.semantics,
                "reproduce a published simulator to the second: tiresias, tiresias-mended, lucid or pollux");

  c->add_option("--metrics", options.metrics, "columns of the table: avg_jct_s,makespan_s; all: every one")
      ->check(not_empty());
  c->add_flag("--notes", options.notes, "print all notes on what policies assume, not only how many there are");
  c->add_flag("--progress", options.report_progress, "report progress on standard error, as lines of JSON");
  c->add_option("--out", options.folder, "write the results to this folder, for schedulearn plot")->check(not_empty());
  c->add_flag("--events", options.events, "with --out: also every start, stop and end");
  c->add_option("--jobs-out", options.jobs_out, "write every job's times to this CSV")->check(not_empty());
  c->add_option("--events-out", options.events_out, "write every start, stop and end to this CSV")->check(not_empty());
}

void Research::add_to(CLI::App& app) {
  CLI::App* group = app.add_subcommand(
      "sim", "Run policies on a trace under a virtual clock: run, compare; those of the controller: ls, show, rm.");
  group->require_subcommand(1);
  group->fallthrough();
  add_simulation(*group, "run", "Simulate one policy on a trace.",
                 "  schedulearn sim run --trace philly.csv.gz --servers 32x8 --policy fifo --jobs-out jobs.csv\n");
  add_simulation(*group, "compare", "Simulate several policies on the same trace, on all cores.",
                 "  schedulearn sim compare --trace philly.csv.gz --servers 32x8 --policies fifo,srtf,tiresias\n"
                 "  schedulearn sim compare --trace t.csv --policies all --seeds 1..10 --out results\n"
                 "  schedulearn sim compare --trace t.csv --policies fifo,srtf --load 0.5,0.8,1.1 --out results\n");
  command_(*group, "ls", "Simulations that the controller was asked for, by the page or by REST.",
           "  schedulearn sim ls\n", [this] { return list_simulations(context_()); });
  command_(*group, "show", "One of them, with the figures of its runs.", "  schedulearn sim show 3\n",
           [this] { return show_simulation(context_(), simulation_id_); })
      ->add_option("id", simulation_id_, "see: schedulearn sim ls")
      ->required();
  command_(*group, "rm", "Remove one; it is stopped if it runs.", "  schedulearn sim rm 3\n",
           [this] { return remove_simulation(context_(), simulation_id_); })
      ->add_option("id", simulation_id_, "see: schedulearn sim ls")
      ->required();
  add_plots(app);
  add_trace_commands(app);
  add_estimates(app);
  add_reproduce(app);
}

void Research::add_plot(CLI::App& parent, const std::string& name, const std::string& summary,
                        const std::string& examples) {
  CLI::App* c = command_(parent, name, summary, examples, [this, name] {
    plot::PlotOptions options = plot_;
    options.chart = name;
    options.command = typed_;
    options.version = "schedulearn " SCHEDULEARN_VERSION;
    return say(options.json, [&](std::ostream& out) { return run_plot(options, out); });
  });
  const auto list = [&](const char* flag, std::vector<std::string>& into, const char* help) {
    return c->add_option(flag, into, help)->delimiter(',');
  };
  CLI::Option* run = list("--run", plot_.runs, "result folders, as sim compare --out wrote them");
  if (name == "cdf") {
    list("--jobs", plot_.jobs, "instead of --run: files with one row per job")->excludes(run);
  } else {
    run->required();
  }
  list("--policy,--policies", plot_.policies, "only these policies");
  c->add_option("--seed", plot_.seed, "only this seed");
  list("--where", plot_.where, "only results with key=value, for a parameter or a number");
  const bool is_in_time = name == "gantt" || name == "util" || name == "queue";
  if (!is_in_time)
    list("--metric", plot_.metrics, name == "cdf" ? "jct, wait, slowdown or run" : "one or more numbers");
  if (name == "cdf" || name == "bars") c->add_option("--scale", plot_.scale, "of the x axis: auto, linear or log");
  if (name == "lines") c->add_option("--x", plot_.x, "jobs, load, seed, a parameter or a number");
  if (name == "util") c->add_option("--by", plot_.by, "cluster or server");
  if (is_in_time) {
    c->add_option("--from", plot_.from, "time since the first submission: 2h");
    c->add_option("--to", plot_.to, "time since the first submission: 3h");
    if (name != "queue") list("--servers", plot_.servers, "only these: gpu0,gpu1 or gpu*");
  }
  add_picture_options(*c);
}

void Research::add_picture_options(CLI::App& c) {
  c.add_option("-o,--out", plot_.out, "NAME.svg, NAME.png or - (default: the chart's name, here)");
  c.add_option("--csv", plot_.csv, "file for the numbers (default: next to the picture)");
  c.add_option("--width", plot_.width_mm, "millimetres");
  c.add_option("--theme", plot_.theme, "auto (follows the reader's system), light or dark");
}

void Research::add_live_plot(CLI::App& parent, const std::string& name, const std::string& summary,
                             const std::string& path, Result<plot::Figure> (*figure_of)(const json::value&)) {
  const std::string example = "  schedulearn plot " + name;
  CLI::App* c = command_(parent, name, summary, example + "\n" + example + " --out " + name + ".png\n", [=, this] {
    const auto series = context_().get(path);
    return draw_figure(name, series.ok() ? figure_of(*series) : Result<plot::Figure>(series.error()));
  });
  add_picture_options(*c);
}

int Research::draw_figure(const std::string& chart, Result<plot::Figure> figure) {
  if (!figure.ok()) return fail(figure.error());
  plot_.chart = chart;
  figure->command = typed_;
  figure->version = "schedulearn " SCHEDULEARN_VERSION;
  return say(plot_.json, [&](std::ostream& out) { return draw(*figure, plot_, plotted_, out); });
}

CLI::App* Research::add_input_plot(CLI::App& parent, const std::string& name, const std::string& summary,
                                   const std::string& examples, std::function<Result<plot::Figure>()> make) {
  CLI::App* c = command_(parent, name, summary, examples,
                         [=, this, make = std::move(make)] { return draw_figure(name, make()); });
  add_picture_options(*c);
  return c;
}

void Research::add_plots(CLI::App& app) {
  CLI::App* group = app.add_subcommand("plot",
                                       "Draw results of simulations (cdf, gantt, util, queue, lines, bars), what they "
                                       "are fed with (arrivals, speedup), what a shadow found (regret), and what is "
                                       "foreseen (ahead).");
  group->require_subcommand(1);
  group->fallthrough();
  add_plot(*group, "cdf", "The share of jobs that took at most x.",
           "  schedulearn plot cdf --run results\n  schedulearn plot cdf --run results --metric wait --out wait.svg\n"
           "  schedulearn plot cdf --jobs fifo.csv,sjf.csv\n");
  add_plot(*group, "gantt", "Which job held which GPU when.",
           "  schedulearn plot gantt --run results --policy fifo\n"
           "  schedulearn plot gantt --run results --policy fifo --from 1h --to 3h --servers gpu0,gpu1\n");
  add_plot(*group, "util", "The share of GPUs held over time.",
           "  schedulearn plot util --run results\n  schedulearn plot util --run results --policy fifo --by server\n");
  add_plot(*group, "queue", "How many jobs waited over time.",
           "  schedulearn plot queue --run results\n  schedulearn plot queue --run results --policy fifo --to 2h\n");
  add_plot(*group, "lines", "Numbers of results over jobs, seed or a parameter.",
           "  schedulearn plot lines --run results --x jobs --metric makespan,turnaround\n");
  add_plot(*group, "bars", "Numbers of results, one bar per policy.",
           "  schedulearn plot bars --run results\n  schedulearn plot bars --run results --metric avg_wait_s\n");
  CLI::App* arrivals = add_input_plot(
      *group, "arrivals", "How many jobs of traces were submitted over time.",
      "  schedulearn plot arrivals philly.csv.gz\n  schedulearn plot arrivals thesis/pytorch-mnist:jobs=20\n",
      [this] { return arrivals_of(plotted_, trace_.seed); });
  arrivals->add_option("trace", plotted_, "CSV files, plain or .gz, or workloads")->required();
  arrivals->add_option("--seed", trace_.seed, "seed of a workload")->check(seed_of_64_bits());
  add_input_plot(*group, "speedup", "How much faster trainings are on more GPUs, from their profiles.",
                 "  schedulearn plot speedup pytorch-mnist pytorch-resnet\n  schedulearn plot speedup mine.json\n",
                 [this] { return speedup_of(plotted_); })
      ->add_option("profile", plotted_, "files with profiles, or names: pytorch-mnist, gavel-resnet50")
      ->required();
  add_live_plot(*group, "regret", "What the policy that follows the live events would have changed, over time.",
                "/api/v1/policy/shadow/series", plot::regret_figure);
  add_live_plot(*group, "ahead", "How many GPUs jobs will hold over the next day, by the forecast.",
                "/api/v1/cluster/forecast", plot::ahead_figure);
}

CLI::App* Research::add_trace(CLI::App& parent, const std::string& name, const std::string& summary,
                              const std::string& examples, Status (*action)(const TraceCommand&, const Outputs&)) {
  return command_(parent, name, summary, examples, [this, action] {
    for (const auto& [text, seconds] : {std::pair(&duration_min_, &trace_.filter.duration_min_s),
                                        std::pair(&duration_max_, &trace_.filter.duration_max_s)}) {
      if (text->empty()) continue;
      const auto parsed = wire::parse_duration_s(*text);
      if (!parsed.ok()) return fail(parsed.error());
      *seconds = *parsed;
    }
    const TraceFilter& filter = trace_.filter;
    if (const Status sound = check_durations(filter.duration_min_s, duration_max_, filter.duration_max_s); !sound.ok())
      return fail(sound.error());
    trace_.quiet = context_().quiet;
    return say(trace_.json, [&](std::ostream& out) { return action(trace_, {out, std::cerr}); });
  });
}

void Research::add_trace_filters(CLI::App& c) {
  c.add_option("--max-gpus", trace_.filter.gpus_max, "leave out wider jobs")->check(above_zero());
  c.add_flag("--keep-cpu-jobs", trace_.filter.keep_cpu_jobs, "keep jobs without a GPU, which are left out otherwise");
  c.add_option("--oversize", trace_.filter.oversize, "what to do with wider jobs: drop, fail or clip")
      ->check(one_of({"drop", "fail", "clip"}));
  c.add_option("--min-duration", duration_min_, "lengthen shorter jobs to this: 1s");
  c.add_option("--max-duration", duration_max_, "shorten longer jobs to this: 2d");
  c.add_option("--jobs", trace_.filter.jobs, "only this many jobs from the start")->check(above_zero());
}

void Research::add_trace_commands(CLI::App& app) {
  CLI::App* group = app.add_subcommand(
      "trace", "Traces of jobs: info, import, export, gen, ls; for simulations on the controller: upload, rm.");
  group->require_subcommand(1);
  group->fallthrough();
  const auto add_out = [this](CLI::App* c) {
    c->add_option("-o,--out", trace_.out, "file, .gz to compress it; default: standard output");
  };
  const auto add_seed = [this](CLI::App* c) {
    c->add_option("--seed", trace_.seed, "seed of a workload: the same seed gives the same bytes")
        ->check(seed_of_64_bits());
  };
  CLI::App* info =
      add_trace(*group, "info", "Describe a trace: jobs, sizes, durations, load.",
                "  schedulearn trace info philly.csv.gz --servers 32x8\n  schedulearn trace info poisson:jobs=5000\n",
                trace_info);
  info->add_option("trace", trace_.source, "CSV file, plain or .gz, or a workload")->required();
  info->add_option("--servers", trace_.servers, "also compute the load on this cluster: 32x8");
  info->add_option("--max-text-mib", trace_.filter.text_mib, "refuse a file with more text, unpacked")
      ->check(above_zero());
  add_trace_filters(*info);
  add_seed(info);
  CLI::App* take = add_trace(*group, "import", "Convert a published trace: Philly, Helios, Alibaba PAI, SWF.",
                             "  schedulearn trace import philly cluster_job_log --out philly.csv.gz\n"
                             "  schedulearn trace import pai pai_job_table.csv pai_task_table.csv --out pai.csv.gz\n",
                             trace_import);
  take->add_option("format", trace_.format, "philly, helios, pai, swf or pollux")
      ->required()
      ->check(one_of({"philly", "helios", "pai", "swf", "pollux"}));
  take->add_option("files", trace_.files, "plain or .gz")->required();
  take->add_option("--extra-fields", trace_.extra_fields,
                   "swf, lines with more than 18 fields: fail (default) or ignore")
      ->check(one_of({"fail", "ignore"}));
  add_out(take);
  add_trace_filters(*take);
  CLI::App* write = add_trace(*group, "export", "Write a trace, or part of it, as CSV or SWF.",
                              "  schedulearn trace export philly.csv.gz --jobs 1000 --max-gpus 8 --out small.csv\n"
                              "  schedulearn trace export philly.csv.gz --format swf --out philly.swf\n",
                              trace_export);
  write->add_option("trace", trace_.source, "CSV file, plain or .gz, or a workload")->required();
  write->add_option("--format", trace_.format, "csv or swf")->check(one_of({"csv", "swf"}));
  add_out(write);
  add_trace_filters(*write);
  add_seed(write);
  CLI::App* make = add_trace(*group, "gen", "Generate a trace from a workload and a seed.",
                             "  schedulearn trace gen poisson jobs=5000 load=0.9 --seed 7 --out t.csv.gz\n"
                             "  schedulearn trace gen thesis/pytorch-mnist jobs=20\n",
                             trace_generate);
  make->add_option("workload", trace_.source, "see: schedulearn trace ls")->required();
  make->add_option("values", trace_.values, "KEY=VALUE of its parameters");
  add_out(make);
  add_trace_filters(*make);
  add_seed(make);
  CLI::App* list =
      command_(*group, "ls", "List the workloads, or one with its parameters; or what was uploaded.",
               "  schedulearn trace ls\n  schedulearn trace ls poisson\n"
               "  schedulearn trace ls --uploaded\n",
               [this] {
                 if (lists_uploaded_) return list_uploaded_traces(context_());
                 trace_.quiet = context_().quiet;
                 return say(trace_.json, [this](std::ostream& out) { return trace_list(trace_, {out, std::cerr}); });
               });
  CLI::Option* workload = list->add_option("workload", trace_.source, "show the parameters of this one");
  list->add_flag("--uploaded", lists_uploaded_, "those that users have uploaded to the controller")->excludes(workload);
  CLI::App* upload = command_(*group, "upload", "Send a trace to the controller, for simulations of all its users.",
                              "  schedulearn trace upload philly.csv.gz\n"
                              "  schedulearn trace upload part.csv --name philly-2017\n",
                              [this] { return upload_trace(context_(), trace_.source, trace_name_); });
  upload->add_option("file", trace_.source, "CSV file, plain or .gz, up to 64 MiB")->required();
  upload->add_option("--name", trace_name_, "what it is called there (default: the file's name without .csv.gz)");
  command_(*group, "rm", "Remove one that was uploaded; simulations keep what they use.",
           "  schedulearn trace rm philly\n", [this] { return remove_trace(context_(), trace_name_); })
      ->add_option("name", trace_name_, "see: schedulearn trace ls --uploaded")
      ->required();
}

int Research::reproduce_published() {
  if (!real_.job_file.empty()) {
    RealOptions options = real_;
    options.experiment = reproduce_.what;
    options.folder = reproduce_.folder;
    options.command = typed_;
    return reproduce_real(context_(), options);
  }
  ReproduceOptions options = reproduce_;
  options.quiet = context_().quiet;
  options.shows_progress = !options.quiet && context_().interactive;
  options.command = typed_;
  options.interrupted = [] { return interrupts() > 0; };
  catch_interrupts(true);
  bool is_whole = true;
  const int status = say(options.json, [&](std::ostream& out) -> Status {
    const Result<bool> done = run_reproduce(options, out, std::cerr);
    if (!done.ok()) return done.error();
    is_whole = *done;
    return {};
  });
  return is_whole ? status : 130;
}

void Research::add_estimates(CLI::App& app) {
  // The group is a command too, and its action comes last.
  const auto actions = std::make_shared<std::vector<std::pair<CLI::App*, std::function<int()>>>>();
  CLI::App* group = command_(app, "estimates",
                             "How often the ranges held in which jobs were expected to start and end; how good other "
                             "predictions are: losses, run-times, ranges, speeds.",
                             "  schedulearn estimates\n", [this, actions] {
                               for (const auto& [part, action] : *actions) {
                                 if (part->parsed()) return action();
                               }
                               return show_estimates(context_());
                             });
  const auto add = [&](const std::string& name, const std::string& summary, const std::string& examples,
                       Status (*action)(const EstimatesCommand&, std::ostream&)) {
    const auto run = [this, action] {
      return say(estimates_.json, [&](std::ostream& out) { return action(estimates_, out); });
    };
    CLI::App* part = command_(*group, name, summary, examples, run);
    actions->emplace_back(part, run);
    return part;
  };
  CLI::App* losses = add("losses", "Predict the rest of recorded trainings from their first epochs.",
                         "  schedulearn estimates losses tests/fixtures/loss_curves.csv\n"
                         "  schedulearn estimates losses mine.csv --seen 0.25,0.5\n",
                         estimates_losses);
  losses->add_option("file", estimates_.source, "CSV with a column losses: 2.3|1.9|1.7, a training per line")
      ->required();
  losses->add_option("--seen", estimates_.seen, "parts of a training that are known (0.4,0.6)")
      ->delimiter(',')
      ->check(between(0.01, 0.99));
  losses->add_option("--half", estimates_.half, "of files with a column half: judge (default), fit or all")
      ->check(one_of({"judge", "fit", "all"}));
  add("run-times", "Guess the run times of a trace's second half from finished jobs.",
      "  schedulearn estimates run-times philly.csv.gz\n", estimates_run_times)
      ->add_option("trace", estimates_.source, "CSV file, plain or .gz, or a workload")
      ->required();
  CLI::App* ranges =
      add("ranges", "Replay a trace and ask when jobs start and end, as a live cluster is asked.",
          "  schedulearn estimates ranges philly.csv.gz --servers 48x8 --jobs 20000\n", estimates_ranges);
  ranges->add_option("trace", estimates_.source, "CSV file, plain or .gz, or a workload")->required();
  ranges->add_option("--servers", estimates_.servers, "32x8, or a cluster file");
  ranges->add_option("--policy", estimates_.policy, "see: schedulearn policy ls");
  ranges->add_option("--moments", estimates_.moments, "at which it is asked")->check(between(10, 100'000));
  ranges->add_option("--jobs", estimates_.jobs, "only the first of the trace");
  add("speeds", "Predict the speed of published trainings on more GPUs from 1 and 2.",
      "  schedulearn estimates speeds\n", estimates_speeds);
}

void Research::add_reproduce(CLI::App& app) {
  CLI::App* c = command_(app, "reproduce", "Run published experiments again and compare their figures with ours.",
                         "  schedulearn reproduce ls\n  schedulearn reproduce tetris-vs-fifo\n"
                         "  schedulearn reproduce all --out reproduced\n"
                         "  schedulearn reproduce schedulearn-turnaround --real examples/real-mlp.toml\n"
                         "  schedulearn reproduce schedulearn-speedup --real examples/real-cnn.toml\n",
                         [this] { return reproduce_published(); });
  c->add_option("what", reproduce_.what, "ls (default), the name of an experiment, or all");
  c->add_option("-o,--out", reproduce_.folder, "folder for tables and charts (default: reproduced)");
  CLI::Option* seeds = c->add_option("--seeds", reproduce_.seeds, "number of seeds (default: each experiment's own)");
  CLI::Option* trace = c->add_option("--trace", reproduce_.trace,
                                     "philly: this trace instead of a generated one; see docs/guide/reproduce.md");
  CLI::Option* real =
      c->add_option("--real", real_.job_file,
                    "schedulearn-…: repeat this training on the live cluster and compare with the simulation");
  real->excludes(seeds)->excludes(trace);
  c->add_option("--jobs", real_.job_counts,
                "with --real: numbers of trainings, one run per number (default: 1,5,10 or 5,10)")
      ->needs(real);
}

}  // namespace sl::cli
