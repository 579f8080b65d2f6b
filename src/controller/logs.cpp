#include "controller/logs.h"

#include <array>

namespace sl::controller {
namespace {

constexpr std::array<signed char, 256> make_values() {
  std::array<signed char, 256> values{};
  for (auto& v : values) v = -1;
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<signed char>(i);
  return values;
}
constexpr auto base64_values = make_values();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = base64_values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

void Logs::read(const Output& output, std::int64_t offset, std::int64_t limit, double wait_s, Continue then) {
  if (files_) return then(files_(output, offset, limit));
  const Agent* agent = agents_.by_server(output.server);
  if (!agent || agent->session == 0) {
    return then(
        unavailable("server-unreachable", "server " + output.server + ", which keeps this output, is not connected")
            .hint("schedulearn status"));
  }
  const std::int64_t request = next_request_++;
  waiting_.emplace(request, Waiting{agent->session, std::move(then)});
  outside_.send(agent->session, wire::LogRead{request, output.incarnation, offset, limit, wait_s});
}

void Logs::on_chunk(SessionId session, const wire::LogChunk& chunk) {
  const auto at = waiting_.find(chunk.request);
  if (at == waiting_.end() || at->second.session != session) return;
  Continue then = std::move(at->second.then);
  waiting_.erase(at);
  if (chunk.error) return then(not_found("output-not-found", "the server has no output of this attempt"));
  auto bytes = decode_base64(chunk.data);
  if (!bytes) return then(internal_error("bad-output", "the server sent output that cannot be read"));
  then(LogPiece{chunk.offset, std::move(*bytes), chunk.size, chunk.ended});
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
