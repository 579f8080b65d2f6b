// What is expected: how ranges held, and other policies tried on the present.
#include "controller/api.h"
#include "controller/estimate_views.h"

namespace sl::controller {

void Api::with_forecast(const Call& call, Duration limit, std::function<void()> work) {
  forecasts_.when_fresh(call.now, call.now + limit, std::move(work));
}

void Api::list_estimates(Call call) {
  const auto prospects = logic_.outlook() ? logic_.outlook()->latest() : nullptr;
  call.send(200, record_view(prospects ? *prospects : Prospects{}));
}

}  // namespace sl::controller
