#include "plot/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

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

std::size_t characters_that_fit(std::string_view text, double size, double width) {
  std::size_t end = 1;
  while (end < text.size() && (is_continuation(text[end]) || text_width(text.substr(0, end + 1), size) <= width)) ++end;
  return end;
}

// The end of the word at the beginning of `text`, with the value that follows if it is an option: "--servers 4x4".
std::size_t word_end(std::string_view text, double size, double width) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (!text.starts_with("--") || end + 1 >= text.size() || text.substr(end + 1).starts_with("--")) return end;
  const std::size_t both = std::min(text.find(' ', end + 1), text.size());
  return text_width(text.substr(0, both), size) <= width / 2 ? both : end;
}

// Blanks, and what stands between them. Long words are broken after commas, colons and slashes, and anywhere if they are
// wider than a line.
std::vector<std::string> pieces_of(std::string_view text, double size, double width) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    std::size_t end = 1;
    if (text[0] != ' ') {
      end = word_end(text, size, width);
      const std::size_t mark = text.find_first_of(",:/");
      if (mark < end && text_width(text.substr(0, end), size) > width / 2) end = mark + 1;
      if (text_width(text.substr(0, end), size) > width) end = characters_that_fit(text, size, width);
    }
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
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
  bool is_after_blank = false;
  for (const std::string& piece : pieces_of(text, size, width)) {
    if (piece == " ") {
      is_after_blank = true;
      continue;
    }
    const std::string longer = line + (is_after_blank && !line.empty() ? " " : "") + piece;
    if (!line.empty() && text_width(longer, size) > width) {
      lines.push_back(line);
      line = piece;
    } else {
      line = longer;
    }
    is_after_blank = false;
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

std::string shortened_name(std::string_view name, double size, double width) {
  if (text_width(name, size) <= width) return std::string(name);
  static const std::regex key("([(]|, )[a-z0-9_.]+=");
  const std::string text = std::regex_replace(std::string(name), key, "$1");
  if (text_width(text, size) <= width) return text;
  std::string begin = shortened(text, size, width / 2);
  std::string_view end = text;
  while (!end.empty() && text_width(begin, size) + text_width(end, size) > width) {
    std::size_t cut = 1;
    while (cut < end.size() && is_continuation(end[cut])) ++cut;
    end.remove_prefix(cut);
  }
  return begin.append(end);
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

std::string text_in(const TimeUnit& unit, double seconds) {
  return figure_text(seconds / unit.seconds) + " " + unit.name;
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
