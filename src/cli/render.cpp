#include "cli/render.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <clocale>
#include <cmath>
#include <ctime>
#include <cwchar>
#include <utility>

#include "base/shell_words.h"
#include "cli/job_order.h"
#include "cli/surroundings.h"
#include "wire/json_text.h"

namespace sl::cli {

namespace {

// One character with its width, or one colour code.
struct Glyph {
  std::string_view bytes;
  std::size_t width = 0;
};

// UTF-8 whatever the user's locale is: that is what names are written in.
std::vector<Glyph> glyphs_of(std::string_view text) {
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = ::uselocale(utf8);
  std::vector<Glyph> glyphs;
  for (std::size_t i = 0; i < text.size();) {
    wchar_t character = 0;
    std::mbstate_t state{};
    std::size_t length = std::mbrtowc(&character, text.data() + i, text.size() - i, &state);
    const bool is_utf8 = length > 0 && length <= text.size() - i;
    if (!is_utf8) length = 1;
    int width = is_utf8 ? ::wcwidth(character) : 1;
    if (text[i] == '\x1b') {
      const std::size_t end = text.find('m', i);
      length = (end == std::string_view::npos ? text.size() : end + 1) - i, width = 0;
    }
    glyphs.push_back({text.substr(i, length), width < 0 ? 1u : static_cast<std::size_t>(width)});
    i += length;
  }
  ::uselocale(before);
  return glyphs;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const Glyph& glyph : glyphs_of(text)) width += glyph.width;
  return width;
}

std::string cut_end(const std::string& text, std::size_t width, std::string_view mark) {
  if (display_width(text) <= width) return text;
  const std::size_t room = width - std::min(width, display_width(mark));
  std::string result;
  std::size_t used = 0;
  for (const Glyph& glyph : glyphs_of(text)) {
    if ((used += glyph.width) > room) break;
    result += glyph.bytes;
  }
  result.append(mark);
  return text.find('\x1b') == std::string::npos ? result : result + "\x1b[0m";  // the end of its colour is cut off
}

std::string cut_middle(const std::string& text, std::size_t width, std::string_view mark) {
  if (display_width(text) <= width) return text;
  const std::size_t room = width - std::min(width, display_width(mark));
  const std::vector<Glyph> glyphs = glyphs_of(text);
  std::string tail;
  std::size_t used = 0;
  for (auto glyph = glyphs.rbegin(); glyph != glyphs.rend() && used + glyph->width <= room / 2; ++glyph) {
    tail.insert(0, glyph->bytes);
    used += glyph->width;
  }
  return cut_end(text, width - used, mark) + tail;
}

Table::Widths Table::widths(std::size_t terminal) const {
  Widths widths(header_.size());
  for (std::size_t c = 0; c < header_.size(); ++c) {
    widths[c] = std::max(display_width(header_[c]), c < least_.size() ? least_[c] : 0);
    for (const auto& row : rows_) widths[c] = std::max(widths[c], c < row.size() ? display_width(row[c]) : 0);
  }
  const Widths wanted = widths;
  const std::size_t last = widths.size() - 1;
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t width : widths) sum += width == 0 ? 0 : width + 2;  // with the blanks before it
    return sum;
  };
  const auto excess = [&] { return terminal == 0 || total() <= terminal ? 0 : total() - terminal; };
  const auto shrink = [&](std::size_t column, std::size_t least) {
    if (widths[column] > least) widths[column] -= std::min(widths[column] - least, excess());
  };
  const auto leave_out = [&](std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, optional_.size()); ++i)
      if (excess() > 0) widths[optional_[i]] = 0;
  };
  if (names_) shrink(*names_, 20);
  shrink(last, 32);
  leave_out(optional_.empty() ? 0 : optional_.size() - 1);
  shrink(last, 24);
  if (names_) shrink(*names_, 12);
  leave_out(optional_.size());
  constexpr std::size_t least = 4;
  while (excess() > 0) {  // nothing that may give way is left: the widest does
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= least) break;
    --*widest;
  }
  shrink(last, 1);
  for (const std::size_t column : {last, names_.value_or(last)})  // room that a column left behind
    if (terminal > total()) widths[column] = std::min(wanted[column], widths[column] + terminal - total());
  return widths;
}

namespace {

// As it is, unless something in it would end a field or a line, as in JSON then, or command a terminal.
std::string plain_text(const std::string& cell) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  const bool has_c1 = cell.find('\xC2') != std::string::npos && visible(cell) != cell;
  if (!has_c1 && std::ranges::none_of(cell, is_control)) return cell;
  const std::string quoted = wire::json_text(json::value(cell));
  return visible(quoted.substr(1, quoted.size() - 2));
}

}  // namespace

