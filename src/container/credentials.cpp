// The files in which `docker login` and `podman login` keep what a user may fetch from which registry.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "container/engine.h"
#include "wire/json.h"

namespace sl::container {
namespace {

namespace json = boost::json;

// Empty unless it is a plain file of the user: another's credentials are not used through a link.
std::string read_own(const std::string& path, unsigned uid) {
  constexpr off_t bytes_max = 1 << 20;
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return "";
  struct stat info {};
  std::string text;
  if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == uid && info.st_size <= bytes_max) {
    text.resize(static_cast<std::size_t>(info.st_size));
    const ssize_t n = ::pread(file, text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  ::close(file);
  return text;
}

std::string registry_of(const std::string& image) {
  const std::size_t slash = image.find('/');
  const std::string first = image.substr(0, slash);
  const bool is_host =
      slash != std::string::npos && (first.find_first_of(".:") != std::string::npos || first == "localhost");
  return is_host ? first : "docker.io";
}

std::string from_base64(std::string_view text) {
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<unsigned>(digit);
    if (count += 6; count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return bytes;
}

std::string to_base64url(std::string_view bytes) {
  const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t n = 0; n < 3; ++n)
      bits = bits << 8 | (i + n < bytes.size() ? static_cast<unsigned char>(bytes[i + n]) : 0U);
    for (std::size_t n = 0; n < 4; ++n) text += i + n <= bytes.size() ? digits[bits >> (18 - 6 * n) & 63] : '=';
  }
  return text;
}

// The base64 of "user:password" that the document has for the registry; empty: none.
std::string login_in(const std::string& document, const std::string& registry) {
  json::error_code failed;
  const json::value value = json::parse(document, failed);
  const json::value* all = !failed && value.is_object() ? value.get_object().if_contains("auths") : nullptr;
  if (!all || !all->is_object()) return "";
  for (const auto& [name, entry] : all->get_object()) {
    std::string host(name);
    if (const std::size_t scheme = host.find("://"); scheme != std::string::npos) host.erase(0, scheme + 3);
    host = host.substr(0, host.find('/'));
    if (host == "index.docker.io") host = "docker.io";
    if (host != registry || !entry.is_object()) continue;
    const json::value* login = entry.get_object().if_contains("auth");
    if (login && login->is_string()) return std::string(login->get_string());
  }
  return "";
}

}  // namespace

std::string credentials_for(const std::string& image, const std::string& home, unsigned uid) {
  const std::string registry = registry_of(image);
  for (const char* file : {"/.docker/config.json", "/.config/containers/auth.json"}) {
    const std::string login = from_base64(login_in(read_own(home + file, uid), registry));
    const std::size_t colon = login.find(':');
    if (colon == std::string::npos) continue;
    const json::object header = {{"username", login.substr(0, colon)},
                                 {"password", login.substr(colon + 1)},
                                 {"serveraddress", registry == "docker.io" ? "https://index.docker.io/v1/" : registry}};
    return to_base64url(json::serialize(header));
  }
  return "";
}

}  // namespace sl::container
