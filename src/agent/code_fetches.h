// Brings the code of jobs (JobSpec::snapshot) to this server: the archive comes from the controller piece by piece, and is
// unpacked into the folder of each job. Archives stay in DATA/snapshots for a day after their last use, for other jobs
// with the same code; what has come of one when the connection breaks stays too, and the next try continues there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/threads.h"
#include "base/result.h"
#include "base/time.h"
#include "net/event_loop.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

class CodeFetches {
 public:
  struct Ports {
    std::function<void(const std::string& key, const Status& found)> found;
    std::function<void(const wire::SnapshotRead&)> ask;
  };
  CodeFetches(net::EventLoop& loop, std::string data_dir, Ports ports);

  // Sees to it that the code is in `folder`, unless that is there already. Then found(), later: "setup" if the code cannot
  // be had, "server_setup" if this server cannot keep it.
  void find(const std::string& key, const std::string& id, const std::string& folder);
  void end(const std::string& key);  // it is not needed any more
  void on_piece(const wire::SnapshotPiece& piece);
  void tick(Instant now);  // a few times a second: asks again for what has not come

 private:
  struct Wanted {
    std::string id, folder;
  };
  struct Asked {
    Instant again;    // when it is asked for again
    int damaged = 0;  // times that it came, and was not what its name says
  };
  std::string archive_of(const std::string& id) const { return dir_ + "/" + id + ".tar"; }
  std::string part_of(const std::string& id) const { return dir_ + "/" + id + ".part"; }
  bool is_wanted(const std::string& id) const;
  void ask(const std::string& id);
  void check(const std::string& id);
  void on_checked(const std::string& id, const Result<std::string>& digest);
  void unpack(const std::string& id, const std::string& folder);
  void end_all(const std::function<bool(const Wanted&)>& which, const Status& found);
  void remove_old() const;

  net::EventLoop& loop_;
  std::string dir_;
  Ports ports_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::map<std::string, Wanted> wanted_;     // by attempt
  std::map<std::string, Asked> asked_;       // by id
  std::set<std::string> checked_, folders_;  // ids whose digest is being computed, folders that are being made
  Threads threads_;
};

}  // namespace sl::agent
