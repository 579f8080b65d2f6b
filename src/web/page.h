// The web page: files that the build put into the program, and the answers to requests for them. Who may send requests
// is decided elsewhere; the files are no secret.
//
// Pages have addresses below /ui/, to any depth (/ui/jobs/5); all of them are index.html, which finds its parts relative
// to the address that it was requested at. It therefore works below any prefix that a proxy may put before /ui/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace sl::web {

// Whether this request is for the page and not for the API: GET or HEAD of "/", of "/ui" and everything below, of the
// two pages of the original Schedulearn, /jobs and /dashboard, if a browser asks for them, and of its documents, /docs
// and /openapi.json.
bool is_for_page(const net::Request& request);

class Page {
 public:
  // `pack`: the files as the build has packed them; it must outlive the page. Error "bad-page-pack".
  //   schedulearn-page 1
  //   PATH TYPE gzip|identity immutable|changing BYTES DIGEST        one line for each file
  //   an empty line, then the contents of the files, one after the other
  static Result<Page> unpack(std::string_view pack);
  static const Page& embedded();

  net::Response answer(const net::Request& request) const;

 private:
  struct File {
    std::string path, type, digest;
    bool is_gzip = false, is_immutable = false;
    std::string_view bytes;
  };
  const File* find(std::string_view path) const;
  net::Response index(const net::Request& request, std::size_t depth) const;

  std::vector<File> files_;
};

}  // namespace sl::web
