#include "store/writer.h"

#include <utility>

namespace sl::store {

Writer::Writer(Store& store) : store_(store), thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Writer::submit(Batch batch, std::function<void(Status)> done) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(batch), std::move(done)});
  }
  changed_.notify_one();
}

void Writer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Status status = store_.commit(item.batch);
    item.done(std::move(status));
    lock.lock();
  }
}

}  // namespace sl::store
