#include "controller/uploaded_traces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/suggest.h"
#include "controller/simulation_files.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

namespace fs = std::filesystem;

constexpr Duration given_up_after = Duration::whole_seconds(600);
constexpr std::size_t trace_name_max = 64;
constexpr const char* facts_ending = ".json";
constexpr const char* part_ending = ".part";

struct KeptTrace {
  std::string user;
  std::int64_t uploaded_us = 0, bytes = 0;
  answers::TraceFigures figures;
};
BOOST_DESCRIBE_STRUCT(KeptTrace, (), (user, uploaded_us, bytes, figures))

answers::Trace shown_trace(const std::string& name, const KeptTrace& kept) {
  answers::Trace trace;
  trace.name = trace.title = name, trace.summary = "a trace that " + kept.user + " has uploaded";
  trace.user = kept.user, trace.uploaded_at = wire::Time{kept.uploaded_us};
  trace.bytes = kept.bytes, trace.figures = kept.figures;
  return trace;
}

// Also the name of a file.
bool is_trace_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= trace_name_max && std::ranges::all_of(name, is_plain) && name[0] != '.' &&
         name[0] != '-';
}

Status append_to(const std::string& path, std::string_view bytes, bool begins, bool ends) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (begins ? O_TRUNC : 0), 0600);
  const bool is_whole = fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                        (!ends || ::fsync(fd) == 0);
  if (fd >= 0) ::close(fd);
  return is_whole ? Status() : unavailable("disk-full", "could not write all of " + path);
}

}  // namespace

void UploadedTraces::open() {
  std::error_code missing;
  std::set<std::string> needed;
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(folder_, missing)) files.push_back(file.path());
  for (const fs::path& file : files) {
    const std::string name = file.stem();
    if (file.extension() != facts_ending || !is_trace_name(name) || !fs::exists(file_of(name), missing)) continue;
    const auto kept = wire::read_json<KeptTrace>(contents_of(file), wire::Unknown::ignore);
    if (!kept.ok()) continue;
    traces_[name] = shown_trace(name, *kept);
    needed.insert({file, file_of(name)});
  }
  for (const fs::path& file : files) {  // what had not been accepted
    if (!needed.contains(file)) fs::remove(file, missing);
  }
}

Status UploadedTraces::check(const Piece& piece) const {
  if (!is_trace_name(piece.name))
    return invalid("bad-trace-name", fmt::format("a trace cannot be called \"{}\"", piece.name))
        .note(fmt::format("its name has up to {} letters, digits, dots, hyphens and underscores, and begins with none "
                          "of . and -",
                          trace_name_max))
        .hint("call it, for example, philly-2017");
  const auto bytes = static_cast<std::int64_t>(piece.bytes.size());
  if (const std::int64_t size = std::max(piece.size, bytes); size > trace_file_bytes_max)
    return Error{ErrorKind::too_large, "trace-too-large",
                 fmt::format("the file has {} bytes, and may have {}", size, trace_file_bytes_max)}
        .hint("compressed, it may be small enough: gzip FILE")
        .hint("schedulearn trace export FILE --jobs 100000 --out part.csv.gz writes a part of it");
  if (bytes == 0 || piece.offset + bytes > piece.size)
    return invalid("bad-parameter",
                   fmt::format("{} bytes from {} on are no part of {}", bytes, piece.offset, piece.size))
        .note("size is that of the whole file, offset where this piece of it begins");
  if (const auto known = traces_.find(piece.name); known != traces_.end())
    return conflict("trace-exists",
                    fmt::format("there is a trace {} already, of {}", piece.name, known->second.user.value_or("")))
        .hint("give it another name, or remove that one: schedulearn trace rm " + piece.name);
  const auto upload = uploads_.find(piece.name);
  if (upload != uploads_.end() && upload->second.user != piece.user)
    return conflict("trace-exists", fmt::format("{} is uploading a trace {}", upload->second.user, piece.name))
        .hint("give it another name");
  if (upload == uploads_.end() && piece.offset == 0 && traces_.size() + uploads_.size() >= traces_kept_max)
    return conflict("too-many-traces", fmt::format("there are {} traces; no more are kept", traces_kept_max))
        .hint("remove one of yours: schedulearn trace rm NAME");
  const std::int64_t here = upload == uploads_.end() ? 0 : upload->second.here;
  const bool is_another = upload != uploads_.end() && piece.offset > 0 && upload->second.size != piece.size;
  if (is_another || (piece.offset != 0 && piece.offset != here) || (upload != uploads_.end() && upload->second.is_busy))
    return conflict("trace-offset",
                    fmt::format("{} bytes of this trace are here, so the next piece is not that from {} on", here,
                                piece.offset))
        .hint("one piece after the other; begin anew with offset=0");
  return {};
}

// Whoever was sending them has gone away.
void UploadedTraces::forget_given_up() {
  std::erase_if(uploads_, [&](const auto& entry) {
    const auto& [name, upload] = entry;
    if (upload.is_busy || means_.clock() - upload.last < given_up_after) return false;
    means_.desk([part = path(name, part_ending)] { ::unlink(part.c_str()); });
    return true;
  });
}

