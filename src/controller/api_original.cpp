// The original Schedulearn's API, but its list of jobs (api_lists.cpp) and its output (api_logs.cpp).
#include "controller/api.h"
#include "controller/requests.h"
#include "controller/views.h"
#include "policies/catalogue.h"
#include "wire/error.h"
#include "wire/json.h"

namespace sl::controller {

namespace json = boost::json;

void Api::legacy_create(Call call) { submit(std::move(call), true); }

void Api::legacy_get(Call call) {
  with_job(std::move(call),
           [](const Call& asked, const JobEntry& entry) { asked.send(200, original_job_view(entry)); });
}

// Cancels it if it has not ended, and takes it out of the original's list.
void Api::legacy_delete(Call call) {
  if (!hidden_) return call.fail(conflict("not-running", "nothing can be changed while no controller runs"));
  with_own_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    const JobId job(entry.row.id);
    const auto hide = [this, asked, job] {
      hidden_->hide(job, [asked](const Status& status) {
        status.ok() ? asked.send(200, answers::Message{"Job deleted successfully"}) : asked.fail(status.error());
      });
    };
    if (entry.row.finished_us) return hide();
    logic_.cancel(job, asked.user(), asked.now, [asked, hide](const Result<JobId>& cancelled) {
      cancelled.ok() ? hide() : asked.fail(cancelled.error());
    });
  });
}

void Api::legacy_algorithm(Call call) {
  if (!find_policy(call.captured.front()))
    return call.send(400, json::value(json::object{{"detail", "Invalid algorithm"}}));
  logic_.set_policy({call.captured.front()}, call.user(), call.now, [this, call](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    call.send(200, answers::Message{"Algorithm changed to " + logic_.policies().info().title});
  });
}

// Whose password it is, the token of this controller, was checked before (admission.h).
void Api::legacy_sign_in(Call call) {
  const auto body = wire::read_json<SignInBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  call.send(200, answers::OriginalUser{call.user(), body->email, body->password});
}

}  // namespace sl::controller
