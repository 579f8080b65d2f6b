// Code that jobs were submitted with.
#include <limits>

#include "controller/api.h"
#include "controller/views.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

answers::StoredSnapshot snapshot_view(const std::string& id, std::int64_t here, std::int64_t size) {
  return {id, size, here};
}

}  // namespace

void Api::describe_snapshots(Call call) {
  snapshots_.look([this, call](const Result<Snapshots::Stored>& stored) {
    if (!stored.ok()) return call.fail(stored.error());
    call.send(200, answers::KeptSnapshots{snapshots_.bytes_max(), static_cast<std::size_t>(stored->count),
                                          stored->bytes, retention_.rule().age_s});
  });
}

void Api::get_snapshot(Call call) {
  const std::string& id = call.captured.front();
  if (const auto bytes = snapshots_.use(id)) return call.send(200, snapshot_view(id, *bytes, *bytes));
  call.fail(not_found("snapshot-missing", "there is no snapshot " + id));
}

void Api::put_snapshot(Call call) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  const auto offset = call.number("offset", 0, 0, most);
  const auto size = call.number("size", static_cast<std::int64_t>(call.request.body.size()), 1, most);
  if (!offset.ok()) return call.fail(offset.error());
  if (!size.ok()) return call.fail(size.error());
  const std::string id = call.captured.front();
  snapshots_.put(id, *offset, *size, std::move(call.request.body),
                 [call, id, size = *size](const Result<std::int64_t>& here) {
                   here.ok() ? call.send(200, snapshot_view(id, *here, size)) : call.fail(here.error());
                 });
}

// Source code: not for everybody's eyes, no more than the files of the job.
void Api::get_diff(Call call) {
  with_own_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    const auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
    if (!spec.ok()) return asked.fail(spec.error());
    snapshots_.read_diff(spec->snapshot, [asked](Result<std::string> diff) {
      if (!diff.ok()) return asked.fail(diff.error());
      // A browser must not guess that it is a page.
      asked.reply->send({200, "text/plain; charset=utf-8", {{"X-Content-Type-Options", "nosniff"}}, std::move(*diff)});
    });
  });
}

}  // namespace sl::controller
