#include "study/result_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "trace/text_file.h"

namespace sl::study {
namespace {

void remove_results(const std::string& folder) {
  const auto text = trace::read_text(folder + "/run.json");
  if (!text.ok()) return;
  std::error_code failed;
  std::filesystem::remove(folder + "/run.json", failed);
  boost::system::error_code unreadable;
  const boost::json::value document = boost::json::parse(*text, unreadable);
  const boost::json::object* const run = unreadable ? nullptr : document.if_object();
  const boost::json::value* const results = run ? run->if_contains("results") : nullptr;
  if (!results || !results->is_array()) return;
  for (const boost::json::value& result : results->get_array()) {
    for (const char* key : {"jobs_file", "events_file"}) {
      const boost::json::value* const value = result.is_object() ? result.get_object().if_contains(key) : nullptr;
      const std::string name = value && value->is_string() ? std::string(value->get_string()) : "";
      if (name.find('/') == std::string::npos && name.ends_with(".csv"))
        std::filesystem::remove(folder + "/" + name, failed);
    }
  }
}

}  // namespace

Result<ResultFolder> ResultFolder::claim(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return denied("cannot-write", "cannot make the folder " + path + ": " + failed.message());
  ResultFolder folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.lock_ < 0) return denied("cannot-write", "cannot open the folder " + path + ": " + std::strerror(errno));
  // A file system without locks is no reason to have no results.
  if (::flock(folder.lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return conflict("folder-in-use", "another simulation is writing its results to " + path)
        .hint("wait until it has ended, or choose another: --out DIR");
  remove_results(path);
  return folder;
}

ResultFolder::ResultFolder(ResultFolder&& other) noexcept : lock_(std::exchange(other.lock_, -1)) {}

ResultFolder& ResultFolder::operator=(ResultFolder&& other) noexcept {
  std::swap(lock_, other.lock_);
  return *this;
}

ResultFolder::~ResultFolder() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace sl::study
