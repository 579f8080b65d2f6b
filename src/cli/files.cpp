#include "cli/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "cli/arriving_file.h"
#include "cli/commands.h"
#include "cli/render.h"
#include "cli/usage.h"
#include "net/http.h"
#include "wire/error.h"

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

class JobFolder {
 public:
  JobFolder(const Context& context, const FilesOptions& options, std::int64_t job)
      : context_(context), options_(options), job_(job) {}

  int list(const std::string& path) const;
  Status get(const std::string& path);
  // "3 files, 1.2 GiB".
  std::string fetched() const { return plural(files_, "file") + ", " + bytes_text(static_cast<double>(bytes_)); }
  std::size_t left_out() const { return left_out_; }
  // What could not be fetched, by its path.
  const std::vector<std::pair<std::string, Error>>& missed() const { return missed_; }
  std::string into() const { return options_.into.empty() ? fmt::format("job-{}", job_) : options_.into; }

 private:
  std::string query(const std::string& path) const;
  Result<json::value> look(const std::string& path, std::size_t from) const;
  Result<json::value> item_of(const std::string& path) const;
  int list_file(const std::string& path) const;
  void add_row(Table& table, const std::string& name, const json::value& item) const;
  std::string shown(const std::string& name) const { return context_.plain ? name : visible_name(name); }
  Status get_folder(const std::string& path, json::value page);
  Status get_file(const std::string& path, std::int64_t bytes);

  const Context& context_;
  const FilesOptions& options_;
  std::int64_t job_;
  std::size_t files_ = 0, left_out_ = 0;
  std::int64_t bytes_ = 0;
  std::vector<std::pair<std::string, Error>> missed_;
};

// `path` as REST gives it: each name percent-encoded.
std::string JobFolder::query(const std::string& path) const {
  std::string text = fmt::format("/api/v1/jobs/{}/files?path={}", job_, path);
  if (options_.attempt > 0) text += fmt::format("&attempt={}", options_.attempt);
  if (options_.rank > 0) text += fmt::format("&rank={}", options_.rank);
  return text;
}

Result<json::value> JobFolder::look(const std::string& path, std::size_t from) const {
  return context_.get(query(path) + fmt::format("&look=true&offset={}", from));
}

// None: what a page is about is no folder, or has become none.
const json::array& items_of(const json::value& page) {
  static const json::array none;
  const json::array* items = value_at(page, "items").if_array();
  return items ? *items : none;
}

bool is_last(const json::value& page, std::size_t seen) {
  return items_of(page).empty() || static_cast<double>(seen) >= number_at(page, "total");
}

void JobFolder::add_row(Table& table, const std::string& name, const json::value& item) const {
  const std::string kind = text_at(item, "kind");
  table.add({shown(name) + (kind == "folder" ? "/"
                            : kind == "link" ? "@"
                                             : ""),
             kind == "file" ? bytes_text(number_at(item, "bytes")) : "–",
             clock_text(context_, text_at(item, "changed_at"))});
}

Table file_table() { return Table({"NAME", "SIZE", "CHANGED"}, {1}); }

int JobFolder::list(const std::string& path) const {
  Table table = file_table();
  std::size_t listed = 0;
  for (bool is_more = true; is_more;) {
    const auto page = look(path, listed);
    if (!page.ok()) return fail(page.error());
    if (context_.as_json) return context_.print_json(*page), 0;
    if (text_at(*page, "kind") == "file") return list_file(path);
    for (const json::value& item : items_of(*page)) add_row(table, text_at(item, "name"), item);
    listed += items_of(*page).size();
    is_more = !is_last(*page, listed);
  }
  if (listed == 0 && !context_.plain) return std::printf("nothing is in it\n"), 0;
  std::fputs(table.text(context_).c_str(), stdout);
  return 0;
}

// Its line in its folder, as `ls -l` shows a file that it is asked for.
int JobFolder::list_file(const std::string& path) const {
  const auto item = item_of(path);
  if (!item.ok()) return fail(item.error());
  Table table = file_table();
  add_row(table, net::percent_decode(path, false), *item);
  std::fputs(table.text(context_).c_str(), stdout);
  return 0;
}

// As its folder lists it, which also says when it changed.
Result<json::value> JobFolder::item_of(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  for (std::size_t seen = 0;;) {
    const auto page = look(folder, seen);
    if (!page.ok()) return page.error();
    for (const json::value& item : items_of(*page)) {
      if (net::percent_decode(text_at(item, "path"), false) == net::percent_decode(path, false)) return item;
    }
    seen += items_of(*page).size();
    if (is_last(*page, seen)) return not_found("no-such-file", "the job has left no such file");
  }
}

// A name that comes from a server must not lead anywhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Status JobFolder::get(const std::string& path) {
  auto page = look(path, 0);
  if (!page.ok()) return page.error();
  if (text_at(*page, "kind") == "folder") return get_folder(path, std::move(*page));
  return get_file(path, static_cast<std::int64_t>(number_at(*page, "bytes")));
}

// The others can be fetched all the same.
bool is_of_one_file(const Error& error) {
  constexpr std::array codes = {"no-such-file", "file-unreadable", "cannot-write", "file-cut"};
  return std::ranges::find(codes, error.code) != codes.end();
}

