// trace ls --uploaded, upload, rm: traces that users have uploaded to a controller, for its simulations.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/render.h"
#include "net/http.h"

namespace sl::cli {
namespace {

constexpr std::size_t piece_bytes = 512 << 10;

std::string plain_name(const std::string& file) {
  std::string name = std::filesystem::path(file).filename();
  for (const std::string_view ending : {".gz", ".csv"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

// The most that a job of it asks for.
std::string widest_of(const json::value& figures) {
  const json::value& widths = value_at(figures, "gpus");
  return widths.is_array() && !widths.as_array().empty()
             ? fmt::format("{:.0f}", number_at(widths.as_array().back(), "gpus"))
             : "–";
}

Result<json::value> send_pieces(const Context& context, const std::string& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::error_code failed;
  if (!file.good() || !std::filesystem::is_regular_file(path, failed))
    return not_found("no-such-file", "there is no file " + path + " that can be read");
  const auto size = static_cast<std::int64_t>(file.tellg());
  if (size == 0) return invalid("trace-empty", path + " is empty");
  file.seekg(0);
  std::string piece(piece_bytes, '\0');
  for (std::int64_t offset = 0;;) {
    file.read(piece.data(), static_cast<std::streamsize>(piece_bytes));
    const auto bytes = static_cast<std::size_t>(file.gcount());
    if (bytes == 0) return unavailable("cannot-read", path + " became shorter while it was read");
    auto here = context.call(
        "POST", fmt::format("/api/v1/traces?name={}&offset={}&size={}", net::percent_encode(name), offset, size),
        piece.substr(0, bytes), {{"Content-Type", "application/octet-stream"}});
    offset += static_cast<std::int64_t>(bytes);
    if (!here.ok() || offset >= size) return here;
  }
}

}  // namespace

int list_uploaded_traces(const Context& context) {
  const auto list = context.get("/api/v1/traces?uploaded=true");
  if (!list.ok()) return fail(list.error());
  if (context.as_json) return context.print_json(*list), 0;
  Table table({"TRACE", "JOBS", "GPUS", "SPAN", "SIZE", "UPLOADED", "USER"}, {1, 2, 3, 4});
  for (const json::value& each : value_at(*list, "items").as_array()) {
    const json::value& figures = value_at(each, "figures");
    table.add({text_at(each, "name"), fmt::format("{:.0f}", number_at(figures, "jobs")), widest_of(figures),
               duration_text(number_at(figures, "span_s")), bytes_text(number_at(each, "bytes")),
               clock_text(text_at(each, "uploaded_at")), text_at(each, "user")});
  }
  if (table.empty()) return say_none(context, "No traces; upload one: schedulearn trace upload philly.csv.gz"), 0;
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

int upload_trace(const Context& context, const std::string& file, std::string name) {
  if (name.empty()) name = plain_name(file);
  const auto sent = send_pieces(context, file, name);
  if (!sent.ok()) return fail(sent.error());
  const json::value& trace = value_at(*sent, "trace");
  if (context.as_json) return context.print_json(trace), 0;
  if (!context.quiet)
    std::printf("Trace %s: %s. Simulations on the controller can use it: on the page's Lab, or by REST.\n",
                name.c_str(),
                plural(static_cast<std::size_t>(number_at(value_at(trace, "figures"), "jobs")), "job").c_str());
  return 0;
}

int remove_trace(const Context& context, const std::string& name) {
  const auto removed = context.call("DELETE", "/api/v1/traces/" + net::percent_encode(name), "");
  if (!removed.ok()) return fail(removed.error());
  if (context.as_json) return context.print_json(*removed), 0;
  if (!context.quiet) std::printf("Trace %s is removed.\n", name.c_str());
  return 0;
}

}  // namespace sl::cli
