// A container engine (Docker or Podman) as a client of its API sees it: the Docker Engine API v1.41 on a Unix socket.
// Every call blocks for as long as the engine takes, at most `patience`; so calls are made where nobody waits for them.
//
// Both engines answer differently when something is already so (docs/guide/containers.md, "The two engines"): what
// counts is what is there afterwards, not the status of the answer.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sl::container {

// Labels of every container of ours.
inline constexpr const char* agent_label = "schedulearn.agent";    // the id of the agent that started it
inline constexpr const char* key_label = "schedulearn.attempt";    // model/incarnation.h
inline constexpr const char* folder_label = "schedulearn.folder";  // see attempt.h

struct ImageFacts {
  std::string id;           // "sha256:…"
  std::string digest;       // "docker.io/library/python@sha256:…" if it came from a registry, else the id
  std::string python_path;  // PYTHONPATH as the image sets it
};

struct PullProgress {
  std::int64_t bytes_done = 0, bytes = 0;
};

// Reads what an engine streams while it fetches an image: one JSON document after the other, in pieces of any size.
class PullReader {
 public:
  void add(std::string_view bytes);
  PullProgress progress() const;
  const std::string& error() const { return error_; }  // empty: none so far

 private:
  struct Layer {
    std::string id;
    std::int64_t done = 0, all = 0;
  };
  void read_line(std::string_view line);
  std::string rest_, error_;
  std::vector<Layer> layers_;
};

struct Found {
  std::string id, name, folder, key;
  bool runs = false;
};

struct State {
  std::string agent, key;  // of its labels; empty: it is not ours
  bool runs = false;
  std::int64_t pid = 0;  // of its first process, while it runs
  int exit_code = 0;
  bool out_of_memory = false;  // as far as the engine knows
};

// A process beside those of a container, at a terminal.
struct ExecOrder {
  std::vector<std::string> command, environment;
  std::string workdir;  // empty: the container's
};

struct ExecState {
  bool runs = false;
  std::int64_t pid = 0;  // while it runs
  int exit_code = 0;
};

class Engine {
 public:
  explicit Engine(std::string socket, Duration patience = Duration::whole_seconds(120))
      : socket_(std::move(socket)), patience_(patience) {}
  const std::string& socket() const { return socket_; }
  // Calls end early once this says so.
  void give_up_when(std::function<bool()> is_given_up) { is_given_up_ = std::move(is_given_up); }

  // "podman 4.3.1", "docker 20.10.24". Errors of this and of all others: "engine-unreachable", "engine-refused".
  Result<std::string> version() const;
  // Nothing if there is no such image here.
  Result<std::optional<ImageFacts>> find_image(const std::string& image) const;
  // Fetches it from its registry. `credentials`: for the header X-Registry-Auth; empty: none. Errors: "image", and those
  // above.
  Status pull(const std::string& image, const std::string& credentials,
              const std::function<void(const PullProgress&)>& on_progress) const;
  // `body`: of POST /containers/create. Its id, by which it is found under any name. Errors: "image" (it is not here),
  // "name-taken".
  Result<std::string> create(const std::string& name, const boost::json::value& body) const;
  Status start(const std::string& name) const;
  // Nothing if there is no such container.
  Result<std::optional<State>> inspect(const std::string& name) const;
  // Ends it if it runs. It is gone afterwards.
  Status remove(const std::string& name) const;
  // Its id. The process starts with start_exec(), whose result is connected to its terminal.
  Result<std::string> create_exec(const std::string& name, const ExecOrder& order) const;
  Result<int> start_exec(const std::string& id) const;
  Result<ExecState> inspect_exec(const std::string& id) const;
  Status resize_exec(const std::string& id, int columns, int rows) const;
  // Those of the agent, running or not.
  Result<std::vector<Found>> list(const std::string& agent) const;

 private:
  struct Answer {
    int status = 0;
    std::string body;
    std::string server;  // which program answers
  };
  Result<Answer> call(const std::string& method, const std::string& target, const std::string& body = "") const;
  // What it answers, if it is content.
  Result<boost::json::value> ask(const std::string& method, const std::string& target,
                                 const std::string& body = "") const;

  std::string socket_;
  Duration patience_;
  std::function<bool()> is_given_up_;
};

// The socket to use: `wanted`, or else the first of the usual places at which an engine answers; "none" and no answer: empty.
std::string find_socket(const std::string& wanted);

// "docker.io/library/python:3.11" as the registry that it names and the header that the credentials file of a user has
// for it (~/.docker/config.json, ~/.config/containers/auth.json). Empty: there is none. The file must be of the user.
std::string credentials_for(const std::string& image, const std::string& home, unsigned uid);

}  // namespace sl::container
