// What the agent orders the program that runs an attempt's container to do, and what that program reports. Both are
// files in the attempt's container folder, DATA/containers/KEY, which the job never sees:
//
//   order.json    this order, from before the start
//   terminal      a socket at which that program hands its terminal to the first process of the container, if the job has one
//   lock          held by the program that runs the container, for as long as it lives (run.h); not empty: the job may begin
//   end           written by the first process of the container: how the job ended (src/agent/init_main.cpp); it is there
//                 for as long as a container may be left in the engine
//   result.json   the program's report, from after the container's end
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::container {

// The program that is a container's first process, as the container sees it.
inline constexpr const char* init_inside = "/.schedulearn/init";

// A folder or file of the server that the container sees. Ours are there, and writable ones become the job's user's.
struct OwnFolder {
  std::string path;  // the same inside
  bool writable = false;
};
BOOST_DESCRIBE_STRUCT(OwnFolder, (), (path, writable))

// One that the job names. It must lie in the home of the job's user or in a folder that the admin allows, and that user
// must be able to reach it, wherever links lead.
struct NamedFolder {
  std::string from, to;
  bool writable = false;
  bool make = false;  // if it is not there
  std::string key;    // of the job file, for messages: "workdir"
};
BOOST_DESCRIBE_STRUCT(NamedFolder, (), (from, to, writable, make, key))

struct Order {
  std::string socket;            // of the engine
  std::string name;              // of the container (wire::container_name)
  std::string agent, key;        // labels
  std::string image;             // as the job names it
  std::string image_id, digest;  // of what was found under that name
  std::string user;              // the job's
  bool allow_root = false;
  std::string init;     // the program that is the container's first process
  std::string output;   // file
  std::string workdir;  // empty: the one that the image names
  std::string required;
  std::vector<std::string> command, environment;
  std::vector<OwnFolder> own_folders;
  std::vector<NamedFolder> named_folders;
  std::vector<std::string> allowed;    // folders of the admin
  std::vector<std::string> gpu_uuids;  // of NVIDIA's GPUs; empty: none are to be made visible
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> cpus;
  std::string cpu_set;  // numbers of processors, "0-3,8"; empty: all
  std::int64_t shm_bytes = 1LL << 30;
  std::int64_t processes_max = 16'384;
  bool terminal = false;  // the job's is that of the program that runs the container
};
BOOST_DESCRIBE_STRUCT(Order, (),
                      (socket, name, agent, key, image, image_id, digest, user, allow_root, init, output, workdir,
                       required, command, environment, own_folders, named_folders, allowed, gpu_uuids, memory_bytes,
                       cpus, cpu_set, shm_bytes, processes_max, terminal))

// Exit code of the program that runs a container where it has none of the job to pass on.
inline constexpr int failed_code = 125;

struct Outcome {
  std::optional<int> exit_code, signal;
  std::string failure_kind, failure_message;  // as in wire::AttemptReport; empty: it ended by itself
  std::optional<std::int64_t> memory_peak_bytes;
  bool asked_to_end = false;   // it was sent a signal before
  bool may_have_begun = true;  // the job; false: certainly not
  bool is_refused = false;     // the engine answers, and does not make or start this container
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
BOOST_DESCRIBE_STRUCT(Outcome, (),
                      (exit_code, signal, failure_kind, failure_message, memory_peak_bytes, asked_to_end,
                       may_have_begun, is_refused))

Status write_order(const std::string& folder, const Order& order);
Result<Order> read_order(const std::string& folder);
void write_outcome(const std::string& folder, const Outcome& outcome);
std::optional<Outcome> read_outcome(const std::string& folder);

// What the first process of a container has written about its end, if it has come to that. The job could have written it
// too: it can only lie about its own end. `asked_bytes`: the memory that the job asked for.
std::optional<Outcome> read_end(const std::string& text, std::optional<std::int64_t> asked_bytes);

}  // namespace sl::container
