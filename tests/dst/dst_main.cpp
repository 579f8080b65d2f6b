// schedulearn-dst [--seeds A..B | --seeds fresh] [--for SECONDS] [--plant FAULT] [--history] [--survey]
// Runs the histories of these seeds (with --for: on from A until the time is over) and stops at the first violation,
// whose history it prints. With --survey it goes on and counts the violations by kind.
// Exit status 0: as it should be, no violation, or with a planted fault one; 1: otherwise; 2: usage.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
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
  bool survey = false;
};

const std::map<std::string, Plant> plants = {{"skip-fsync", Plant::skip_fsync},   {"no-lease", Plant::no_lease},
                                             {"leader-only", Plant::leader_only}, {"no-warden", Plant::no_warden},
                                             {"no-lock", Plant::no_lock},         {"no-gate", Plant::no_gate}};

// A broken invariant of the production code ends the process: name the history.
volatile std::uint64_t current_seed = 0;
void on_abort(int) {
  std::fprintf(stderr, "in the history of seed %llu\n", static_cast<unsigned long long>(current_seed));
}

template <typename Number>
bool parse_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Drawn at random, or by whoever runs all tests, so that one commit is tested by the same histories everywhere.
std::uint64_t fresh_seed() {
  const char* given = std::getenv("SCHEDULEARN_SEED");
  std::uint64_t seed = 0;
  return given && parse_number(std::string(given), seed) ? seed : std::random_device{}();
}

bool parse_seeds(const std::string& text, Options& options) {
  if (text == "fresh") options.first = fresh_seed();
  const std::size_t dots = text.find("..");
  if (text != "fresh" && !parse_number(text.substr(0, dots), options.first)) return false;
  options.last = options.first;
  return dots == std::string::npos ||
         (parse_number(text.substr(dots + 2), options.last) && options.first <= options.last);
}

// Returns what is wrong; empty: nothing.
std::string parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--history" || word == "--survey") {
      (word == "--history" ? options.history : options.survey) = true;
      continue;
    }
    const bool takes_value = word == "--seeds" || word == "--for" || word == "--plant";
    if (!takes_value || i + 1 == argc) return takes_value ? word + " needs a value" : "unknown option: " + word;
    const std::string value = argv[++i];
    if (word == "--seeds" && !parse_seeds(value, options)) return "these are no seeds: " + value;
    if (word == "--for" && !(parse_number(value, options.for_s) && options.for_s > 0)) return "not a time: " + value;
    if (word != "--plant") continue;
    if (plants.count(value) == 0) return "no planted fault is called " + value;
    options.plant = plants.at(value);
  }
  if (options.for_s > 0) options.last = ~std::uint64_t{0};
  return "";
}

int explain_usage(const std::string& fault) {
  std::string names;
  for (const auto& [name, plant] : plants) names += (names.empty() ? "" : "|") + name;
  fmt::print(stderr,
             "{}\nusage: schedulearn-dst [--seeds A..B | --seeds fresh] [--for SECONDS] [--plant {}] [--history] "
             "[--survey]\n",
             fault, names);
  return 2;
}

// The same for violations that differ only in numbers.
std::string kind_of(std::string violation) {
  std::string kind;
  for (const char c : violation) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) kind += c;
    if (is_digit && (kind.empty() || kind.back() != '#')) kind += '#';
  }
  return kind;
}

void print(const std::vector<std::string>& history) {
  for (const std::string& line : history) fmt::print("{}\n", line);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::string fault = parse(argc, argv, options); !fault.empty()) return explain_usage(fault);
  std::signal(SIGABRT, on_abort);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::uint64_t events = 0, jobs = 0, seed = options.first;
  struct Kind {
    int count = 0;
    std::uint64_t seed = 0;
    std::string violation;
  };
  std::map<std::string, Kind> kinds;
  const auto may_go_on = [&] {
    return seed <= options.last && (options.for_s <= 0 || seconds() < options.for_s) &&
           (options.survey || kinds.empty());
  };
  for (; may_go_on(); ++seed) {
    current_seed = seed;
    const Outcome outcome = run_history(seed, options.plant, options.history);
    events += outcome.events, jobs += outcome.jobs;
    print(outcome.history);
    if (outcome.violation.empty()) continue;
    if (!options.history && !options.survey) print(run_history(seed, options.plant, true).history);
    Kind& kind = kinds[kind_of(outcome.violation)];
    if (kind.count++ == 0) kind.seed = seed, kind.violation = outcome.violation;
  }
  for (const auto& [text, kind] : kinds)
    fmt::print("VIOLATION {}\n  {} of these; again: schedulearn-dst --seeds {} --history\n", kind.violation, kind.count,
               kind.seed);
  fmt::print("{} histories from seed {}, {} events, {} jobs, {}, {:.1f} s\n", seed - options.first, options.first,
             events, jobs, kinds.empty() ? "no violation" : "violated", seconds());
  return kinds.empty() == (options.plant == Plant::none) ? 0 : 1;
}
