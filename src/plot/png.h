// SVG to PNG with a converter found on PATH: rsvg-convert or Inkscape.
#pragma once

#include <string>

#include "base/result.h"

namespace sl::plot {

inline constexpr int png_dots_per_inch = 300;

// The path of a converter. Error "no-png-converter", with a hint on how to get one.
Result<std::string> find_png_converter();

// Writes `svg` to `path`. Error "png-failed".
Status write_png(const std::string& converter, const std::string& svg, const std::string& path);

}  // namespace sl::plot
