#include "plot/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sl::plot {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// In thousandths of the size, rounded up by class of letters.
int width_of(char c) {
  constexpr std::string_view thin = "ijl.,:;|'!()[]/-I \"tfr", wide = "mwMW%@", capital = "ABCDEGHKNOQRUVXYZ&+=<>~_";
  if (thin.find(c) != std::string_view::npos)
    return c == 't' || c == 'f' || c == 'r' || c == '(' || c == ')' ? 405 : 340;
  if (wide.find(c) != std::string_view::npos) return 960;
  if (capital.find(c) != std::string_view::npos) return 760;
  return 635;
}

}  // namespace

double text_width(std::string_view text, double size) {
  int sum = 0;
  for (const char c : text) {
    if (!is_continuation(c)) sum += width_of(c);
  }
  return sum * size / 1000;
}

std::vector<std::string> wrapped(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string longer = (line.empty() ? "" : line + " ") + std::string(text.substr(at, end - at));
    if (!line.empty() && text_width(longer, size) > width) {
      lines.push_back(line);
      line = std::string(text.substr(at, end - at));
    } else {
      line = longer;
    }
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string shortened(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  while (!text.empty() && text_width(text, size) + text_width("…", size) > width) {
    std::size_t cut = text.size() - 1;
    while (cut > 0 && is_continuation(text[cut])) --cut;
    text = text.substr(0, cut);
  }
  return text.empty() ? "" : std::string(text) + "…";
}

std::string with_commas(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", std::abs(value), digits);
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > 3; at -= 3) text.insert(at - 3, ",");
  const bool is_zero = text.find_first_not_of("0.,") == std::string::npos;
  return value < 0 && !is_zero ? "-" + text : text;
}

std::string figure_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e7) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 100 || size == 0) return with_commas(value, 0);
  std::string text = with_commas(value, size >= 10  ? 1
                                        : size >= 1 ? 2
                                                    : std::min(8, 2 - static_cast<int>(std::floor(std::log10(size)))));
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string duration_text(double seconds) {
  constexpr std::pair<double, std::string_view> units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
  for (const auto& [size, name] : units) {
    if (seconds >= 2 * size) return figure_text(seconds / size) + " " + std::string(name);
  }
  return figure_text(seconds) + " s";
}

std::string counted(std::size_t number, std::string_view thing) {
  return with_commas(static_cast<double>(number), 0) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) (text += text.empty() ? "" : between) += part;
  }
  return text;
}

}  // namespace sl::plot
