// The containers of a simulated server's jobs: the programs that run them (container/run_logic.h), their first processes
// as agent/init_main.cpp makes them, and the folder of each attempt. The engine is in engine.h.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "container/run_logic.h"
#include "dst/engine.h"

namespace sl::dst {

class Containers {
 public:
  struct World {
    std::function<void(Duration, std::function<void()>)> later;  // unless the power is cut
    std::function<bool()> is_disk_full;
    std::function<void(const std::string& key, int status)> runner_ends;
    std::function<void(const std::string& key)> process_ends;  // the last one of the attempt's container
    std::function<void(const std::string& key)> job_begins;
    std::function<void(const std::string& text)> note;
  };
  // What a job does, from its command.
  struct Plan {
    double seconds = 0;
    int status = 0;  // as from waitpid
    bool is_missing = false, runs_out_of_memory = false;
  };

  Containers(Context& context, std::string server, World world);

  // ---- the folders of attempts, on disk ----
  void order(const std::string& key, const std::string& name);
  bool has(const std::string& key) const { return folders_.contains(key); }
  bool may_be_left(const std::string& key) const { return folders_.contains(key) && folders_.at(key).may_be_left; }
  bool has_begun(const std::string& key) const { return folders_.contains(key) && !folders_.at(key).end.empty(); }
  std::optional<container::Outcome> report(const std::string& key) const;
  void forget(const std::string& key) { folders_.erase(key); }
  std::set<std::string> keys() const;

  // ---- processes ----
  void start(const std::string& key, const Plan& plan);  // the program that runs it
  void runner_ended(const std::string& key);             // for whatever reason: its lock is free now
  void signal(const std::string& key, int number);
  void kill(const std::string& key);  // the first process
  void freeze(const std::string& key, bool frozen);
  void end_job(const std::string& key, int status);  // by itself
  bool has_process(const std::string& key) const;
  void power_lost();

  // ---- the engine ----
  Engine& engine() { return engine_; }
  bool holds_none() const;
  // Removes what nobody runs; `done`: whether all is gone.
  void sweep(const std::function<bool()>& is_awaited, const std::function<void(bool)>& done);
  // In peace: what nobody runs is not there for long.
  void check_leftovers(Instant all_well_since) const;

 private:
  struct Folder {
    container::Order order;
    bool may_be_left = false, may_begin = false;
    std::string end;
    std::optional<container::Outcome> report;
  };
  struct Runner {
    container::RunLogic logic;
    Plan plan;
    int number = 0;
    bool frozen = false, waits_for_answer = false;
    std::optional<int> signal;
    std::vector<std::function<void()>> backlog;  // what it hears when it is thawed
  };
  struct First {  // process of a container
    std::string key;
    bool frozen = false, has_begun = false;
    std::optional<int> end_when_thawed;
  };
  void act(const std::string& key);
  void act_later(const std::string& key);
  void take_step(const std::string& key, Runner& runner);
  void ask(const std::string& key, Runner& runner, Call call);
  void hear(const std::string& key, container::Step step, const Answer& answer);
  void prepare(Folder& folder, Runner& runner);
  void begin(const std::string& key, Folder& folder, Runner& runner);
  void wait(const std::string& key, Folder& folder, Runner& runner);
  void write_report(const std::string& key, Folder& folder, Runner& runner);
  void first_acts(const std::string& name);
  void first_starts(const std::string& name);
  void first_ends(const std::string& name);
  void job_ends(const std::string& name, int status);
  std::string name_of(const std::string& key) const;
  Runner* runner_of(const std::string& key);
  First* first_of(const std::string& key);

  Context& context_;
  std::string server_;
  World world_;
  Engine engine_;
  std::map<std::string, Folder> folders_;  // by key
  std::map<std::string, Runner> runners_;  // by key
  std::map<std::string, First> firsts_;    // by the container's name
  std::map<std::string, Plan> plans_;      // of jobs whose program that runs them may be dead
  int runners_ever_ = 0;
};

}  // namespace sl::dst
