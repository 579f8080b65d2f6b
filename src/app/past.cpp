// A data folder without a daemon: its database and the output that agents of this machine have kept.
#include <fmt/format.h>

#include <filesystem>

#include "agent/attempt_folders.h"
#include "agent/files.h"
#include "agent/output_times.h"
#include "app/roles.h"
#include "controller/past.h"
#include "net/url.h"

namespace sl::app {
namespace {

Result<controller::LogPiece> read_output(const std::string& data, const controller::Output& output, std::int64_t offset,
                                         std::int64_t limit) {
  if (output.path)
    return conflict("not-running", "files of jobs are fetched from running agents, and none runs here")
        .hint("schedulearn up --data " + data);
  for (const std::string& folder : agent_folders(data)) {
    const std::string attempt = agent::AttemptFolders::of_attempt(folder, key_of(output.incarnation));
    auto piece = agent::read_output(attempt, offset, limit);
    if (!piece) continue;
    controller::LogPiece found{piece->offset, std::move(piece->bytes), piece->size, true};
    const std::int64_t end = found.offset + static_cast<std::int64_t>(found.bytes.size());
    if (output.with_times) found.times = agent::read_output_times(attempt, found.offset, end);
    return found;
  }
  return not_found("output-not-found",
                   fmt::format("{} has no output of this attempt, which ran on server {}", data, output.server));
}

}  // namespace

std::string agent_folder(const std::string& data) { return data + "/agent"; }

std::string agent_folder(const std::string& data, const std::string& simulated_server) {
  return data + "/agents/" + simulated_server;
}

std::vector<std::string> agent_folders(const std::string& data) {
  std::vector<std::string> folders = {agent_folder(data)};
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(agent_folder(data, ""), missing))
    folders.push_back(entry.path());
  return folders;
}

Result<cli::Fetch> open_past(const std::string& data) {
  auto opened = controller::Past::open(data, SCHEDULEARN_VERSION, [data](const auto& output, auto offset, auto limit) {
    return read_output(data, output, offset, limit);
  });
  if (!opened.ok()) return opened.error();
  const std::shared_ptr<controller::Past> past = std::move(*opened);
  return cli::Fetch([past](const net::ClientRequest& asked, const cli::OnData& on_data) -> Result<net::ClientResponse> {
    const auto url = net::parse_url(asked.url);
    if (!url.ok()) return url.error();
    net::Request request;
    request.method = asked.method;
    net::parse_target(url->target, request);
    net::Response response = past->answer(std::move(request), on_data);
    return net::ClientResponse{response.status, std::move(response.headers), std::move(response.body)};
  });
}

}  // namespace sl::app
