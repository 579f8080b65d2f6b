#include "agent/launcher_wire.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace sl::agent {
namespace {

constexpr std::uint32_t frame_bytes_max = 4 << 20;

std::string text_of(const std::optional<int>& number) { return number ? std::to_string(*number) : ""; }
std::optional<int> number_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(std::atoi(text.c_str()));
}

}  // namespace

std::string frame(const Fields& fields) {
  std::string body;
  for (const std::string& field : fields) (body += field) += '\0';
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string result(sizeof length, '\0');
  std::memcpy(result.data(), &length, sizeof length);
  return result + body;
}

std::optional<Fields> FrameReader::next() {
  std::uint32_t length = 0;
  if (broken_ || buffer_.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, buffer_.data(), sizeof length);
  if (length > frame_bytes_max) broken_ = true;
  if (broken_ || buffer_.size() < sizeof length + length) return std::nullopt;
  Fields fields;
  for (std::size_t at = sizeof length; at < sizeof length + length;) {
    const std::size_t end = buffer_.find('\0', at);
    if (end == std::string::npos || end >= sizeof length + length) break;
    fields.push_back(buffer_.substr(at, end - at));
    at = end + 1;
  }
  buffer_.erase(0, sizeof length + length);
  return fields;
}

Fields to_fields(const LauncherState& s) {
  return {"state",
          s.key,
          s.state,
          std::to_string(s.pid),
          std::to_string(s.started_us),
          std::to_string(s.ended_us),
          text_of(s.exit_code),
          text_of(s.signal),
          s.failure_kind,
          s.failure_message,
          s.gpus};
}

std::optional<LauncherState> to_state(const Fields& f) {
  if (f.size() != 11 || f[0] != "state") return std::nullopt;
  return LauncherState{f[1],
                       f[2],
                       std::atoll(f[3].c_str()),
                       std::atoll(f[4].c_str()),
                       std::atoll(f[5].c_str()),
                       number_of(f[6]),
                       number_of(f[7]),
                       f[8],
                       f[9],
                       f[10]};
}

}  // namespace sl::agent
