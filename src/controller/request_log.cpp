#include "controller/request_log.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "wire/job_spec.h"
#include "wire/json_text.h"
#include "wire/utf8.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr std::size_t id_bytes_max = 64;
constexpr std::size_t line_bytes_max = 2'000;  // less than a pipe takes in one piece

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= id_bytes_max && std::ranges::all_of(text, [](char c) {
    return std::string_view("._:-").find(c) != std::string_view::npos || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

// In quotes, and in one line whatever it holds.
std::string quoted_text(std::string_view text) {
  return wire::json_text(json::string(wire::first_characters(text, 500)));
}

std::string text_in(const std::string& document, const char* key) {
  json::error_code error;
  const json::value value = json::parse(document, error);
  const json::value* found = error || !value.is_object() ? nullptr : value.get_object().if_contains(key);
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace

std::string RequestLog::id_of(const net::Request& request) {
  if (const auto given = request.header("x-request-id"); given && is_id(*given)) return *given;
  return fmt::format("{:x}-{}", begin_.us, ++requests_);
}

std::string request_line(const RequestLog::Line& line) {
  const int status = line.answer.status;
  const bool changes = line.method != "GET" && line.method != "HEAD";
  if (!changes && status < 500 && status != 401 && status != 403) return "";
  std::string text = fmt::format("{} level={} request={} user={} method={} path={} status={} took_ms={:.1f}",
                                 wire::time_text(line.at.us),
                                 status >= 500   ? "error"
                                 : status >= 400 ? "warning"
                                                 : "info",
                                 line.id, quoted_text(line.user), line.method, quoted_text(line.path), status,
                                 static_cast<double>(line.took.us) * 1e-3);
  if (status >= 400)
    text += fmt::format(" code={} detail={}", text_in(line.answer.body, "code"),
                        quoted_text(text_in(line.answer.body, "detail")));
  return text.substr(0, line_bytes_max);
}

void RequestLog::write(const Line& line) {
  if (!writes_) return;
  std::string text = request_line(line);
  if (text.empty()) return;
  if (const std::uint64_t dropped = dropped_.exchange(0); dropped > 0)
    text += fmt::format(" dropped_before={}", dropped);
  text += '\n';
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  const bool has_room = ::poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0;
  if (!has_room || ::write(STDERR_FILENO, text.data(), text.size()) < 0) ++dropped_;
}

}  // namespace sl::controller
