// Secrets that users have stored for their jobs: DATA/secrets.json, in which each is encrypted and authenticated
// (libsodium's secretbox) under the key in DATA/secrets.key, a file that only the controller's user may read. So a copy
// of the database or of secrets.json alone shows none.
//
// Values leave it only in orders to start a job that names them, and to sign or send notifications of their user;
// nothing else is told, written or recorded of them.
// Any thread may call; writing waits for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/agent_protocol.h"

namespace sl::controller {

class SecretStore {
 public:
  static constexpr std::size_t of_user_max = 1'000;
  // `limit`: how many one user may have. Errors: "secrets-unreadable", if what is there cannot be read with the key that
  // is there.
  static Result<std::unique_ptr<SecretStore>> open(const std::string& folder, std::size_t limit = of_user_max);

  struct Listed {
    std::string name;
    std::int64_t changed_us = 0;
  };
  std::vector<Listed> list(const std::string& user) const;
  // Errors: "bad-secret"; "secret-not-stored", if it cannot be written, and then nothing has changed.
  Status set(const std::string& user, const std::string& name, const std::string& value, std::int64_t now_us);
  Status remove(const std::string& user, const std::string& name);  // also "no-such-secret"
  Status remove_all(const std::string& user);                       // also of a user who has none
  // Whether the user has stored all that the job names. Errors: "no-such-secret".
  Status check(const wire::JobSpec& spec) const;
  // Nothing: the user has stored none of this name.
  std::optional<std::string> value(const std::string& user, const std::string& name) const;
  // The order with the values of the secrets that its job names, as far as they are stored.
  wire::StartAttempt with_values(wire::StartAttempt order) const;

 private:
  using Name = std::pair<std::string, std::string>;  // of the user and the secret
  struct Kept {
    std::string box;
    std::int64_t changed_us = 0;
  };
  using All = std::map<Name, Kept>;
  SecretStore(std::string folder, std::size_t limit) : folder_(std::move(folder)), limit_(limit) {}
  Status load();
  Status load_key();
  Status make_key();
  Status write(All all);
  std::optional<std::string> open_box(const Name& name, const Kept& kept) const;

  std::string folder_;
  std::size_t limit_;
  std::mutex writing_;        // one writes at a time
  mutable std::mutex mutex_;  // guards the rest
  All all_;
  std::string key_;  // empty: none has been made
};

}  // namespace sl::controller
