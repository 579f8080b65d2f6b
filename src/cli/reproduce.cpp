#include "cli/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/context.h"
#include "reproduce/output.h"
#include "reproduce/registry.h"
#include "trace/text_file.h"
#include "wire/json_text.h"

namespace sl::cli {
namespace {

constexpr int seeds_most = 1000;

void list(const ReproduceOptions& options, std::ostream& out) {
  boost::json::array all;
  for (const reproduce::Experiment& e : reproduce::experiments()) {
    if (options.json) {
      all.push_back({{"name", e.name}, {"title", e.title}, {"source", e.source}, {"seeds", e.seeds}});
    } else if (options.quiet) {
      out << e.name << '\n';
    } else {
      out << fmt::format("  {:<24}  {}\n  {:<24}  {}\n", e.name, e.title, "", e.source);
    }
  }
  if (options.json) out << wire::json_text(list_of(std::move(all))) << '\n';
  if (!options.json && !options.quiet)
    out << "\n  schedulearn reproduce NAME   one of them\n  schedulearn reproduce all    all, and report.html\n";
}

Result<std::vector<const reproduce::Experiment*>> chosen(const std::string& what) {
  std::vector<const reproduce::Experiment*> list;
  if (what == "all") {
    for (const reproduce::Experiment& e : reproduce::experiments()) list.push_back(&e);
    return list;
  }
  const auto one = reproduce::find_experiment(what);
  if (!one.ok()) return one.error();
  list.push_back(*one);
  return list;
}

bool takes_trace(const std::vector<const reproduce::Experiment*>& list) {
  return std::ranges::any_of(list, [](const auto* experiment) { return experiment->takes_trace; });
}

std::string names_with_trace() {
  std::string names;
  for (const reproduce::Experiment& each : reproduce::experiments())
    if (each.takes_trace) names += (names.empty() ? "" : ", ") + each.name;
  return names;
}

Result<reproduce::Done> run_one(const reproduce::Experiment& experiment, const ReproduceOptions& options) {
  reproduce::Done done{&experiment, {}, options.seeds.value_or(experiment.seeds)};
  const std::string folder = options.folder + "/" + experiment.name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return denied("cannot-write", "cannot make the folder " + folder + ": " + error.message());
  Result<reproduce::Findings> findings = experiment.run({done.seeds, options.trace, folder});
  if (!findings.ok()) return findings.error();
  done.findings = std::move(*findings);
  if (Status written = reproduce::write_folder(done, folder, options.command); !written.ok()) return written.error();
  return done;
}

Status write_summary(const std::vector<reproduce::Done>& all, const ReproduceOptions& options) {
  if (Status written = trace::write_text(options.folder + "/report.html", reproduce::report(all, options.command));
      !written.ok())
    return written;
  return trace::write_text(options.folder + "/summary.md", reproduce::markdown(all));
}

}  // namespace

Result<bool> run_reproduce(const ReproduceOptions& options, std::ostream& out, std::ostream& progress) {
  if (options.what == "ls") return list(options, out), true;
  if (options.seeds && (*options.seeds < 2 || *options.seeds > seeds_most))
    return invalid("bad-flag", fmt::format("--seeds is 2 to {}: an interval needs two values", seeds_most));
  const auto experiments_to_run = chosen(options.what);
  if (!experiments_to_run.ok()) return experiments_to_run.error();
  if (!options.trace.empty() && !takes_trace(*experiments_to_run))
    return invalid("bad-flag", "reproduce " + options.what + " uses no trace but those it generates")
        .hint("leave --trace out; experiments that take one: " + names_with_trace());
  std::vector<reproduce::Done> all;
  for (const reproduce::Experiment* experiment : *experiments_to_run) {
    if (options.interrupted()) return false;
    if (options.shows_progress && experiments_to_run->size() > 1) progress << experiment->name << " ..." << std::endl;
    Result<reproduce::Done> done = run_one(*experiment, options);
    if (!done.ok()) return done.error();
    if (!options.json) out << reproduce::table(*done) << "\n";
    all.push_back(std::move(*done));
  }
  const bool is_all = options.what == "all";
  if (is_all) {
    if (Status written = write_summary(all, options); !written.ok()) return written.error();
  }
  if (options.json) {
    boost::json::array documents;
    for (const reproduce::Done& done : all) documents.push_back(reproduce::to_document(done));
    out << wire::json_text(list_of(std::move(documents))) << '\n';
  } else {
    out << "wrote " << options.folder << (is_all ? "/report.html" : "/" + options.what) << '\n';
  }
  return true;
}

}  // namespace sl::cli
