#include "archive/code_archive.h"

#include <sys/stat.h>

#include <filesystem>

#include "archive/program.h"

namespace sl::archive {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

// What is neither file, folder nor link; empty if there is nothing of that kind.
std::string find_other_kind(const std::string& folder) {
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::file_status status = at->symlink_status(failed);
    if (failed) break;
    if (!fs::is_regular_file(status) && !fs::is_directory(status) && !fs::is_symlink(status))
      return at->path().lexically_relative(folder).string();
  }
  return failed ? "a folder that cannot be read" : "";
}

bool is_disk_fault(const std::string& said) {
  for (const char* words : {"No space left", "Disk quota", "Read-only file system", "Input/output error"}) {
    if (said.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

// In the folder other trainings may write, and files come and go.
Status pack(const CodeFolder& code, const std::string& file) {
  constexpr int changed = 1;  // tar's status where a file grew or shrank while it was read
  constexpr int tries = 5;
  Result<ProgramEnd> end = ProgramEnd();
  for (int n = 0; n < tries; ++n) {
    std::string names;
    for (const std::string& name : code.files) {
      if (is_there(code.top + "/" + name)) names += name, names += '\0';
    }
    end = run_program({"tar", "--create", "--file=" + file, "--format=gnu", "--no-recursion", "--hard-dereference",
                       "--owner=0", "--group=0", "--numeric-owner", "--directory=" + code.top, "--null",
                       "--verbatim-files-from", "--files-from=-"},
                      names);
    if (!end.ok()) return end.error();
    if (end->status <= changed) return {};
    if (end->errors.find("No such file") == std::string::npos) break;  // else one is gone that has just been there
  }
  return invalid("snapshot-failed", "the code in " + code.top + " could not be packed: " + first_line(end->errors))
      .hint("a snapshot leaves out what .gitignore names");
}

// GNU tar strips leading "/" and refuses "..", and makes links that lead out of the folder last, so that nothing is
// written through one ("Integrity" in its manual). The folder is new and nobody else's.
Status unpack(const std::string& file, const std::string& folder) {
  const std::string made = folder + ".new";
  std::error_code failed;
  fs::remove_all(made, failed);
  if (::mkdir(made.c_str(), 0700) != 0) return unavailable("server_setup", "cannot make " + made);
  const auto end = run_program({"tar", "--extract", "--file=" + file, "--directory=" + made, "--no-same-owner",
                                "--no-same-permissions", "--warning=no-timestamp"});
  Status done;
  const std::string other = end.ok() && end->status == 0 ? find_other_kind(made) : "";
  if (!end.ok())
    done = unavailable("server_setup", end.error().message);
  else if (end->status != 0)
    done = is_disk_fault(end->errors)
               ? unavailable("server_setup", "its code could not be unpacked: " + first_line(end->errors))
               : invalid("setup", "its code could not be unpacked: " + first_line(end->errors));
  else if (!other.empty())
    done = invalid("setup", "its snapshot was refused: " + other + " is neither file, folder nor link");
  if (done.ok()) fs::rename(made, folder, failed);
  if (done.ok() && failed) done = unavailable("server_setup", "cannot make " + folder + ": " + failed.message());
  if (!done.ok()) fs::remove_all(made, failed);
  return done;
}

}  // namespace sl::archive
