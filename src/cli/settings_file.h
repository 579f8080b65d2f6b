// Files with settings, and which of those that lie in the folders above may count. Commands read them wherever they are
// started, so whatever else lies there under such a name must not hold them up, and nobody but the user and root may
// decide what they find: settings of a project can run code.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::cli {

// As stat() says, with the kind of file among the bits of its mode.
struct Ownership {
  uid_t user = 0;
  gid_t group = 0;
  mode_t mode = 0;
};

struct SettingsFile {
  std::string text;
  Ownership owner;  // of the file that was read, also where a link led to it
};
// Nothing: it is not there, or may not be read. Pipes and devices are not waited for. Error "malformed-toml": it is no
// file, or longer than any settings.
Result<std::optional<SettingsFile>> read_settings(const std::string& path);

struct Reader {
  uid_t user = 0;
  std::optional<gid_t> own_group;  // a group that has no other member
};
// Why others may have written this file of a project, or may put another in its place.
enum class Distrust { none, file_of_other, others_write_file, folder_of_other, others_write_folder };
// None: only the reader and root can have. In a sticky folder nobody replaces what belongs to others.
Distrust distrust_of(const Ownership& file, const Ownership& folder, const Reader& reader);

struct UnusedSettings {
  std::string path, why, remedy;  // "it belongs to mallory"
};
struct ProjectSettings {
  std::string path, text;              // empty: there are none that count
  std::vector<UnusedSettings> unused;  // what lies nearer, and does not count
};
// Of the current folder, else of the nearest one above it.
ProjectSettings find_project_settings();

}  // namespace sl::cli
