// Who may send requests, and on whose behalf. Submitting means running commands as the controller's user, so being able
// to reach a port is not enough.
//
//   The kernel's word   over the Unix socket, and over TCP from loopback to a Host that is loopback: the user whose
//                       process sends the request. The controller's own user and root may do anything.
//   The token           required from all others. Together with the kernel's word it allows that user; alone, its
//                       holder acts as the controller's own user.
//   A named token       acts as its user, wherever it comes from (people.h). It counts more than the kernel's word.
//   A browser's session in place of the token: whoever signed in (browser_sessions.h). Its code, once, to sign in with.
//                       For one port of a job, the cookie that was given for it.
//
// Pages of other origins and names that were rebound to this machine are refused first.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "controller/browser_sessions.h"
#include "controller/people.h"
#include "net/http.h"

namespace sl::controller {

class Admission {
 public:
  // `listen_address`: if it is loopback, requests must name a loopback Host. `token`: empty for none.
  Admission(std::string listen_address, std::string token, uid_t own_user, const BrowserSessions& sessions,
            People& people);

  // Errors: "wrong-host", "foreign-origin", "token-required", "wrong-token", "token-expired",
  // "not-your-name".
  Result<Identity> identify(const net::Request& head);
  // Of who gives the token, or a named one, as a password, as in the original API. Errors: as above.
  Result<Identity> sign_in(const net::Request& head, const std::string& password);
  // From where a request comes: "10.0.0.7", "the user mei of this machine".
  std::string sender_of(const net::Request& head);
  // Of `identify`, what does not depend on who sends the request. Errors: "wrong-host", "foreign-origin".
  Status check_place(const net::Request& head) const;

 private:
  Result<Identity> who(const net::Request& head, bool host_is_loopback);
  // With the controller's token. `user`: the kernel's word.
  Identity holder(std::optional<uid_t> user);
  const std::string& name_of(uid_t user);

  bool only_loopback_;
  std::string token_;
  uid_t own_user_;
  const BrowserSessions& sessions_;
  People& people_;
  std::map<uid_t, std::string> names_;  // looked up once each
};

std::string name_of_user(uid_t user);  // "mei", or its number as text

// The secret in its header Authorization; empty: there is none.
std::string_view bearer_of(const net::Request& head);
std::string_view bearer_of(std::string_view authorization);  // of the value of that header; empty: of another kind

// Error "not-your-name" if `identity` may not act for `user`.
Status may_act_for(const Identity& identity, const std::string& user);

}  // namespace sl::controller
