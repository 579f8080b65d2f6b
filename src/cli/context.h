// What every command needs: the controller's address, how to print, and the two ways to fail.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"

namespace sl::cli {

namespace json = boost::json;

struct Context {
  std::string url = "http://127.0.0.1:5000";
  std::string socket;    // of the controller in the user's data directory, used instead of `url`; empty: none
  std::string data;      // --data: the data folder that was asked for; empty: none
  std::string recorded;  // the user's data folder, if something is recorded there; empty: none
  std::function<Result<net::ClientResponse>(const net::ClientRequest&, const std::function<bool(std::string_view)>&)>
      past;                  // answers instead of a controller when none runs on `data`
  std::string signed_in_to;  // the context in use (sign_ins.h); empty: none
  std::string token;
  json::object defaults;  // keys of a job file, of jobs that do not say otherwise (config.h)
  std::string user;       // whom requests name as their sender; empty: nobody
  double timeout_s = 30;
  std::function<bool()> is_given_up = {};  // asked while requests wait for their answers
  bool as_json = false;
  std::vector<std::string> json_fields;  // --json=id,state
  bool plain = false;
  bool quiet = false;
  bool color = false;  // stdout is a terminal and colour was not turned off
  bool unicode = true;
  std::size_t columns = 0;   // of the terminal that stdout is; 0: it is none
  bool interactive = false;  // stdin and stderr are terminals
  bool assume_yes = false;
  // Requests and their answers are told to stderr: 1 that they were made, 2 also what was sent and received.
  int verbosity = 0;

  Result<json::value> get(const std::string& path) const { return call("GET", path, ""); }
  Result<json::value> call(const std::string& method, const std::string& path, const std::string& body,
                           const net::Headers& extra = {}) const;
  // POST of a request that makes a job, with a key of its own: it is sent again if its connection breaks
  // (net/http_client.h), and is one job all the same.
  Result<json::value> create_job(const std::string& path, const std::string& body) const;
  // As net::fetch_stream.
  Result<net::ClientResponse> stream(const net::ClientRequest& request,
                                     const std::function<bool(std::string_view)>& on_data) const;
  net::ClientRequest request(const std::string& method, const std::string& path, const std::string& body) const;

  // A named token says whose it is: then nobody else is named as the sender.
  void use_token(std::string secret);

  // "schedulearn logs 5", with --data if this command had it.
  std::string next_command(const std::string& name, std::int64_t job) const;

  // Prints the document, or the requested fields of it or of each item of a list, one line each; "?": which there are. A
  // field that is not there is reported, and the command ends with status 2.
  void print_json(const json::value& value) const;
  bool is_for_programs() const { return as_json || plain; }
  // Prints the document as programs asked for it: as print_json() does, or with --plain its records_text().
  void print_for_programs(const json::value& value) const;
  std::shared_ptr<bool> json_failed = std::make_shared<bool>(false);
};

// Prints in the fixed form to stderr; returns the exit status.
int fail(const Error& error);

// Whether the user wants `what` ("cancel 3 jobs"), which is asked only if it `is_needed`. Error: nobody is there to be
// asked.
Result<bool> confirm(const Context& context, const std::string& what, bool is_needed);

// For what costs more than a wrong answer may: the user types `name`, or has said it before (`said`, by --confirm). What
// is about to happen is told as "this would WHAT". Error: "confirmation-needed".
Status confirm_by_name(const Context& context, const std::string& what, const std::string& name,
                       const std::string& said);

// Job states, as the parameter `state` of GET /jobs takes them.
inline constexpr const char* unfinished_states = "pending,held,starting,running,suspended,migrating,resizing,stopping";
inline constexpr const char* waiting_states = "pending,held,suspended";
inline constexpr const char* working_states = "starting,running,migrating,resizing,stopping";
inline constexpr const char* finished_states = "succeeded,failed,cancelled";

// The ids that selectors mean: 5, 1-5, 1,3, last, all (unfinished jobs), 12_3 or 12_3-7 (members of group 12) or a name
// (its unfinished job, else the newest that has ended). Errors: "job-not-found"; "no-such-member"; "ambiguous-name", if
// several unfinished jobs have that name; "nothing-selected", if there is no such job now.
Result<std::vector<std::int64_t>> select_jobs(const Context& context, const std::vector<std::string>& selectors);

// A whole list, as REST answers with one.
json::object list_of(json::array items);

// These read documents without checking them again.
std::string text_at(const json::value& object, std::string_view key, const std::string& other = "");
double number_at(const json::value& object, std::string_view key, double other = 0);
const json::value& value_at(const json::value& object, std::string_view key);  // null if missing

}  // namespace sl::cli
