#include "wire/torchrun_command.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <variant>
#include <vector>

#include "base/shell_words.h"

namespace sl::wire {
namespace {

struct Word {
  std::size_t begin = 0, end = 0;
};
using Command = std::vector<Word>;  // a simple command: words between two of && || ; | & ( ) and ends of lines

// Quotes and backslashes are understood, nothing else of the shell: it is enough to tell words from separators.
std::vector<Command> commands_of(std::string_view line) {
  std::vector<Command> commands(1);
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_separator = quote == '\0' && std::string_view("&|;()\n").find(c) != std::string_view::npos;
    if (quote == '\0' && (is_separator || c == ' ' || c == '\t' || c == '\r')) {
      in_word = false;
      if (is_separator && !commands.back().empty()) commands.emplace_back();
      continue;
    }
    if (!in_word) commands.back().push_back({i, i});
    in_word = true;
    if (c == '\\' && quote != '\'') ++i;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    }
    commands.back().back().end = std::min(i + 1, line.size());
  }
  if (commands.back().empty()) commands.pop_back();
  return commands;
}

bool is_python(std::string_view word) {
  const std::string_view name = word.substr(word.rfind('/') + 1);
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

// NAME=value in front of a command.
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_prefix(std::string_view word) {
  constexpr std::array words = {"exec", "time", "env", "nohup", "nice"};
  return is_assignment(word) || std::find(words.begin(), words.end(), word) != words.end();
}

// Puts torchrun into one simple command, if it starts Python.
std::optional<std::string> inserted(const std::string& line, const Command& command, const std::string& torchrun) {
  const auto text = [&](const Word& word) {
    const std::string_view raw = std::string_view(line).substr(word.begin, word.end - word.begin);
    const bool is_quoted = raw.size() > 1 && raw.front() == raw.back() && (raw.front() == '\'' || raw.front() == '"');
    return is_quoted ? raw.substr(1, raw.size() - 2) : raw;
  };
  auto word = std::find_if(command.begin(), command.end(), [&](const Word& w) { return !is_prefix(text(w)); });
  if (word == command.end()) return std::nullopt;
  if (text(*word).ends_with(".py"))
    return line.substr(0, word->begin) + "python3 " + torchrun + " " + line.substr(word->begin);
  if (!is_python(text(*word))) return std::nullopt;
  // The interpreter's own options stay in front of torchrun; -m names what is to be run.
  std::size_t end = word->end;
  while (++word != command.end() && text(*word).starts_with('-') && text(*word) != "-m") {
    const bool has_value = text(*word) == "-X" || text(*word) == "-W";
    if (has_value && word + 1 != command.end()) ++word;
    end = word->end;
  }
  return line.substr(0, end) + " " + torchrun + line.substr(end);
}

std::string as_line(const CommandLine& command) {
  if (const auto* line = std::get_if<std::string>(&command)) return *line;
  std::string text;
  for (const std::string& word : std::get<std::vector<std::string>>(command))
    text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace

std::optional<std::string> with_torchrun(const CommandLine& command, const std::string& torchrun) {
  const std::string line = as_line(command);
  const std::vector<Command> commands = commands_of(line);
  for (auto simple = commands.rbegin(); simple != commands.rend(); ++simple) {
    if (auto text = inserted(line, *simple, torchrun)) return text;
  }
  return std::nullopt;
}

}  // namespace sl::wire
