#include "controller/simulation_files.h"

#include <fstream>
#include <sstream>

namespace sl::controller {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Status write_whole(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path unfinished = path.string() + ".new";
  std::ofstream file(unfinished, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file.good()) std::filesystem::rename(unfinished, path, error);
  if (!file.good() || error) return unavailable("disk-full", "could not write all of " + path.string());
  return {};
}

}  // namespace sl::controller
