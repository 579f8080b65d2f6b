#include "plot/svg.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "wire/utf8.h"

namespace sl::plot {

std::string escaped(std::string_view text) {
  const bool readable = wire::is_utf8(text);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || (byte >= 0x80 && !readable)) {
      out += "\uFFFD";
      continue;
    }
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string coordinate(double value) {
  const auto hundredths = static_cast<long long>(std::llround(value * 100));
  std::string out = fmt::format("{}{}", hundredths < 0 ? "-" : "", std::abs(hundredths) / 100);
  const long long rest = std::abs(hundredths) % 100;
  if (rest != 0) out += rest % 10 == 0 ? fmt::format(".{}", rest / 10) : fmt::format(".{:02}", rest);
  return out;
}

void Svg::rect(std::string_view look, double x, double y, double width, double height, std::string_view tooltip) {
  fmt::format_to(std::back_inserter(text_), R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}")", look,
                 coordinate(x), coordinate(y), coordinate(width), coordinate(height));
  tooltip.empty() ? void(text_ += "/>\n")
                  : void(fmt::format_to(std::back_inserter(text_), "><title>{}</title></rect>\n", escaped(tooltip)));
}

void Svg::line(std::string_view look, double x1, double y1, double x2, double y2) {
  fmt::format_to(std::back_inserter(text_),
                 R"(<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>)"
                 "\n",
                 look, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2));
}

void Svg::text(std::string_view look, double x, double y, Anchor anchor, std::string_view content) {
  constexpr std::string_view anchors[] = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  fmt::format_to(std::back_inserter(text_),
                 R"(<text class="{}" x="{}" y="{}"{}>{}</text>)"
                 "\n",
                 look, coordinate(x), coordinate(y), anchors[static_cast<int>(anchor)], escaped(content));
}

void Svg::path(std::string_view look, std::string_view commands) {
  if (!commands.empty())
    fmt::format_to(std::back_inserter(text_),
                   R"(<path class="{}" d="{}"/>)"
                   "\n",
                   look, commands);
}

void Svg::open_group(std::string_view attributes) { text_ += fmt::format("<g {}>\n", attributes); }

}  // namespace sl::plot
