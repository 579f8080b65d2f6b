// The marks of a picture as SVG text. Coordinates are points (1/72 inch), y grows downwards. Only the class of a mark
// decides how it looks (theme.h has the style sheet), so that one file can be light and dark. The same calls give the
// same bytes on every machine.
#pragma once

#include <string>
#include <string_view>

namespace sl::plot {

// For text and attribute values; characters that XML forbids become U+FFFD.
std::string escaped(std::string_view text);
// Up to two digits after the point; zeros are left out.
std::string coordinate(double value);

enum class Anchor { start, middle, end };

class Svg {
 public:
  void rect(std::string_view look, double x, double y, double width, double height, std::string_view tooltip = {});
  void line(std::string_view look, double x1, double y1, double x2, double y2);
  void text(std::string_view look, double x, double y, Anchor anchor, std::string_view content);
  // `commands` are those of the attribute d; empty draws nothing.
  void path(std::string_view look, std::string_view commands);
  void open_group(std::string_view attributes);
  void close_group() { text_ += "</g>\n"; }
  void raw(std::string_view markup) { text_ += markup; }
  const std::string& markup() const { return text_; }

 private:
  std::string text_;
};

}  // namespace sl::plot
