#include "controller/secret_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "wire/base64.h"
#include "wire/json.h"
#include "wire/secrets.h"

namespace sl::controller {
namespace {

constexpr std::size_t secret_bytes_max = 64 << 10;

// What is inside a box. The names are repeated there, so that no box can take another's place.
struct SecretInBox {
  std::string user, name, value;  // the value in base64
};
BOOST_DESCRIBE_STRUCT(SecretInBox, (), (user, name, value))

struct SecretInFile {
  std::string user, name, box;
  std::int64_t changed_us = 0;
};
BOOST_DESCRIBE_STRUCT(SecretInFile, (), (user, name, box, changed_us))

struct SecretsFile {
  int version = 1;
  std::vector<SecretInFile> secrets;
};
BOOST_DESCRIBE_STRUCT(SecretsFile, (), (version, secrets))

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* bytes_of(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string make_box(const std::string& text, const std::string& key) {
  std::string box(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + text.size(), '\0');
  ::randombytes_buf(box.data(), crypto_secretbox_NONCEBYTES);
  ::crypto_secretbox_easy(bytes_of(box) + crypto_secretbox_NONCEBYTES, bytes_of(text), text.size(), bytes_of(box),
                          bytes_of(key));
  return box;
}

std::optional<std::string> read_box(const std::string& box, const std::string& key) {
  constexpr std::size_t overhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
  if (box.size() < overhead || key.size() != crypto_secretbox_KEYBYTES) return std::nullopt;
  std::string text(box.size() - overhead, '\0');
  if (::crypto_secretbox_open_easy(bytes_of(text), bytes_of(box) + crypto_secretbox_NONCEBYTES,
                                   box.size() - crypto_secretbox_NONCEBYTES, bytes_of(box), bytes_of(key)) != 0)
    return std::nullopt;
  return text;
}

Error secret_not_stored(const std::string& path) {
  return unavailable("secret-not-stored", "cannot write " + path + ": " + std::strerror(errno));
}

// In one step, with permissions for its owner alone.
Status write_private(const std::string& path, const std::string& text) {
  const std::string made = path + ".new";
  ::unlink(made.c_str());
  const int fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return secret_not_stored(made);
  errno = ENOSPC;  // of a write that ends early
  const bool is_written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  Status done = is_written ? Status() : Status(secret_not_stored(made));
  ::close(fd);
  if (done.ok() && ::rename(made.c_str(), path.c_str()) != 0) done = secret_not_stored(path);
  if (!done.ok()) ::unlink(made.c_str());
  return done;
}

// Nothing if the file is missing.
Result<std::optional<std::string>> read_private(const std::string& path) {
  const auto unreadable = [&](const std::string& why) {
    return unavailable("secrets-unreadable", path + ": " + why).hint("chmod 600 " + path);
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::optional<std::string>();
  if (fd < 0) return unreadable(std::strerror(errno));
  struct stat info {};
  ::fstat(fd, &info);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const bool is_read = ::read(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!is_read) return unreadable("cannot be read");
  if ((info.st_mode & 077) != 0 || info.st_uid != ::geteuid()) return unreadable("others than its owner may read it");
  return std::optional(std::move(text));
}

}  // namespace

Result<std::unique_ptr<SecretStore>> SecretStore::open(const std::string& folder, std::size_t limit) {
  SL_CHECK(::sodium_init() >= 0, "libsodium can be used");
  std::unique_ptr<SecretStore> store(new SecretStore(folder, limit));
  if (Status loaded = store->load_key(); !loaded.ok()) return loaded.error();
  if (Status loaded = store->load(); !loaded.ok()) return loaded.error();
  return store;
}

Status SecretStore::load_key() {
  auto text = read_private(folder_ + "/secrets.key");
  if (!text.ok()) return text.error();
  if (!*text) return {};
  if ((*text)->size() != crypto_secretbox_KEYBYTES)
    return unavailable("secrets-unreadable", folder_ + "/secrets.key is no key").hint("restore it from a backup");
  key_ = std::move(**text);
  return {};
}

Status SecretStore::load() {
  const std::string path = folder_ + "/secrets.json";
  auto text = read_private(path);
  if (!text.ok()) return text.error();
  if (!*text) return {};
  const auto file = wire::read_json<SecretsFile>(**text, wire::Unknown::ignore);
  if (!file.ok()) return unavailable("secrets-unreadable", path + " is damaged: " + file.error().message);
  for (const SecretInFile& one : file->secrets) {
    const Name name(one.user, one.name);
    const Kept kept{wire::decode_base64(one.box).value_or(""), one.changed_us};
    if (!open_box(name, kept))
      return unavailable("secrets-unreadable", path + " cannot be read with the key in " + folder_ +
                                                   "/secrets.key: the key was lost or replaced")
          .hint("restore both from one backup")
          .hint("or remove " + path + " and have the secrets stored again");
    all_[name] = kept;
  }
  return {};
}

Status SecretStore::make_key() {
  std::string key(crypto_secretbox_KEYBYTES, '\0');
  ::randombytes_buf(key.data(), key.size());
  if (Status written = write_private(folder_ + "/secrets.key", key); !written.ok()) return written;
  const std::lock_guard lock(mutex_);
  key_ = std::move(key);
  return {};
}

// Called with `writing_` held.
Status SecretStore::write(All all) {
  SecretsFile file;
  for (const auto& [name, kept] : all)
    file.secrets.push_back({name.first, name.second, wire::encode_base64(kept.box), kept.changed_us});
  if (Status written = write_private(folder_ + "/secrets.json", wire::write_json(file)); !written.ok()) return written;
  const std::lock_guard lock(mutex_);
  all_ = std::move(all);
  return {};
}

std::vector<SecretStore::Listed> SecretStore::list(const std::string& user) const {
  const std::lock_guard lock(mutex_);
  std::vector<Listed> listed;
  for (auto at = all_.lower_bound({user, ""}); at != all_.end() && at->first.first == user; ++at)
    listed.push_back({at->first.second, at->second.changed_us});
  return listed;
}

Status SecretStore::set(const std::string& user, const std::string& name, const std::string& value,
                        std::int64_t now_us) {
  if (Status is_name = wire::validate_secret_name(name); !is_name.ok()) return is_name;
  if (value.empty())
    return invalid("bad-secret", "the secret is empty").hint("take it away: schedulearn secret rm NAME");
  if (value.size() > secret_bytes_max)
    return invalid("bad-secret", "a secret has at most 64 KiB")
        .hint("put the rest into a file that the job can read, and its key into the secret");
  const std::lock_guard writing(writing_);
  if (key_.empty()) {
    if (Status made = make_key(); !made.ok()) return made;
  }
  All all = all_;
  if (!all.contains({user, name}) && list(user).size() >= limit_)
    return invalid("bad-secret", fmt::format("a user has at most {} secrets", limit_))
        .hint("take one away: schedulearn secret rm NAME");
  const std::string text = wire::write_json(SecretInBox{user, name, wire::encode_base64(value)});
  all[{user, name}] = {make_box(text, key_), now_us};
  return write(std::move(all));
}

Status SecretStore::remove(const std::string& user, const std::string& name) {
  const std::lock_guard writing(writing_);
  All all = all_;
  if (all.erase({user, name}) == 0)
    return not_found("no-such-secret", user + " has stored no secret " + name).hint("schedulearn secret ls");
  return write(std::move(all));
}

Status SecretStore::remove_all(const std::string& user) {
  const std::lock_guard writing(writing_);
  All all = all_;
  const auto removed = std::erase_if(all, [&](const auto& kept) { return kept.first.first == user; });
  return removed == 0 ? Status() : write(std::move(all));
}

std::optional<std::string> SecretStore::open_box(const Name& name, const Kept& kept) const {
  const auto text = read_box(kept.box, key_);
  const auto inside = text ? wire::read_json<SecretInBox>(*text, wire::Unknown::ignore) : Result<SecretInBox>(Error{});
  if (!inside.ok() || Name(inside->user, inside->name) != name) return std::nullopt;
  return wire::decode_base64(inside->value);
}

std::optional<std::string> SecretStore::value(const std::string& user, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = all_.find({user, name});
  return at == all_.end() ? std::nullopt : open_box(at->first, at->second);
}

Status SecretStore::check(const wire::JobSpec& spec) const {
  for (const std::string& text : spec.secrets) {
    const std::string name = wire::parse_secret(text).name;
    const std::lock_guard lock(mutex_);
    if (!all_.contains({spec.user, name}))
      return not_found("no-such-secret", spec.user + " has stored no secret " + name)
          .hint("schedulearn secret set " + name + " < FILE")
          .at("/secrets");
  }
  return {};
}

wire::StartAttempt SecretStore::with_values(wire::StartAttempt order) const {
  for (const std::string& text : order.spec.secrets) {
    const std::string name = wire::parse_secret(text).name;
    if (const auto found = value(order.spec.user, name)) order.secrets[name] = wire::encode_base64(*found);
  }
  return order;
}

}  // namespace sl::controller
