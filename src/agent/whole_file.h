// Replaces a file whole or not at all: on a disk that is full the old one stays, and whoever reads it meanwhile sees the
// old text or the new one, never a part. Of agent and launcher.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace sl::agent {

struct Replacing {
  mode_t mode = 0666;   // less what the umask takes away
  bool synced = false;  // so that the new file, and not an empty one, is there after a power cut: may take long
};
// The new text is in `path`.new until it is complete. False (errno): the file is as it was.
bool replace_file(const std::string& path, std::string_view text, const Replacing& how = {});

}  // namespace sl::agent
