#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/suggest.h"
#include "wire/error.h"

namespace sl::cli {
namespace {

// Words that people know from other schedulers and shells, and the command that does the same here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 30> known_elsewhere{{
    {"kill", "cancel"},   {"stop", "cancel"},   {"delete", "cancel"},   {"scancel", "cancel"}, {"qdel", "cancel"},
    {"list", "ls"},       {"jobs", "ls"},       {"squeue", "ls"},       {"qstat", "ls"},       {"get", "ls"},
    {"sbatch", "submit"}, {"qsub", "submit"},   {"start", "submit"},    {"srun", "run"},       {"info", "show"},
    {"describe", "show"}, {"inspect", "show"},  {"log", "logs"},        {"tail", "logs"},      {"policies", "policy"},
    {"sinfo", "servers"}, {"nodes", "servers"}, {"nvidia-smi", "gpus"}, {"top", "gpus"},       {"simulate", "sim"},
    {"hist", "cdf"},      {"pause", "suspend"}, {"restart", "retry"},   {"-n", "--tail"},
}};

// Whether the command submits a job, whose own command follows "--".
bool takes_job(const CLI::App& root, const CLI::App& command) {
  return command.get_parent() == &root && (command.check_name("submit") || command.check_name("run"));
}

bool takes_value(const CLI::App& root, const CLI::App& command, const std::string& flag) {
  for (const CLI::App* level : {&command, &root}) {
    if (const CLI::Option* option = level->get_option_no_throw(flag)) return option->get_items_expected_min() > 0;
  }
  return false;
}

bool is_flag(const CLI::App& root, const CLI::App& command, const std::string& word) {
  if (command.get_option_no_throw(word) || root.get_option_no_throw(word)) return true;
  // Short flags may be combined or joined with their value: -fq, -n2.
  const std::string first = word.substr(0, 2);
  return !word.starts_with("--") && (command.get_option_no_throw(first) || root.get_option_no_throw(first));
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> names_of(const std::vector<CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::string path_of(const CLI::App& root, const CLI::App& command) {
  std::string path;
  for (const CLI::App* at = &command; at && at != &root; at = at->get_parent())
    path = at->get_name() + (path.empty() ? "" : " ") + path;
  return path;
}

std::string help_hint(const CLI::App& root, const CLI::App& command) {
  return &command == &root ? "schedulearn help" : "schedulearn help " + path_of(root, command);
}

Error unknown(const char* kind, const std::string& word, const std::vector<std::string>& known,
              const std::string& help) {
  Error problem = invalid(std::string("unknown-") + kind, fmt::format("there is no {} {}", kind, word));
  if (word == "--stderr" || word == "--stdout")
    return std::move(problem)
        .note("a job writes both into one output, so that nothing is lost and the order is kept")
        .hint("keep them apart in the job's command: python train.py 2> \"$SCHEDULEARN_OUTPUT_DIR/stderr.txt\"")
        .hint("then: schedulearn files ID get output/stderr.txt");
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const auto elsewhere = std::find_if(known_elsewhere.begin(), known_elsewhere.end(),
                                      [&](const auto& pair) { return pair.first == word; });
  const auto first_word = [](std::string_view command) { return command.substr(0, command.find(' ')); };
  if (elsewhere != known_elsewhere.end() &&
      std::find(candidates.begin(), candidates.end(), first_word(elsewhere->second)) != candidates.end()) {
    problem.hints.push_back(fmt::format("did you mean {}?", elsewhere->second));
    if (word == "resume") problem.hints.push_back("a job that was stopped at a checkpoint continues by itself");
  } else if (const auto near = did_you_mean(word, candidates)) {
    problem.hints.push_back("did you mean " + *near + "?");
  } else if (known.size() < 12) {
    problem.hints.push_back(fmt::format("there are: {}", fmt::join(known, ", ")));
  }
  problem.hints.push_back(help);
  return problem;
}

// Follows the words from command to command. `visit` is called for each word that is not a flag's value, with the
// command it belongs to, and ends the walk by returning false. Returns the last command.
template <typename Visit>
const CLI::App& walk(const CLI::App& root, const std::vector<std::string>& words, Visit visit) {
  const CLI::App* at = &root;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (!visit(*at, name)) break;
    if (name.starts_with("-") && name == words[i] && takes_value(root, *at, name)) ++i;
    if (const CLI::App* inner = find_command(*at, name)) at = inner;
  }
  return *at;
}

bool looks_like_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

// The option that the library names at the start of its message.
const CLI::Option* option_in(const CLI::App& root, const CLI::App& command, const std::string& message) {
  for (const CLI::App* level : {&command, &root}) {
    for (const CLI::Option* option : level->get_options()) {
      const std::string name = option->get_name();
      if (!name.empty() && message.starts_with(name) && !std::isalnum(static_cast<unsigned char>(message[name.size()])))
        return option;
    }
  }
  return nullptr;
}

std::string after(const std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? text : text.substr(at + mark.size());
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

std::string missing(const CLI::App& root, const CLI::App& command, const std::string& message) {
  const std::string path = path_of(root, command);
  const std::vector<std::string> inner = names_of(commands_of(command));
  if (!inner.empty()) return fmt::format("{} needs one of its commands: {}", path, fmt::join(inner, ", "));
  const CLI::Option* option = option_in(root, command, message);
  return option ? fmt::format("{} needs {} ({})", path, option->get_name(), option->get_description()) : message;
}

// The library's finding in our words.
std::string message_of(const CLI::App& root, const CLI::App& command, const CLI::ParseError& error) {
  const std::string message = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error)) return missing(root, command, message);
  if (dynamic_cast<const CLI::ExtrasError*>(&error))
    return fmt::format("{} does not know what to do with: {}", path_of(root, command), after(message, "expected: "));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    const CLI::Option* option = option_in(root, command, message);
    return option ? fmt::format("{} needs a value ({})", option->get_name(), option->get_description()) : message;
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error))
    return replaced(replaced(message, "Could not convert: ", ""), " = ", " does not take ");
  if (dynamic_cast<const CLI::ExcludesError*>(&error))
    return replaced(message, " excludes ", " cannot be used together with ");
  return replaced(message, ": takes ", " takes ");
}

}  // namespace

