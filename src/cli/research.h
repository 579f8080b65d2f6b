// The commands of researchers: sim, trace, plot, estimates, reproduce. They run in place and need no controller, but those
// for simulations and traces that a controller has.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/commands.h"
#include "cli/estimates.h"
#include "cli/plot.h"
#include "cli/reproduce.h"
#include "cli/reproduce_real.h"
#include "cli/simulate.h"
#include "cli/trace.h"

namespace sl::cli {

// Reads a policy from a file, "./mine.py", for simulations.
Result<PolicyEntry> read_policy_file(const std::string& path);

class Research : CommandGroup {
 public:
  // `typed` is the whole command line once it has been parsed.
  Research(CommandFrame frame, const std::string& typed) : CommandGroup(std::move(frame)), typed_(typed) {}
  void add_to(CLI::App& app);

 private:
  int simulate();
  // What an action says: text for people, or for programs its JSON (`as_json` is set) as they ask for it.
  int say(bool& as_json, const std::function<Status(std::ostream&)>& action) const;
  void add_simulation(CLI::App& group, const std::string& name, const std::string& summary,
                      const std::string& examples);
  void add_plots(CLI::App& app);
  void add_plot(CLI::App& group, const std::string& name, const std::string& summary, const std::string& examples);
  void add_picture_options(CLI::App& command);
  // `plot NAME`, of the live cluster: draws what this path of REST answers.
  void add_live_plot(CLI::App& group, const std::string& name, const std::string& summary, const std::string& path,
                     Result<plot::Figure> (*figure_of)(const json::value&));
  // `plot NAME`, of what its arguments name.
  CLI::App* add_input_plot(CLI::App& parent, const std::string& name, const std::string& summary,
                           const std::string& examples, std::function<Result<plot::Figure>()> make);
  int draw_figure(const std::string& chart, Result<plot::Figure> figure);
  void add_trace_commands(CLI::App& app);
  void add_estimates(CLI::App& app);
  void add_reproduce(CLI::App& app);
  int reproduce_published();
  CLI::App* add_trace(CLI::App& group, const std::string& name, const std::string& summary, const std::string& examples,
                      Status (*action)(const TraceCommand&, const Outputs&));
  void add_trace_filters(CLI::App& command);

  const std::string& typed_;
  std::int64_t simulation_id_ = 0;
  bool lists_uploaded_ = false;
  std::string trace_name_;
  SimulationOptions simulation_;
  TraceCommand trace_;
  EstimatesCommand estimates_;
  plot::PlotOptions plot_;
  ReproduceOptions reproduce_;
  RealOptions real_;
  std::vector<std::string> parameters_, plotted_;
  std::string simulated_policies_, duration_min_, duration_max_;
};

}  // namespace sl::cli
