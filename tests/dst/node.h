// A process of the simulated world that can die at any moment, be frozen and thawed. Messages on their way to a process
// that dies are lost.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "dst/heap.h"

namespace sl::dst {

struct Crash {};  // thrown where a process dies

class Node {
 public:
  explicit Node(Heap& heap) : heap_(heap) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool alive() const { return alive_; }
  bool frozen() const { return heap_.now() < frozen_until_; }
  void come_alive() { alive_ = true, frozen_until_ = heap_.now(); }
  std::function<void()> on_death;

  // The process does this after the delay, unless it has died by then; later if it is frozen.
  void post(Duration delay, std::function<void()> what) {
    heap_.after(delay, [this, life = life_, what = std::move(what)]() mutable { arrive(life, std::move(what)); });
  }
  // Runs now, in the process.
  void run(const std::function<void()>& what) {
    if (!alive_) return;
    try {
      what();
    } catch (const Crash&) {
      die();
    }
  }
  void die() {
    if (!alive_) return;
    alive_ = false;
    ++life_;
    backlog_.clear();
    if (on_death) on_death();
  }
  void freeze(Duration time) {
    if (alive_) frozen_until_ = std::max(frozen_until_, heap_.now() + time);
  }

 private:
  void arrive(std::uint64_t life, std::function<void()> what) {
    if (life != life_ || !alive_) return;
    if (!frozen() && backlog_.empty()) return run(what);
    if (backlog_.empty()) heap_.at(frozen_until_, [this, life] { thaw(life); });
    backlog_.push_back(std::move(what));
  }
  void thaw(std::uint64_t life) {
    if (life != life_) return;
    if (frozen()) {  // frozen again in the meantime
      heap_.at(frozen_until_, [this, life] { thaw(life); });
      return;
    }
    const auto backlog = std::exchange(backlog_, {});
    for (const auto& what : backlog) {
      if (life == life_) run(what);
    }
  }

  Heap& heap_;
  bool alive_ = false;
  std::uint64_t life_ = 0;
  Instant frozen_until_;
  std::vector<std::function<void()>> backlog_;  // what arrived while it was frozen
};

}  // namespace sl::dst
