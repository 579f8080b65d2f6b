#include "cli/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/suggest.h"
#include "cli/sign_ins.h"
#include "cli/surroundings.h"
#include "wire/job_file.h"
#include "wire/job_spec.h"

namespace sl::cli {
namespace {

namespace json = boost::json;

constexpr ConfigKey keys[] = {
    {"context", "the controller to ask, by the name that login has given it"},
    {"url", "address of the controller"},
    {"token_file", "file with the token of the controller"},
    {"color", "auto, always or never"},
    {"timeout", "how long to wait for an answer: 30s"},
};
constexpr std::string_view defaults = "defaults";  // the table with keys of a job file
constexpr const char* machine_file = "/etc/schedulearn/config.toml";

Error in_config(Error error, const std::string& path) {
  error.notes.push_back("in " + path);
  return error;
}

Error unknown_setting(std::string_view key) {
  Error error = invalid("unknown-key", "there is no setting " + std::string(key));
  std::vector<std::string_view> known{defaults};
  for (const ConfigKey& each : keys) known.push_back(each.name);
  if (const auto near = did_you_mean(key, known)) error.hints.push_back("did you mean " + *near + "?");
  std::string all;
  for (const ConfigKey& each : keys) all += std::string(each.name) + ", ";
  error.notes.push_back("there are: " + all + "and defaults.KEY for each key of a job file");
  return error;
}

Status check_value(std::string_view key, const std::string& value) {
  const auto refuse = [&](const char* what) {
    return invalid("bad-flag", fmt::format("{} is {}, not {}", key, what, value))
        .hint(fmt::format("schedulearn config set {} …", key));
  };
  if (key == "color" && value != "auto" && value != "always" && value != "never")
    return refuse("auto, always or never");
  if (key == "timeout" && !parse_timeout_s(value).ok()) return refuse("a duration above zero and up to 365d");
  if (key == "url" && !full_url(value).ok()) return refuse("a controller's address (http://127.0.0.1:5000)");
  return {};
}

// TOML has numbers that no job has, and JSON cannot hold.
Status check_numbers(const json::value& value, const std::string& key) {
  if (value.is_double() && !std::isfinite(value.get_double()))
    return invalid("wrong-type", key + " is not a number").hint("write a number: 2");
  if (!value.is_object()) return {};
  for (const auto& [name, inner] : value.get_object()) {
    if (Status good = check_numbers(inner, key + "." + std::string(name)); !good.ok()) return good;
  }
  return {};
}

Status check(const json::object& values, bool is_project) {
  for (const auto& [key, value] : values) {
    if (key == defaults) {
      if (!value.is_object()) return invalid("wrong-type", "defaults is a table: [defaults]");
      if (Status good = check_numbers(value, std::string(key)); !good.ok()) return good;
      continue;
    }
    const bool is_known = std::ranges::find(keys, std::string_view(key), &ConfigKey::name) != std::end(keys);
    if (!is_known) return unknown_setting(key);
    if (is_project)
      return invalid("unknown-key", "a project sets only [defaults], not " + std::string(key))
          .hint("schedulearn config set " + std::string(key) + " …");
    if (!value.is_string()) return invalid("wrong-type", std::string(key) + " is a text").hint("write it in quotes");
    if (const Status good = check_value(key, std::string(value.get_string())); !good.ok()) return good;
  }
  return {};
}

// Whether a job that says nothing but its command could be submitted with these defaults.
Status check_defaults(const json::object& values) {
  const json::value* table = values.if_contains(defaults);
  if (!table) return {};
  json::object job = table->get_object();
  if (!job.contains("command")) job["command"] = "true";
  const auto spec = wire::parse_job_json(json::serialize(job), "/");
  return spec.ok() ? Status() : Status(spec.error());
}

Result<ConfigFile> parsed(const std::string& path, const std::string& text, bool is_project) {
  auto values = wire::toml_to_json(text);
  if (!values.ok()) return in_config(values.error(), path);
  if (const Status good = check(*values, is_project); !good.ok()) return in_config(good.error(), path);
  return ConfigFile{path, std::move(*values)};
}

const json::value* find_in(const json::object& values, std::string_view key) {
  const std::size_t dot = key.find('.');
  const json::value* found = values.if_contains(key.substr(0, dot));
  if (!found || dot == std::string_view::npos) return found;
  return found->is_object() ? find_in(found->get_object(), key.substr(dot + 1)) : nullptr;
}

void add_keys(const json::object& values, const std::string& before, std::vector<std::string>& into) {
  for (const auto& [key, value] : values) {
    const std::string name = before + std::string(key);
    if (value.is_object()) {
      add_keys(value.get_object(), name + ".", into);
    } else {
      into.push_back(name);
    }
  }
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) made += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return made + "\"";
}

// "[defaults.time]" -> "defaults.time"; empty: the line begins no table.
std::string table_of(std::string_view line) {
  const std::size_t open = line.find_first_not_of(" \t"), close = line.find(']');
  if (open == std::string_view::npos || line[open] != '[' || close == std::string_view::npos) return "";
  return std::string(line.substr(open + 1, close - open - 1));
}

bool sets(std::string_view line, std::string_view name) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || !line.substr(begin).starts_with(name)) return false;
  const std::size_t after = line.find_first_not_of(" \t", begin + name.size());
  return after != std::string_view::npos && line[after] == '=';
}

}  // namespace