std::string Table::text(const Context& context) const {
  std::string result;
  if (context.plain) {
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) result += (c ? "\t" : "") + plain_text(row[c]);
      result += '\n';
    }
    return result;
  }
  if (context.quiet && !header_.front().empty()) {  // what the rows are called by
    for (const auto& row : rows_) result += row.front() + '\n';
    return result;
  }
  const Widths widths = this->widths(context.columns);
  const std::string_view mark = context.unicode ? "…" : "..";
  const auto add_line = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (widths[c] == 0) continue;
      const std::string whole = context.unicode ? row[c] : in_ascii(row[c]);
      const std::string cell = c == names_ ? cut_middle(whole, widths[c], mark) : cut_end(whole, widths[c], mark);
      const std::string pad(widths[c] - std::min(widths[c], display_width(cell)), ' ');
      const bool right = std::find(right_.begin(), right_.end(), c) != right_.end();
      line += "  " + (right ? pad + cell : cell + pad);
    }
    result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line(header_);
  for (const auto& row : rows_) add_line(row);
  return result;
}

bool shows_unicode() {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) locale = locale.empty() ? variable(name) : locale;
  return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

std::string in_ascii(std::string text) {
  constexpr std::pair<const char*, const char*> signs[] = {{"–", "-"},   {"…", ".."}, {"→", "->"},
                                                           {"∞", "inf"}, {"·", "-"},  {"×", "x"}};
  for (const auto& [sign, plain] : signs) boost::replace_all(text, sign, plain);
  return text;
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, units[unit]);
}

void say_none(const Context& context, const std::string& text) {
  if (!context.plain && !context.quiet) std::printf("%s\n", text.c_str());
}

namespace {

std::string field_text(const json::value& value) {
  if (value.is_null()) return "";
  const std::string text = wire::json_text(value);
  return value.is_string() ? text.substr(1, text.size() - 2) : text;
}

void add_values(const std::string& path, const json::value& value, std::string& text) {
  if (const json::object* object = value.if_object()) {
    for (const auto& [key, part] : *object) add_values(path + (path.empty() ? "" : ".") + std::string(key), part, text);
  } else if (const json::array* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) add_values(fmt::format("{}[{}]", path, i), (*list)[i], text);
  } else if (!value.is_null()) {
    text += path + "\t" + field_text(value) + "\n";
  }
}

}  // namespace

std::string records_text(const json::value& document) {
  std::string text;
  const json::value& items = value_at(document, "items");
  if (!items.is_array()) return add_values("", document, text), text;
  for (const json::value& item : items.get_array()) {
    const json::object* record = item.if_object();
    const char* before = "";
    for (const auto& [key, value] : record ? *record : json::object{{"", item}})
      text += std::exchange(before, "\t") + field_text(value);
    text += "\n";
  }
  return text;
}

std::string clock_text(const std::string& rfc3339) {
  std::tm utc{};
  if (rfc3339.size() < 19 || !strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%S", &utc)) return "–";
  const std::time_t then = timegm(&utc), now = std::time(nullptr);
  const std::tm local = fmt::localtime(then), today = fmt::localtime(now);
  const bool same_day = local.tm_yday == today.tm_yday && local.tm_year == today.tm_year;
  return same_day ? fmt::format("{:%H:%M}", local) : fmt::format("{:%Y-%m-%d %H:%M}", local);
}

std::string clock_text(const Context& context, const std::string& rfc3339) {
  return context.plain ? rfc3339 : clock_text(rfc3339);
}

namespace {

// As its letters say: d is a digit.
bool matches(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == 'd' ? !(text[i] >= '0' && text[i] <= '9') : text[i] != pattern[i]) return false;
  }
  return true;
}

