// Text for people: tables, states, durations, sizes. Pure functions of their arguments.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/context.h"
#include "wire/visible.h"

namespace sl::cli {

// Columns as wide as their widest cell, separated by two blanks; `right` names the columns of numbers. An empty header
// is not printed. On a terminal that is too narrow, names are cut in their middle and the last column at its end, and
// columns are left out.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<std::size_t> right = {})
      : header_(std::move(header)), right_(std::move(right)) {}
  // What may give way: a column of names, if there is one, and columns to leave out, the first one first and the last one
  // only if cutting does not help.
  void may_shrink(std::optional<std::size_t> names, std::vector<std::size_t> optional) {
    names_ = names, optional_ = std::move(optional);
  }
  // Widths that columns have at least, so that tables below each other look like one.
  void widen(std::vector<std::size_t> widths) { least_ = std::move(widths); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // Plain: tab-separated without a header, and never cut.
  std::string text(const Context& context) const;

 private:
  using Widths = std::vector<std::size_t>;  // 0: the column is left out
  Widths widths(std::size_t terminal) const;

  std::vector<std::string> header_;
  std::vector<std::size_t> right_, least_;
  std::optional<std::size_t> names_;
  std::vector<std::size_t> optional_;
  std::vector<std::vector<std::string>> rows_;
};

// A loss or an accuracy, with so many digits after the point; if that would show nothing of it, in powers of ten.
std::string figure_text(double figure, int digits);
// Its name, without what a terminal would obey.
std::string name_text(const json::value& job);
// What a job runs, as a shell would read it.
std::string command_text(const json::value& command);
// An array runs while any of its members does; to the API it is pending until its end.
std::string shown_state(const json::value& job);
// ", 1 stopping, 2 held", of counts by state; empty: none is in any but the usual ones.
std::string other_states_text(const json::value& counts);
// "3 running, 93 waiting, 4 succeeded"; empty: it is no group.
std::string members_text(const json::value& members);

// At most `width` columns of `text`; `mark` stands for what was left out at the end or in the middle.
std::string cut_end(const std::string& text, std::size_t width, std::string_view mark);
std::string cut_middle(const std::string& text, std::size_t width, std::string_view mark);

// A document as --plain prints it. A list has a line for each item, with its values between tabs; lists and objects among
// these are JSON. Anything else has a line for each value: its path, a tab, what it is; null is left out. What would end a
// line or a field is escaped.
std::string records_text(const json::value& document);

// All texts of a document that is shown to people, visible (wire/visible.h).
json::value visible_document(json::value document);

// Columns that UTF-8 text takes on a terminal: two for wide characters, none for colour codes and combining marks.
std::size_t display_width(std::string_view text);

using wire::visible;
using wire::visible_name;

// Whether the user's terminal shows more than ASCII, as the locale says.
bool shows_unicode();
// Our own dashes, dots, arrows and so on in ASCII.
std::string in_ascii(std::string text);
// As the user's terminal shows it.
inline std::string for_terminal(std::string text) { return shows_unicode() ? text : in_ascii(std::move(text)); }

std::string bytes_text(double bytes);  // 7.9 GiB
// What a list says that has no items; nothing for programs (--plain, --quiet).
void say_none(const Context& context, const std::string& text);
std::string clock_text(const std::string& rfc3339);  // local time: 19:20, or the date on another day
// In a table; with --plain as it is.
std::string clock_text(const Context& context, const std::string& rfc3339);
// A sentence of the controller's, which names times in UTC ("10:23:11 UTC", with the day if that matters, or as RFC 3339):
// as the user's clock shows them.
std::string with_own_times(const std::string& sentence);
// Sign, word and colour of a state; ASCII if the terminal shows nothing else.
std::string state_text(const Context& context, const std::string& state);
std::string where_text(const json::value& job);  // gpu3:0-3
std::string gpus_text(const json::value& job);   // 2  or 1..4
std::string plural(std::size_t n, const std::string& word);

}  // namespace sl::cli