Status JobFolder::get_folder(const std::string& path, json::value page) {
  std::error_code failed;
  fs::create_directories(fs::path(into()) / net::percent_decode(path, false), failed);
  for (std::size_t seen = 0;;) {
    for (const json::value& item : items_of(page)) {
      const std::string inner = text_at(item, "path"), kind = text_at(item, "kind");
      if (!is_plain_name(net::percent_decode(inner.substr(inner.rfind('/') + 1), false)))
        return invalid("bad-name", "the server names a file " + inner);
      if (kind != "file" && kind != "folder") {
        ++left_out_;
        continue;
      }
      const Status got =
          kind == "folder" ? get(inner) : get_file(inner, static_cast<std::int64_t>(number_at(item, "bytes")));
      if (!got.ok() && !is_of_one_file(got.error())) return got;
      if (!got.ok()) missed_.emplace_back(inner, got.error());
    }
    seen += items_of(page).size();
    if (is_last(page, seen)) return {};
    auto next = look(path, seen);
    if (!next.ok()) return next.error();
    page = std::move(*next);
  }
}

Status JobFolder::get_file(const std::string& path, std::int64_t bytes) {
  const fs::path place = fs::path(into()) / net::percent_decode(path, false);
  std::error_code failed;
  if (fs::exists(fs::symlink_status(place, failed)) && !options_.force) return file_exists(place);
  fs::create_directories(place.parent_path(), failed);
  ArrivingFile file(place);
  std::int64_t arrived = 0;
  bool grows = false, is_written = true;  // what was written to it since we looked is left, lest this never end
  const auto answer = context_.stream(context_.request("GET", query(path), ""), [&](std::string_view data) {
    grows = std::cmp_greater(data.size(), bytes - arrived);
    if (grows) data = data.substr(0, static_cast<std::size_t>(bytes - arrived));
    is_written = file.add(data);
    arrived += static_cast<std::int64_t>(data.size());
    return is_written && !grows;
  });
  if (!answer.ok() && !grows) return answer.error();
  if (answer.ok() && answer->status >= 400) return wire::error_from_problem(answer->status, answer->body);
  if (is_written && arrived < bytes)
    return unavailable("file-cut", fmt::format("{} of {} bytes of {} arrived: the server has gone, or the file changed",
                                               arrived, bytes, path));
  if (const Status done = file.finish(options_.force); !done.ok()) return done;
  ++files_, bytes_ += arrived;
  if (!context_.quiet)
    std::fprintf(stderr, "%s  %s\n", shown(place.string()).c_str(), bytes_text(static_cast<double>(arrived)).c_str());
  return {};
}

// As a user types it: "output/my model.pt".
std::string encoded(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  std::string text;
  for (std::size_t at = 0; at <= path.size() && !path.empty();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    text += (text.empty() ? "" : "/") + net::percent_encode(path.substr(at, slash - at));
    at = slash + 1;
  }
  return text;
}

int files_of_job(const Context& context, const FilesOptions& options) {
  const auto jobs = select_jobs(context, {options.job});
  if (!jobs.ok()) return fail(jobs.error());
  if (jobs->size() != 1)
    return fail(invalid("one-job", "files are of one job at a time").hint("schedulearn files 5 " + options.action));
  JobFolder folder(context, options, jobs->front());
  if (options.action == "ls") {
    for (const std::string& path : options.paths.empty() ? std::vector<std::string>{""} : options.paths) {
      if (const int status = folder.list(encoded(path)); status != 0) return status;
    }
    return 0;
  }
  if (options.into == "-")
    return fail(invalid("bad-flag", "files are fetched into a folder, not to standard output")
                    .hint("schedulearn files 5 get output/model.pt -o models")
                    .hint("a folder of this name: -o ./-"));
  for (const std::string& path : options.paths.empty() ? std::vector<std::string>{"output"} : options.paths) {
    if (const Status got = folder.get(encoded(path)); !got.ok()) return fail(got.error());
  }
  if (const std::size_t others = folder.left_out(); others > 0)
    std::fprintf(stderr, "note: left out %zu that %s neither file nor folder (links, pipes)\n", others,
                 others == 1 ? "is" : "are");
  if (!context.quiet) std::printf("%s in %s\n", folder.fetched().c_str(), folder.into().c_str());
  if (folder.missed().empty()) return 0;
  constexpr std::size_t named_max = 10;
  for (std::size_t i = 0; i < std::min(named_max, folder.missed().size()); ++i) {
    const auto& [path, error] = folder.missed()[i];
    std::fprintf(stderr, "note: not fetched: %s: %s\n", visible_name(net::percent_decode(path, false)).c_str(),
                 error.message.c_str());
  }
  Error error = folder.missed().front().second;
  error.message = plural(folder.missed().size(), "file") + " could not be fetched";
  error.notes.clear();
  return fail(error);
}

}  // namespace

void FilesCommand::add_to(CLI::App& app) {
  CLI::App* files = command_(app, "files", "What a job has left on its server: list it, or fetch it.",
                             "  schedulearn files 5\n  schedulearn files 5 ls output\n  schedulearn files 5 get\n"
                             "  schedulearn files 5 get output/model.pt -o models\n",
                             [this] { return files_of_job(context_(), options_); });
  files->add_option("job", options_.job, "5, 12_3 (of an array), last or a name")->required();
  files->add_option("action", options_.action, "ls or get")->check(one_of({"ls", "get"}));
  files->add_option("path", options_.paths, "of ls: folders or files (the top); of get: files or folders (output)");
  files->add_option("-o,--into", options_.into, "folder for what is fetched (job-ID)");
  files->add_option("--attempt", options_.attempt, "of an earlier attempt")->check(above_zero());
  files->add_option("--rank", options_.rank, "on this server of the job, from 0")->check(between(0, 1'000'000));
  files->add_flag("--force", options_.force, "overwrite files that are there");
}

}  // namespace sl::cli
