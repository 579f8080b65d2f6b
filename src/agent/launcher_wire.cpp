#include "agent/launcher_wire.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

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

bool fits_in_frame(const Fields& fields) {
  std::size_t size = 0;
  for (const std::string& field : fields) size += field.size() + 1;
  return size <= frame_bytes_max;
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

std::string join_gpus(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += (text.empty() ? "" : ",") + std::to_string(gpu);
  return text;
}

std::vector<int> split_gpus(const std::string& text) {
  std::vector<int> gpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) gpus.push_back(std::atoi(part.c_str()));
  return gpus;
}

Fields to_fields(const LaunchOrder& order) {
  Fields fields = {"start",
                   order.key,
                   std::to_string((order.fenced ? 1 : 0) + (order.has_container ? 2 : 0)),
                   order.workdir,
                   order.output,
                   order.required,
                   order.gpus,
                   std::to_string(order.arguments.size())};
  fields.insert(fields.end(), order.arguments.begin(), order.arguments.end());
  fields.insert(fields.end(), order.environment.begin(), order.environment.end());
  return fields;
}

std::optional<LaunchOrder> to_launch_order(const Fields& f) {
  constexpr std::size_t fixed = 8;
  if (f.size() < fixed || f[0] != "start" || f[1].empty() || f[1].find('/') != std::string::npos) return std::nullopt;
  const auto arguments = static_cast<std::size_t>(std::atoi(f[7].c_str()));
  if (arguments == 0 || f.size() < fixed + arguments) return std::nullopt;
  const int kind = std::atoi(f[2].c_str());
  const auto middle = f.begin() + static_cast<std::ptrdiff_t>(fixed + arguments);
  return LaunchOrder{f[1],
                     (kind & 1) != 0,
                     f[3],
                     f[4],
                     f[5],
                     f[6],
                     Fields(f.begin() + static_cast<std::ptrdiff_t>(fixed), middle),
                     Fields(middle, f.end()),
                     (kind & 2) != 0,
                     {}};
}

Fields to_fields(const JoinOrder& order) {
  Fields fields = {"join", order.key};
  fields.insert(fields.end(), order.arguments.begin(), order.arguments.end());
  return fields;
}

std::optional<JoinOrder> to_join_order(const Fields& f) {
  if (f.size() < 3 || f[0] != "join") return std::nullopt;
  return JoinOrder{f[1], Fields(f.begin() + 2, f.end())};
}

Fields to_fields(const LimitOrder& order) {
  Fields fields = {"limit", order.key};
  for (std::string& word : to_words(order.limits)) fields.push_back(std::move(word));
  return fields;
}

std::optional<LimitOrder> to_limit_order(const Fields& f) {
  if (f.size() < 2 || f[0] != "limit" || f[1].empty()) return std::nullopt;
  return LimitOrder{f[1], to_limits(Fields(f.begin() + 2, f.end()))};
}

Fields to_fields(const Enforced& enforced) {
  Fields fields = {"limits", enforced.cannot};
  fields.insert(fields.end(), enforced.names.begin(), enforced.names.end());
  return fields;
}

std::optional<Enforced> to_enforced(const Fields& f) {
  if (f.size() < 2 || f[0] != "limits") return std::nullopt;
  return Enforced{Fields(f.begin() + 2, f.end()), f[1]};
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
          s.gpus,
          s.stopped_by,
          s.frozen ? "1" : "0"};
}

// A launcher outlives its agent, so it may be of an older version, which says less.
std::optional<LauncherState> to_state(Fields f) {
  if (f.size() < 11 || f[0] != "state") return std::nullopt;
  f.resize(13);
  return LauncherState{f[1],
                       f[2],
                       std::atoll(f[3].c_str()),
                       std::atoll(f[4].c_str()),
                       std::atoll(f[5].c_str()),
                       number_of(f[6]),
                       number_of(f[7]),
                       f[8],
                       f[9],
                       f[10],
                       f[11],
                       f[12] == "1"};
}

}  // namespace sl::agent
