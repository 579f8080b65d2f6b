// How an experiment is shown: a table for people, CSV and SVG in a folder, JSON for programs, one HTML file for all.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "reproduce/experiment.h"

namespace sl::reproduce {

struct Done {
  const Experiment* experiment = nullptr;
  Findings findings;
  int seeds = 0;
};

// A measure as it is shown everywhere.
struct MeasureText {
  std::string quantity, published, ours, why;
};
MeasureText text_of(const Measure& measure, const Findings& findings);

enum class Verdict { holds, does_not_hold, not_refuted };

struct ClaimText {
  std::string sentence;  // with how much it tolerates
  Verdict verdict = Verdict::holds;
  std::string why;          // why it does not hold, or is not refuted only; may be empty
  bool is_expected = true;  // false: it is known not to hold, and holds
};
std::vector<ClaimText> claims_of(const Done& done);
const char* name_of(Verdict verdict);  // "does not hold"
const char* sign_of(Verdict verdict);  // ✓ ✗ ~

std::string table(const Done& done);
boost::json::object to_document(const Done& done);

// Writes figures.csv, every sample in samples.csv, and SVG and CSV for each chart. Errors "cannot-write", "disk-full".
Status write_folder(const Done& done, const std::string& folder, const std::string& command);

// One self-contained HTML file that follows the light or dark mode of the reader's system.
std::string report(const std::vector<Done>& all, const std::string& command);

// For documents: the summary as Markdown.
std::string markdown(const std::vector<Done>& all);

}  // namespace sl::reproduce
