#include "cli/reproduce_real.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/live_cluster.h"
#include "plot/render.h"
#include "reproduce/live_experiments.h"
#include "study/choices.h"
#include "trace/text_file.h"

namespace sl::cli {
namespace {

constexpr double chart_width_mm = 160;

Status write_figure_and_table(const RealOptions& options, const std::string& folder,
                              const reproduce::LiveResult& result) {
  plot::Figure figure = reproduce::live_figure(result);
  figure.command = options.command;
  figure.caption += " Made by: " + options.command;
  figure.version = "schedulearn " SCHEDULEARN_VERSION;
  const std::string svg = plot::render(figure, {chart_width_mm, plot::Theme::automatic});
  if (Status written = trace::write_text(folder + "/real.svg", svg); !written.ok()) return written;
  return trace::write_text(folder + "/real.csv", reproduce::live_csv(result));
}

Result<std::string> folder_of(const RealOptions& options) {
  const std::string folder = options.folder + "/" + options.experiment;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return denied("cannot-write", "cannot make the folder " + folder + ": " + error.message());
  return folder;
}

Result<std::vector<std::int64_t>> counts_of(const RealOptions& options, const reproduce::LiveExperiment& experiment) {
  const bool has_own = *experiment.job_counts == '\0';
  if (has_own && options.job_counts.empty()) return std::vector<std::int64_t>{};
  if (has_own)
    return invalid("bad-flag", options.experiment + " --real sets the number of jobs itself").hint("leave out --jobs");
  return study::parse_numbers(options.job_counts.empty() ? experiment.job_counts : options.job_counts, "--jobs");
}

Result<wire::JobSpec> training_of(const Context& context, const RealOptions& options) {
  SubmitOptions submitted;
  submitted.file = options.job_file;
  return job_to_submit(context, submitted);
}

void show(const Context& context, const std::string& folder, const reproduce::LiveResult& result) {
  if (context.as_json) return context.print_json(reproduce::live_json(result));
  std::printf("%s\n\n%s\nwrote %s/real.csv, real.svg\n", result.caption.c_str(), reproduce::live_table(result).c_str(),
              folder.c_str());
}

Status measure(const Context& context, const RealOptions& options) {
  const auto experiment = reproduce::find_live_experiment(options.experiment);
  if (!experiment.ok()) return experiment.error();
  const auto counts = counts_of(options, **experiment);
  if (!counts.ok()) return counts.error();
  const auto training = training_of(context, options);
  if (!training.ok()) return training.error();
  catch_interrupts(true);
  const auto cluster = LiveCluster::open(context);
  if (!cluster.ok()) return cluster.error();
  const auto folder = folder_of(options);
  if (!folder.ok()) return folder.error();

  reproduce::LiveSetup setup{(*cluster)->servers(), training->name, training->gpus, *counts, *folder, {}};
  setup.gpus.max = std::min(setup.gpus.max, std::max(setup.gpus.min, setup.gpus_per_server_max()));
  setup.run = [&](const reproduce::LiveRun& run) { return (*cluster)->run(*training, run); };
  auto result = (*experiment)->run(setup);
  if (!result.ok()) return result.error();
  result->caption = fmt::format("{}: {}. {}.", training->name, result->caption, (*cluster)->description());
  if (Status written = write_figure_and_table(options, *folder, *result); !written.ok()) return written;
  show(context, *folder, *result);
  return {};
}

}  // namespace

int reproduce_real(const Context& context, const RealOptions& options) {
  const Status done = measure(context, options);
  return done.ok() ? 0 : fail(done.error());
}

}  // namespace sl::cli
