// How long reading and generating a trace take: bench_traces FILE [REPEATS]. Prints medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "trace/text_file.h"
#include "trace/workloads.h"

namespace {

using namespace sl::trace;

template <typename Action>
double milliseconds(const Action& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

int read(const std::string& path, int repeats) {
  std::vector<double> text_ms, parse_ms;
  std::size_t jobs = 0, bytes = 0;
  for (int i = 0; i < repeats; ++i) {
    std::string text;
    bool good = true;
    text_ms.push_back(milliseconds([&] {
      auto read = read_text(path);
      good = read.ok();
      if (good) text = std::move(*read);
    }));
    bytes = text.size();
    parse_ms.push_back(milliseconds([&] {
      const auto trace = parse_trace(std::move(text), {});
      good = good && trace.ok();
      if (good) jobs = trace->jobs.size();
    }));
    if (!good) return std::fprintf(stderr, "%s is not a trace\n", path.c_str()), 1;
  }
  std::printf("%s: %zu jobs, %.1f MB of text; inflate %.1f ms, parse %.1f ms\n", path.c_str(), jobs,
              static_cast<double>(bytes) / 1e6, median(text_ms), median(parse_ms));
  return 0;
}

void make(const std::string& spec) {
  const double ms = milliseconds([&] { (void)make_workload(spec, 1, {}); });
  std::printf("%s: %.0f ms\n", spec.c_str(), ms);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: bench_traces FILE [REPEATS]\n", stderr), 2;
  if (const int failed = read(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 21); failed != 0) return failed;
  make("poisson:jobs=1000000");
  make("poisson:jobs=10000000");
  make("philly-like:jobs=1000000,deadline_slack=2,estimate_error=0.5");
}
