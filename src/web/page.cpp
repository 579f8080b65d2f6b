#include "web/page.h"

#include <libdeflate.h>

#include <algorithm>
#include <sstream>

#include "base/check.h"

// The pack, as CMakeLists.txt of this folder assembles it into the program.
extern "C" {
extern const char sl_page_pack[];      // NOLINT(modernize-avoid-c-arrays)
extern const char sl_page_pack_end[];  // NOLINT(modernize-avoid-c-arrays)
}

namespace sl::web {
namespace {

constexpr std::string_view base_marker = R"(<base href="./")";
constexpr std::size_t depth_max = 8;

// Nothing but what this program serves, no text as code, no page around ours. A picture may be one that the page was given
// in an answer of the API, which an address alone could not ask for.
constexpr std::string_view content_rules =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

net::Headers common_headers() {
  return {{"Content-Security-Policy", std::string(content_rules)},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

// Accept-Encoding names gzip, not with the weight 0.
bool accepts_gzip(const net::Request& request) {
  std::istringstream codings(request.header("accept-encoding").value_or(""));
  for (std::string coding; std::getline(codings, coding, ',');) {
    std::erase(coding, ' ');
    if (coding == "gzip") return true;
    if (!coding.starts_with("gzip;q=")) continue;
    return std::any_of(coding.begin() + 7, coding.end(), [](char c) { return c >= '1' && c <= '9'; });
  }
  return false;
}

// Only bytes that this program contains are given to it.
std::string gunzip(std::string_view bytes) {
  std::size_t size = 0;  // in the last four bytes
  for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[bytes.size() - i]);
  std::string text(size, '\0');
  libdeflate_decompressor* const inflater = libdeflate_alloc_decompressor();
  const auto result =
      libdeflate_gzip_decompress(inflater, bytes.data(), bytes.size(), text.data(), text.size(), nullptr);
  libdeflate_free_decompressor(inflater);
  SL_CHECK(result == LIBDEFLATE_SUCCESS, "the page is whole");
  return text;
}

net::Response redirect(const std::string& location) {
  net::Response response{302, "text/plain; charset=utf-8", common_headers(), "see " + location + "\n"};
  response.headers.emplace_back("Location", location);
  response.headers.emplace_back("Cache-Control", "no-cache");
  return response;
}

net::Response with_tag(const net::Request& request, net::Response response, const std::string& tag) {
  const std::string quoted = '"' + tag + '"';
  response.headers.emplace_back("ETag", quoted);
  const std::string known = request.header("if-none-match").value_or("");
  if (known.find(quoted) == std::string::npos) return response;
  response.status = 304;
  response.body.clear();
  return response;
}

bool wants_html(const net::Request& request) {
  return request.header("accept").value_or("").find("text/html") != std::string::npos;
}

}  // namespace

bool is_for_page(const net::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") return false;
  const std::string& path = request.path;
  if (path == "/" || path == "/ui" || path.starts_with("/ui/")) return true;
  if (path == "/docs" || path == "/openapi.json") return true;
  return (path == "/jobs" || path == "/dashboard") && wants_html(request);
}

Result<Page> Page::unpack(std::string_view pack) {
  const Error bad = invalid("bad-page-pack", "the files of the web page are not packed as they should be");
  const std::size_t head_end = pack.find("\n\n");
  if (!pack.starts_with("schedulearn-page 1\n") || head_end == std::string_view::npos) return bad;
  std::istringstream lines{std::string(pack.substr(0, head_end + 1))};
  pack.remove_prefix(head_end + 2);
  Page page;
  std::string line, coding, lasting;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    File file;
    std::size_t bytes = 0;
    std::istringstream words(line);
    if (!(words >> file.path >> file.type >> coding >> lasting >> bytes >> file.digest) || bytes > pack.size())
      return bad;
    file.is_gzip = coding == "gzip";
    file.is_immutable = lasting == "immutable";
    if (file.type.starts_with("text/")) file.type += "; charset=utf-8";
    file.bytes = pack.substr(0, bytes);
    pack.remove_prefix(bytes);
    page.files_.push_back(std::move(file));
  }
  const File* index = page.find("index.html");
  if (!index || index->is_gzip || index->bytes.find(base_marker) == std::string_view::npos || !pack.empty()) return bad;
  return page;
}

const Page& Page::embedded() {
  static const Page page = [] {
    auto unpacked = unpack({sl_page_pack, static_cast<std::size_t>(sl_page_pack_end - sl_page_pack)});
    SL_CHECK(unpacked.ok(), "the build packs the page as it is unpacked");
    return std::move(*unpacked);
  }();
  return page;
}

const Page::File* Page::find(std::string_view path) const {
  const auto at = std::ranges::find(files_, path, &File::path);
  return at == files_.end() ? nullptr : &*at;
}

net::Response Page::answer(const net::Request& request) const {
  if (request.path == "/" || request.path == "/ui") return redirect("ui/");
  if (request.path == "/jobs") return redirect("ui/jobs");
  if (request.path == "/dashboard") return redirect("ui/submit");
  if (request.path == "/docs") return redirect("api/docs");
  if (request.path == "/openapi.json") return redirect("api/v1/openapi.json");
  const std::string_view rest = std::string_view(request.path).substr(std::string_view("/ui/").size());
  const File* file = find(rest);
  if (!file || rest == "index.html") {
    // As it was sent: an encoded slash, in the name of a server, makes no folder.
    const std::string_view sent = std::string_view(request.target).substr(0, request.target.find('?'));
    const auto depth = static_cast<std::size_t>(std::ranges::count(sent, '/') - std::ranges::count("/ui/", '/'));
    if (!rest.starts_with("assets/") && depth <= depth_max) return index(request, depth);
    return {404, "text/plain; charset=utf-8", common_headers(), "there is no such file of the page\n"};
  }
  const bool as_gzip = file->is_gzip && accepts_gzip(request);
  net::Response response{200, file->type, common_headers(), {}};
  response.headers.emplace_back("Cache-Control",
                                file->is_immutable ? "public, max-age=31536000, immutable" : "no-cache");
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (as_gzip) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = file->is_gzip && !as_gzip ? gunzip(file->bytes) : std::string(file->bytes);
  return with_tag(request, std::move(response), file->digest + (as_gzip ? "-gzip" : ""));
}

net::Response Page::index(const net::Request& request, std::size_t depth) const {
  const File& file = *find("index.html");
  net::Response response{200, file.type, common_headers(), std::string(file.bytes)};
  response.headers.emplace_back("Cache-Control", "no-cache");
  std::string up;
  for (std::size_t i = 0; i < depth; ++i) up += "../";
  if (depth > 0) {
    const std::size_t begin = response.body.find(base_marker) + base_marker.find("./");
    response.body.replace(begin, 2, up);
  }
  return with_tag(request, std::move(response), file.digest + "-" + std::to_string(depth));
}

}  // namespace sl::web
