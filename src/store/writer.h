// Commits in order on a separate thread, so that the core never waits for the disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "store/store.h"

namespace sl::store {

class Writer {
 public:
  // `store` must outlive the writer; no one else may commit to it meanwhile.
  explicit Writer(Store& store);
  ~Writer();  // writes what is queued, then ends
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // May be called from any thread. `done` runs on the writer's thread.
  void submit(Batch batch, std::function<void(Status)> done);

 private:
  struct Item {
    Batch batch;
    std::function<void(Status)> done;
  };
  void run();

  Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last, so that it starts when everything else is ready
};

}  // namespace sl::store
