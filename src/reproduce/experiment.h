// A published experiment, run again: what the document says, what we get, and whether its claims hold. Experiments are
// rows of a table (registry.h); the only code of each is the function that runs it and returns its findings.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/statistics.h"
#include "plot/figure.h"

namespace sl::reproduce {

struct Chart {
  std::string file;  // without ending
  plot::Figure figure;
};

// What a run found: samples by name (one value, or one per seed), charts, and what a reader should know about this
// particular run.
class Findings {
 public:
  void add(const std::string& key, double value) { samples_[key].push_back(value); }
  void add_all(const std::string& key, const std::vector<double>& values) {
    for (const double value : values) add(key, value);
  }
  bool has(const std::string& key) const { return samples_.contains(key); }
  const std::vector<double>& sample(const std::string& key) const;  // must exist
  Estimate of(const std::string& key) const { return estimate(sample(key)); }
  double mean(const std::string& key) const { return of(key).mean; }
  double deviation(const std::string& key) const;  // standard deviation over seeds
  bool is_within_three_deviations(const std::string& key, double published) const;
  const std::map<std::string, std::vector<double>>& samples() const { return samples_; }

  std::vector<Chart> charts;
  std::vector<std::string> remarks;

 private:
  std::map<std::string, std::vector<double>> samples_;
};

// How a published number relates to ours.
enum class Basis {
  predicted,  // independent of our inputs
  fitted,     // a parameter of ours was chosen to match it
  input,      // the published number is an input
  constant,   // ours follows from an input by definition and could not come out otherwise
};

struct Measure {
  std::string key;  // of a sample
  std::string quantity;
  std::string unit;                 // "s", "%", "x", ""
  std::optional<double> published;  // nothing: no number is published
  std::string published_text;       // the text shown in that case; may be empty
  Basis basis = Basis::predicted;
  std::string why;  // why ours differs
};

// A statement of the document, as a test.
struct Claim {
  std::string sentence;
  bool (*holds)(const Findings&);
  std::string otherwise = {};                       // not empty: it is known not to hold here, and this is why
  std::string (*width)(const Findings&) = nullptr;  // how much it tolerates, if that depends on the findings
  std::string one_sided = {};  // not empty: ours is a bound, which could refute the claim but does not support it; why
};

// What we set because the document does not state it, or states it in a way that fits another figure of its own.
struct Choice {
  std::string what;  // with its value
  std::string why;   // fitted to what, or how it was chosen
};

struct Request {
  int seeds = 10;
  std::string trace;   // for experiments that can use a real trace; empty: generated
  std::string folder;  // this experiment's folder, which exists
};

struct Experiment {
  std::string name, title;
  std::string source;           // document and section
  std::string method;           // what is run and how our numbers are computed
  std::vector<Choice> choices;  // complete
  std::vector<std::string> notes;
  std::vector<Measure> measures;
  std::vector<Claim> claims;
  Result<Findings> (*run)(const Request&);
  int seeds = 10;            // unless requested otherwise
  bool takes_trace = false;  // it can use Request::trace
};

}  // namespace sl::reproduce
