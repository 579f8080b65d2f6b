#include "cli/login.h"

#include <cstdio>

#include "cli/config_commands.h"
#include "cli/render.h"
#include "cli/secrets.h"
#include "cli/sign_ins.h"
#include "cli/surroundings.h"
#include "net/url.h"

namespace sl::cli {
namespace {

int who(const Context& context) {
  const Result<json::value> self = context.get("/api/v1/whoami");
  if (!self.ok()) return fail(self.error());
  if (context.as_json) return context.print_json(*self), 0;
  const std::string user = text_at(*self, "user"), token = text_at(*self, "token");
  if (context.plain || context.quiet) return std::printf("%s\n", user.c_str()), 0;
  std::printf("%s (%s)%s\n", user.c_str(), text_at(*self, "role").c_str(),
              token.empty() ? "" : (", with the token " + token).c_str());
  return 0;
}

int list_sign_ins(const Context& context) {
  json::array items;
  for (const SignIn& each : sign_ins())
    items.push_back(
        json::object{{"name", each.name}, {"url", each.url}, {"current", each.name == context.signed_in_to}});
  if (context.as_json) return context.print_json(list_of(std::move(items))), 0;
  if (items.empty()) return say_none(context, "You are signed in to no controller: schedulearn login URL"), 0;
  for (const json::value& item : items)
    std::printf("%s\t%s\n", text_at(item, "name").c_str(), text_at(item, "url").c_str());
  return 0;
}

}  // namespace

void LoginCommands::add_to(CLI::App& app) {
  CLI::App* login = command_(app, "login",
                             "Sign in to a controller with a token, which is asked for or read from standard input; "
                             "from then on it is the one that commands ask.",
                             "  schedulearn login http://lab:5000\n  schedulearn login http://lab:5000 < token.txt\n"
                             "  schedulearn login                      to which you are signed in\n",
                             [this] { return url_.empty() ? list_sign_ins(context_()) : sign_in(); });
  login->add_option("url", url_, "address of the controller");
  login->add_option("--name", name_, "what this context is called, for --context (default: the host)");
  command_(app, "logout", "Forget the token of a context. The token stays valid: schedulearn token rm.",
           "  schedulearn logout\n  schedulearn logout lab\n", [this] { return sign_out(); })
      ->add_option("context", name_, "see: schedulearn login");
  command_(app, "whoami", "As whom the controller sees you.", "  schedulearn whoami\n",
           [this] { return who(context_()); });
}

int LoginCommands::sign_in() const {
  Context context = context_();
  const auto address = full_url(url_);
  if (!address.ok()) return fail(address.error());
  const std::string& url = *address;
  const std::string name = name_.empty() ? context_name_of(url) : name_;
  const auto secret = secret_from("Token for " + url, "");
  if (!secret.ok()) return fail(secret.error());
  if (secret->empty())
    return fail(invalid("no-token", "no token was given").hint("schedulearn token add NAME makes one"));
  context.url = url, context.socket.clear(), context.recorded.clear();
  context.use_token(*secret);
  const Result<json::value> self = context.get("/api/v1/whoami");
  if (!self.ok()) return fail(self.error());
  if (const Status kept = keep({name, url, *secret}); !kept.ok()) return fail(kept.error());
  if (const Status chosen = set_user_setting("context", name); !chosen.ok()) return fail(chosen.error());
  if (context.as_json) {
    json::object view = self->as_object();
    view["context"] = name, view["url"] = url;
    return context.print_json(view), 0;
  }
  if (context.quiet) return 0;
  std::printf("You are %s (%s) at %s. Commands ask it from now on; this context is called %s.\n",
              text_at(*self, "user").c_str(), text_at(*self, "role").c_str(), url.c_str(), name.c_str());
  std::printf("  schedulearn --context %s ...   this machine's own controller\n  schedulearn logout\n", local_context);
  return 0;
}

int LoginCommands::sign_out() const {
  const Context context = context_();
  const std::string current = user_setting("context");
  const std::string name = name_.empty() ? (context.signed_in_to.empty() ? current : context.signed_in_to) : name_;
  if (name.empty())
    return fail(not_found("no-such-context", "you are signed in to no controller").hint("schedulearn login URL"));
  const auto known = find_sign_in(name);
  if (!known.ok()) return fail(known.error());
  if (const Status forgotten = forget_sign_in(name); !forgotten.ok()) return fail(forgotten.error());
  if (name == current) {
    if (const Status chosen = set_user_setting("context", ""); !chosen.ok()) return fail(chosen.error());
  }
  if (context.as_json) return context.print_json(json::object{{"context", name}, {"url", known->url}}), 0;
  if (!context.quiet)
    std::printf("The token for %s is forgotten here. It is still valid; revoke it: schedulearn token rm\n",
                known->url.c_str());
  return 0;
}

}  // namespace sl::cli
