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

struct ClaimText {
  std::string sentence, verdict;  // "holds", "does not hold"
  std::string why;                // it does not; may be empty
  bool holds = false;
};
std::vector<ClaimText> claims_of(const Done& done);

std::string table(const Done& done);
boost::json::object to_document(const Done& done);

// figures.csv, every sample in samples.csv, and for each chart SVG and CSV. Errors "cannot-write", "disk-full".
Status write_folder(const Done& done, const std::string& folder, const std::string& command);

// One HTML file that needs no other, light and dark as the reader's system is.
std::string report(const std::vector<Done>& all, const std::string& command);

// For documents: the summary as Markdown.
std::string markdown(const std::vector<Done>& all);

}  // namespace sl::reproduce
