// web: the address of the web page, opened in a browser if there is a desktop.
#include <fmt/format.h>

#include <cstdio>

#include "cli/browser.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/page_commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

// Without the slash at its end.
std::string without_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

// An address of the page as a document, with the link that signs a browser in once if that `is_wanted`.
Result<json::object> page_address(const Context& context, const std::string& address, bool is_wanted) {
  const Result<json::value> link =
      is_wanted ? context.call("POST", "/api/v1/sessions/link", "{}") : Result<json::value>(json::object());
  if (!link.ok()) return link.error();
  json::object document{{"url", address + text_at(*link, "fragment")}};
  add_missing(document, link->get_object());
  return document;
}

Result<std::vector<std::string>> addresses_of(const Context& context, const std::vector<std::string>& selectors) {
  // Asked over its socket, the controller says where it listens.
  const Result<json::value> cluster = context.get("/api/v1/cluster");
  if (!cluster.ok()) return cluster.error();
  const std::string address =
      without_slash(context.socket.empty() ? context.url : text_at(*cluster, "url", context.url)) + "/ui/";
  if (selectors.empty()) return std::vector{address};
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return ids.error();
  std::vector<std::string> addresses;
  for (const std::int64_t id : *ids) {
    const auto job = context.get(fmt::format("/api/v1/jobs/{}", id));
    if (!job.ok()) return job.error();
    addresses.push_back(fmt::format("{}jobs/{}", address, id));
  }
  return addresses;
}

}  // namespace

void PageCommands::add_to(CLI::App& app) {
  CLI::App* web = command_(app, "web", "The address of the web page, of a job's if it is named; opens it on a desktop.",
                           "  schedulearn web\n  schedulearn web 5\n  schedulearn web --link\n",
                           [this] { return print(context_()); });
  web->add_option("jobs", selectors_, "5, last or a name");
  web->add_flag("--no-open", no_open_, "only print the address");
  web->add_flag("--link", signs_in_,
                "an address that signs a browser in as you: once, within five minutes; the default with a token");
}

int PageCommands::print(const Context& context) const {
  const auto addresses = addresses_of(context, selectors_);
  if (!addresses.ok()) return fail(addresses.error());
  std::string url;
  for (const std::string& address : *addresses) {
    const auto document = page_address(context, address, signs_in_ || !context.token.empty());
    if (!document.ok()) return fail(document.error());
    url = text_at(*document, "url");
    context.as_json ? context.print_json(*document) : static_cast<void>(std::printf("%s\n", url.c_str()));
  }
  std::fflush(stdout);
  const bool opens = !no_open_ && !context.as_json && context.interactive && addresses->size() == 1;
  if (opens && has_desktop() && !open_browser(url)) std::fprintf(stderr, "no browser could be opened\n");
  return 0;
}

}  // namespace sl::cli
