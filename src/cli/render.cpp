#include "cli/render.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace sl::cli {

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string Table::text(bool plain) const {
  std::string result;
  if (plain) {
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) result += (c ? "\t" : "") + row[c];
      result += '\n';
    }
    return result;
  }
  std::vector<std::size_t> widths(header_.size());
  for (std::size_t c = 0; c < header_.size(); ++c) widths[c] = display_width(header_[c]);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < std::min(row.size(), widths.size()); ++c)
      widths[c] = std::max(widths[c], display_width(row[c]));
  }
  const auto add_line = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - std::min(widths[c], display_width(row[c])), ' ');
      const bool right = std::find(right_.begin(), right_.end(), c) != right_.end();
      line += (c ? "  " : "") + (right ? pad + row[c] : row[c] + pad);
    }
    result += "  " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line(header_);
  for (const auto& row : rows_) add_line(row);
  return result;
}

std::string duration_text(double seconds) {
  const auto s = static_cast<long>(seconds + 0.5);
  if (seconds < 0) return "–";
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m {:02}s", s / 60, s % 60);
  if (s < 86'400) return fmt::format("{}h {:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d {}h", s / 86'400, s / 3600 % 24);
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, units[unit]);
}

std::string clock_text(const std::string& rfc3339) {
  std::tm utc{};
  if (rfc3339.size() < 19 || !strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%S", &utc)) return "–";
  const std::time_t then = timegm(&utc), now = std::time(nullptr);
  const std::tm local = fmt::localtime(then), today = fmt::localtime(now);
  const bool same_day = local.tm_yday == today.tm_yday && local.tm_year == today.tm_year;
  return same_day ? fmt::format("{:%H:%M}", local) : fmt::format("{:%Y-%m-%d %H:%M}", local);
}

std::string state_text(const Context& context, const std::string& state) {
  struct Sign {
    const char *state, *unicode, *ascii, *color;
  };
  static constexpr Sign signs[] = {
      {"pending", "○", "o", "33"},  {"held", "○", "o", "33"},      {"starting", "◐", "~", "36"},
      {"running", "●", "*", "32"},  {"suspended", "‖", "=", "35"}, {"migrating", "◐", "~", "36"},
      {"resizing", "◐", "~", "36"}, {"stopping", "◐", "~", "36"},  {"succeeded", "✓", "+", "32"},
      {"failed", "✗", "x", "31"},   {"cancelled", "⊘", "-", "90"}};
  for (const Sign& sign : signs) {
    if (state != sign.state) continue;
    const std::string text = std::string(context.unicode ? sign.unicode : sign.ascii) + " " + state;
    return context.color ? fmt::format("\x1b[{}m{}\x1b[0m", sign.color, text) : text;
  }
  return state;
}

std::string where_text(const json::value& job) {
  const json::value& placement = value_at(job, "placement");
  if (!placement.is_array() || placement.get_array().empty()) return "–";
  const json::value& part = placement.get_array().front();
  std::vector<int> indexes;
  for (const json::value& gpu : value_at(part, "gpus").as_array()) {
    const std::string name(gpu.as_string());
    indexes.push_back(std::atoi(name.c_str() + name.rfind('-') + 1));
  }
  std::string text;
  for (std::size_t i = 0; i < indexes.size();) {
    std::size_t last = i;
    while (last + 1 < indexes.size() && indexes[last + 1] == indexes[last] + 1) ++last;
    text +=
        (text.empty() ? "" : ",") + std::to_string(indexes[i]) + (last > i ? "-" + std::to_string(indexes[last]) : "");
    i = last + 1;
  }
  return text_at(part, "server") + ":" + text;
}

std::string gpus_text(const json::value& job) {
  const json::value& gpus = value_at(value_at(job, "spec"), "gpus");
  const int min = static_cast<int>(number_at(gpus, "min", 1)), max = static_cast<int>(number_at(gpus, "max", 1));
  return min == max ? std::to_string(max) : fmt::format("{}..{}", min, max);
}

std::string plural(std::size_t n, const std::string& word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

}  // namespace sl::cli
