// Reads of the past: a few separate threads query the database, so that neither the core's thread nor a commit waits
// for it. The number of waiting questions is limited.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/store.h"

namespace sl::controller {

class History {
 public:
  using Post = std::function<void(std::function<void()>)>;
  // One thread per reader. `post` runs work on the core's thread later; any thread may call it.
  History(std::vector<std::unique_ptr<store::Reader>> readers, Post post);
  ~History();  // pending questions are dropped
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // `question` runs on a thread of this pool and may already turn what it reads into what is shown; `then` gets its
  // answer on the core's thread. When too many are waiting, `then` is called at once with "too-many-reads". Called on
  // the core's thread.
  template <typename Answer>
  void ask(std::function<Result<Answer>(store::Reader&)> question, std::function<void(Result<Answer>)> then) {
    if (is_full()) return then(too_many_reads());
    put([this, question = std::move(question), then = std::move(then)](store::Reader& reader) {
      auto answer = std::make_shared<Result<Answer>>(question(reader));
      post_([then, answer] { then(std::move(*answer)); });
    });
  }

 private:
  using Question = std::function<void(store::Reader&)>;
  static Error too_many_reads();
  bool is_full();
  void put(Question question);
  void run(store::Reader& reader);

  Post post_;
  std::vector<std::unique_ptr<store::Reader>> readers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> questions_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sl::controller
