// web: the address of the web page, opened in a browser if there is a desktop.
#include <cstdio>

#include "cli/browser.h"
#include "cli/commands.h"
#include "cli/page_commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

// Without the slash at its end.
std::string without_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

// "#sign-in=CODE": what an address ends with that signs a browser in once.
Result<std::string> new_fragment(const Context& context) {
  const Result<json::value> link = context.call("POST", "/api/v1/sessions/link", "{}");
  if (!link.ok()) return link.error();
  return text_at(*link, "fragment");
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
  for (const std::int64_t id : *ids) addresses.push_back(address + "jobs/" + std::to_string(id));
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
  auto addresses = addresses_of(context, selectors_);
  if (!addresses.ok()) return fail(addresses.error());
  for (std::string& address : *addresses) {
    if (signs_in_ || !context.token.empty()) {
      const auto fragment = new_fragment(context);
      if (!fragment.ok()) return fail(fragment.error());
      address += *fragment;
    }
    std::printf("%s\n", address.c_str());
  }
  std::fflush(stdout);
  if (!no_open_ && context.interactive && addresses->size() == 1 && has_desktop() && !open_browser(addresses->front()))
    std::fprintf(stderr, "no browser could be opened\n");
  return 0;
}

}  // namespace sl::cli
