// Colours, dashes and markers. Every line differs from the others in dash and marker too, so that a picture is readable
// in grey. Lines: Okabe and Ito's palette for the colour-blind (jfly.uni-koeln.de/color), darkened until each has a
// contrast of 3:1 on white. Job boxes: Paul Tol's "light" scheme (personal.sron.nl/~pault), made for dark text on them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::plot {

enum class Theme { automatic, light, dark };

inline constexpr int line_styles = 16;  // 8 colours; the second eight use other dashes
// Whether so many lines can be told apart. `hint`: how to draw fewer. Error "too-many-lines".
Status lines_fit(std::size_t count, std::size_t most, const std::string& hint);
inline constexpr int box_colors = 8;
inline constexpr int shades = 5;  // 0 is nothing

// CSS for all classes. `automatic`: light, or dark if the reader's system prefers it.
std::string style_sheet(Theme theme);
// How a mark looks beside others of its colour.
enum class Tone {
  full,
  pale,      // a lighter shade
  outlined,  // only its outline
};

// Class names of a line, of its markers, of bars and of areas in its colour.
std::string line_look(int style, Tone tone = Tone::full);
std::string marker_look(int style, Tone tone = Tone::full);
std::string bar_look(int style, Tone tone = Tone::full);
std::string fill_look(int style);
// The outline of a marker around (x, y), as path commands.
std::string marker_path(int style, double x, double y);

}  // namespace sl::plot
