#include "cli/expectation.h"

#include <fmt/chrono.h>

#include <ctime>

#include "cli/render.h"

namespace sl::cli {
namespace {

constexpr double now_s = 1;  // a range that ends within this is called "now"

double seconds_until(const std::string& rfc3339) {
  std::tm utc{};
  if (!strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%S", &utc)) return 0;
  return std::difftime(timegm(&utc), std::time(nullptr));
}

}  // namespace

std::string soon_text(const std::string& rfc3339) {
  constexpr double soon_s = 600;
  std::tm utc{};
  if (seconds_until(rfc3339) > soon_s || !strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%S", &utc))
    return clock_text(rfc3339);
  return fmt::format("{:%H:%M:%S}", fmt::localtime(timegm(&utc)));
}

std::string range_text(const Context& context, const json::value& range) {
  if (!range.is_object()) return "";
  if (seconds_until(text_at(range, "p90")) <= now_s) return "now";
  return fmt::format("about {} ({}{}{})", soon_text(text_at(range, "p50")), soon_text(text_at(range, "p10")),
                     context.unicode ? "–" : "-", soon_text(text_at(range, "p90")));
}

std::string expected_text(const Context& context, const json::value& job) {
  const json::value& estimate = value_at(job, "estimate");
  for (const auto& [key, word] : {std::pair{"start", "starts"}, {"finish", "ends"}}) {
    const json::value& range = value_at(estimate, key);
    if (!range.is_object()) {
      if (*key == 's' && text_at(job, "state") == "pending") return "";  // an end without a start says nothing
      continue;
    }
    const std::string at = text_at(range, "p50");
    return fmt::format("{} ~{}", word, context.plain ? at : soon_text(at));
  }
  return "";
}

std::string expectation_text(const Context& context, const json::value& job) {
  const json::value& estimate = value_at(job, "estimate");
  const std::string start = range_text(context, value_at(estimate, "start"));
  const std::string finish = range_text(context, value_at(estimate, "finish"));
  std::string text = start.empty() ? "" : "starts " + start;
  const std::string server = text_at(estimate, "server");
  if (!start.empty() && !server.empty()) text += " on " + server;
  if (!finish.empty())
    text += (text.empty() ? "ends " : ", ends ") + finish + ", by " + text_at(estimate, "basis_text");
  constexpr double draws_wanted = 32;
  const double draws = number_at(estimate, "draws");
  if (!text.empty() && draws > 0 && draws < draws_wanted)
    text += fmt::format("; roughly: only {} futures were tried", draws);
  const std::string missing = text_at(estimate, "text");
  if (!missing.empty()) text += (text.empty() ? "" : "; ") + missing;
  return text;
}

}  // namespace sl::cli
