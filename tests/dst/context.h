// What every part of the simulated world shares.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "dst/faults.h"
#include "dst/heap.h"
#include "dst/judge.h"
#include "dst/node.h"

namespace sl::dst {

constexpr int gpus_per_server = 4;
inline std::string server_name(int number) { return fmt::format("server{}", number); }

class ServerNode;

struct Context {
  Heap heap;
  Random random;
  Faults faults;
  Judge judge{heap};
  std::map<std::string, ServerNode*> servers;  // by name; agents read each other's checkpoints
  Plant plant = Plant::none;
  bool calm = false;  // no more faults: everything broken heals
  Instant calm_since = Instant::never();
  bool keep_history = false;
  std::vector<std::string> history;

  explicit Context(std::uint64_t seed) : random(seed), faults(Faults::draw(random)) {}

  bool chance(double probability) { return !calm && random.chance(probability); }
  Duration between(double low_s, double high_s) { return Duration::seconds(random.uniform(low_s, high_s)); }
  // A point where a process may die: before and after everything that the world sees of it.
  void crash_point() {
    if (chance(faults.crash)) throw Crash{};
  }
  template <typename... Arguments>
  void note(const char* who, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!keep_history) return;
    history.push_back(fmt::format("{:10.3f} {:<12} {}", heap.now().to_seconds() - 1'000'000, who,
                                  fmt::format(text, std::forward<Arguments>(arguments)...)));
  }
};

}  // namespace sl::dst
