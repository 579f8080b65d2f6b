// What a job wrote, for a terminal: text, colours, and the ends and beginnings of lines. Everything else that a terminal
// would obey (titles, other screens, moving the cursor, answering questions) is left out: who reads the output of others
// is not to have their terminal changed by it. As the web page does (web/src/lib/terminal_text.ts).
#pragma once

#include <string>
#include <string_view>

namespace sl::cli {

// An output that arrives in pieces, which may end in the middle of anything.
class TerminalText {
 public:
  std::string add(std::string_view bytes);
  std::string finish();  // the rest, and the end of the colours

 private:
  enum class Within : unsigned char { text, escape, sequence, string, string_escape };
  void add(char c, std::string& shown);
  void add_text(char c, std::string& shown);
  std::string_view take_held();
  void end_sequence(char last, std::string& shown);

  Within within_ = Within::text;
  std::string sequence_;  // the parameters of the sequence so far
  int expected_ = 0;      // bytes that the character has yet, in UTF-8
  bool is_held_ = false;  // a byte with which a control may begin, until the next one tells
  bool is_styled_ = false;
};

}  // namespace sl::cli
