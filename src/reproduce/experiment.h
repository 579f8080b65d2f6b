// A published experiment, run again: what the document says, what we get, whether its claim holds. Experiments are rows
// of a table (registry.h); the only code of each is the function that runs it and gives numbers names, its findings.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plot/figure.h"
#include "plot/statistics.h"

namespace sl::reproduce {

struct Chart {
  std::string file;  // without ending
  plot::Figure figure;
};

// What a run found: samples by name (a value for each seed, or one), charts, and what a reader should know of this very
// run.
class Findings {
 public:
  void add(const std::string& key, double value) { samples_[key].push_back(value); }
  void add_all(const std::string& key, const std::vector<double>& values) {
    for (const double value : values) add(key, value);
  }
  bool has(const std::string& key) const { return samples_.contains(key); }
  const std::vector<double>& sample(const std::string& key) const;  // there is one
  plot::Estimate of(const std::string& key) const { return plot::estimate(sample(key)); }
  double mean(const std::string& key) const { return of(key).mean; }
  double deviation(const std::string& key) const;  // standard deviation over seeds
  const std::map<std::string, std::vector<double>>& samples() const { return samples_; }

  std::vector<Chart> charts;
  std::vector<std::string> remarks;

 private:
  std::map<std::string, std::vector<double>> samples_;
};

// Where a published number stands in relation to ours.
enum class Basis {
  predicted,  // nothing of ours knew it
  fitted,     // a parameter of ours was chosen so that this comes out
  input,      // the published number went in and comes out again
};

struct Measure {
  std::string key;  // of a sample
  std::string quantity;
  std::string unit;                 // "s", "%", "x", ""
  std::optional<double> published;  // nothing: no number is published
  std::string published_text;       // then this, may be empty
  Basis basis = Basis::predicted;
  std::string why;  // ours differs
};

// What the document says in words, as a test.
struct Claim {
  std::string sentence;
  bool (*holds)(const Findings&);
  std::string otherwise = {};  // not empty: it is known not to hold here, and why
};

struct Request {
  int seeds = 10;
  std::string trace;   // for those that can use a real one; empty: found, or made
  std::string folder;  // of this experiment; exists
};

struct Experiment {
  std::string name, title;
  std::string source;  // document and section
  std::string method;  // what is run, and how our numbers are computed
  std::vector<std::string> notes;
  std::vector<Measure> measures;
  std::vector<Claim> claims;
  Result<Findings> (*run)(const Request&);
  int seeds = 10;  // unless asked otherwise
};

}  // namespace sl::reproduce