struct ReadTime {
  std::time_t at;
  bool has_day;
  std::size_t bytes;
};
// The time that `text` begins with.
std::optional<ReadTime> time_at(std::string_view text) {
  constexpr std::string_view rfc3339 = "dddd-dd-ddTdd:dd:dd", dated = "dddd-dd-dd dd:dd:dd UTC", bare = "dd:dd:dd UTC";
  std::tm utc{};
  if (matches(text, bare)) {
    utc = fmt::gmtime(std::time(nullptr));
    if (!strptime(std::string(text.substr(0, 8)).c_str(), "%H:%M:%S", &utc)) return std::nullopt;
    return ReadTime{timegm(&utc), false, bare.size()};
  }
  const bool is_rfc3339 = matches(text, rfc3339);
  if (!is_rfc3339 && !matches(text, dated)) return std::nullopt;
  std::size_t end = is_rfc3339 ? text.find_first_not_of(".0123456789", rfc3339.size()) : dated.size();
  if (is_rfc3339 && (end == std::string_view::npos || text[end++] != 'Z')) return std::nullopt;
  const std::string format = std::string("%Y-%m-%d") + text[10] + "%H:%M:%S";
  if (!strptime(std::string(text.substr(0, rfc3339.size())).c_str(), format.c_str(), &utc)) return std::nullopt;
  return ReadTime{timegm(&utc), true, end};
}

}  // namespace

std::string with_own_times(const std::string& sentence) {
  std::string said;
  for (std::size_t i = 0; i < sentence.size();) {
    const bool begins = i == 0 || std::isalnum(static_cast<unsigned char>(sentence[i - 1])) == 0;
    const auto found = begins ? time_at(std::string_view(sentence).substr(i)) : std::nullopt;
    if (!found) {
      said += sentence[i++];
      continue;
    }
    const std::tm local = fmt::localtime(found->at), today = fmt::localtime(std::time(nullptr));
    const bool same_day = local.tm_yday == today.tm_yday && local.tm_year == today.tm_year;
    said +=
        same_day || !found->has_day ? fmt::format("{:%H:%M:%S}", local) : fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
    i += found->bytes;
  }
  return said;
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

namespace {

std::string part_text(const json::value& part) {
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
  return text_at(part, "server") + (text.empty() ? "" : ":" + text);
}

}  // namespace

std::string where_text(const json::value& job) {
  const json::value& placement = value_at(job, "placement");
  if (!placement.is_array() || placement.get_array().empty()) return "–";
  std::string text;
  for (const json::value& part : placement.get_array()) text += (text.empty() ? "" : " ") + part_text(part);
  return text;
}

std::string gpus_text(const json::value& job) {
  const json::value& gpus = value_at(value_at(job, "spec"), "gpus");
  const int min = static_cast<int>(number_at(gpus, "min", 1)), max = static_cast<int>(number_at(gpus, "max", 1));
  const json::value& allowed = value_at(gpus, "allowed");
  if (allowed.is_array() && !allowed.get_array().empty()) {
    std::string list;
    for (const json::value& count : allowed.get_array())
      list += fmt::format("{}{}", list.empty() ? "" : ",", count.to_number<int>());
    return list;
  }
  return min == max ? std::to_string(max) : fmt::format("{}..{}", min, max);
}

std::string plural(std::size_t n, const std::string& word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::string figure_text(double figure, int digits) {
  const double size = std::abs(figure), least = std::pow(10, -digits);
  const bool is_usual = figure == 0 || (size >= least && size < 1e6);
  return is_usual ? fmt::format("{:.{}f}", figure, digits) : fmt::format("{:.3g}", figure);
}

json::value visible_document(json::value document) {
  if (document.is_string()) return json::value(visible(document.get_string()));
  if (auto* items = document.if_array())
    for (json::value& item : *items) item = visible_document(std::move(item));
  if (auto* members = document.if_object())
    for (auto& member : *members) member.value() = visible_document(std::move(member.value()));
  return document;
}

std::string name_text(const json::value& job) { return visible(text_at(job, "name")); }

std::string command_text(const json::value& command) {
  if (command.is_string()) return std::string(command.get_string());
  std::string text;
  for (const json::value& word : command.is_array() ? command.get_array() : json::array())
    text += (text.empty() ? "" : " ") + shell_word(std::string(word.as_string()));
  return text;
}

std::string shown_state(const json::value& job) {
  std::string state = text_at(job, "state");
  return number_at(value_at(job, "members"), "running") > 0 && !is_over(state) ? "running" : state;
}

std::string other_states_text(const json::value& counts) {
  std::string text;
  for (const char* state : {"starting", "migrating", "resizing", "stopping", "held", "suspended"}) {
    if (number_at(counts, state) > 0) text += fmt::format(", {} {}", number_at(counts, state), state);
  }
  return text;
}

std::string members_text(const json::value& members) {
  std::string text;
  for (const char* what : {"running", "waiting", "succeeded", "failed", "cancelled"}) {
    const auto count = static_cast<std::int64_t>(number_at(members, what));
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  }
  return text;
}

}  // namespace sl::cli
