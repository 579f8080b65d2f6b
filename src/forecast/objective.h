// What a future costs, by what users may care about. Smaller is better.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sl::forecast {

enum class Objective : std::uint8_t { mean_jct, makespan, deadlines, fairness };
const char* to_string(Objective objective);
std::optional<Objective> parse_objective(std::string_view text);

// Of the jobs that have an end in this future. Only what is still ahead: what has passed is the same in every future.
struct Costs {
  double jct_s = 0;       // mean time from now, or from the job's arrival, to its end
  double makespan_s = 0;  // from now to the last end
  double late =
      0;  // jobs that miss their deadline, plus a part of one for how much of the time until theirs they take:
          // the mean of x / (1 + x), where x is 1 for a job that ends at its deadline
  double unfair = 0;  // 1 - Jain's index of own length / time from submission to end
  friend bool operator==(const Costs&, const Costs&) = default;
};
double cost(const Costs& costs, Objective objective);

}  // namespace sl::forecast
