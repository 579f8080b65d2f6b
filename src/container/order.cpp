#include "container/order.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/out_of_memory.h"
#include "wire/json.h"

namespace sl::container {
namespace {

std::string whole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Completely or not at all: it is read while it may be written.
bool replace(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  ::close(file);
  return written && ::rename(fresh.c_str(), path.c_str()) == 0;
}

std::optional<std::int64_t> number(const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

}  // namespace

Status write_order(const std::string& folder, const Order& order) {
  if (replace(folder + "/order.json", wire::write_json(order))) return {};
  return unavailable("server_setup", "cannot write " + folder + "/order.json: " + std::strerror(errno));
}

Result<Order> read_order(const std::string& folder) {
  return wire::read_json<Order>(whole(folder + "/order.json"), wire::Unknown::ignore);
}

void write_outcome(const std::string& folder, const Outcome& outcome) {
  replace(folder + "/result.json", wire::write_json(outcome));
}

std::optional<Outcome> read_outcome(const std::string& folder) {
  const Result<Outcome> outcome = wire::read_json<Outcome>(whole(folder + "/result.json"), wire::Unknown::ignore);
  return outcome.ok() ? std::optional(*outcome) : std::nullopt;
}

std::optional<Outcome> read_end(const std::string& text, std::optional<std::int64_t> asked_bytes) {
  constexpr std::int64_t code_max = 255, signal_max = 64, bytes_max = std::int64_t{1} << 60;
  Outcome outcome;
  bool has_end = false, ran_out = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    const std::string word = line.substr(0, blank), rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (word == "failed" && !rest.empty())
      outcome.failure_kind = "setup", outcome.failure_message = rest, has_end = true;
    if (word == "no_device")
      outcome.failure_kind = "server_setup", has_end = true,
      outcome.failure_message =
          "the container engine has given it no GPU: it needs Docker with NVIDIA's container toolkit";
    if (const auto code = number(rest, code_max); word == "exit" && code)
      outcome.exit_code = static_cast<int>(*code), has_end = true;
    if (const auto signal = number(rest, signal_max); word == "signal" && signal)
      outcome.signal = static_cast<int>(*signal), has_end = true;
    if (word == "oom_kills") ran_out = number(rest, bytes_max).value_or(0) > 0;
    if (word == "memory_peak") outcome.memory_peak_bytes = number(rest, bytes_max);
  }
  if (!has_end) return std::nullopt;
  if (!ran_out || outcome.exit_code == 0 || !outcome.failure_kind.empty()) return outcome;
  outcome.failure_kind = "out_of_memory";
  outcome.failure_message = out_of_memory_text(asked_bytes, outcome.memory_peak_bytes);
  return outcome;
}

}  // namespace sl::container
