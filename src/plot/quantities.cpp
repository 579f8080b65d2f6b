#include "plot/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/suggest.h"
#include "plot/text.h"

namespace sl::plot {
namespace {

const std::vector<JobQuantity>& job_quantities() {
  static const std::vector<JobQuantity> all = {
      {"jct", {"jct_s", "Completion time", "Completion time = finish − submission.", Unit::seconds}},
      {"wait", {"wait_s", "Waiting time", "Waiting time = first start − submission.", Unit::seconds}},
      {"slowdown",
       {"slowdown", "Slowdown", "Slowdown = completion time / time on GPUs, counted as at least 10 s.", Unit::none}},
      {"run", {"run_s", "Time on GPUs", "Time on GPUs: all time in which the job held any.", Unit::seconds}}};
  return all;
}

const std::vector<Quantity>& known_quantities() {
  static const std::vector<Quantity> all = {
      {"avg_jct_s", "Mean completion time", "Completion time = finish − submission.", Unit::seconds},
      {"p50_jct_s", "Median completion time", "Completion time = finish − submission.", Unit::seconds},
      {"p95_jct_s", "95th percentile of completion time", "Completion time = finish − submission.", Unit::seconds},
      {"p99_jct_s", "99th percentile of completion time", "Completion time = finish − submission.", Unit::seconds},
      {"avg_wait_s", "Mean waiting time", "Waiting time = first start − submission.", Unit::seconds},
      {"makespan_s", "Makespan", "Makespan = last finish − first submission.", Unit::seconds},
      {"gpu_allocation_pct", "GPU allocation", "GPU allocation = GPU time given to jobs / (GPUs · makespan).",
       Unit::percent},
      {"gpu_utilization_pct", "GPU utilization",
       "GPU utilization = GPU time used by trainings / (GPUs · makespan), without restarts and work done twice.",
       Unit::percent},
      {"preemptions", "Preemptions", "Preemptions: times a job was taken off its GPUs.", Unit::none},
      {"jobs", "Jobs", "", Unit::none},
      {"load", "Load", "Load = work that arrives / what the GPUs can do, from the first to the last submission.",
       Unit::none},
      {"seed", "Seed", "", Unit::none}};
  return all;
}

// Names in common use ("turnaround" in the thesis, "JCT" in papers).
std::vector<std::string> keys_meant_by(const std::string& word) {
  if (word == "turnaround" || word == "jct") return {"avg_jct_s"};
  if (word == "wait") return {"avg_wait_s"};
  if (word == "allocation") return {"gpu_allocation_pct"};
  if (word == "util" || word == "utilization") return {"gpu_utilization_pct"};
  return {word, word + "_s", word + "_pct", "avg_" + word + "_s", "avg_" + word};
}

}  // namespace

Quantity describe(const std::string& key) {
  for (const Quantity& known : known_quantities()) {
    if (known.key == key) return known;
  }
  Quantity quantity{key, key, "", Unit::none};
  if (key.ends_with("_s")) quantity.unit = Unit::seconds, quantity.name = key.substr(0, key.size() - 2);
  if (key.ends_with("_pct")) quantity.unit = Unit::percent, quantity.name = key.substr(0, key.size() - 4);
  std::replace(quantity.name.begin(), quantity.name.end(), '_', ' ');
  if (quantity.name.starts_with("avg ")) quantity.name = "mean " + quantity.name.substr(4);
  if (!quantity.name.empty() && quantity.name[0] >= 'a' && quantity.name[0] <= 'z')
    quantity.name[0] = static_cast<char>(quantity.name[0] - 'a' + 'A');
  return quantity;
}

Result<JobQuantity> find_job_quantity(const std::string& word) {
  std::vector<std::string> words;
  for (const JobQuantity& known : job_quantities()) {
    if (known.word == word || known.quantity.key == word) return known;
    words.push_back(known.word);
  }
  Error error = invalid("unknown-metric", "jobs have no metric " + word).note("there are " + joined(words, ", "));
  if (const auto near = did_you_mean(word, {words.begin(), words.end()}))
    error.hints.push_back("did you mean " + *near + "?");
  return error;
}

Result<Quantity> find_quantity(const std::string& word, const RunSet& runs) {
  std::set<std::string> keys;
  for (const SimulatedResult& result : runs.results) {
    for (const auto& [key, _] : result.figures) keys.insert(key);
  }
  for (const std::string& key : keys_meant_by(word)) {
    if (keys.contains(key)) return describe(key);
  }
  Error error = invalid("unknown-metric", "these results have no number " + word)
                    .note("they have " + joined({keys.begin(), keys.end()}, ", "));
  std::vector<std::string_view> candidates(keys.begin(), keys.end());
  for (const std::string_view common : {"makespan", "turnaround", "wait", "allocation"}) candidates.push_back(common);
  if (const auto near = did_you_mean(word, candidates)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

}  // namespace sl::plot
