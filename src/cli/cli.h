// The command line: from argv to one command. app provides the roles that run daemons.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"
#include "wire/retention.h"

namespace sl::cli {

// Of the agent of a server, for jobs in containers.
struct ContainerOptions {
  std::string socket;               // of the engine; empty: the first of the usual places where one answers; "none"
  std::vector<std::string> mounts;  // folders of which jobs may mount parts
  bool allow_root = false;          // containers of root's jobs run as root
};

struct UpOptions {
  std::string data;      // never empty
  std::string simulate;  // "4": on one server; "3x4": on each of three
  std::string listen = "127.0.0.1:5000";
  std::string token_file;
  std::string record;       // folder for recordings; empty: none
  bool opens_page = false;  // in the browser of the desktop, if there is one
  wire::RetentionRule keep = {};
  std::int64_t snapshot_bytes_max = 100 << 20;
  std::vector<std::string> notify_allow;  // hosts of this machine that may be told of jobs
  ContainerOptions containers = {};
};
struct ControllerOptions {
  std::string data;
  std::string listen = "127.0.0.1:5000";
  std::string token_file;
  std::string record;  // folder for recordings; empty: none
  wire::RetentionRule keep = {};
  std::int64_t snapshot_bytes_max = 100 << 20;
  std::vector<std::string> notify_allow;  // as of `up`
  bool log_requests = false;              // to standard error
};
struct AgentOptions {
  std::string join;  // address of the controller
  std::string data;
  std::string name;
  int simulate = 0;
  std::string gpu_type;
  std::vector<std::string> labels;  // KEY=VALUE
  std::string token_file;
  wire::RetentionRule keep = {};
  double shell_keep_s = 3600;  // how long a shell waits for somebody to come back to it
  ContainerOptions containers = {};
};

struct DatabaseOptions {
  std::string verb;  // backup | check | restore
  std::string data;  // folder
  std::string file;  // backup: to write; restore: to read; check: to read, or empty
};

// Answers GET requests in this process. `on_data` as in net::fetch_stream; without it the body is in the answer.
using OnData = std::function<bool(std::string_view)>;
using Fetch = std::function<Result<net::ClientResponse>(const net::ClientRequest& request, const OnData& on_data)>;

struct Roles {
  std::function<int(const UpOptions&)> up;
  std::function<int(const ControllerOptions&)> controller;
  std::function<int(const AgentOptions&)> agent;
  std::function<int(const std::string& file, bool as_json)> replay;
  std::function<Result<Fetch>(const std::string& data)> open_past;  // of a data folder where no daemon runs
  // What was found in the database, as keys and values: file, bytes, schema, jobs, events, kept.
  std::function<Result<boost::json::value>(const DatabaseOptions&)> database;
};

int run_cli(int argc, char** argv, const Roles& roles);

}  // namespace sl::cli
