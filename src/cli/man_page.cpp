#include "cli/man_page.h"

#include <algorithm>

#include "cli/usage.h"

namespace sl::cli {
namespace {

// "schedulearn policy set"
std::string full_name(const CLI::App& root, const CLI::App& command) {
  return &command == &root ? "schedulearn" : full_name(root, *command.get_parent()) + " " + command.get_name();
}

std::string page_name(const CLI::App& root, const CLI::App& command) {
  std::string name = full_name(root, command);
  std::ranges::replace(name, ' ', '-');
  return name;
}

// Text in which roff sees no command of its own.
std::string roff(const std::string& text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    at_start = c == '\n';
    c == '\\' ? escaped += "\\e" : c == '-' ? escaped += "\\-" : escaped += c;
  }
  return escaped;
}

std::string section(const std::string& title, const std::string& text) { return ".SH " + title + "\n" + text; }

std::string option_text(const CLI::Option& option) {
  const bool takes_value = option.get_items_expected_max() > 0 && !option.get_positional();
  return ".TP\n.B " + roff(option.get_name(option.get_positional(), true)) + (takes_value ? " \\fIVALUE\\fR" : "") +
         "\n" + roff(option.get_description()) + "\n";
}

std::string options_text(const CLI::App& command, bool positional, bool of_everywhere) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_everywhere = option->get_group() == "Everywhere";
    if (option->get_positional() == positional && is_everywhere == of_everywhere) text += option_text(*option);
  }
  return text;
}

}  // namespace

std::string man_page(const CLI::App& root, const CLI::App& command, const Help& help, const std::string& version) {
  const std::string name = page_name(root, command);
  std::string page = ".TH \"" + roff(name) + "\" 1 \"\" \"schedulearn " + roff(version) + "\" \"Schedulearn\"\n";
  page += section("NAME", roff(name) + " \\- " + roff(command.get_description()) + "\n");
  std::string usage = help.make_usage(&command, full_name(root, command));
  if (const std::size_t colon = usage.find(": "); colon != std::string::npos) usage.erase(0, colon + 2);
  page += section("SYNOPSIS", ".nf\n" + roff(usage) + ".fi\n");
  if (const auto examples = help.examples.find(&command); examples != help.examples.end())
    page += section("EXAMPLES", ".nf\n" + roff(examples->second) + ".fi\n");
  const auto inner = commands_of(command);
  std::string list;
  for (const CLI::App* each : inner)
    list += ".TP\n.BR " + roff(page_name(root, *each)) + " (1)\n" + roff(each->get_description()) + "\n";
  if (!list.empty()) page += section("COMMANDS", list);
  if (const std::string arguments = options_text(command, true, false); !arguments.empty())
    page += section("ARGUMENTS", arguments);
  if (const std::string options = options_text(command, false, false); !options.empty())
    page += section("OPTIONS", options);
  page += section("OPTIONS OF EVERY COMMAND", options_text(root, false, true));
  page += section(
      "EXIT STATUS",
      "0 done, 1 failed, 2 not understood or a mistake in a job file, 3 not found, 4 not allowed, 5 not possible\n"
      "now, 6 no controller answers, 124 timeout, 130 interrupted. run and wait end as their job does.\n");
  page += section(
      "ENVIRONMENT",
      "SCHEDULEARN_URL, SCHEDULEARN_TOKEN_FILE, SCHEDULEARN_TOKEN, SCHEDULEARN_DATA, NO_COLOR, CLICOLOR_FORCE\n");
  if (&command != &root) page += section("SEE ALSO", ".BR " + roff(page_name(root, *command.get_parent())) + " (1)\n");
  return page;
}

std::map<std::string, std::string> man_pages(const CLI::App& root, const Help& help, const std::string& version) {
  std::map<std::string, std::string> pages;
  const auto add = [&](const CLI::App& command, const auto& self) -> void {
    pages[page_name(root, command) + ".1"] = man_page(root, command, help, version);
    for (const CLI::App* inner : commands_of(command)) self(*inner, self);
  };
  add(root, add);
  return pages;
}

}  // namespace sl::cli