Error unknown_command(const CLI::App& root, const CLI::App& within, const std::string& word) {
  return unknown("command", word, names_of(commands_of(within)), help_hint(root, within));
}

std::string Help::make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(command, std::move(name), mode);
  if (mode != CLI::AppFormatMode::Normal) return text;
  if (const auto at = examples.find(command); at != examples.end()) text = "Examples:\n" + at->second + "\n" + text;
  while (text.ends_with("\n\n")) text.pop_back();
  text += "\nEverywhere:\n";
  for (const CLI::Option* option : root_.get_options()) {
    if (option->get_group() == "Everywhere") text += make_option(option, false);
  }
  return text;
}

std::string Help::make_usage(const CLI::App* command, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(command, std::move(name));
  if (!takes_job(root_, *command)) return usage;
  while (usage.ends_with("\n")) usage.pop_back();
  return usage + " [-- COMMAND...]\n";
}

std::vector<CLI::App*> commands_of(const CLI::App& command) {
  return const_cast<CLI::App&>(command).get_subcommands([](const CLI::App*) { return true; });
}

std::string typed_command(const CLI::App& root) {
  std::string path;
  for (const CLI::App* at = &root; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += (path.empty() ? "" : " ") + at->get_name();
  }
  return path;
}

CLI::App* find_command(const CLI::App& command, const std::string& name) {
  for (CLI::App* inner : commands_of(command)) {
    if (inner->check_name(name)) return inner;
  }
  return nullptr;
}

std::optional<Error> unknown_word(const CLI::App& root, const std::vector<std::string>& words) {
  std::optional<Error> problem;
  walk(root, words, [&](const CLI::App& at, const std::string& word) {
    const std::vector<CLI::App*> inner = commands_of(at);
    if (looks_like_flag(word)) {
      if (is_flag(root, at, word)) return true;
      std::vector<std::string> flags = flags_of(at), everywhere = flags_of(root);
      flags.insert(flags.end(), everywhere.begin(), everywhere.end());
      problem = unknown("flag", word, flags, help_hint(root, at));
    } else if (!inner.empty() && !find_command(at, word)) {
      problem = unknown_command(root, at, word);
    }
    return !problem;
  });
  return problem;
}

Error usage_error(const CLI::App& root, const CLI::ParseError& error, const std::vector<std::string>& words) {
  if (auto problem = unknown_word(root, words)) return *problem;
  const CLI::App& command = walk(root, words, [](const CLI::App&, const std::string&) { return true; });
  Error problem = invalid("usage", message_of(root, command, error));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && takes_job(root, command))
    problem.hints.push_back("a job's command follows --: schedulearn " + command.get_name() +
                            " --gpus 1 -- python train.py");
  problem.hints.push_back(help_hint(root, command));
  return problem;
}

namespace {

const std::string one_of_name = "one of ";  // begins the name of such a check

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CLI::Validator number_check(std::string wanted, std::function<bool(double)> fits) {
  const auto check = [wanted = std::move(wanted), fits = std::move(fits)](std::string& text) {
    const auto value = number_of(text);
    return value && fits(*value) ? std::string() : fmt::format("takes {}, not {}", wanted, text);
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::Validator between(double min, double max) {
  return number_check(fmt::format("a number from {} to {}", min, max),
                      [=](double value) { return value >= min && value <= max; });
}
CLI::Validator above_zero() {
  return number_check("a number above zero", [](double value) { return value > 0; });
}
CLI::Validator not_negative() {
  return number_check("a number that is not negative", [](double value) { return value >= 0; });
}
CLI::Validator not_empty() {
  return CLI::Validator([](std::string& text) { return text.empty() ? std::string("needs a value") : std::string(); },
                        "");
}
CLI::Validator seed_of_64_bits() {
  const auto check = [](std::string& text) {
    std::uint64_t seed = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, seed);
    return error == std::errc() && stop == end ? std::string()
                                               : fmt::format("takes a whole number from 0 to {}, not {}",
                                                             std::numeric_limits<std::uint64_t>::max(), text);
  };
  return CLI::Validator(check, "");
}
CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words](std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    return fmt::format("takes one of {}, not {}", fmt::join(words, ", "), text);
  };
  return CLI::Validator(check, "").name(one_of_name + fmt::format("{}", fmt::join(words, "|")));
}

std::string words_of(const CLI::Option& option) {
  try {
    for (int i = 0;; ++i) {
      const std::string& name = const_cast<CLI::Option&>(option).get_validator(i)->get_name();
      if (name.starts_with(one_of_name)) return name.substr(one_of_name.size());
    }
  } catch (const CLI::OptionNotFound&) {  // no further validator
    return "";
  }
}

}  // namespace sl::cli
