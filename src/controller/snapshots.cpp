#include "controller/snapshots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "archive/digest.h"
#include "wire/base64.h"

namespace sl::controller {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t snapshot_piece_bytes = 256 << 10;
constexpr Duration snapshot_look_every = Duration::whole_seconds(600);
constexpr auto parts_kept = std::chrono::hours(24);
constexpr std::size_t pieces_waiting_max = 200;  // each of at most 1 MiB

Error snapshot_missing(const std::string& what) {
  return not_found("snapshot-missing", what)
      .hint("schedulearn submit --snapshot git sends the code along")
      .hint("from elsewhere, send it first: PUT /api/v1/snapshots/ID");
}

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }
  std::int64_t size() const {
    struct stat info {};
    return fd_ >= 0 && ::fstat(fd_, &info) == 0 ? info.st_size : -1;
  }

 private:
  int fd_;
};

struct PieceToStore {
  std::string folder, id;
  std::int64_t offset = 0, size = 0;
  std::string bytes;
  std::string archive() const { return folder + "/" + id + ".tar"; }
  std::string part() const { return folder + "/" + id + ".part"; }
};

Error cannot_write() {
  return unavailable("snapshot-not-stored",
                     std::string("the controller cannot store the code: ") + std::strerror(errno));
}

// What comes first when the disk becomes full is the database: without room for it no job can be submitted at all.
Status check_space(const std::string& folder, std::int64_t bytes) {
  constexpr std::uintmax_t reserve_most = std::uintmax_t{1} << 30;
  std::error_code unknown;
  const fs::space_info space = fs::space(fs::path(folder).parent_path(), unknown);
  if (unknown) return {};
  const std::uintmax_t reserve = std::min(reserve_most, space.capacity / 20);
  if (space.available >= reserve + static_cast<std::uintmax_t>(bytes)) return {};
  return unavailable("snapshot-not-stored",
                     fmt::format("the controller's disk has only {} MiB free, which are kept for its database",
                                 space.available >> 20))
      .hint("make room there, or submit without a snapshot: --snapshot none");
}

// What has been renamed or made there is there after a loss of power, too.
bool sync_folder(const fs::path& path) {
  const OpenFile folder(path, O_RDONLY | O_DIRECTORY);
  return folder.get() >= 0 && ::fsync(folder.get()) == 0;
}

bool has(const OpenFile& part, std::int64_t offset, std::string_view bytes) {
  std::string here(bytes.size(), '\0');
  return ::pread(part.get(), here.data(), here.size(), offset) == static_cast<ssize_t>(here.size()) && here == bytes;
}

// Others may be sending the same, or have sent a part of it: what is here already is not written again. Where the two
// differ, what has come last counts, since nobody knows who is right before the digest of the whole.
Result<std::int64_t> add_piece(const OpenFile& part, const PieceToStore& piece) {
  const std::int64_t here = part.size();
  if (here < 0) return cannot_write();
  if (here < piece.offset)
    return conflict("snapshot-offset",
                    fmt::format("{} bytes of this snapshot are here, so the next piece is not that from {} on", here,
                                piece.offset))
        .hint("begin anew: offset=0");
  const std::string_view bytes = piece.bytes;
  const bool is_same =
      here <= piece.size && has(part, piece.offset, bytes.substr(0, static_cast<std::size_t>(here - piece.offset)));
  const std::int64_t from = is_same ? here : piece.offset;
  if (!is_same && ::ftruncate(part.get(), from) != 0) return cannot_write();
  const std::int64_t end = piece.offset + static_cast<std::int64_t>(bytes.size());
  if (from >= end) return from;
  const std::string_view rest = bytes.substr(static_cast<std::size_t>(from - piece.offset));
  errno = ENOSPC;  // of a write that ends early
  if (::pwrite(part.get(), rest.data(), rest.size(), from) == static_cast<ssize_t>(rest.size())) return end;
  const Error error = cannot_write();
  ::unlink(piece.part().c_str());  // the disk may be full
  return error;
}

