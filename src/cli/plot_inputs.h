// Pictures of what simulations are fed with: traces and profiles of trainings.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"

namespace sl::cli {

// `plot arrivals`: files or workloads, as `--trace` takes them. Errors: those of open_trace and arrivals_figure.
Result<plot::Figure> arrivals_of(const std::vector<std::string>& traces, std::uint64_t seed);

// `plot speedup`: files with profiles (docs/formats/profile.md), or names of profiles. Errors: those of read_profiles,
// find_profile and speedup_figure.
Result<plot::Figure> speedup_of(const std::vector<std::string>& profiles);

}  // namespace sl::cli
