#include "cli/starting.h"

#include <chrono>
#include <cstdio>
#include <ctime>

#include "wire/job_spec.h"
#include "wire/json_text.h"

namespace sl::cli {
namespace {

constexpr std::int64_t second_us = 1'000'000;

// What the local clock shows then.
std::int64_t local_us(std::tm parts) {
  parts.tm_isdst = -1;
  return static_cast<std::int64_t>(std::mktime(&parts)) * second_us;
}

std::tm local_parts(std::int64_t us) {
  const auto seconds = static_cast<std::time_t>(us / second_us);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

// "21:00", "21:00:30"
std::optional<std::int64_t> nearest_clock(const std::string& text, std::int64_t now_us, Toward toward) {
  std::tm parts = local_parts(now_us);
  parts.tm_sec = 0;
  int read = 0;
  const bool is_short = std::sscanf(text.c_str(), "%2d:%2d%n", &parts.tm_hour, &parts.tm_min, &read) == 2;
  if (is_short && text[static_cast<std::size_t>(read)] == ':') {
    int more = 0;
    if (std::sscanf(text.c_str() + read, ":%2d%n", &parts.tm_sec, &more) != 1) return std::nullopt;
    read += more;
  }
  const bool is_whole = is_short && static_cast<std::size_t>(read) == text.size();
  if (!is_whole || parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > 59) return std::nullopt;
  if (parts.tm_hour < 0 || parts.tm_min < 0 || parts.tm_sec < 0) return std::nullopt;
  const bool is_to_come = local_us(parts) > now_us;
  if (toward == Toward::future && !is_to_come) ++parts.tm_mday;
  if (toward == Toward::past && is_to_come) --parts.tm_mday;
  return local_us(parts);
}

// "2026-11-23 21:00", with T, with seconds
std::optional<std::int64_t> local_date(const std::string& text) {
  const auto as_utc = wire::parse_time_us(text + "Z");
  if (!as_utc.ok()) return std::nullopt;
  const auto seconds = static_cast<std::time_t>(*as_utc / second_us);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return local_us(parts);
}

bool names_jobs(const json::value& value) {
  if (value.is_string()) return true;
  if (!value.is_array()) return false;
  for (const json::value& item : value.get_array()) {
    if (item.is_string()) return true;
  }
  return false;
}

Status resolve_jobs(const Context& context, json::value& value) {
  if (!names_jobs(value)) return {};
  std::vector<std::string> words;
  const json::array one = {value};
  for (const json::value& item : value.is_array() ? value.get_array() : one)
    words.push_back(item.is_string() ? std::string(item.get_string()) : wire::json_text(item));
  const auto ids = select_jobs(context, words);
  if (!ids.ok()) return ids.error();
  value = json::array(ids->begin(), ids->end());
  return {};
}

Status resolve_time(json::value& value) {
  if (!value.is_string()) return {};
  const auto us = time_meant(std::string(value.get_string()), clock_us());
  if (!us.ok()) return Error(us.error()).at("/not_before");
  value = json::string(wire::time_text(*us));
  return {};
}

}  // namespace

std::int64_t clock_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

Result<std::int64_t> time_meant(const std::string& text, std::int64_t now_us, Toward toward) {
  if (const auto us = wire::parse_time_us(text); us.ok()) return us;
  if (const auto us = nearest_clock(text, now_us, toward)) return *us;
  if (const auto us = local_date(text)) return *us;
  const auto duration = text.find(':') == std::string::npos ? wire::parse_duration_s(text) : invalid("", "");
  const int sign = toward == Toward::future ? 1 : -1;
  if (duration.ok() && *duration < 1e9) return now_us + sign * static_cast<std::int64_t>(*duration * second_us);
  return invalid("bad-time", "not a time: " + text)
      .hint("write 21:00, 2h, \"2026-11-23 21:00\" or 2026-11-23T21:00:00Z");
}

Status add_matrix(json::object& job, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid("bad-flag", "--matrix takes key=value,value, not " + entry).hint("--matrix lr=0.1,0.01");
    json::value& matrix = job["matrix"];
    if (!matrix.is_object()) matrix = json::object();
    const std::string key = entry.substr(0, equals);
    if (matrix.get_object().contains(key))
      return invalid("bad-matrix", "the matrix names the values of " + key + " twice")
          .hint("--matrix " + key + "=0.1,0.01 names all of them")
          .at("/matrix/" + key);
    json::array values;  // of "lr=" none, which no matrix may have
    for (std::size_t at = equals + 1; equals + 1 < entry.size() && at <= entry.size();) {
      const std::size_t comma = std::min(entry.find(',', at), entry.size());
      values.push_back(json::string(entry.substr(at, comma - at)));
      at = comma + 1;
    }
    matrix.get_object()[key] = std::move(values);
  }
  return {};
}

Status resolve_starting(const Context& context, json::object& job) {
  for (const char* key : {"after", "after_any"}) {
    json::value* jobs = job.if_contains(key);
    if (!jobs) continue;
    if (Status resolved = resolve_jobs(context, *jobs); !resolved.ok()) return resolved;
  }
  json::value* time = job.if_contains("time");
  for (json::object* object : {&job, time && time->is_object() ? &time->get_object() : nullptr}) {
    json::value* not_before = object ? object->if_contains("not_before") : nullptr;
    if (!not_before) continue;
    if (Status resolved = resolve_time(*not_before); !resolved.ok()) return resolved;
  }
  return {};
}

}  // namespace sl::cli
