#include "plot/make_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/suggest.h"
#include "plot/cdf.h"
#include "plot/comparison.h"
#include "plot/gantt.h"
#include "plot/queue.h"
#include "plot/results.h"
#include "plot/text.h"
#include "plot/utilization.h"
#include "wire/job_spec.h"

namespace sl::plot {
namespace {

// The index of `word` among the words. Error "bad-flag".
Result<std::size_t> choice(const std::string& flag, const std::string& word,
                           const std::vector<std::string_view>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::vector<std::string> all(words.begin(), words.end());
  Error error = invalid("bad-flag", fmt::format("--{} takes {}, not {}", flag, joined(all, ", "), word));
  if (const auto near = did_you_mean(word, words)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

Result<Selection> selection_of(const PlotOptions& options) {
  Selection selection{options.policies, options.seed, {}};
  for (const std::string& wish : options.where) {
    const std::size_t equals = wish.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid("bad-flag", "--where takes key=value, not " + wish).hint("--where jobs=1000");
    selection.where.emplace_back(wish.substr(0, equals), wish.substr(equals + 1));
  }
  return selection;
}

Result<RunSet> chosen_runs(const PlotOptions& options) {
  const Result<Selection> selection = selection_of(options);
  if (!selection.ok()) return selection.error();
  Result<RunSet> runs = read_runs(options.runs);
  if (!runs.ok()) return runs;
  return selected(*runs, *selection);
}

Result<Window> window_of(const PlotOptions& options) {
  Window window;
  window.servers = options.servers;
  for (const auto& [text, into] : {std::pair(&options.from, &window.from), std::pair(&options.to, &window.to)}) {
    if (text->empty()) continue;
    const Result<double> seconds = wire::parse_duration_s(*text);
    if (!seconds.ok()) return seconds.error();
    *into = *seconds;
  }
  return window;
}

Error no_file(const std::string& name, const std::string& kind, const std::string& remedy) {
  return not_found("no-" + kind, "the result of " + name + " has no " + kind + " file").hint(remedy);
}

Result<std::vector<NamedHistory>> histories_of(const RunSet& runs) {
  std::vector<NamedHistory> histories;
  const std::vector<std::string> names = names_of(runs);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (runs.results[i].events_file.empty())
      return no_file(names[i], "events",
                     "simulate again with --events: schedulearn sim compare … --out FOLDER --events");
    Result<History> history = read_history(runs.results[i].events_file);
    if (!history.ok()) return history.error();
    histories.push_back({names[i], std::move(*history)});
  }
  return histories;
}

Result<std::vector<JobSample>> samples_of_runs(const RunSet& runs, const JobQuantity& quantity) {
  std::vector<JobSample> samples;
  const std::vector<std::string> names = names_of(runs);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (runs.results[i].jobs_file.empty())
      return no_file(names[i], "jobs", "simulate again: schedulearn sim compare … --out FOLDER");
    Result<JobSample> sample = read_sample(runs.results[i].jobs_file, names[i], quantity);
    if (!sample.ok()) return sample.error();
    samples.push_back(std::move(*sample));
  }
  return samples;
}

Result<std::vector<JobSample>> samples_of_files(const std::vector<std::string>& files, const JobQuantity& quantity) {
  std::vector<JobSample> samples;
  for (const std::string& file : files) {
    std::string name = std::filesystem::path(file).stem().string();
    const bool is_taken =
        std::any_of(samples.begin(), samples.end(), [&](const JobSample& s) { return s.name == name; });
    Result<JobSample> sample = read_sample(file, is_taken ? file : name, quantity);
    if (!sample.ok()) return sample.error();
    samples.push_back(std::move(*sample));
  }
  return samples;
}

Status line_count_fits(std::size_t count) {
  return lines_fit(count, line_styles, "choose some: --policy a,b, --seed 1 or --where key=value");
}

// "Seed 3.", "Seeds 1 to 5.", "Seeds 1, 4, 9."
std::string seeds_text(const RunSet& runs) {
  std::set<std::int64_t> seeds;
  for (const SimulatedResult& result : runs.results) seeds.insert(result.seed);
  if (seeds.size() == 1) return fmt::format("Seed {}.", *seeds.begin());
  const bool is_range = *seeds.rbegin() - *seeds.begin() + 1 == static_cast<std::int64_t>(seeds.size());
  if (is_range) return fmt::format("Seeds {} to {}.", *seeds.begin(), *seeds.rbegin());
  return fmt::format("Seeds {}.", fmt::join(seeds, ", "));
}

// Whoever sees the picture can make its data again.
void add_origin(Figure& figure, const RunSet& runs) {
  figure.sources = sources_of(runs);
  std::vector<std::string> parts = {figure.caption, seeds_text(runs)};
  if (std::ranges::any_of(runs.folders, &RunFolder::is_interrupted))
    parts.emplace_back("Interrupted: some simulations are missing.");
  const bool is_one = figure.sources.size() == 1 && !figure.sources.front().command.empty();
  if (is_one) parts.push_back("Made by: " + figure.sources.front().command);
  if (const std::string origin = origin_text(runs); !is_one && !origin.empty()) parts.push_back(origin + ".");
  if (!is_one) parts.emplace_back("The commands are in the picture's metadata.");
  figure.caption = joined(parts, " ");
}

Result<Figure> make_cdf(const PlotOptions& options) {
  const Result<JobQuantity> quantity = find_job_quantity(options.metrics.empty() ? "jct" : options.metrics.front());
  if (!quantity.ok()) return quantity.error();
  if (options.metrics.size() > 1)
    return invalid("bad-flag", "plot cdf draws one metric at a time").hint("--metric " + options.metrics.front());
  const Result<std::size_t> scale = choice("scale", options.scale, {"auto", "linear", "log"});
  if (!scale.ok()) return scale.error();
  const bool is_bare = !options.jobs.empty();
  if (is_bare && !options.runs.empty()) return invalid("bad-flag", "--run and --jobs cannot be drawn together");
  const Result<RunSet> runs = is_bare ? Result<RunSet>(RunSet{}) : chosen_runs(options);
  if (!runs.ok()) return runs.error();
  if (Status fits = line_count_fits(is_bare ? options.jobs.size() : runs->results.size()); !fits.ok())
    return fits.error();
  const auto samples = is_bare ? samples_of_files(options.jobs, *quantity) : samples_of_runs(*runs, *quantity);
  if (!samples.ok()) return samples.error();
  Result<Figure> figure = cdf_figure(*quantity, *samples, static_cast<XScale>(*scale));
  if (figure.ok() && !is_bare) add_origin(*figure, *runs);
  if (figure.ok() && is_bare) figure->sources.push_back({joined(options.jobs, " "), "", "", {}});
  return figure;
}

Result<Figure> make_gantt(const PlotOptions& options) {
  const Result<Window> window = window_of(options);
  if (!window.ok()) return window.error();
  const Result<RunSet> runs = chosen_runs(options);
  if (!runs.ok()) return runs.error();
  if (runs->results.size() > 1)
    return invalid("several-results",
                   fmt::format("plot gantt draws one result, and these are {}", runs->results.size()))
        .note(shortened(joined(names_of(*runs), "; "), 1, 120))
        .hint("choose: --policy " + runs->results.front().policy + " --seed " +
              std::to_string(runs->results.front().seed))
        .hint("or by any parameter or number: --where key=value");
  const Result<std::vector<NamedHistory>> histories = histories_of(*runs);
  if (!histories.ok()) return histories.error();
  Result<Figure> figure = gantt_figure(histories->front().history, histories->front().name, *window);
  if (figure.ok()) add_origin(*figure, *runs);
  return figure;
}

// Over time: GPUs held, or jobs that wait.
Result<Figure> make_history(const PlotOptions& options) {
  const Result<Window> window = window_of(options);
  if (!window.ok()) return window.error();
  const Result<std::size_t> by = choice("by", options.by, {"cluster", "server"});
  if (!by.ok()) return by.error();
  const Result<RunSet> runs = chosen_runs(options);
  if (!runs.ok()) return runs.error();
  if (Status fits = line_count_fits(runs->results.size()); !fits.ok()) return fits.error();
  const Result<std::vector<NamedHistory>> histories = histories_of(*runs);
  if (!histories.ok()) return histories.error();
  Result<Figure> figure = options.chart == "queue" ? queue_figure(*histories, *window)
                                                   : utilization_figure(*histories, static_cast<By>(*by), *window);
  if (figure.ok()) add_origin(*figure, *runs);
  return figure;
}

Result<Figure> make_comparison(const PlotOptions& options) {
  const Result<RunSet> runs = chosen_runs(options);
  if (!runs.ok()) return runs.error();
  const std::vector<std::string> metrics =
      options.metrics.empty() ? std::vector<std::string>{"avg_jct_s", "makespan_s"} : options.metrics;
  const Result<std::size_t> scale = choice("scale", options.scale, {"auto", "linear", "log"});
  if (!scale.ok()) return scale.error();
  const Spacing spacing = options.scale == "log" ? Spacing::logarithmic : Spacing::linear;
  Result<Figure> figure =
      options.chart == "bars" ? bars_figure(*runs, metrics, spacing) : lines_figure(*runs, options.x, metrics);
  if (figure.ok()) add_origin(*figure, *runs);
  return figure;
}

}  // namespace

Result<Figure> make_figure(const PlotOptions& options) {
  const Result<std::size_t> chart = choice("chart", options.chart, {"cdf", "gantt", "util", "queue", "lines", "bars"});
  if (!chart.ok()) return chart.error();
  constexpr Result<Figure> (*makers[])(const PlotOptions&) = {make_cdf,     make_gantt,      make_history,
                                                              make_history, make_comparison, make_comparison};
  Result<Figure> figure = makers[*chart](options);
  if (!figure.ok()) return figure;
  figure->version = options.version;
  figure->command = options.command;
  return figure;
}

Result<Theme> parse_theme(const std::string& text) {
  const Result<std::size_t> theme = choice("theme", text, {"auto", "light", "dark"});
  if (!theme.ok()) return theme.error();
  return static_cast<Theme>(*theme);
}

}  // namespace sl::plot
