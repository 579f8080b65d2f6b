// Traces that users have uploaded, for simulations of all. A file comes in pieces, since a request has at most 1 MiB;
// once it is here as a whole, `trace info` reads it in a process of its own (simulator.h), within limits of time, of
// memory and of the text that it unpacks to. What it refuses is not kept.
//
//   traces/philly.csv   as it was sent, plain or gzip
//   traces/philly.json  who sent it, when, and the figures of its jobs; written last
//   traces/philly.part  what is here of one that is being sent; gone with the next start
//
// Lives on the core's thread; files are written and read on the desk, one after the other (simulations.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/simulation_answers.h"

namespace sl::controller {

inline constexpr std::int64_t trace_file_bytes_max = std::int64_t{64} << 20;  // as it is sent
inline constexpr std::int64_t trace_text_mib_max = 256;                       // unpacked
inline constexpr std::size_t traces_kept_max = 50;                            // with those that are being sent

class UploadedTraces {
 public:
  struct Means {
    std::function<Instant()> clock;
    std::function<void(std::function<void()>)> post, desk;  // do work on the core's thread, and on the desk
    // Runs a short command of this program in a folder, on the desk; returns what it printed.
    std::function<Result<std::string>(const std::vector<std::string>& arguments, const std::string& folder)> run;
  };
  struct Piece {
    std::string name, user;
    std::int64_t offset = 0;  // 0 begins anew
    std::int64_t size = 0;    // of the whole
    std::string bytes;
  };
  template <typename T>
  using Then = std::function<void(Result<T>)>;

  UploadedTraces(std::string folder, Means means) : folder_(std::move(folder)), means_(std::move(means)) {}
  void open();  // reads those of earlier

  // How much is here now; with the last piece, the trace. Errors: "bad-trace-name", "trace-exists", "too-many-traces",
  // "trace-too-large", "trace-offset" (it is not the next piece), "bad-parameter", "disk-full", and those of the reader.
  void put(Piece piece, Then<answers::TraceUpload> then);
  std::vector<answers::Trace> list() const;  // by name
  // Error "trace-not-found", with the name that may be meant.
  Result<answers::Trace> find(const std::string& name) const;
  std::string file_of(const std::string& name) const { return folder_ + "/" + name + ".csv"; }
  // Simulations that were asked for keep its file. Error "trace-not-found".
  Status remove(const std::string& name);

 private:
  struct Upload {
    std::string user;
    std::int64_t size = 0, here = 0;
    Instant last;  // when its latest piece came
    bool is_busy = false;
  };

  std::string path(const std::string& name, const char* ending) const { return folder_ + "/" + name + ending; }
  Status check(const Piece& piece) const;
  void forget_given_up();
  Status append(const Piece& piece) const;
  Result<answers::TraceFigures> read(const Piece& piece) const;
  Result<answers::Trace> finish(const Piece& piece, Instant now) const;
  void on_appended(const std::string& name, const Status& appended, const Then<answers::TraceUpload>& then);
  void on_finished(const Result<answers::Trace>& trace, const std::string& name,
                   const Then<answers::TraceUpload>& then);

  std::string folder_;
  Means means_;
  std::map<std::string, answers::Trace> traces_;
  std::map<std::string, Upload> uploads_;
};

}  // namespace sl::controller
