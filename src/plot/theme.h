// Colours, dashes and markers. Every line differs from the others in dash and marker too, so that a picture can be read
// in grey. Lines: Okabe and Ito's palette for the colour-blind (jfly.uni-koeln.de/color), darkened on white until each
// has a contrast of 3:1. Job boxes: Paul Tol's "light" scheme (personal.sron.nl/~pault), made for dark text on it.
#pragma once

#include <string>
#include <string_view>

namespace sl::plot {

enum class Theme { automatic, light, dark };

inline constexpr int line_styles = 16;  // 8 colours; the second eight with other dashes
inline constexpr int box_colors = 8;
inline constexpr int shades = 5;  // 0 is nothing

// CSS for all classes. `automatic`: light, and dark where the reader's system asks for it.
std::string style_sheet(Theme theme);
// Class names of a line and of what is filled in its colour.
std::string line_look(int style);
std::string fill_look(int style);
// The outline of a marker around (x, y), as path commands.
std::string marker_path(int style, double x, double y);

}  // namespace sl::plot
