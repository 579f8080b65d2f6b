// schedulearn-dst --seeds A..B [--for SECONDS] [--plant FAULT] [--history]
// Runs the histories of these seeds (with --for: on from A until the time is over) and stops at the first violation,
// whose history it prints. Exit status 0: none; 1: a violation; 2: usage.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "dst/world.h"

namespace {

using namespace sl::dst;

struct Options {
  std::uint64_t first = 1, last = 1000;
  double for_s = 0;
  Plant plant = Plant::none;
  bool history = false;
};

// A broken invariant of the production code ends the process: say in which history.
volatile std::uint64_t current_seed = 0;
void on_abort(int) {
  std::fprintf(stderr, "in the history of seed %llu\n", static_cast<unsigned long long>(current_seed));
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--history") {
      options.history = true;
      continue;
    }
    ++i;
    if (word == "--seeds") {
      options.first = std::strcmp(value, "fresh") == 0 ? std::random_device{}() : std::strtoull(value, nullptr, 10);
      const char* dots = std::strstr(value, "..");
      options.last = dots ? std::strtoull(dots + 2, nullptr, 10) : options.first;
    } else if (word == "--for") {
      options.for_s = std::atof(value);
      options.last = ~std::uint64_t{0};
    } else if (word == "--plant") {
      options.plant = std::strcmp(value, "skip-fsync") == 0 ? Plant::skip_fsync : Plant::no_lease;
    } else {
      return false;
    }
  }
  return options.first <= options.last;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: schedulearn-dst [--seeds A..B | --seeds fresh] [--for SECONDS] [--plant skip-fsync|no-lease] "
                 "[--history]\n");
    return 2;
  }
  std::signal(SIGABRT, on_abort);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::uint64_t events = 0, jobs = 0, seed = options.first;
  for (; seed <= options.last && (options.for_s <= 0 || seconds() < options.for_s); ++seed) {
    current_seed = seed;
    const Outcome outcome = run_history(seed, options.plant, options.history);
    events += outcome.events, jobs += outcome.jobs;
    for (const std::string& line : outcome.history) std::printf("%s\n", line.c_str());
    if (outcome.violation.empty()) continue;
    if (!options.history) {
      for (const std::string& line : run_history(seed, options.plant, true).history) std::printf("%s\n", line.c_str());
    }
    std::printf("VIOLATION seed %llu after %.1f s: %s\n", static_cast<unsigned long long>(seed), seconds(),
                outcome.violation.c_str());
    std::printf("again: schedulearn-dst --seeds %llu --history\n", static_cast<unsigned long long>(seed));
    return 1;
  }
  std::printf("%llu histories from seed %llu, %llu events, %llu jobs, no violation, %.1f s\n",
              static_cast<unsigned long long>(seed - options.first), static_cast<unsigned long long>(options.first),
              static_cast<unsigned long long>(events), static_cast<unsigned long long>(jobs), seconds());
  return 0;
}