// Of each snapshot one piece at a time.
Result<std::int64_t> store_piece(const PieceToStore& piece) {
  if (const OpenFile whole(piece.archive(), O_RDONLY); whole.size() >= 0) return whole.size();
  if (const Status room = check_space(piece.folder, piece.size - piece.offset); !room.ok()) return room.error();
  if (::mkdir(piece.folder.c_str(), 0700) == 0 && !sync_folder(fs::path(piece.folder).parent_path()))
    return cannot_write();
  {
    const OpenFile part(piece.part(), O_RDWR | O_CREAT);
    const auto here = add_piece(part, piece);
    if (!here.ok() || *here < piece.size) return here;
    if (::fsync(part.get()) != 0) return cannot_write();
  }
  const auto digest = archive::digest_of_file(piece.part());
  if (!digest.ok() || *digest != piece.id) {
    ::unlink(piece.part().c_str());
    return invalid("snapshot-damaged", "what has arrived does not have this SHA-256");
  }
  if (::rename(piece.part().c_str(), piece.archive().c_str()) != 0 || !sync_folder(piece.folder)) return cannot_write();
  return piece.size;
}

wire::SnapshotPiece read_snapshot_piece(const std::string& archive, const wire::SnapshotRead& read) {
  wire::SnapshotPiece piece{read.id, read.offset, 0, "", std::nullopt};
  const OpenFile file(archive, O_RDONLY);
  piece.size = file.size();
  if (piece.size < 0) {
    piece.error = "the controller does not have it any more; submit the job again";
    return piece;
  }
  std::string bytes(static_cast<std::size_t>(snapshot_piece_bytes), '\0');
  const ssize_t n = ::pread(file.get(), bytes.data(), bytes.size(), std::max<std::int64_t>(read.offset, 0));
  if (n < 0) piece.error = std::string("the controller cannot read it: ") + std::strerror(errno);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  piece.data = wire::encode_base64(bytes);
  return piece;
}

struct FoundFile {
  fs::path path;
  std::int64_t bytes = 0;
  std::chrono::system_clock::duration age;
};

std::vector<FoundFile> files_in(const std::string& folder) {
  std::vector<FoundFile> found;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    const auto changed = at->last_write_time(gone);
    const auto bytes = at->file_size(gone);
    if (!gone)
      found.push_back({at->path(), static_cast<std::int64_t>(bytes),
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(
                           fs::file_time_type::clock::now() - changed)});
  }
  return found;
}

bool is_part(const FoundFile& file) { return file.path.extension() == ".part"; }

// What the rows of unfinished jobs say of their snapshots, each once.
std::set<std::string_view> named_by_unfinished(const JobBook& book) {
  std::set<std::string_view> named;
  book.for_each([&](const JobEntry& entry) {
    const std::string_view spec = entry.row.spec_json;
    const std::size_t at = spec.find("\"snapshot\":");
    if (!entry.row.finished_us && at != std::string_view::npos) named.insert(spec.substr(at, spec.find('}', at) - at));
  });
  return named;
}

}  // namespace

Snapshots::Snapshots(Settings settings, const Logic& logic, History& history, std::function<Instant()> clock)
    : settings_(std::move(settings)), logic_(logic), history_(history), clock_(std::move(clock)) {}

std::optional<std::int64_t> Snapshots::use(const std::string& id) const {
  if (!archive::is_digest(id)) return std::nullopt;
  const OpenFile file(archive_of(id), O_RDONLY);
  if (file.size() < 0) return std::nullopt;
  ::futimens(file.get(), nullptr);
  return file.size();
}

Status Snapshots::use(const wire::JobSpec& spec) const {
  if (!spec.snapshot) return {};
  if (spec.snapshot->id.empty())
    return invalid("snapshot-missing", "the job asks for a snapshot of its code, and none came with it")
        .hint("schedulearn submit --snapshot " + spec.snapshot->kind + " sends it along")
        .at("/snapshot");
  if (!use(spec.snapshot->id))
    return snapshot_missing("the code of the job, snapshot " + spec.snapshot->id.substr(0, 12) + ", is not here");
  const std::string& diff = spec.snapshot->diff;
  if (diff.empty()) return {};
  const auto bytes = use(diff);
  if (!bytes) return snapshot_missing("the diff of the job's code, " + diff.substr(0, 12) + ", is not here");
  if (*bytes > wire::snapshot_diff_bytes_max)
    return invalid("bad-snapshot",
                   fmt::format("the diff has {} bytes, and may have {}", *bytes, wire::snapshot_diff_bytes_max))
        .hint("cut it, or leave it out: the code is in the snapshot as a whole")
        .at("/snapshot/diff");
  return {};
}

