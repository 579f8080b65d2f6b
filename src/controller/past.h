// Answers questions about a data folder whose controller does not run, in the process that asks. The database is only
// read, nothing is decided, and output is read from the files of agents on this machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "controller/logs.h"
#include "net/http.h"

namespace sl::controller {

class Past {
 public:
  virtual ~Past() = default;
  // Answers a GET request as the controller would. `on_data` receives the body piece by piece; without it, and if the
  // status is an error's, the body is in the answer. It returns false to have no more.
  using OnData = std::function<bool(std::string_view)>;
  virtual net::Response answer(net::Request request, const OnData& on_data) = 0;

  // `read_output`: a piece of an attempt's output, or "output-not-found".
  // Errors: "no-database", "older-schema", "newer-schema", "store-failed".
  static Result<std::unique_ptr<Past>> open(const std::string& data_dir, const std::string& version,
                                            Logs::ReadFiles read_output);
};

}  // namespace sl::controller
