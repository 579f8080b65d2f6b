// Traces for simulations: those that users upload, and the workloads.
#include <fmt/format.h>

#include "controller/api.h"
#include "controller/simulations.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

Error no_traces() { return conflict("not-running", "traces are read by a running controller"); }

// A page of another origin could send what a form can send.
Status expect_trace(const net::Request& request) {
  for (const char* known : {"text/csv", "application/gzip", "application/octet-stream"})
    if (request.has_media_type(known)) return {};
  return invalid("media-type", "a trace is CSV, plain or gzip: Content-Type: text/csv or application/gzip")
      .hint("curl -H 'Content-Type: text/csv' --data-binary @FILE URL");
}

}  // namespace

void Api::upload_trace(Call call) {
  if (!simulations_) return call.fail(no_traces());
  if (const Status type = expect_trace(call.request); !type.ok()) return call.fail(type.error());
  constexpr std::int64_t most = std::int64_t{1} << 60;
  const auto offset = call.number("offset", 0, 0, most);
  const auto size = call.number("size", static_cast<std::int64_t>(call.request.body.size()), 0, most);
  if (!offset.ok()) return call.fail(offset.error());
  if (!size.ok()) return call.fail(size.error());
  simulations_->upload({.name = call.request.parameter("name").value_or(""),
                        .user = call.user(),
                        .offset = *offset,
                        .size = *size,
                        .bytes = std::move(call.request.body)},
                       [call](const Result<answers::TraceUpload>& here) {
                         here.ok() ? call.send(200, *here) : call.fail(here.error());
                       });
}

void Api::list_traces(Call call) {
  if (!simulations_) return call.fail(no_traces());
  const auto answer = [this, call](const Result<std::vector<answers::Trace>>& traces) {
    if (!traces.ok()) return call.fail(traces.error());
    std::vector<std::string> texts;
    for (const answers::Trace& each : *traces) texts.push_back(wire::json_text(wire::to_value(each)));
    send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
  };
  if (call.request.parameter("uploaded") == "true") return answer(simulations_->uploaded().list());
  simulations_->traces(answer);
}

void Api::get_trace(Call call) {
  if (!simulations_) return call.fail(no_traces());
  constexpr std::string_view folder = "/api/v1/traces/";  // what follows is the name, which may have a slash
  simulations_->trace(call.request.path.substr(folder.size()), [call](const Result<answers::Trace>& trace) {
    trace.ok() ? call.send(200, *trace) : call.fail(trace.error());
  });
}

void Api::remove_trace(Call call) {
  if (!simulations_) return call.fail(no_traces());
  const std::string name = call.captured.front();
  const auto found = simulations_->uploaded().find(name);
  if (!found.ok()) return call.fail(found.error());
  if (!call.identity.may_see(*found->user))
    return call.fail(denied("not-yours", fmt::format("trace {} is {}'s", name, *found->user)));
  const Status removed = simulations_->uploaded().remove(name);
  removed.ok() ? call.send(200, answers::RemovedTrace{name}) : call.fail(removed.error());
}

}  // namespace sl::controller
