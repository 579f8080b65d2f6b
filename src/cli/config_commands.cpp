#include "cli/config_commands.h"

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/config.h"
#include "cli/render.h"
#include "cli/sign_ins.h"
#include "cli/surroundings.h"
#include "wire/job_file.h"
#include "wire/job_spec.h"

namespace sl::cli {
namespace {

std::string shown(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

int show_config(const Context& context) {
  const auto config = Config::load();
  if (!config.ok()) return fail(config.error());
  warn_of(config->unused());
  json::array items;
  Table table({"KEY", "VALUE", "FROM"});
  for (const auto& [key, found] : config->all()) {
    items.push_back(json::object{{"key", key}, {"value", found.value}, {"file", found.path}});
    table.add({key, shown(found.value), found.path});
  }
  if (context.as_json) return context.print_json(list_of(std::move(items))), 0;
  if (!table.empty() || context.plain) return std::fputs(table.text(context).c_str(), stdout), 0;
  std::printf("nothing is set. What can be:\n");
  for (const ConfigKey& key : config_keys())
    std::printf("  schedulearn config set %-10s VALUE   %s\n", std::string(key.name).c_str(),
                std::string(key.help).c_str());
  std::printf("  schedulearn config set defaults.KEY VALUE   of every job, as in a job file: defaults.gpus 2\n");
  return 0;
}

int print_path(const Context& context) {
  if (context.as_json) return context.print_json(json::object{{"path", user_config_path()}}), 0;
  std::printf("%s\n", user_config_path().c_str());
  return 0;
}

int print_setting(const Context& context, const std::string& key) {
  const auto config = Config::load();
  if (!config.ok()) return fail(config.error());
  warn_of(config->unused());
  const auto found = config->find(key);
  if (!found) return fail(not_found("not-set", key + " is not set").hint("schedulearn config show"));
  if (context.as_json)
    return context.print_json(json::object{{"key", key}, {"value", found->value}, {"file", found->path}}), 0;
  std::printf("%s\n", shown(found->value).c_str());
  return 0;
}

Error not_written(const std::string& path) {
  return denied("cannot-write", "cannot write " + path + ": " + std::strerror(errno));
}

// In one step, so that it is never half there.
Status replace_file(const std::string& path, const std::string& text) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const std::string made = path + ".new";
  std::ofstream stream(made, std::ios::trunc);
  stream << text << std::flush;
  if (!stream) return not_written(made);
  stream.close();
  return ::rename(made.c_str(), path.c_str()) == 0 ? Status() : Status(not_written(path));
}

// Of settings that are to be changed. Empty: there are none yet.
Result<std::string> text_of(const std::string& path) {
  const auto found = read_settings(path);
  if (!found.ok()) return Error(found.error()).note("in " + path);
  return *found ? (*found)->text : std::string();
}

int set_setting(const Context& context, const std::string& key, const std::string& value) {
  const std::string path = user_config_path();
  if (const Status set = set_user_setting(key, value); !set.ok()) return fail(set.error());
  if (!context.quiet && !context.as_json)
    std::printf(value.empty() ? "%s is not set any more in %s\n" : "%s is set in %s\n", key.c_str(), path.c_str());
  if (context.as_json) context.print_json(json::object{{"key", key}, {"value", value}, {"file", path}});
  return 0;
}

// The line for the shell that edits a file.
std::string editor() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    if (const std::string program = variable(name); !program.empty()) return program;
  }
  return "vi";
}

