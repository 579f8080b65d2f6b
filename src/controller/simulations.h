// Simulations that users ask for: checked, run one after the other, and kept with their results. Each runs as a command of
// this program in a process of its own (simulator.h), so that it can neither delay the controller nor take its memory.
// A simulation is a folder:
//
//   simulations/7/simulation.json  what was asked for, how far it is, its figures
//   simulations/7/trace.csv        its jobs, unless they are made by a workload; cluster.toml: its servers, if they are ours.
//                                  Of an uploaded trace it is a second name of the file, and stays if that one goes
//   simulations/7/results/         what `sim compare --out` writes
//
// What had not ended when the controller stopped is run again when it starts.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "controller/inbox.h"
#include "controller/simulation_answers.h"
#include "controller/simulator.h"
#include "controller/uploaded_traces.h"

namespace sl::controller {

inline constexpr std::size_t simulations_kept_max = 50;        // the oldest go first
inline constexpr std::size_t simulations_open_max = 8;         // that wait or run
inline constexpr std::int64_t simulated_jobs_max = 1'000'000;  // of all runs of one simulation together
inline constexpr int simulation_runs_max = 40;

struct NewSimulation {
  answers::Simulation shown;                  // trace, servers, policies, seeds
  std::map<std::string, std::string> files;   // by name, to be there before it runs
  std::map<std::string, std::string> linked;  // likewise: the paths of files that are there already
  std::string trace, servers;                 // as the commands take them
  std::vector<std::string> more;              // arguments of `sim compare` besides these
};

struct ChartWish {
  std::string kind, theme;
  int width_mm = 160;
  std::string metric;         // empty: the chart's usual one
  std::optional<int> result;  // only this one, from 0; none: all of the first seed, or of all where seeds are averaged
  bool by_server = false;     // util
};

// Error "unknown-workload", with the name that may be meant.
Result<answers::Workload> find_workload(const std::vector<answers::Workload>& known, const std::string& name);

struct SimulatedJobs {
  std::vector<answers::SimulatedJob> items;  // in order of submission
  std::size_t total = 0;
};

class Simulations {
 public:
  using Post = std::function<void(std::function<void()>)>;
  template <typename T>
  using Then = std::function<void(Result<T>)>;
  // Called on the core's thread, as is `changed`, with the number of a simulation of which something else is to be shown
  // now. `post` runs work on that thread; any thread may call it. `run` may be empty: nothing can be simulated.
  // `data_folder`: of the controller.
  Simulations(const std::string& data_folder, RunCommand run, std::function<Instant()> clock, Post post,
              std::function<void(std::int64_t)> changed);
  ~Simulations();  // those that run are stopped
  Simulations(const Simulations&) = delete;
  Simulations& operator=(const Simulations&) = delete;
  // Reads those of earlier, and runs what had not ended.
  void open();

  // `then` gets it once its trace and servers are known to be good. Errors: "too-many-simulations",
  // "simulation-too-large", "not-running", and those of the commands.
  void create(NewSimulation wanted, const std::string& user, Then<answers::Simulation> then);
  std::vector<answers::Simulation> list() const;  // newest first
  // Error "simulation-not-found".
  Result<answers::SimulationDetails> find(std::int64_t id) const;
  Status remove(std::int64_t id);  // stops it, if it runs
  // Errors: also "simulation-unfinished", and those of `plot`.
  void draw(std::int64_t id, const ChartWish& wish, Then<answers::SimulationChart> then);
  // Those of one result from place `from` on, up to `count`; without `result` of the only one. Errors: also
  // "simulation-unfinished", "bad-parameter", "no-files" if what was written is gone.
  void jobs(std::int64_t id, std::optional<int> result, std::size_t from, std::size_t count, Then<SimulatedJobs> then);
  void workloads(Then<std::vector<answers::Workload>> then);
  // A workload or an uploaded trace with the figures of its jobs, which are counted once. Error "unknown-workload".
  void trace(const std::string& name, Then<answers::Trace> then);
  // The uploaded ones, then the workloads.
  void traces(Then<std::vector<answers::Trace>> then);
  // As UploadedTraces::put; the name of a workload is refused with "trace-exists".
  void upload(UploadedTraces::Piece piece, Then<answers::TraceUpload> then);
  UploadedTraces& uploaded() { return uploaded_; }

 private:
  struct Entry {
    answers::SimulationDetails shown;
    std::vector<std::string> arguments;
    std::shared_ptr<std::atomic<bool>> is_unwanted = std::make_shared<std::atomic<bool>>(false);
  };
  struct Checked {
    std::int64_t jobs = 0, left_out = 0;
    int gpus = 0;
    double load = 0;
  };
  using Hear = std::function<bool(std::string_view)>;

  std::string folder_of(std::int64_t id) const;
  // One that has results. Errors: "simulation-not-found", "simulation-unfinished", "bad-parameter": it has no such result.
  Result<const answers::SimulationDetails*> finished(std::int64_t id, std::optional<int> result) const;
  Result<Checked> check(const NewSimulation& wanted, const std::string& folder);
  void enter(std::int64_t id, NewSimulation wanted, const std::string& user, const Checked& checked,
             const Then<answers::Simulation>& then);
  void start(Entry& entry);
  void run(std::int64_t id, const std::vector<std::string>& arguments,
           const std::shared_ptr<std::atomic<bool>>& is_unwanted);
  void on_end(std::int64_t id, Result<std::string> printed);
  void keep(const Entry& entry, const std::function<void(const Status&)>& then);
  void forget_oldest();
  void erase_folder(std::int64_t id);
  Result<answers::SimulationChart> drawn(const std::vector<std::string>& arguments, const std::string& folder);
  void count(const answers::Workload& workload, Then<answers::Trace> then);
  // A short command, on the desk.
  Result<std::string> run_short(const std::vector<std::string>& arguments, const std::string& folder);
  static void work(Inbox& inbox);

  std::string folder_;
  RunCommand run_;
  std::function<Instant()> clock_;
  Post post_;
  std::function<void(std::int64_t)> changed_;
  std::map<std::int64_t, Entry> entries_;
  std::int64_t next_id_ = 1;
  std::size_t checking_ = 0;
  std::vector<answers::Workload> workloads_;
  std::map<std::string, answers::Trace> counted_;                            // workloads with their figures
  std::map<std::string, std::vector<Then<answers::Trace>>> wait_for_trace_;  // those that are being counted
  UploadedTraces uploaded_;
  std::atomic<bool> is_ending_ = false;
  Inbox desk_, runner_;  // short commands and files; simulations
  std::thread desk_thread_, runner_thread_;
};

}  // namespace sl::controller
