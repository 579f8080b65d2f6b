#include "cli/snapshot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "archive/code_archive.h"
#include "archive/code_diff.h"
#include "archive/digest.h"
#include "cli/render.h"
#include "wire/utf8.h"

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t changed_max = 100;         // that are named
constexpr std::size_t sent_at_once = 512 << 10;  // bytes
constexpr int attempts_max = 3;

std::string size_in_words(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// With "~" as the shell has it.
std::string real_workdir(const std::string& workdir) {
  const char* home = std::getenv("HOME");
  return workdir.starts_with('~') && home ? home + workdir.substr(1) : workdir;
}

wire::SnapshotSpec described(const archive::CodeFolder& code, const std::string& kind) {
  wire::SnapshotSpec snapshot;
  snapshot.kind = kind;
  snapshot.commit = code.commit;
  snapshot.dirty_files = static_cast<int>(code.changed.size());
  for (const std::string& name : code.changed) {
    if (snapshot.changed.size() < changed_max && wire::is_utf8(name)) snapshot.changed.push_back(name);
  }
  snapshot.subfolder = code.subfolder;
  snapshot.files = static_cast<int>(code.files.size());
  snapshot.bytes = code.bytes;
  return snapshot;
}

Error too_large(const archive::CodeFolder& code, std::int64_t limit) {
  std::string largest;
  for (const auto& [name, bytes] : archive::largest_files(code, 3))
    largest += fmt::format("{}{} ({})", largest.empty() ? "" : ", ", name, size_in_words(bytes));
  return Error{ErrorKind::too_large, "snapshot-too-large",
               fmt::format("the code in {} has {}, and a snapshot may have {}", code.top, size_in_words(code.bytes),
                           size_in_words(limit))}
      .note("the largest: " + largest)
      .hint("name what does not belong to the code in .gitignore")
      .hint("or leave snapshot out: the code runs in its own folder");
}

// What is sent, in a file that is gone with this.
class FileToSend {
 public:
  FileToSend() {
    std::string path = (fs::temp_directory_path() / "schedulearn-code.XXXXXX").string();
    const int fd = ::mkstemp(path.data());
    if (fd >= 0) ::close(fd), path_ = path;
  }
  ~FileToSend() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  FileToSend(const FileToSend&) = delete;
  FileToSend& operator=(const FileToSend&) = delete;
  // The digest of what is in it then.
  Result<std::string> pack(const archive::CodeFolder& code) const {
    if (path_.empty()) return no_room();
    if (Status packed = archive::pack(code, path_); !packed.ok()) return packed.error();
    return archive::digest_of_file(path_);
  }
  Result<std::string> write(const std::string& text) const {
    if (path_.empty() || !(std::ofstream(path_, std::ios::binary) << text << std::flush)) return no_room();
    return archive::digest_of_file(path_);
  }
  const std::string& path() const { return path_; }

 private:
  static Error no_room() { return unavailable("snapshot-failed", "there is no room for a temporary file"); }
  std::string path_;
};

Status send_whole(const Context& context, const std::string& path, const std::string& id) {
  std::ifstream file(path, std::ios::binary);
  std::error_code unreadable;
  const auto size = static_cast<std::int64_t>(fs::file_size(path, unreadable));
  if (unreadable) return unavailable("snapshot-failed", "what is to be sent could not be read again");
  std::string piece(sent_at_once, '\0');
  for (std::int64_t offset = 0; offset < size;) {
    file.read(piece.data(), static_cast<std::streamsize>(sent_at_once));
    const auto bytes = static_cast<std::size_t>(file.gcount());
    if (bytes == 0) return unavailable("snapshot-failed", "what is to be sent could not be read again");
    const auto sent = context.call("PUT", fmt::format("/api/v1/snapshots/{}?offset={}&size={}", id, offset, size),
                                   piece.substr(0, bytes), {{"Content-Type", "application/octet-stream"}});
    if (!sent.ok()) return sent.error();
    offset = static_cast<std::int64_t>(number_at(*sent, "bytes_here"));
    if (offset < size) file.seekg(offset);
  }
  return {};
}

// Others may be sending the same, or have sent what is damaged: that is found at the end, and then all begin anew.
Status send_unless_there(const Context& context, const std::string& path, const std::string& id) {
  for (int attempt = 1;; ++attempt) {
    if (context.get("/api/v1/snapshots/" + id).ok()) return {};
    const Status sent = send_whole(context, path, id);
    const bool is_over =
        sent.ok() || (sent.error().code != "snapshot-offset" && sent.error().code != "snapshot-damaged");
    if (is_over || attempt == attempts_max) return sent;
  }
}

// Names the diff in the snapshot, once it is sent. The job does without one that git cannot make.
Status add_diff(const Context& context, const archive::CodeFolder& code, wire::SnapshotSpec& snapshot) {
  const auto diff = archive::diff_of(code, wire::snapshot_diff_bytes_max);
  if (!diff.ok()) {
    std::fprintf(stderr, "warning: what was changed is not kept with the job: %s\n", diff.error().message.c_str());
    return {};
  }
  if (diff->text.empty() && diff->left_out == 0) return {};
  const FileToSend file;
  const Result<std::string> id = file.write(archive::cut_diff(*diff, wire::snapshot_diff_bytes_max));
  if (!id.ok()) return id.error();
  snapshot.diff = *id;
  return send_unless_there(context, file.path(), *id);
}

}  // namespace

Status add_snapshot(const Context& context, wire::JobSpec& spec, bool only_describe) {
  if (!spec.snapshot || !spec.snapshot->id.empty()) return {};
  const std::string kind = spec.snapshot->kind, folder = real_workdir(spec.workdir);
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    return not_found("no-such-folder", "there is no folder " + folder + " here to take a snapshot of")
        .hint("say where the code is: -C DIR");
  const auto code = kind == "git" ? archive::code_of_repository(folder) : archive::code_of_folder(folder);
  if (!code.ok()) return code.error();
  spec.snapshot = described(*code, kind);
  const auto limits = context.get("/api/v1/snapshots");
  if (!limits.ok()) return limits.error();
  const auto limit = static_cast<std::int64_t>(number_at(*limits, "limit_bytes"));
  if (code->bytes > limit) return too_large(*code, limit);
  if (only_describe) return {};
  const FileToSend packed;
  const Result<std::string> id = packed.pack(*code);
  if (!id.ok()) return id.error();
  spec.snapshot->id = *id;
  if (Status sent = send_unless_there(context, packed.path(), *id); !sent.ok()) return sent;
  return add_diff(context, *code, *spec.snapshot);
}

std::string snapshot_text(const json::value& snapshot) {
  if (!snapshot.is_object()) return "";
  const auto changed = static_cast<std::size_t>(number_at(snapshot, "dirty_files"));
  const std::string commit = text_at(snapshot, "commit");
  if (commit.empty()) return "code of " + plural(static_cast<std::size_t>(number_at(snapshot, "files")), "file");
  return "code " + commit + (changed == 0 ? "" : " + " + plural(changed, "changed file"));
}

}  // namespace sl::cli
