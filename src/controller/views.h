// What REST shows of jobs, servers, GPUs and events (policies: policy_views.h): JSON documents from the controller's
// memory.
#pragma once

#include <boost/json.hpp>

#include "controller/logic.h"

namespace sl::controller {

std::string rfc3339(std::int64_t us);  // UTC, milliseconds: 2026-11-20T22:15:03.120Z

boost::json::object job_view(const Logic& logic, const JobEntry& entry, Instant now);
std::string job_text(const Logic& logic, const JobEntry& entry, Instant now);  // the same, written down
boost::json::object explain_view(const Logic& logic, const JobEntry& entry, Instant now);
boost::json::object server_view(const Logic& logic, const Server& server, ServerIndex index);
boost::json::object gpu_view(const Logic& logic, const Server& server, ServerIndex index, int gpu);
boost::json::object cluster_view(const Logic& logic, Instant now);
boost::json::object event_view(const store::EventRow& row);
// The rows of the original API.
boost::json::object legacy_job_view(const JobEntry& entry);

// A list as text, item by item: ten thousand jobs are never held as a tree.
class ListText {
 public:
  void add(const boost::json::value& item) { add_text(boost::json::serialize(item)); }
  void add_text(std::string_view item);
  std::size_t count() const { return count_; }
  std::string end(std::size_t total, const boost::json::value& next_cursor = nullptr) &&;

 private:
  std::string text_ = "{\"items\":[";
  std::size_t count_ = 0;
};

}  // namespace sl::controller
