// What goes into a controller's logic and what comes out, line by line in a file (docs/formats/recording.md), and the
// same played again: the logic, the engine and the policies of this program are given the recorded inputs at the
// recorded instants, and every order and event they produce is compared with the one of then.
//
// Outputs of jobs, requests that only read and pings between controller and agents are left out: they decide nothing.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "controller/logic.h"

namespace sl::controller {

// The file being written. A fault of the disk ends the recording, not the controller.
class Recording : public Tape {
 public:
  // Makes FOLDER/recording-TIME.jsonl, readable by its owner only. Error "cannot-write".
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
  std::size_t line;                // of the file
  std::string recorded, replayed;  // empty: there was none
};
struct Replay {
  std::size_t inputs = 0, jobs = 0, orders = 0, events = 0;
  std::vector<std::string> policies;  // in force one after the other
  std::size_t differences = 0;
  std::vector<Difference> first;  // differences, a few
  bool is_cut = false;            // the last line is not whole: the controller was killed
};

// Errors: "no-such-file", "bad-recording" with the line.
Result<Replay> replay(const std::string& path, const OwnPolicyMaker& make_policy = {});

// As people read it, and as one JSON document.
std::string replay_text(const Replay& replay);
std::string replay_json(const Replay& replay);

}  // namespace sl::controller