void Snapshots::put(const std::string& id, std::int64_t offset, std::int64_t size, std::string bytes,
                    std::function<void(Result<std::int64_t>)> then) {
  if (!archive::is_digest(id))
    return then(invalid("bad-snapshot", "a snapshot is named by its SHA-256, 64 lower-case hexadecimal digits"));
  if (size > settings_.bytes_max || offset + static_cast<std::int64_t>(bytes.size()) > size)
    return then(
        Error{ErrorKind::too_large, "snapshot-too-large",
              fmt::format("the snapshot has {} bytes, and may have {}",
                          std::max(size, offset + static_cast<std::int64_t>(bytes.size())), settings_.bytes_max)}
            .hint("name what does not belong to the code in .gitignore"));
  if (waiting_ >= pieces_waiting_max)
    return then(
        unavailable("too-many-reads", "too many pieces of code wait to be stored").hint("try again in a second"));
  std::deque<Piece>& line = lines_[id];
  line.push_back({offset, size, std::move(bytes), std::move(then)});
  ++waiting_;
  if (line.size() == 1) store_next(id);
}

void Snapshots::store_next(const std::string& id) {
  Piece& next = lines_.at(id).front();
  PieceToStore piece{settings_.folder, id, next.offset, next.size, std::move(next.bytes)};
  history_.ask<std::int64_t>([piece = std::move(piece)](store::Reader&) { return store_piece(piece); },
                             [this, id](Result<std::int64_t> here) {
                               const auto line = lines_.find(id);
                               const auto then = std::move(line->second.front().then);
                               line->second.pop_front();
                               --waiting_;
                               line->second.empty() ? void(lines_.erase(line)) : store_next(id);
                               then(std::move(here));
                             });
}

void Snapshots::read(const wire::SnapshotRead& read, std::function<void(const wire::SnapshotPiece&)> answer) {
  if (!archive::is_digest(read.id)) return;
  history_.ask<wire::SnapshotPiece>(
      [read, path = archive_of(read.id)](store::Reader&) { return Result(read_snapshot_piece(path, read)); },
      [answer = std::move(answer)](const Result<wire::SnapshotPiece>& piece) {
        if (piece.ok()) answer(*piece);
      });
}

void Snapshots::read_diff(const std::optional<wire::SnapshotSpec>& snapshot,
                          std::function<void(Result<std::string>)> then) {
  if (!snapshot || snapshot->diff.empty()) {
    const bool is_clean = snapshot && !snapshot->commit.empty() && snapshot->dirty_files == 0;
    return then(not_found("no-diff", is_clean ? "nothing differed from commit " + snapshot->commit
                                              : "no diff is kept of the code that the job was submitted with")
                    .hint("schedulearn submit --snapshot git keeps what differs from the commit"));
  }
  history_.ask<std::string>(
      [id = snapshot->diff, path = archive_of(snapshot->diff)](store::Reader&) -> Result<std::string> {
        const OpenFile file(path, O_RDONLY);
        std::string text(
            static_cast<std::size_t>(std::clamp<std::int64_t>(file.size(), 0, wire::snapshot_diff_bytes_max)), '\0');
        const ssize_t n = file.get() < 0 ? -1 : ::pread(file.get(), text.data(), text.size(), 0);
        if (n < 0)
          return not_found("snapshot-missing",
                           "the diff of the job's code, " + id.substr(0, 12) + ", is not here any more");
        text.resize(static_cast<std::size_t>(n));
        return text;
      },
      std::move(then));
}

void Snapshots::look(std::function<void(Result<Stored>)> then) {
  history_.ask<Stored>(
      [folder = settings_.folder](store::Reader&) -> Result<Stored> {
        Stored stored;
        for (const FoundFile& file : files_in(folder)) {
          if (!is_part(file)) ++stored.count, stored.bytes += file.bytes;
        }
        return stored;
      },
      std::move(then));
}

void Snapshots::on_turn() {
  const Instant now = clock_();
  if (now < next_look_) return;
  next_look_ = now + snapshot_look_every;
  using Files = std::vector<FoundFile>;
  history_.ask<Files>(
      [folder = settings_.folder](store::Reader&) -> Result<Files> { return files_in(folder); },
      [this](const Result<Files>& found) {
        if (!found.ok()) return;
        const std::set<std::string_view> named = named_by_unfinished(logic_.book());
        const std::chrono::duration<double> kept(settings_.keep_s);
        for (const FoundFile& file : *found) {
          const std::string id = file.path.stem();
          const auto names_it = [&](std::string_view snapshot) { return snapshot.find(id) != std::string_view::npos; };
          const bool is_used = !is_part(file) && std::ranges::any_of(named, names_it) && use(id);
          const bool is_over = is_part(file) ? file.age > parts_kept : settings_.keep_s > 0 && file.age > kept;
          if (!is_used && is_over) ::unlink(file.path.c_str());
        }
      });
}

}  // namespace sl::controller
