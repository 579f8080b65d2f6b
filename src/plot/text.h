// How wide text will be, without access to a font: the widths of DejaVu Sans, the widest font a reader is likely
// to have, so that what fits by this measure fits everywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace sl::plot {

// Sizes in points. Pictures have their real size, so 7 is 7 pt on paper; nothing is smaller.
inline constexpr double size_small = 7, size_label = 7.5, size_title = 8.5;

double text_width(std::string_view text, double size);
// Broken into lines of at most `width`: between words, and long ones after a comma, colon or slash.
std::vector<std::string> wrapped(std::string_view text, double size, double width);
// Ends in "…" if it had to be cut; empty if not even one character fits.
std::string shortened(std::string_view text, double size, double width);
// Names of results, "tiresias (queues=3, promote_knob=8)", differ in the values, often at the end: the keys go first,
// then the middle.
std::string shortened_name(std::string_view name, double size, double width);

// Three significant figures for people: "0.0123", "12.3", "12,346".
std::string figure_text(double value);
// "45 s", "12.5 min", "3.2 h", "13.5 d".
std::string duration_text(double seconds);
// In this unit, whatever the size: "0.05 h".
std::string text_in(const TimeUnit& unit, double seconds);
// "82,238 jobs", "1 job".
std::string counted(std::size_t number, std::string_view thing);
// Empty parts are left out.
std::string joined(const std::vector<std::string>& parts, std::string_view between);

}  // namespace sl::plot
