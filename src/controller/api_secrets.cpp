// What users have stored for their jobs. Nobody is told a value.
#include "controller/api.h"
#include "controller/views.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

Error only_read() { return conflict("not-running", "secrets are kept by a running controller"); }

}  // namespace

void Api::list_secrets(Call call) {
  if (!secrets_) return call.fail(only_read());
  ListText items;
  for (const SecretStore::Listed& secret : secrets_->list(call.user()))
    items.add(json::object{{"name", secret.name}, {"changed_at", rfc3339(secret.changed_us)}});
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
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
        stored.ok()
            ? call.send(200, json::object{{"name", call.captured.front()}, {"changed_at", rfc3339(call.now.us)}})
            : call.fail(stored.error());
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
        removed.ok() ? call.send(200, json::object{{"name", call.captured.front()}, {"removed", true}})
                     : call.fail(removed.error());
      });
}

}  // namespace sl::controller
