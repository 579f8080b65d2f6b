// Reads the folders that `sim run|compare --out` writes (docs/formats/results.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plot/figure.h"

namespace sl::plot {

// One simulation in a folder. Its figures are all keys with numbers, including `jobs` and `seed`.
struct SimulatedResult {
  std::string policy;
  std::map<std::string, std::string> parameters;
  std::int64_t seed = 1;
  std::map<std::string, double> figures;
  std::string jobs_file, events_file;  // paths; empty: there is none
  std::size_t folder = 0;              // index into RunSet::folders
};

struct RunFolder {
  std::string path, command, program, trace, servers;
  std::string switches = {};    // ", srtf after 2 h": part of the names of its results
  bool is_interrupted = false;  // it holds what was finished by then
};

struct RunSet {
  std::vector<RunFolder> folders;
  std::vector<SimulatedResult> results;
};

// All folders together, results in the order of the files. Errors "no-such-folder", "not-results" (no run.json),
// "unknown-version", those of JSON, and "empty-results".
Result<RunSet> read_runs(const std::vector<std::string>& folders);

// Which results to draw; empty: all.
struct Selection {
  std::vector<std::string> policies;
  std::optional<std::int64_t> seed;
  std::vector<std::pair<std::string, std::string>> where = {};  // parameters or figures and their values
};
// Errors "unknown-policy" (with the nearest known name) and "no-results".
Result<RunSet> selected(const RunSet& runs, const Selection& selection);

// A parameter or figure of the result as text; nothing if it has neither.
std::optional<std::string> value_text_of(const SimulatedResult& result, const std::string& key);

// The shortest names that distinguish the results: the policy, plus number of jobs and load if any two differ in them,
// plus those of parameters, seed and folder that differ between results of one policy. In the order of the results;
// identical names are numbered, or shared.
enum class Naming { unlike, alike_share };
std::vector<std::string> names_of(const RunSet& runs, Naming naming = Naming::unlike);

// "tiresias (quantum=60)".
std::string name_with_parameters(const std::string& policy, const std::map<std::string, std::string>& parameters);

// The origin of a picture of these results.
std::vector<Source> sources_of(const RunSet& runs);
// "trace philly_2017.csv.gz on 32x8 GPUs", for a caption; empty if folders differ.
std::string origin_text(const RunSet& runs);

}  // namespace sl::plot
