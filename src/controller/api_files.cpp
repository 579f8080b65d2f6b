// What jobs have left on their servers, listed and fetched from there.
#include <fmt/format.h>

#include <limits>

#include "controller/api.h"
#include "controller/views.h"
#include "net/http.h"
#include "wire/json.h"
#include "wire/utf8.h"

namespace sl::controller {
namespace {

// "output/my model" with each name percent-encoded.
std::string encoded_path(const std::string& path) {
  std::string text;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    text += (text.empty() ? "" : "/") + net::percent_encode(path.substr(at, slash - at));
    at = slash + 1;
  }
  return text;
}

answers::LeftFile file_item(const wire::LeftFile& file, const std::string& folder) {
  const std::string name = net::percent_decode(file.name, false);
  return {wire::is_utf8(name) ? name : file.name,
          folder.empty() ? file.name : folder + "/" + file.name,
          file.kind,
          file.kind == "file" ? std::optional(file.bytes) : std::nullopt,
          {file.changed_us}};
}

Result<answers::LeftFiles> folder_view(const std::string& path, const LogPiece& piece) {
  const auto files = wire::read_json<std::vector<wire::LeftFile>>(piece.bytes, wire::Unknown::ignore);
  if (!files.ok()) return files.error();
  std::vector<answers::LeftFile> items;
  for (const wire::LeftFile& file : *files) items.push_back(file_item(file, path));
  return answers::LeftFiles{path, "folder", std::move(items), piece.size, {}};
}

}  // namespace

void Api::get_files(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    if (is_group(entry.row))
      return asked.fail(
          invalid("group-has-no-files",
                  fmt::format("job {} is an array: each of its members has files of its own", entry.row.id))
              .hint(fmt::format("schedulearn ls --group {}", entry.row.id)));
    if (!asked.may_see(entry))
      return asked.fail(denied("not-your-job", fmt::format("job {} is {}'s, and its files are not shown to others",
                                                           entry.row.id, entry.row.user)));
    send_files(asked, entry);
  });
}

// Looks what is there before it is sent: a folder is a document, a file its bytes.
void Api::send_files(const Call& call, const JobEntry& entry) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto attempt = call.number("attempt", entry.row.attempt, 1, std::numeric_limits<int>::max());
  const auto rank = call.number("rank", 0, 0, std::numeric_limits<int>::max());
  const auto offset = call.number("offset", 0, 0, most);
  for (const auto* number : {&attempt, &rank, &offset}) {
    if (!number->ok()) return call.fail(number->error());
  }
  Output output = output_of(entry, static_cast<int>(*attempt), static_cast<int>(*rank));
  if (!placement_of(entry, static_cast<int>(*attempt), static_cast<int>(*rank)))
    return call.fail(
        not_found("no-files", fmt::format("job {} has not run there, so it has left no files", entry.row.id))
            .hint(fmt::format("schedulearn show {}", entry.row.id)));
  output.path = encoded_path(call.request.parameter("path").value_or(""));
  const bool only_looks = call.request.parameter("look") == "true";
  read_output(output, *offset, 0, 0, [this, call, output, only_looks, from = *offset](Result<LogPiece> piece) {
    if (!piece.ok()) return call.fail(piece.error());
    if (piece->kind == "folder") {
      const auto view = folder_view(*output.path, *piece);
      return view.ok() ? call.send(200, *view) : call.fail(view.error());
    }
    if (only_looks) return call.send(200, answers::LeftFiles{*output.path, "file", {}, {}, piece->size});
    send_range(call, output, from, -1);
  });
}

}  // namespace sl::controller
