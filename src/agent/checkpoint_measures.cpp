#include "agent/checkpoint_measures.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace sl::agent {

struct CheckpointMeasures::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by `mutex`.
  std::deque<std::pair<std::int64_t, AttemptFiles::MeasureCheckpoint>> wanted;
  CheckpointMeasures* owner = nullptr;  // null: it has gone
};

CheckpointMeasures::CheckpointMeasures(net::EventLoop& loop, Tell tell)
    : loop_(loop), tell_(std::move(tell)), shared_(std::make_shared<Shared>()) {
  shared_->owner = this;
  std::thread([shared = shared_] {
    std::unique_lock lock(shared->mutex);
    while (true) {
      shared->changed.wait(lock, [&] { return !shared->wanted.empty() || !shared->owner; });
      if (!shared->owner) return;
      const auto [number, measure] = std::move(shared->wanted.front());
      shared->wanted.pop_front();
      lock.unlock();
      const Left left = measure();
      lock.lock();
      if (!shared->owner) return;
      shared->owner->loop_.post([shared, number = number, left] {
        if (shared->owner) shared->owner->tell(number, left);
      });
    }
  }).detach();
}

CheckpointMeasures::~CheckpointMeasures() {
  const std::lock_guard lock(shared_->mutex);
  shared_->owner = nullptr;
  shared_->changed.notify_all();
}

bool CheckpointMeasures::hold(const LauncherState& end, AttemptFiles::MeasureCheckpoint measure, Instant now) {
  if (hangs_) return false;
  held_.emplace(++last_number_, Held{end, now + patience});
  const std::lock_guard lock(shared_->mutex);
  shared_->wanted.emplace_back(last_number_, std::move(measure));
  shared_->changed.notify_all();
  return true;
}

void CheckpointMeasures::tick(Instant now) {
  while (!held_.empty() && held_.begin()->second.until <= now) {
    const LauncherState end = std::move(held_.begin()->second.end);
    held_.erase(held_.begin());
    hangs_ = true;
    tell_(end, std::nullopt);
  }
}

void CheckpointMeasures::tell(std::int64_t number, const Left& left) {
  hangs_ = false;
  const auto at = held_.find(number);
  if (at == held_.end()) return;
  const LauncherState end = std::move(at->second.end);
  held_.erase(at);
  tell_(end, left);
}

}  // namespace sl::agent
