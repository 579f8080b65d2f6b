// Which parts of jobs a list shows: a table of thousands of jobs needs a few words of each.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::controller {

class JobFields {
 public:
  JobFields() = default;  // all of them
  // "id,name,spec.gpus": keys of a job, and of its specification. Error "bad-field".
  static Result<JobFields> parse(std::string_view text);

  bool are_all() const { return keys_.empty() && spec_keys_.empty(); }
  bool need_spec() const { return needs_spec_; }
  // The job with nothing else.
  boost::json::object of(boost::json::object job) const;

 private:
  std::vector<std::string> keys_, spec_keys_;
  bool needs_spec_ = true;
};

}  // namespace sl::controller
