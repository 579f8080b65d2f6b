// The policy `auto` in a simulation: now and then the present of the simulated core is continued under each candidate, as
// the controller does with a live one, and the best takes over (forecast/choice.h). Lengths of jobs are known if
// policies know them; else they are learnt from the jobs that have finished, from what users estimate, and not at all from
// the trace. Of arrays only the mean length of their members is known; jobs that might come in a future come as jobs of their
// own, and by deadlines, arrays that have ended do not count.
#pragma once

#include <functional>
#include <optional>

#include "policy/policy.h"
#include "sim/world.h"

namespace sl::study {

// For SimulationSettings::advise. `trace` and `cluster` must outlive it; `parameters`: of the policy `auto`, checked.
std::function<std::optional<sim::PolicySwitch>(const Core&, Instant)> auto_adviser(const trace::Trace& trace,
                                                                                   const sim::SimulationSettings& world,
                                                                                   const GivenParameters& parameters);

}  // namespace sl::study