// Whether it ended well.
bool edit_file(const std::string& path) {
  std::string shell = "sh", flag = "-c", line = editor() + " \"$1\"", zero = "sh", argument = path;
  char* const arguments[] = {shell.data(), flag.data(),     line.data(),
                             zero.data(),  argument.data(), nullptr};  // NOLINT(modernize-avoid-c-arrays)
  pid_t process = 0;
  int status = 0;
  return ::posix_spawn(&process, "/bin/sh", nullptr, nullptr, arguments, environ) == 0 &&
         ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A copy is edited; it becomes the file once it is well-formed, and stays beside it if it is not.
int edit_config(const Context& context) {
  const std::string path = user_config_path(), copy = path + ".edited.toml";
  const auto before = text_of(path);
  if (!before.ok()) return fail(before.error());
  std::error_code failed;
  if (!std::filesystem::exists(copy, failed)) {
    if (const Status made = replace_file(copy, *before); !made.ok()) return fail(made.error());
  }
  if (!edit_file(copy)) {
    std::filesystem::remove(copy, failed);
    return fail(internal_error("editor-failed", "the editor " + editor() + " did not end well; nothing has changed")
                    .hint("EDITOR=nano schedulearn config edit"));
  }
  const auto text = text_of(copy);
  if (!text.ok()) return fail(text.error());
  if (const Status good = check_config(*text); !good.ok())
    return fail(Error(good.error())
                    .note("nothing has changed; what you wrote is kept in " + copy)
                    .hint("go on with it: schedulearn config edit"));
  const bool is_changed = *text != *before;
  if (const Status done = is_changed ? replace_file(path, *text) : Status(); !done.ok()) return fail(done.error());
  std::filesystem::remove(copy, failed);
  if (!context.quiet) std::printf(is_changed ? "%s is changed\n" : "%s is as it was\n", path.c_str());
  return 0;
}

// Which controller is asked, and with which token. A flag counts more than a variable, and both more than a file; of one
// kind an address counts more than a context.
Status choose_controller(const Config& config, FlagValues& flags) {
  const std::string url_of_environment = variable("SCHEDULEARN_URL");
  const bool is_url_flag = flags.is_url_chosen && flags.url != url_of_environment;
  if (is_url_flag && flags.is_context_flag)
    return invalid("bad-flag", "--url and --context both say which controller to ask").hint("leave one of them out");
  std::string name = flags.context;
  if (!flags.is_context_flag)
    name = flags.is_url_chosen                        ? ""
           : !variable("SCHEDULEARN_CONTEXT").empty() ? variable("SCHEDULEARN_CONTEXT")
                                                      : config.text("context");
  flags.context = name;
  if (name == local_context)
    return flags.context.clear(), flags.is_url_chosen = false, flags.url = default_url, Status();
  if (!name.empty()) {
    const auto known = find_sign_in(name);
    if (!known.ok()) return known.error();
    flags.url = known->url, flags.token = known->token, flags.is_url_chosen = true;
    return {};
  }
  if (const std::string url = config.text("url"); !flags.is_url_chosen && !url.empty())
    flags.url = url, flags.is_url_chosen = true;
  if (auto url = full_url(flags.url); url.ok()) flags.url = std::move(*url);  // else it is refused when it is asked
  if (flags.is_url_chosen) flags.token = token_for(flags.url);
  return {};
}

}  // namespace

void warn_of(const std::vector<UnusedSettings>& unused) {
  for (const UnusedSettings& each : unused)
    std::fputs(for_terminal(fmt::format("warning: {} does not count: {}\n  hint: {}\n", visible_name(each.path),
                                        visible_name(each.why), visible_name(each.remedy)))
                   .c_str(),
               stderr);
}

std::string user_setting(const std::string& key) {
  const auto text = text_of(user_config_path());
  const auto values = text.ok() ? wire::toml_to_json(*text) : text.error();
  return values.ok() ? text_at(*values, key) : "";
}

Status set_user_setting(const std::string& key, const std::string& value) {
  const auto text = text_of(user_config_path());
  const auto changed = text.ok() ? with_setting(*text, key, value) : text;
  return changed.ok() ? replace_file(user_config_path(), *changed) : Status(changed.error());
}

Status fill_from_config(const CLI::App& app, FlagValues& flags) {
  flags.is_url_chosen = !app.get_option("--url")->empty();
  flags.is_context_flag = !app.get_option("--context")->empty();
  for (const char* always : {"config", "help", "man", "completion", "login", "logout"}) {
    if (app.got_subcommand(always)) return {};
  }
  const auto config = Config::load();
  if (!config.ok()) return config.error();
  if (const Status chosen = choose_controller(*config, flags); !chosen.ok()) return chosen;
  if (const std::string color = config->text("color"); !color.empty() && app.get_option("--color")->empty())
    flags.color = color;
  if (const std::string timeout = config->text("timeout"); !timeout.empty() && app.get_option("--timeout")->empty())
    flags.timeout_s = *parse_timeout_s(timeout);
  flags.token_file = config->text("token_file");
  if (flags.token_file.starts_with("~/")) flags.token_file = variable("HOME") + flags.token_file.substr(1);
  config->add_defaults(flags.defaults);
  flags.unused_settings = config->unused();
  return {};
}

void ConfigCommands::add_to(CLI::App& app) {
  CLI::App* config =
      app.add_subcommand("config", "What is set once instead of being a flag: show, path, get, set, edit.");
  config->require_subcommand(1);
  config->fallthrough();
  command_(*config, "show", "All that is set, and in which file.", "  schedulearn config show\n",
           [this] { return show_config(context_()); });
  command_(*config, "path", "Where your settings are.", "  schedulearn config path\n",
           [this] { return print_path(context_()); });
  command_(*config, "get", "One setting.", "  schedulearn config get url\n",
           [this] { return print_setting(context_(), key_); })
      ->add_option("key", key_, "url, defaults.gpus")
      ->required();
  command_(*config, "edit", "Change your settings in the editor that $VISUAL or $EDITOR names.",
           "  schedulearn config edit\n  EDITOR=nano schedulearn config edit\n",
           [this] { return edit_config(context_()); });
  CLI::App* set = command_(*config, "set", "Set something for yourself; an empty value takes it back.",
                           "  schedulearn config set url http://lab:5000\n"
                           "  schedulearn config set defaults.time.limit 2h\n  schedulearn config set url ''\n",
                           [this] { return set_setting(context_(), key_, value_); });
  set->add_option("key", key_, "url, context, token_file, color, timeout, or defaults.KEY for a key of the job file")
      ->required();
  set->add_option("value", value_, "as in TOML, or any text")->required();
}

}  // namespace sl::cli