std::span<const ConfigKey> config_keys() { return keys; }

void add_missing(json::object& to, const json::object& from) {
  for (const auto& [key, value] : from) {
    json::value* there = to.if_contains(key);
    if (!there) {
      to[key] = value;
    } else if (there->is_object() && value.is_object()) {
      add_missing(there->get_object(), value.get_object());
    }
  }
}

Result<double> parse_timeout_s(const std::string& text) {
  constexpr double year_s = 365 * 24 * 3600;
  const auto seconds = wire::parse_duration_s(text);
  if (seconds.ok() && (*seconds <= 0 || *seconds > year_s))
    return invalid("bad-duration", "must be above zero and up to 365d, not " + text);
  return seconds;
}

std::string user_config_path() {
  const std::string xdg = variable("XDG_CONFIG_HOME");
  return (xdg.empty() ? variable("HOME") + "/.config" : xdg) + "/schedulearn/config.toml";
}

Status check_config(const std::string& text) {
  const auto values = wire::toml_to_json(text);
  if (!values.ok()) return values.error();
  if (const Status good = check(*values, false); !good.ok()) return good;
  return check_defaults(*values);
}

Result<Config> Config::load() {
  ProjectSettings project = find_project_settings();
  std::vector<ConfigFile> files;
  const auto add = [&](const std::string& path, const std::string& text, bool is_project) {
    auto file = parsed(path, text, is_project);
    if (file.ok()) files.push_back(std::move(*file));
    return file.ok() ? Status() : Status(file.error());
  };
  if (Status added = project.path.empty() ? Status() : add(project.path, project.text, true); !added.ok())
    return added.error();
  for (const std::string& path : {user_config_path(), std::string(machine_file)}) {
    const auto found = read_settings(path);
    if (!found.ok()) return in_config(found.error(), path);
    if (Status added = *found ? add(path, (*found)->text, false) : Status(); !added.ok()) return added.error();
  }
  auto config = of(std::move(files));
  if (config.ok()) config->unused_ = std::move(project.unused);
  return config;
}

Result<Config> Config::of(std::vector<ConfigFile> files) {
  Config config;
  config.files_ = std::move(files);
  return config;
}

std::optional<Config::Found> Config::find(std::string_view key) const {
  for (const ConfigFile& file : files_) {
    if (const json::value* value = find_in(file.values, key)) return Found{*value, file.path};
  }
  return std::nullopt;
}

std::string Config::text(std::string_view key) const {
  const auto found = find(key);
  return found && found->value.is_string() ? std::string(found->value.get_string()) : "";
}

std::vector<std::pair<std::string, Config::Found>> Config::all() const {
  std::vector<std::string> names;
  for (const ConfigFile& file : files_) add_keys(file.values, "", names);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::pair<std::string, Found>> all;
  for (const std::string& name : names) all.emplace_back(name, *find(name));
  return all;
}

void Config::add_defaults(json::object& job) const {
  for (const ConfigFile& file : files_) {
    const json::value* values = file.values.if_contains(defaults);
    if (values && values->is_object()) add_missing(job, values->get_object());
  }
}

Result<std::string> with_setting(const std::string& text, const std::string& key, const std::string& value) {
  const std::size_t dot = key.rfind('.');
  const std::string table = dot == std::string::npos ? "" : key.substr(0, dot),
                    name = dot == std::string::npos ? key : key.substr(dot + 1);
  const bool is_default = table == defaults || table.starts_with(std::string(defaults) + ".");
  if (name.empty() || (!is_default && !table.empty())) return unknown_setting(key);
  const bool is_toml = is_default && wire::toml_to_json("x = " + value).ok();
  const std::string wanted = name + " = " + (is_toml ? value : quoted(value));

  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::size_t end = 0;  // of the lines that belong to the table
  bool is_there = table.empty(), is_set = false;
  std::string in_table;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const std::string begun = table_of(lines[i]); !begun.empty()) in_table = begun;
    if (in_table != table) continue;
    is_there = true, end = i + 1;
    if (is_set || !sets(lines[i], name)) continue;
    is_set = true;
    value.empty() ? static_cast<void>(lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i--)))
                  : static_cast<void>(lines[i] = wanted);
  }
  if (!is_set && !value.empty()) {
    if (!is_there) lines.push_back("[" + table + "]"), end = lines.size();
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(end), wanted);
  }
  std::string changed;
  for (const std::string& line : lines) changed += line + "\n";
  const auto values = wire::toml_to_json(changed);
  if (!values.ok()) return values.error();
  if (const Status good = check(*values, false); !good.ok()) return good.error();
  if (const Status good = check_defaults(*values); !good.ok() && is_default) return good.error();
  return changed;
}

}  // namespace sl::cli
