// Records the inputs and outputs of a controller's logic line by line in a file (docs/formats/recording.md), and
// replays them: the logic, the engine and the policies of this program get the recorded inputs at the recorded
// instants, and every order and event they produce is compared with the recorded one.
//
// Output of jobs, requests that only read, and pings between controller and agents are left out: they decide nothing.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "controller/logic.h"

namespace sl::controller {

// The file being written. A disk error ends the recording, not the controller.
class Recording : public Tape {
 public:
  // Creates FOLDER/recording-TIME.jsonl, readable only by its owner. Error "cannot-write".
  static Result<std::unique_ptr<Recording>> create(const std::string& folder, const LogicSettings& settings,
                                                   const store::Loaded& loaded, Instant now);

  void input(Instant at, std::string_view kind, boost::json::object data) override;
  void sent(SessionId session, const wire::ControllerMessage& message);
  void committed(const store::Batch& batch);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void write(const boost::json::object& line);
  std::unique_ptr<std::FILE, Closer> file_;
  std::string path_;
  Instant flushed_;
};

struct Difference {
  std::size_t line;                // in the file
  std::string recorded, replayed;  // empty: there was none
};
struct Replay {
  std::size_t inputs = 0, jobs = 0, orders = 0, events = 0;
  std::vector<std::string> policies;  // in order of their use
  std::size_t differences = 0;
  std::vector<Difference> first;  // the first few differences
  bool is_cut = false;            // the last line is incomplete: the controller was killed
};

// Errors: "no-such-file", "bad-recording" with the line.
Result<Replay> replay(const std::string& path, const OwnPolicyMaker& make_policy = {});

// As text for people, and as one JSON document.
std::string replay_text(const Replay& replay);
std::string replay_json(const Replay& replay);

}  // namespace sl::controller
