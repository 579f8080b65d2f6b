#include "controller/logs.h"

#include "wire/base64.h"

namespace sl::controller {
void Logs::read(const Output& output, std::int64_t offset, std::int64_t limit, double wait_s, Continue then) {
  if (files_) return then(files_(output, offset, limit));
  const Agent* agent = agents_.by_server(output.server);
  if (!agent || agent->session == 0) {
    return then(
        unavailable("server-unreachable", "server " + output.server + ", which keeps this output, is not connected")
            .hint("schedulearn status"));
  }
  const std::int64_t request = next_request_++;
  waiting_.emplace(request, Waiting{agent->session, output.incarnation.job, std::move(then)});
  outside_.send(agent->session,
                wire::LogRead{request, output.incarnation, output.path, offset, limit, wait_s, output.with_times});
}

void Logs::on_chunk(SessionId session, const wire::LogChunk& chunk) {
  const auto at = waiting_.find(chunk.request);
  if (at == waiting_.end() || at->second.session != session) return;
  Continue then = std::move(at->second.then);
  const std::int64_t job = at->second.job;
  waiting_.erase(at);
  if (chunk.error == "no-such-file")
    return then(
        not_found("no-such-file", chunk.text.empty() ? "the job has left no such file" : "no file: " + chunk.text)
            .hint("schedulearn files " + std::to_string(job) + " ls"));
  if (chunk.error == "unreadable")
    return then(unavailable("file-unreadable", "the server cannot read it: " + chunk.text));
  if (chunk.error) return then(not_found("output-not-found", "the server has no output of this attempt"));
  auto bytes = wire::decode_base64(chunk.data);
  if (!bytes) return then(internal_error("bad-output", "the server sent output that cannot be read"));
  then(LogPiece{chunk.offset, std::move(*bytes), chunk.size, chunk.ended, chunk.kind, chunk.times});
}

void Logs::on_closed(SessionId session) {
  std::vector<Continue> orphans;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (at->second.session != session) {
      ++at;
      continue;
    }
    orphans.push_back(std::move(at->second.then));
    at = waiting_.erase(at);
  }
  for (auto& then : orphans) then(unavailable("server-unreachable", "the server that keeps this output has gone"));
}

}  // namespace sl::controller
