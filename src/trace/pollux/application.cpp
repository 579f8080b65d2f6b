#include "trace/pollux/application.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/check.h"
#include "base/csv.h"
#include "trace/numbers.h"
#include "trace/text_file.h"

extern "C" {
extern const char sl_pollux_placements[], sl_pollux_placements_end[];
extern const char sl_pollux_scalability[], sl_pollux_scalability_end[];
extern const char sl_pollux_validation[], sl_pollux_validation_end[];
}

namespace sl::trace {
namespace {

using Applications = std::map<std::string, PolluxApplication, std::less<>>;

// How many epochs each runs, and the largest batch of one GPU where it is not the largest that was measured.
struct Fixed {
  const char* name;
  int epochs;
  int local_batch_max;
};
constexpr Fixed fixed[] = {{"bert", 2, 0},      {"cifar10", 100, 0}, {"deepspeech2", 80, 0},
                           {"imagenet", 90, 0}, {"ncf", 10, 0},      {"yolov3", 50, 8}};

void for_each_row(const char* begin, const char* end, const std::function<void(const Fields&)>& take) {
  const Result<std::string> text = inflate_text({begin, static_cast<std::size_t>(end - begin)});
  SL_CHECK(text.ok(), "the measurements are whole");
  CsvRows rows(*text);
  for (rows.next(); rows.next();) take(rows.fields());
}

int count(std::string_view text) { return count_of(text).value(); }

StepTime step_time(const Fields& row, std::size_t at) { return {number(row[at]).value(), number(row[at + 1]).value()}; }

Applications read_tables() {
  Applications all;
  const auto named = [&](const Fields& row) -> PolluxApplication& { return all[std::string(row[0])]; };
  for_each_row(sl_pollux_placements, sl_pollux_placements_end, [&](const Fields& row) {
    named(row).step_times.add(std::string(row[1]), count(row[2]), step_time(row, 3));
  });
  for_each_row(sl_pollux_scalability, sl_pollux_scalability_end, [&](const Fields& row) {
    named(row).step_times.add(count(row[1]), count(row[2]), count(row[3]), step_time(row, 4));
  });
  for_each_row(sl_pollux_validation, sl_pollux_validation_end, [&](const Fields& row) {
    named(row).by_batch[count(row[1])].push_back(
        {number(row[2]).value(), {number(row[3]).value(), number(row[4]).value()}});
  });
  for (const auto& [name, epochs, local_batch_max] : fixed) {
    PolluxApplication& application = all.at(name);
    application.epochs = epochs;
    application.local_batch_max = local_batch_max > 0 ? local_batch_max : application.step_times.local_batch_max();
    application.step_times.triangulate();
  }
  return all;
}

const Applications& applications() {
  static const Applications all = read_tables();
  return all;
}

}  // namespace

double PolluxApplication::progress_after(int epoch) const {
  double least = by_batch.begin()->second.at(static_cast<std::size_t>(epoch - 1)).progress;
  for (const auto& [batch, measured] : by_batch)
    least = std::min(least, measured.at(static_cast<std::size_t>(epoch - 1)).progress);
  return least;
}

GradientNoise PolluxApplication::noise(int batch, int epoch) const {
  const auto above = by_batch.lower_bound(batch);
  const GradientNoise& high = above->second.at(static_cast<std::size_t>(epoch)).noise;
  if (above->first == batch) return high;
  const auto below = std::prev(above);
  const GradientNoise& low = below->second.at(static_cast<std::size_t>(epoch)).noise;
  const double to_low = batch - below->first, to_high = above->first - batch, width = above->first - below->first;
  return {(to_low * high.norm_squared + to_high * low.norm_squared) / width,
          (to_low * high.variance + to_high * low.variance) / width};
}

const PolluxApplication* find_pollux_application(std::string_view name) {
  const auto found = applications().find(name);
  return found == applications().end() ? nullptr : &found->second;
}

std::vector<std::string> pollux_applications() {
  std::vector<std::string> names;
  for (const auto& [name, application] : applications()) names.push_back(name);
  return names;
}

}  // namespace sl::trace
