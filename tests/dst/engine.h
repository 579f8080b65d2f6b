// A container engine of a simulated server. It is slow, forgets what it was asked to do or to answer, does it when nobody
// waits any more, is restarted (with its containers or without), and has names that strangers took. Its containers'
// first processes are those of the server (containers.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "container/engine.h"
#include "dst/context.h"

namespace sl::dst {

enum class Call { create, inspect, start, remove, list };

struct Request {
  Call call;
  std::string name;        // of the container
  std::string agent, key;  // of create: its labels
  Duration patience = Duration::whole_seconds(120);
  std::function<bool()> is_awaited;  // whether the caller still wants the answer
};

struct Answer {
  Status status;
  std::optional<container::State> state;  // of inspect; empty: there is no such container
  std::vector<std::string> names;         // of list: all that have the agent's label
};

class Engine {
 public:
  struct Box {               // a container
    std::string agent, key;  // labels; without: a stranger's
    bool runs = false, out_of_memory = false;
    bool is_late = false;  // made when nobody waited for it any more: only a sweep that comes by finds it
    Instant changed;
  };
  struct World {
    std::function<void(const std::string& name)> start;  // its first process
    std::function<void(const std::string& name)> kill;
    std::function<void(const std::string& name)> check_removal;
  };

  Engine(Context& context, World world);
  void ask(const Request& request, std::function<void(const Answer&)> answer);

  // ---- what happens to it ----
  void restart(Duration away);
  void end_one();    // somebody ends a container by hand
  void start_one();  // somebody starts one by hand
  void power_lost();

  bool is_away() const { return !context_.calm && context_.heap.now() < away_until_; }
  Box* find(const std::string& name);
  const std::map<std::string, Box>& boxes() const { return boxes_; }

 private:
  Answer carry_out(const Request& request);
  Answer create(const Request& request);
  Answer start(const Request& request);
  Answer inspect(const Request& request) const;
  Answer remove(const Request& request);
  Box* any(bool runs);

  Context& context_;
  World world_;
  bool keeps_containers_, tells_of_memory_;  // as Podman and Docker differ
  Instant away_until_;
  int restarts_ = 0;
  std::map<std::string, Box> boxes_;  // by name
};

}  // namespace sl::dst
