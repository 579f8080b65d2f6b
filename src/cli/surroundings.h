// What the command line finds where it is started.
#pragma once

#include <string>

#include "base/result.h"

namespace sl::cli {

std::string variable(const char* name);  // of the environment; empty: it is not set
std::string user_name();
std::string own_host_name();
std::string own_data_directory();  // where `up` keeps its data unless told otherwise
// The first line of a token file. Error: "bad-token-file".
Result<std::string> read_token_file(const std::string& path);
std::string read_secret(const std::string& path);  // the first line of a file; empty: it cannot be read

}  // namespace sl::cli
