#include "cli/secrets.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/render.h"
#include "net/http.h"
#include "wire/secrets.h"

namespace sl::cli {
namespace {

// A line, without showing what is typed.
std::string typed_secret(const std::string& what) {
  std::fprintf(stderr, "%s: ", what.c_str());
  termios before{};
  const bool is_terminal = ::tcgetattr(STDIN_FILENO, &before) == 0;
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (is_terminal) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  std::string line;
  std::getline(std::cin, line);
  if (is_terminal) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  std::fputs("\n", stderr);
  return line;
}

std::string path_of_secret(const std::string& name) { return "/api/v1/secrets/" + net::percent_encode(name); }

int set_secret(const Context& context, const std::string& name, const std::string& file) {
  if (name.find('=') != std::string::npos)
    return fail(invalid("secret-on-command-line", "a secret is not given on the command line, where others may see it")
                    .hint("schedulearn secret set NAME asks for it")
                    .hint("schedulearn secret set NAME < FILE"));
  if (const Status is_name = wire::validate_secret_name(name); !is_name.ok()) return fail(is_name.error());
  const auto value = secret_from("Value of " + name, file);
  if (!value.ok()) return fail(value.error());
  const auto stored = context.call("PUT", path_of_secret(name), *value, {{"Content-Type", "application/octet-stream"}});
  if (!stored.ok()) return fail(stored.error());
  if (context.as_json) return context.print_json(*stored), 0;
  if (!context.quiet)
    std::printf("secret %s is stored; jobs that name it are given it: schedulearn submit --secret %s ...\n",
                name.c_str(), name.c_str());
  return 0;
}

int list_secrets(const Context& context) {
  const auto secrets = context.get("/api/v1/secrets");
  if (!secrets.ok()) return fail(secrets.error());
  if (context.as_json) return context.print_json(*secrets), 0;
  Table table({"NAME", "CHANGED"});
  for (const json::value& item : value_at(*secrets, "items").as_array())
    table.add({text_at(item, "name"), clock_text(context, text_at(item, "changed_at"))});
  if (table.empty()) return say_none(context, "No secrets; store one: schedulearn secret set NAME < FILE"), 0;
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

int remove_secret(const Context& context, const std::string& name) {
  const auto removed = context.call("DELETE", path_of_secret(name), "");
  if (!removed.ok()) return fail(removed.error());
  if (context.as_json) return context.print_json(*removed), 0;
  if (!context.quiet)
    std::printf(
        "secret %s is removed; jobs that name it do not start any more, and channels that use it send nothing\n",
        name.c_str());
  return 0;
}

}  // namespace

Result<std::string> secret_from(const std::string& what, const std::string& file) {
  std::stringstream text;
  if (!file.empty()) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return not_found("no-such-file", "there is no file " + file);
    text << stream.rdbuf();
    return text.str();
  }
  if (::isatty(STDIN_FILENO) != 0) return typed_secret(what);
  text << std::cin.rdbuf();
  std::string value = text.str();
  if (value.ends_with('\n')) value.pop_back();
  return value;
}

void SecretCommands::add_to(CLI::App& app) {
  CLI::App* secret = app.add_subcommand("secret", "What jobs are given without others seeing it: set, ls, rm.");
  secret->require_subcommand(1);
  secret->fallthrough();
  CLI::App* set = command_(*secret, "set", "Store a secret, or another value for it.",
                           "  schedulearn secret set wandb\n  schedulearn secret set wandb < key.txt\n"
                           "  schedulearn secret set deploy-key --file ~/.ssh/id_ed25519\n",
                           [this] { return set_secret(context_(), name_, file_); });
  set->add_option("name", name_, "letters, digits, - and _")->required();
  set->add_option("--file", file_, "read the value from this file (default: standard input)");
  command_(*secret, "ls", "The names of your secrets.", "  schedulearn secret ls\n",
           [this] { return list_secrets(context_()); });
  command_(*secret, "rm", "Remove a secret.", "  schedulearn secret rm wandb\n",
           [this] { return remove_secret(context_(), name_); })
      ->add_option("name", name_, "see: schedulearn secret ls")
      ->required();
}

}  // namespace sl::cli
