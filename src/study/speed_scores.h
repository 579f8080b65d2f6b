// How good speeds predicted for other numbers of GPUs are (estimate/speed_model.h): published trainings are known on 1
// and 2 GPUs of one server, and predicted on more GPUs of that server.
#pragma once

#include "study/scoring.h"

namespace sl::study {

inline constexpr const char *by_speed_model = "power of the GPUs", *linear_speed = "linear in the GPUs";

// One row per set of measurements: Gavel's, on which the width of the range was chosen, and the others, those of Pollux
// and of the Schedulearn thesis.
ScoreTable score_speeds();

}  // namespace sl::study
