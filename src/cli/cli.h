// The command line: from argv to one command. The roles that run daemons are handed in by app.
#pragma once

#include <functional>
#include <string>

namespace sl::cli {

struct UpOptions {
  std::string data;      // empty: the user's data directory
  std::string simulate;  // "4" or "1x4"
  std::string listen = "127.0.0.1:5000";
  bool no_open = false;  // there is no page to open yet
  std::string record;    // folder for recordings; empty: none
};
struct ControllerOptions {
  std::string data;
  std::string listen = "127.0.0.1:5000";
  std::string token_file;
  std::string record;  // folder for recordings; empty: none
};
struct AgentOptions {
  std::string join = "http://127.0.0.1:5000";
  std::string data;
  std::string name;
  int simulate = 0;
  std::string token_file;
};

struct Roles {
  std::function<int(const UpOptions&)> up;
  std::function<int(const ControllerOptions&)> controller;
  std::function<int(const AgentOptions&)> agent;
  std::function<int(const std::string& file, bool as_json)> replay;
};

int run_cli(int argc, char** argv, const Roles& roles);

}  // namespace sl::cli
