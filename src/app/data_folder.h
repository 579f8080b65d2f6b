// The folder in which a daemon keeps its data, and the token in it. Whoever can write there can run commands as the
// daemon, so only its own user may write to the folder; the mode of an existing folder is never changed.
#pragma once

#include <string>

#include "base/result.h"

namespace sl::app {

enum class Daemon { controller, agent };

// Whether it is not the other daemon's: both keep files of the same names. A folder that both have used is left to them.
// Error: "data-directory-in-use".
Status check_use(const std::string& folder, Daemon of);

// Makes the folder with mode 0700 if it is missing. Errors: "data-directory-not-writable", "data-directory-unsafe" (it
// belongs to another user, or others may write to it), "data-directory-in-use" (as in check_use(), or a controller runs
// with it).
Status prepare_data_folder(const std::string& folder, Daemon of);

// The first line of a token file. Errors: "bad-token-file" (missing, unreadable, fewer than 16 characters).
Result<std::string> read_token(const std::string& path, Daemon of);

// The token in FOLDER/token, made with mode 0600 if it is missing.
Result<std::string> own_token(const std::string& folder);

}  // namespace sl::app
