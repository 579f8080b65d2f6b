// What users and admins have set once instead of giving it as a flag: TOML files of the machine, of the user and of a
// project. Flags and the environment win over them, the nearer file over the farther one.
//
//   .schedulearn.toml                             of the project: in the current folder or one above it; only [defaults],
//                                                 and only if nobody else can have written it (settings_file.h)
//   $XDG_CONFIG_HOME/schedulearn/config.toml      of the user (~/.config/…)
//   /etc/schedulearn/config.toml                  of the machine
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/settings_file.h"

namespace sl::cli {

struct ConfigKey {
  std::string_view name, help;
};
std::span<const ConfigKey> config_keys();  // but those of [defaults], which are the keys of a job file

struct ConfigFile {
  std::string path;
  boost::json::object values;
};

class Config {
 public:
  // The files that are there, the nearest first. Errors: "malformed-toml", "unknown-key", "wrong-type", each with the
  // file.
  static Result<Config> load();
  static Result<Config> of(std::vector<ConfigFile> files);  // the nearest first

  struct Found {
    boost::json::value value;
    std::string path;  // of the file
  };
  // "url", "defaults.gpus", "defaults.time.limit". Nothing: no file sets it.
  std::optional<Found> find(std::string_view key) const;
  std::string text(std::string_view key) const;  // empty: no file sets it
  // All that is set, by key.
  std::vector<std::pair<std::string, Found>> all() const;
  // Files of a project that were found and do not count.
  const std::vector<UnusedSettings>& unused() const { return unused_; }
  // Adds to a job what it does not say itself.
  void add_defaults(boost::json::object& job) const;

 private:
  std::vector<ConfigFile> files_;
  std::vector<UnusedSettings> unused_;
};

// `to` gets the keys of `from` that it does not have, also inside of tables that both have.
void add_missing(boost::json::object& to, const boost::json::object& from);

// How long to wait for an answer, as --timeout and the setting say it: up to a year. Error "bad-duration".
Result<double> parse_timeout_s(const std::string& text);

std::string user_config_path();
// Whether this may be the user's file. Errors: "malformed-toml", "unknown-key", "wrong-type", those of a job file.
Status check_config(const std::string& text);

// The text of a file in which `key` has this value ("": it is not set any more); the rest of it stays as it is, comments
// too. `value` is written as TOML if it is TOML, else as text. Errors: "unknown-key", "wrong-type", "malformed-toml".
Result<std::string> with_setting(const std::string& text, const std::string& key, const std::string& value);

}  // namespace sl::cli
