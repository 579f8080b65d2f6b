#include "plot/theme.h"

#include <fmt/format.h>

#include <iterator>

#include "plot/svg.h"
#include "plot/text.h"

namespace sl::plot {
namespace {

struct Colors {
  std::string_view ground, ink, muted, grid, bound;
  std::string_view lines[8];
  std::string_view shade[shades];
  std::string_view outline;
};

constexpr Colors light = {"#ffffff",
                          "#1f2328",
                          "#57606a",
                          "#dfe3e8",
                          "#b3261e",
                          {"#0072b2", "#d55e00", "#00875f", "#b4568d", "#3d3d3d", "#8a6d00", "#2b8fc4", "#6a51a3"},
                          {"#f3f5f7", "#c6dbef", "#85b8dc", "#3f86c0", "#08519c"},
                          "#1f2328"};
constexpr Colors dark = {"#0d1117",
                         "#e6edf3",
                         "#9aa4af",
                         "#2d333b",
                         "#ff8a80",
                         {"#58a6e8", "#ff9a4d", "#2fc89b", "#e79fcb", "#d0d7de", "#e3c04a", "#9bd8ff", "#b9a5f0"},
                         {"#1b222b", "#1d4469", "#2f6fa3", "#63a4d8", "#b5dcff"},
                         "#0d1117"};
// Paul Tol's light scheme without its grey, in which lost servers are drawn.
constexpr std::string_view boxes[box_colors] = {"#77aadd", "#ee8866", "#eedd88", "#ffaabb",
                                                "#99ddff", "#44bb99", "#bbcc33", "#aaaa00"};
constexpr std::string_view dashes[8] = {"none",  "5 1.6", "1.4 1.4", "6 1.6 1.4 1.6",
                                        "8 2.4", "3 1.2", "1 2.4",   "6 1.2 1 1.2 1 1.2"};

std::string color_rules(const Colors& c) {
  std::string css = fmt::format(
      ".bg{{fill:{}}}.t,.tick,.label,.head,.mid{{fill:{}}}.note{{fill:{}}}.grid{{stroke:{}}}.axis,.whisker{{"
      "stroke:{}}}"
      ".bound{{stroke:{}}}.boundtext{{fill:{}}}.cut{{stroke:{}}}",
      c.ground, c.ink, c.muted, c.grid, c.muted, c.bound, c.bound, c.ground);
  for (int i = 0; i < 8; ++i)
    css += fmt::format(".c{0}{{stroke:{1}}}.f{0}{{fill:{1}}}.m{0}{{fill:{1};stroke:{2}}}.o{0}{{fill:{2};stroke:{1}}}",
                       i, c.lines[i], c.ground);
  for (int i = 0; i < shades; ++i) css += fmt::format(".h{}{{fill:{}}}", i, c.shade[i]);
  return css + fmt::format(".whisker{{stroke:{}}}.lost{{fill:{};fill-opacity:.45}}", c.ink, c.muted);
}

std::string shape_rules() {
  std::string css = fmt::format(
      "text{{font-family:Arial,Helvetica,'Liberation Sans','DejaVu "
      "Sans',sans-serif;font-size:{}px}}.label{{font-size:{}px}}"
      ".head{{font-size:{}px;font-weight:bold}}.grid{{stroke-width:.5}}.axis{{stroke-width:.6;fill:none}}"
      ".whisker{{stroke-width:1;fill:none}}.bound{{stroke-width:1;stroke-dasharray:4 "
      "2;fill:none}}.band{{fill-opacity:.18;stroke:none}}"
      ".l{{fill:none;stroke-width:1.25;stroke-linejoin:round}}.m{{stroke-width:.5}}.cut{{stroke-width:.4}}"
      ".w{{fill:none;stroke-width:1}}.o{{stroke-width:1}}.pale{{opacity:.5}}"
      ".boxtext,.wedge{{fill:#1f2328}}.cross{{stroke:#1f2328;stroke-width:1;fill:none}}",
      size_small, size_label, size_title);
  for (int i = 0; i < 8; ++i) css += fmt::format(".d{}{{stroke-dasharray:{}}}", i, dashes[i]);
  for (int i = 0; i < box_colors; ++i) css += fmt::format(".b{}{{fill:{}}}", i, boxes[i]);
  return css;
}

// The second eight colours start at another dash: no pair of colour and dash appears twice.
int dash_of(int style) { return style < 8 ? style : (style + 3) % 8; }

}  // namespace

Status lines_fit(std::size_t count, std::size_t most, const std::string& hint) {
  if (count <= most) return {};
  return invalid("too-many-lines", fmt::format("{} lines cannot be told apart", count))
      .note(fmt::format("at most {}", most))
      .hint(hint);
}

std::string style_sheet(Theme theme) {
  std::string css = shape_rules() + "\n" + color_rules(theme == Theme::dark ? dark : light) + "\n";
  if (theme == Theme::automatic) css += "@media (prefers-color-scheme:dark){" + color_rules(dark) + "}\n";
  return css;
}

std::string line_look(int style, Tone tone) {
  return fmt::format("l c{} d{}{}", style % 8, dash_of(style % line_styles), tone == Tone::pale ? " pale" : "");
}

std::string marker_look(int style, Tone tone) {
  if (tone == Tone::outlined) return fmt::format("o o{}", style % 8);
  return fmt::format("m m{}{}", style % 8, tone == Tone::pale ? " pale" : "");
}

std::string bar_look(int style, Tone tone) {
  if (tone == Tone::outlined) return fmt::format("o o{}", style % 8);
  return fill_look(style) + (tone == Tone::pale ? " pale" : "");
}

std::string fill_look(int style) { return fmt::format("f{}", style % 8); }

std::string marker_path(int style, double x, double y) {
  const auto at = [&](double dx, double dy) { return coordinate(x + dx) + " " + coordinate(y + dy); };
  switch (style % 8) {
    case 0:
      return fmt::format("M{}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z", at(-2, 0));  // disc
    case 1:
      return fmt::format("M{}h3.6v3.6h-3.6z", at(-1.8, -1.8));  // square
    case 2:
      return fmt::format("M{}l2.3 4h-4.6z", at(0, -2.5));  // triangle
    case 3:
      return fmt::format("M{}l2.5 2.5l-2.5 2.5l-2.5 -2.5z", at(0, -2.5));  // diamond
    case 4:
      return fmt::format("M{}h-4.6l2.3 4z", at(2.3, -1.6));  // triangle down
    case 5:
      return fmt::format("M{}h1.4v1.6h1.6v1.4h-1.6v1.6h-1.4v-1.6h-1.6v-1.4h1.6z", at(-.7, -2.3));  // plus
    case 6:
      return fmt::format("M{}l4 2.3l-4 2.3z", at(-1.6, -2.3));  // triangle right
    default:
      return fmt::format("M{}l1.4 1.4l1.4 -1.4l1 1l-1.4 1.4l1.4 1.4l-1 1l-1.4 -1.4l-1.4 1.4l-1 -1l1.4 -1.4l-1.4 -1.4z",
                         at(-1.4, -2.4));  // cross
  }
}

}  // namespace sl::plot
