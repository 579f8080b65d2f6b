// The jobs of the last hours, kept so that they can be run again under other policies (forecast/shadow.h). Used by the core's
// thread, except for WindowQuestion.
//
// Another window begins when what must stay the same changes, a server comes, goes or is taken out of service, after
// as many jobs and as much time as are given.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/forecasts.h"
#include "forecast/shadow.h"

namespace sl::controller {

// For one question, on the forecast's thread.
struct WindowQuestion {
  std::shared_ptr<Told> told;
  std::vector<JobCopy> jobs;  // new since the last question
  std::shared_ptr<forecast::ShadowWindow> window;
  std::int64_t number = 0;  // of the window

  // Questions must be asked in order.
  forecast::ShadowWindow::Replay replay(Forecasts& forecasts) const;
};

class PastWindow {
 public:
  PastWindow(const Logic& logic, std::size_t jobs_most, Duration most)
      : logic_(logic), jobs_most_(jobs_most), most_(most), teller_(logic), arriving_(logic) {}

  // Call it each turn: a job that comes and ends between two calls is missed.
  void look();
  // Nothing: nothing has happened since the last question, or another window has begun.
  std::shared_ptr<const WindowQuestion> ask(Instant now, const std::string& must_stay);
  void forget();
  std::int64_t number() const { return number_; }  // windows that have begun so far
  bool is_open() const { return window_ != nullptr; }
  Instant since() const { return window_->since(); }

 private:
  bool is_over(Instant now, const std::string& must_stay) const;

  const Logic& logic_;
  std::size_t jobs_most_;
  Duration most_;
  Teller teller_;
  std::shared_ptr<forecast::ShadowWindow> window_;
  std::string must_stay_;
  std::vector<int> usable_;  // GPUs
  std::int64_t number_ = 0, asked_version_ = -1;
  NewJobs arriving_;
  std::vector<JobCopy> new_jobs_;
  std::size_t jobs_ = 0;  // of the window
};

}  // namespace sl::controller
