// What runs attempts: processes now. Everything is addressed by the attempt's key (model/incarnation.h), never by a process
// number: numbers are used again. The unit is the tree: whatever an attempt has started, directly or not, wherever it
// has put itself since.
#pragma once

#include <cstdint>
#include <string>

#include "agent/journal.h"
#include "base/result.h"

namespace sl::agent {

class Runtime {
 public:
  virtual ~Runtime() = default;
  // Starts the attempt's first process, its leader, and returns its number once it runs the program. That it was
  // started is on record before. The folder of its output is there. The error is what the user reads, its code the kind of
  // failure: "setup" by the job's fault, "server_setup" by the server's.
  virtual Result<std::int64_t> start(const LaunchOrder& order) = 0;
  // Takes over what a predecessor has started in this boot. Returns whether its leader runs; if not, the rest of its
  // tree can still be killed.
  virtual bool adopt(const Started& started) = 0;
  // Starts another process of a tree whose leader runs, with the leader's environment. Whether that succeeded is seen by
  // what the process does.
  virtual void join(const JoinOrder& order) = 0;
  // From now on, for what it was limited in from its start.
  virtual void limit(const std::string& key, const Limits& limits) = 0;
  // Of the whole tree, until it is forgotten. No kills of a key that is unknown or has no limit.
  virtual MemoryUse memory_use(const std::string& key) = 0;
  virtual Enforced enforces() = 0;                              // what it can limit
  virtual void signal(const std::string& key, int number) = 0;  // to the leader's process group
  virtual void kill(const std::string& key) = 0;                // the whole tree; it may take a moment to die
  // The whole tree stops where it is, or goes on. A frozen tree obeys no signal but a kill until it is thawed.
  virtual void freeze(const std::string& key) = 0;
  virtual void thaw(const std::string& key) = 0;
  virtual bool is_frozen(const std::string& key) = 0;
  virtual bool is_gone(const std::string& key) = 0;  // no process of the tree is left; unknown keys are gone
  virtual void forget(const std::string& key) = 0;   // it is gone and its end is recorded
};

}  // namespace sl::agent
