// Browsers that have signed in. A session has two halves, and a request needs both:
//
//   cookie   HttpOnly and SameSite=Strict: no script can read it and no other site can have it sent. Browsers send it
//            to every port of a host, though, so that it alone must open nothing.
//   key      kept by the page for its origin, port included, and sent with each request in a header of its own, which
//            no form and no link of another page can add.
//
// Both are made from the controller's token: nothing is stored, a session survives restarts of the controller, ends
// after 12 hours, and all of them end when the token changes. Whoever signs out ends it at once; a restart forgets
// that. A session says what it rests on (Identity::basis): its role is that of its user at the moment of a request, and
// one that was begun with a named token ends with that token.
//
// A port of a job (/jobs/5/proxy/board/) is opened in a tab, whose requests carry no such header. For it the page asks for
// one more cookie, which its browser sends only below that path, and which opens only that port, only from the address that
// has asked for it, and not to pages of other origins on this host: what listens on another port of the host may see it, but
// is elsewhere.
//
// A code signs one browser in without the token: `schedulearn web --link` puts it into an address. It works once, within
// five minutes; a restart forgets it. The session has the rights of the request that made the code, or, if that was an
// admin's in the name of another user, those of that user; it ends with what that request rested on. Any thread may
// call; codes and ended sessions are guarded by a mutex.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "controller/people.h"
#include "net/http.h"

namespace sl::controller {

class BrowserSessions {
 public:
  struct Session {
    std::string cookie;  // of a Set-Cookie header: name, value and attributes
    std::string key;
    Instant expires;
  };
  struct Code {
    std::string text;
    Instant expires;
  };

  // `token`: the controller's; empty: there are no sessions.
  BrowserSessions(std::string token, const People& people, std::function<Instant()> clock);

  // Error "no-sessions" if this controller has no token.
  Result<Session> begin(const Identity& identity) const;
  // Whose session this request belongs to; nothing if a half is missing, forged or too old.
  std::optional<Identity> find(const net::Request& head) const;
  // Ends the session of this request, with the ports that were opened in it. Returns the cookie that makes a browser
  // forget its half.
  std::string end(const net::Request& head);
  // Whether what was begun in a session must end, since that has.
  bool has_ended(const Identity& identity) const;
  // Error "no-sessions". There is no key. `path`: of the port, "/jobs/5/proxy/board/". It ends with the session of the
  // request, if that has one.
  Result<Session> open_port(const Identity& identity, const std::string& path, const net::Request& head) const;
  // For whom the port that this request goes to was opened; nothing if it goes to none, or the cookie is not for it.
  std::optional<Identity> find_port(const net::Request& head) const;
  bool is_ours(const std::string& cookie) const { return cookie == cookie_name_ || cookie == port_cookie_name_; }

  // Error "no-sessions"; "too-many-links" while a thousand codes of this user are unused.
  Result<Code> make_code(const Identity& identity);
  // Who made the code that this request carries; it can still be used.
  std::optional<Identity> maker_of_code(const net::Request& head) const;
  // From now on the code of this request is worth nothing. False if it already was, or if the request carries none.
  bool spend_code(const net::Request& head);

 private:
  struct Ended {
    std::string user;
    Instant expires;  // when the last port that it may have opened does
  };
  struct Made {
    Identity identity;
    Instant expires;
  };
  struct Claim {
    Identity identity;  // as whom it was made, to be confirmed, with the session
    Instant expires;
  };
  std::string proof(const std::string& text) const;  // what only this controller can compute from `text`
  // The value of a cookie that is good for one purpose, and what it says.
  std::string claim(const Identity& identity, Instant expires, const std::string& session,
                    const std::string& purpose) const;
  std::optional<Claim> read_claim(const std::string& value, const std::string& purpose) const;
  std::optional<Claim> claim_of(const net::Request& head) const;
  std::optional<Identity> holder(const std::optional<Claim>& claim) const;  // nothing: its session has ended

  const std::string token_;
  const People& people_;
  const std::function<Instant()> clock_;
  const std::string cookie_name_, port_cookie_name_;  // differ between controllers on one host
  mutable std::mutex mutex_;
  std::map<std::string, Made> codes_;
  std::map<std::string, Ended> ended_;  // sessions that were signed out
};

}  // namespace sl::controller
