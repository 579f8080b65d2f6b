#include "controller/history.h"

#include <utility>

namespace sl::controller {
namespace {

constexpr std::size_t questions_max = 200;

}  // namespace

History::History(std::vector<std::unique_ptr<store::Reader>> readers, Post post)
    : post_(std::move(post)), readers_(std::move(readers)) {
  for (const auto& reader : readers_) threads_.emplace_back([this, reader = reader.get()] { run(*reader); });
}

History::~History() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Error History::too_many_reads() {
  return unavailable("too-many-reads", "too many requests about the past are waiting").hint("try again in a second");
}

bool History::is_full() {
  const std::lock_guard lock(mutex_);
  return questions_.size() >= questions_max;
}

void History::put(Question question) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back(std::move(question));
  }
  changed_.notify_one();
}

void History::run(store::Reader& reader) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !questions_.empty(); });
    if (is_ending_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    question(reader);
    lock.lock();
  }
}

}  // namespace sl::controller
