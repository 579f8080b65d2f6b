#include "cli/sign_ins.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/config.h"
#include "cli/context.h"
#include "net/url.h"
#include "wire/job_file.h"

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(user_config_path()).parent_path() / "contexts"; }
fs::path file_of(const std::string& name) { return folder() / (name + ".toml"); }

bool is_name_of_context(const std::string& name) {
  static constexpr std::string_view more = "._-";
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' && name != local_context &&
         std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || more.find(c) != std::string_view::npos;
         });
}

std::optional<SignIn> read_sign_in(const std::string& name) {
  std::ifstream file(file_of(name));
  std::stringstream text;
  text << file.rdbuf();
  const auto values = file ? wire::toml_to_json(text.str()) : invalid("no-such-file", "");
  if (!values.ok()) return std::nullopt;
  SignIn found{name, text_at(*values, "url"), text_at(*values, "token")};
  return found.url.empty() || found.token.empty() ? std::nullopt : std::optional(std::move(found));
}

// "http://lab:5000" of "http://lab:5000/ui/jobs/1", as copied from the browser. What comes before the path stays as it is.
std::string without_page(std::string url) {
  constexpr std::string_view page = "/ui", ends = "/?#";
  const std::size_t path = std::min(url.find('/', url.find("://") + 3), url.size());
  const auto is_page = [&](std::size_t at) {
    return at + page.size() == url.size() || ends.find(url[at + page.size()]) != std::string_view::npos;
  };
  std::size_t at = url.find(page, path);
  while (at != std::string::npos && !is_page(at)) at = url.find(page, at + 1);
  if (at != std::string::npos) url.erase(at);
  while (url.size() > path && url.ends_with('/')) url.pop_back();
  return url;
}

Error not_kept(const std::string& path) {
  return denied("cannot-write", "cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace

std::vector<SignIn> sign_ins() {
  std::vector<SignIn> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder(), none)) {
    if (entry.path().extension() != ".toml") continue;
    if (auto one = read_sign_in(entry.path().stem())) found.push_back(std::move(*one));
  }
  std::ranges::sort(found, {}, &SignIn::name);
  return found;
}

Result<SignIn> find_sign_in(const std::string& name) {
  if (is_name_of_context(name)) {
    if (auto found = read_sign_in(name)) return std::move(*found);
  }
  std::string known;
  for (const SignIn& each : sign_ins()) known += (known.empty() ? "" : ", ") + each.name;
  Error error = not_found("no-such-context", "you are not signed in to " + name);
  if (!known.empty()) error.notes.push_back("you are signed in to " + known);
  error.hints.emplace_back("schedulearn login URL --name " + name);
  return error;
}

std::string token_for(const std::string& url) {
  const auto all = sign_ins();
  const auto found = std::ranges::find(all, url, &SignIn::url);
  return found == all.end() ? "" : found->token;
}

Result<std::string> full_url(const std::string& typed) {
  if (typed.find_first_of(" \t\r\n") != std::string::npos)
    return invalid("bad-url", "not a controller's address: " + typed)
        .hint("an address looks like http://127.0.0.1:5000");
  std::string url = without_page(typed.find("://") == std::string::npos ? "http://" + typed : typed);
  for (std::size_t i = 0; url[i] != ':'; ++i)
    url[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(url[i])));
  const auto address = net::parse_url(url);
  return address.ok() ? Result<std::string>(std::move(url)) : address.error();
}

std::string context_name_of(const std::string& url) {
  const auto address = net::parse_url(url);
  if (!address.ok()) return "";
  constexpr std::string_view usual_port = "5000";
  std::string name = address->host;
  std::ranges::replace(name, ':', '-');
  return address->port == usual_port ? name : name + "-" + address->port;
}

Status keep(const SignIn& sign_in) {
  if (!is_name_of_context(sign_in.name))
    return invalid("bad-context", "a context cannot be called " + sign_in.name)
        .hint("choose a name of letters, digits and . _ -: --name lab");
  const std::string path = file_of(sign_in.name), made = path + ".new";
  std::error_code failed;
  fs::create_directories(folder(), failed);
  fs::permissions(folder(), fs::perms::owner_all, failed);
  ::unlink(made.c_str());
  const int file = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return not_kept(made);
  const auto quoted = [](const std::string& text) { return json::serialize(json::string(text)); };
  const std::string text = "url = " + quoted(sign_in.url) + "\ntoken = " + quoted(sign_in.token) + "\n";
  const bool is_written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return is_written && ::rename(made.c_str(), path.c_str()) == 0 ? Status() : Status(not_kept(path));
}

Status forget_sign_in(const std::string& name) {
  const std::string path = file_of(name);
  return ::unlink(path.c_str()) == 0 ? Status() : Status(not_kept(path));
}

}  // namespace sl::cli