void UploadedTraces::put(Piece piece, Then<answers::TraceUpload> then) {
  forget_given_up();
  if (const Status fine = check(piece); !fine.ok()) return then(fine.error());
  const bool is_last = piece.offset + static_cast<std::int64_t>(piece.bytes.size()) == piece.size;
  uploads_[piece.name] = {piece.user, piece.size, piece.offset + static_cast<std::int64_t>(piece.bytes.size()),
                          means_.clock(), true};
  means_.desk([this, piece = std::move(piece), is_last, now = means_.clock(), then = std::move(then)] {
    const Status appended = append(piece);
    if (!appended.ok() || !is_last)
      return means_.post([this, name = piece.name, appended, then] { on_appended(name, appended, then); });
    auto trace = finish(piece, now);
    means_.post([this, name = piece.name, trace = std::move(trace), then] { on_finished(trace, name, then); });
  });
}

// ---- on the desk ----

Status UploadedTraces::append(const Piece& piece) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  const std::string part = path(piece.name, part_ending);
  const bool is_last = piece.offset + static_cast<std::int64_t>(piece.bytes.size()) == piece.size;
  Status appended = append_to(part, piece.bytes, piece.offset == 0, is_last);
  if (!appended.ok()) fs::remove(part, error);
  return appended;
}

Result<answers::TraceFigures> UploadedTraces::read(const Piece& piece) const {
  auto figures =
      read_printed<answers::TraceFigures>(means_.run({"trace", "info", piece.name + part_ending, "--keep-cpu-jobs",
                                                      "--max-text-mib", std::to_string(trace_text_mib_max), "--json"},
                                                     folder_));
  if (figures.ok()) return figures;
  Error why = figures.error();
  std::erase_if(why.notes, [](const std::string& note) { return note.starts_with("in "); });  // a name that it had here
  if (why.code == "simulation-limit")
    why = Error{ErrorKind::too_large, "trace-too-large", "the trace cannot be read: " + why.message};
  if (why.code == "trace-too-large") {
    why.kind = ErrorKind::too_large;
    why.hints = {"schedulearn trace export FILE --jobs 100000 --out part.csv.gz writes a part of it"};
  }
  return why;
}

Result<answers::Trace> UploadedTraces::finish(const Piece& piece, Instant now) const {
  std::error_code error;
  const std::string part = path(piece.name, part_ending);
  const auto figures = read(piece);
  Status kept = figures.ok() ? Status() : Status(figures.error());
  const KeptTrace facts{piece.user, now.us, piece.size, figures.ok() ? *figures : answers::TraceFigures{}};
  if (kept.ok()) fs::rename(part, file_of(piece.name), error);
  if (kept.ok() && error) kept = unavailable("disk-full", "cannot rename " + part + ": " + error.message());
  if (kept.ok()) kept = write_whole(path(piece.name, facts_ending), wire::json_text(wire::to_value(facts)));
  if (kept.ok()) return shown_trace(piece.name, facts);
  fs::remove(part, error), fs::remove(file_of(piece.name), error);
  return kept.error();
}

// ---- on the core's thread ----

void UploadedTraces::on_appended(const std::string& name, const Status& appended,
                                 const Then<answers::TraceUpload>& then) {
  Upload& upload = uploads_.at(name);
  upload.is_busy = false;
  if (appended.ok()) return then(answers::TraceUpload{name, upload.size, upload.here, std::nullopt});
  uploads_.erase(name);
  then(appended.error());
}

void UploadedTraces::on_finished(const Result<answers::Trace>& trace, const std::string& name,
                                 const Then<answers::TraceUpload>& then) {
  const std::int64_t size = uploads_.at(name).size;
  uploads_.erase(name);
  if (!trace.ok()) return then(trace.error());
  traces_[name] = *trace;
  then(answers::TraceUpload{name, size, size, *trace});
}

std::vector<answers::Trace> UploadedTraces::list() const {
  std::vector<answers::Trace> all;
  for (const auto& [name, trace] : traces_) all.push_back(trace);
  return all;
}

Result<answers::Trace> UploadedTraces::find(const std::string& name) const {
  if (const auto found = traces_.find(name); found != traces_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [known, trace] : traces_) names.push_back(known);
  Error error = not_found("trace-not-found", "nobody has uploaded a trace " + name);
  if (const auto near = did_you_mean(name, names)) error.hints.push_back("did you mean " + *near + "?");
  error.hints.emplace_back("schedulearn trace ls --uploaded");
  return error;
}

Status UploadedTraces::remove(const std::string& name) {
  if (const auto found = find(name); !found.ok()) return found.error();
  traces_.erase(name);
  means_.desk([facts = path(name, facts_ending), file = file_of(name)] {
    ::unlink(facts.c_str());
    ::unlink(file.c_str());
  });
  return {};
}

}  // namespace sl::controller
