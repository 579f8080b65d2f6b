#include "agent/job_files_watch.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "agent/clocks.h"

namespace sl::agent {

struct JobFilesWatch::Shared {
  std::string data_dir;
  std::atomic<bool> is_over = false;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by `mutex`.
  bool is_clear = false;                            // the agent before us may have left something
  std::optional<std::set<wire::StoredJob>> wanted;  // a look, with the jobs that are held
  std::optional<JobFilesLook> done;
  std::vector<Error> failures;
};

namespace {

// Plenty, if the disk does not say.
std::int64_t free_bytes(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
}

template <typename Shared>
void run(const std::shared_ptr<Shared>& shared) {
  constexpr int low_priority = 10;
  ::setpriority(PRIO_PROCESS, 0, low_priority);  // of this thread: jobs and heartbeats come first
  std::set<std::string> failed;
  Measurements measured;
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->wanted || !shared->is_clear || shared->is_over; });
    if (shared->is_over) return;
    const auto held = std::exchange(shared->wanted, std::nullopt);
    shared->is_clear = true;
    lock.unlock();
    const std::vector<Error> failures = clear_set_aside(shared->data_dir, failed, shared->is_over);
    std::optional<JobFilesLook> look;
    if (held) {
      const Instant begin = boot_now();
      look.emplace().jobs = find_job_files(shared->data_dir, *held, measured, shared->is_over);
      look->took = boot_now() - begin;
      look->free_bytes = free_bytes(shared->data_dir);
    }
    lock.lock();
    shared->failures.insert(shared->failures.end(), failures.begin(), failures.end());
    if (look) shared->done = std::move(look);
  }
}

}  // namespace

JobFilesWatch::JobFilesWatch(const std::string& data_dir) : shared_(std::make_shared<Shared>()) {
  shared_->data_dir = data_dir;
  std::thread([shared = shared_] { run(shared); }).detach();
}

JobFilesWatch::~JobFilesWatch() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_over = true;
  shared_->changed.notify_all();
}

void JobFilesWatch::clear() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_clear = false;
  shared_->changed.notify_all();
}

void JobFilesWatch::look(std::set<wire::StoredJob> held) {
  const std::lock_guard lock(shared_->mutex);
  shared_->wanted = std::move(held);
  shared_->changed.notify_all();
}

std::optional<JobFilesLook> JobFilesWatch::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->done, std::nullopt);
}

std::vector<Error> JobFilesWatch::take_failures() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->failures, {});
}

}  // namespace sl::agent
