#include "plot/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/suggest.h"
#include "plot/cdf.h"
#include "plot/comparison.h"
#include "plot/gantt.h"
#include "plot/png.h"
#include "plot/render.h"
#include "plot/results.h"
#include "plot/text.h"
#include "plot/utilization.h"
#include "wire/job_spec.h"

namespace sl::plot {
namespace {

// One of the words, as its place among them. Error "bad-flag".
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
  if (count <= line_styles) return {};
  return invalid("too-many-lines", fmt::format("{} lines cannot be told apart", count))
      .note(fmt::format("at most {}", line_styles))
      .hint("choose some: --policy a,b, --seed 1 or --where key=value");
}

void add_origin(Figure& figure, const RunSet& runs) {
  figure.sources = sources_of(runs);
  if (const std::string origin = origin_text(runs); !origin.empty()) figure.caption += " " + origin + ".";
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

Result<Figure> make_utilization(const PlotOptions& options) {
  const Result<Window> window = window_of(options);
  if (!window.ok()) return window.error();
  const Result<std::size_t> by = choice("by", options.by, {"cluster", "server"});
  if (!by.ok()) return by.error();
  const Result<RunSet> runs = chosen_runs(options);
  if (!runs.ok()) return runs.error();
  if (Status fits = line_count_fits(runs->results.size()); !fits.ok()) return fits.error();
  const Result<std::vector<NamedHistory>> histories = histories_of(*runs);
  if (!histories.ok()) return histories.error();
  Result<Figure> figure = utilization_figure(*histories, static_cast<By>(*by), *window);
  if (figure.ok()) add_origin(*figure, *runs);
  return figure;
}

Result<Figure> make_comparison(const PlotOptions& options) {
  const Result<RunSet> runs = chosen_runs(options);
  if (!runs.ok()) return runs.error();
  const std::vector<std::string> metrics =
      options.metrics.empty() ? std::vector<std::string>{"avg_jct_s", "makespan_s"} : options.metrics;
  Result<Figure> figure =
      options.chart == "bars" ? bars_figure(*runs, metrics) : lines_figure(*runs, options.x, metrics);
  if (figure.ok()) add_origin(*figure, *runs);
  return figure;
}

Status write_file(const std::string& path, const std::string& text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (!file) return denied("cannot-write", "cannot write " + path);
  const bool is_whole =
      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
  return is_whole ? Status() : unavailable("cannot-write", "could not write all of " + path);
}

struct Destination {
  std::string svg, png, csv;  // paths; empty: not written
  bool is_standard_output = false;
};

Result<Destination> destination_of(const PlotOptions& options, const Figure& figure) {
  const std::string out = options.out.empty() ? figure.kind + ".svg" : options.out;
  if (out == "-") return Destination{"", "", options.csv, true};
  const std::string ending = std::filesystem::path(out).extension().string();
  if (ending != ".svg" && ending != ".png")
    return invalid("bad-flag", "--out ends in .svg or .png, not " + out).hint("--out " + out + ".svg");
  const std::string stem = out.substr(0, out.size() - ending.size());
  return Destination{stem + ".svg", ending == ".png" ? out : "", options.csv.empty() ? stem + ".csv" : options.csv,
                     false};
}

// The converters know no dark mode of the reader: what follows it is light in PNG.
Status write_all(const Figure& figure, const Rendering& rendering, const Destination& to) {
  const Result<std::string> converter = to.png.empty() ? Result<std::string>("") : find_png_converter();
  if (!converter.ok()) return converter.error();
  if (!to.svg.empty()) {
    if (Status written = write_file(to.svg, render(figure, rendering)); !written.ok()) return written;
  }
  if (!to.csv.empty()) {
    if (Status written = write_file(to.csv, figure_csv(figure, rendering)); !written.ok()) return written;
  }
  if (to.png.empty()) return {};
  Rendering fixed = rendering;
  if (fixed.theme == Theme::automatic) fixed.theme = Theme::light;
  return write_png(*converter, render(figure, fixed), to.png);
}

void report(const PlotOptions& options, const Figure& figure, const Destination& to, std::ostream& out) {
  std::vector<std::string> files;
  for (const std::string& file : {to.svg, to.png, to.csv}) {
    if (!file.empty()) files.push_back(file);
  }
  if (!options.json) {
    out << figure.title << "\n\n"
        << figure.summary << '\n'
        << figure.caption << "\n\nwrote " << joined(files, ", ") << '\n';
    return;
  }
  const boost::json::object document = {{"chart", options.chart},
                                        {"title", figure.title},
                                        {"summary", figure.summary},
                                        {"caption", figure.caption},
                                        {"files", boost::json::array(files.begin(), files.end())}};
  out << boost::json::serialize(document) << '\n';
}

}  // namespace

Result<Figure> make_figure(const PlotOptions& options) {
  const Result<std::size_t> chart = choice("chart", options.chart, {"cdf", "gantt", "util", "lines", "bars"});
  if (!chart.ok()) return chart.error();
  constexpr Result<Figure> (*makers[])(const PlotOptions&) = {make_cdf, make_gantt, make_utilization, make_comparison,
                                                              make_comparison};
  Result<Figure> figure = makers[*chart](options);
  if (!figure.ok()) return figure;
  figure->version = options.version;
  figure->command = options.command;
  return figure;
}

Status plot(const PlotOptions& options, std::ostream& out) {
  if (!(options.width_mm >= width_mm_min && options.width_mm <= width_mm_max))
    return invalid("bad-flag", fmt::format("--width is {} to {} mm", width_mm_min, width_mm_max));
  const Result<std::size_t> theme = choice("theme", options.theme, {"auto", "light", "dark"});
  if (!theme.ok()) return theme.error();
  const Rendering rendering{options.width_mm, static_cast<Theme>(*theme)};
  const Result<Figure> figure = make_figure(options);
  if (!figure.ok()) return figure.error();
  const Result<Destination> to = destination_of(options, *figure);
  if (!to.ok()) return to.error();
  if (Status written = write_all(*figure, rendering, *to); !written.ok()) return written;
  to->is_standard_output ? void(out << render(*figure, rendering)) : report(options, *figure, *to, out);
  return {};
}

}  // namespace sl::plot
