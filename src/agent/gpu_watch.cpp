#include "agent/gpu_watch.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "agent/clocks.h"
#include "agent/gpu_numbers.h"

namespace sl::agent {

struct GpuWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by `mutex`.
  bool is_open = false;  // the probe is open, or there is none
  bool is_over = false;
  bool wanted = true;                 // another look is wanted
  Instant asked;                      // when the look in progress was requested
  Instant looked;                     // when the one that ended last was
  std::vector<wire::GpuReport> gpus;  // from the last completed look
  bool found = false, simulated = false;
  std::string driver_version;
};

namespace {

// The thread: one look per request. Everything that may hang is done without the lock.
template <typename Shared>
void run(const std::shared_ptr<Shared>& shared, const GpuWatch::OpenProbe& open_probe) {
  const std::unique_ptr<GpuProbe> probe = open_probe();
  const std::string driver_version = probe ? probe->driver_version() : "";
  std::vector<wire::GpuReport> gpus = probe ? probe->sample() : std::vector<wire::GpuReport>{};
  std::unique_lock lock(shared->mutex);
  shared->found = probe != nullptr, shared->simulated = probe && probe->simulated();
  shared->driver_version = driver_version;
  while (true) {
    shared->gpus = std::move(gpus);
    shared->is_open = true, shared->wanted = false, shared->looked = shared->asked;
    shared->changed.notify_all();
    shared->changed.wait(lock, [&] { return shared->wanted || shared->is_over; });
    if (shared->is_over || !probe) return;
    lock.unlock();
    gpus = probe->sample();
    lock.lock();
  }
}

}  // namespace

Result<std::unique_ptr<GpuWatch>> GpuWatch::open(OpenProbe open_probe, Duration patience) {
  std::unique_ptr<GpuWatch> watch(new GpuWatch);
  watch->patience_ = patience;
  watch->shared_ = std::make_shared<Shared>();
  Shared& shared = *watch->shared_;
  std::thread([kept = watch->shared_, open_probe = std::move(open_probe)] { run(kept, open_probe); }).detach();
  std::unique_lock lock(shared.mutex);
  if (!shared.changed.wait_for(lock, std::chrono::microseconds(patience.us), [&] { return shared.is_open; }))
    return unavailable("gpu-library-hangs", "the NVIDIA library does not answer")
        .hint("check whether nvidia-smi answers; restarting the server usually helps");
  if (!shared.found)
    return unavailable("no-gpu", "no NVIDIA GPU was found on this server").hint("simulate some: --simulate 4");
  watch->known_ = shared.gpus;
  watch->simulated_ = shared.simulated;
  watch->driver_version_ = shared.driver_version;
  return watch;
}

GpuWatch::~GpuWatch() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_over = true;
  shared_->changed.notify_all();
}

std::vector<wire::GpuReport> GpuWatch::look() {
  const std::lock_guard lock(shared_->mutex);
  const Instant now = boot_now();
  answers_ = !shared_->wanted || now - shared_->asked < patience_;
  looked_ = shared_->looked;
  if (!shared_->wanted) shared_->wanted = true, shared_->asked = now, shared_->changed.notify_all();
  return answers_ ? with_indexes_of(known_, shared_->gpus) : std::vector<wire::GpuReport>{};
}

std::vector<wire::GpuReport> GpuWatch::known_now() const {
  const std::lock_guard lock(shared_->mutex);
  const auto seen = answers_ ? with_indexes_of(known_, shared_->gpus) : std::vector<wire::GpuReport>{};
  return with_missing_marked(known_, seen);
}

}  // namespace sl::agent
