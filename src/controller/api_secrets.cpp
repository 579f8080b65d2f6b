// What users have stored for their jobs. Nobody is told a value.
#include "controller/api.h"
#include "controller/views.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

Error only_read() { return conflict("not-running", "secrets are kept by a running controller"); }

}  // namespace

void Api::list_secrets(Call call) {
  if (!secrets_) return call.fail(only_read());
  std::vector<std::string> texts;
  for (const SecretStore::Listed& secret : secrets_->list(call.user()))
    texts.push_back(wire::json_text(wire::to_value(answers::Secret{secret.name, {secret.changed_us}})));
  send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
}

// The disk is waited for elsewhere.
void Api::put_secret(Call call) {
  if (!secrets_) return call.fail(only_read());
  history_.ask<bool>(
      [secrets = secrets_, user = call.user(), name = call.captured.front(), value = std::move(call.request.body),
       now = call.now](store::Reader&) -> Result<bool> {
        const Status stored = secrets->set(user, name, value, now.us);
        return stored.ok() ? Result<bool>(true) : Result<bool>(stored.error());
      },
      [call](const Result<bool>& stored) {
        stored.ok() ? call.send(200, answers::Secret{call.captured.front(), {call.now.us}}) : call.fail(stored.error());
      });
}

void Api::remove_secret(Call call) {
  if (!secrets_) return call.fail(only_read());
  history_.ask<bool>(
      [secrets = secrets_, user = call.user(), name = call.captured.front()](store::Reader&) -> Result<bool> {
        const Status removed = secrets->remove(user, name);
        return removed.ok() ? Result<bool>(true) : Result<bool>(removed.error());
      },
      [call](const Result<bool>& removed) {
        removed.ok() ? call.send(200, answers::RemovedSecret{call.captured.front()}) : call.fail(removed.error());
      });
}

}  // namespace sl::controller
