// The documents that REST reads, other than those of wire/ (submissions, changes of jobs, profiles).
#pragma once

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sl::controller {

struct PolicyBody {
  std::string name;
  std::optional<std::map<std::string, boost::json::value>> parameters;
  std::optional<std::string> source;  // in Python; none: a built-in one
};
BOOST_DESCRIBE_STRUCT(PolicyBody, (), (name, parameters, source))

struct SignInBody {
  std::string email, password;
};
BOOST_DESCRIBE_STRUCT(SignInBody, (), (email, password))

struct TestBody {
  std::optional<std::string> to;
};
BOOST_DESCRIBE_STRUCT(TestBody, (), (to))

struct TryBody {
  std::vector<PolicyBody> policies;
  std::optional<bool> with_arrivals;  // jobs come as they came in the last day
};
BOOST_DESCRIBE_STRUCT(TryBody, (), (policies, with_arrivals))

struct JobBatch {
  std::vector<boost::json::value> jobs;  // each as in POST /jobs
};
BOOST_DESCRIBE_STRUCT(JobBatch, (), (jobs))

}  // namespace sl::controller
