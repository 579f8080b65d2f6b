// The agent's side of jobs that run in containers: which engine there is, bringing images here, what the program that
// runs a container is ordered to do (src/container), what it reports, and removing what is left in the engine.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/launcher_wire.h"
#include "agent/threads.h"
#include "base/time.h"
#include "container/engine.h"
#include "container/order.h"
#include "container/run_logic.h"
#include "net/event_loop.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// The end of an attempt in a container, by the report of the program that ran it; empty: it has left none, and whether
// the job has begun is known from elsewhere.
LauncherState explained_by(const std::optional<container::Outcome>& outcome, bool may_have_begun, LauncherState state);

class Containers {
 public:
  struct Ports {
    std::function<void(const std::string& key, const Result<std::string>& digest)> found;
    std::function<void(const wire::ImageProgress&)> tell;
    std::function<void()> engine_changed;                   // engine() is another than before
    std::function<void(const LauncherState& state)> begun;  // its job has; explain() says so now
  };
  Containers(net::EventLoop& loop, ContainerSettings settings, std::string data_dir, Ports ports);

  // "podman 4.3.1"; empty: there is none, or none that answers. The first call of look() waits for it, for two seconds
  // at most.
  const std::string& engine() const { return engine_; }
  void look();
  void tick(Instant now);  // a few times a second

  // Brings the image of the attempt here, unless it is here. Then found(), with "image" if it cannot be had.
  void find_image(const wire::StartAttempt& order);
  void end_find_image(const std::string& key);
  // What the image sets; found() has been called.
  std::string python_path(const std::string& key) const;
  // The order to the launcher, made from that for a plain process.
  Result<LaunchOrder> in_container(LaunchOrder plain, const wire::StartAttempt& order, const Limits& limits,
                                   const AttemptPlace& place);

  // Whether an attempt that is held runs in a container.
  bool is_one(const std::string& key) const { return ordered_.contains(key); }
  std::string digest(const std::string& key) const;
  // The state with what only the program that ran the container knows: until the job has begun, the attempt is
  // "starting". Its end is the newest news of this attempt.
  LauncherState explain(LauncherState state);
  // Its processes have been sent SIGKILL. Where somebody has paused its container they do not end by that: once the
  // program that runs it is gone, the engine removes it.
  void end(const std::string& key);
  void forget(const std::string& key);
  void on_launcher_lost() { unbegun_.clear(); }  // its successor reports what runs
  // Nothing runs but these: removes what else is left of containers, here and in the engine.
  void keep_only(const std::function<bool(const std::string& key)>& is_held);

 private:
  struct Search;
  std::string folder_of(const std::string& key) const { return dir_ + "/containers/" + key; }
  container::Engine engine_at(const std::string& socket, Duration patience) const;
  void take(const Result<std::string>& version, const std::string& socket);
  void do_without(const std::string& why, Duration at_least);
  void note_refusal(LauncherState& state);
  std::string kind_of(const std::string& key) const;
  bool has_begun(const std::string& key) const;
  bool is_at_terminal(const std::string& key) const;
  void watch_beginnings();
  void sweep();

  net::EventLoop& loop_;
  ContainerSettings settings_;
  std::string dir_, agent_, init_, runner_;
  Ports ports_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::string engine_, socket_;
  int silent_ = 0;  // looks in a row that found no engine
  bool is_looking_ = false;
  Instant next_look_, next_report_, unused_until_;
  std::map<std::string, LauncherState> unbegun_;       // whose containers are being made
  std::shared_ptr<net::EventLoop::Timer> beginnings_;  // null: none is awaited
  std::map<std::string, std::size_t> refusals_;        // by job: how often the engine has not made its container
  std::set<std::string> refused_kinds_;                // of containers, since one has begun
  container::Sweeps sweeps_;
  std::map<std::string, std::shared_ptr<Search>> searches_;
  std::map<std::string, container::ImageFacts> images_;  // of attempts that are about to start
  std::set<std::string> ordered_;                        // whose order is in its folder
  Threads threads_;
};

}  // namespace sl::agent
