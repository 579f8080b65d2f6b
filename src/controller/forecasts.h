// Forecasts of the live state, made on a thread of their own (forecast/forecast.h says how). The core's thread only
// copies its state, and the time for that is limited to a hundredth of its time. Nothing flows back: the forecasts are
// read where they are shown, and what is kept of them for later joins the next commit, or is written by itself if there is
// none for five seconds.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "controller/forecast_facts.h"
#include "controller/history.h"
#include "controller/inbox.h"
#include "controller/outlook.h"
#include "controller/recent_jobs.h"

namespace sl::controller {

class Forecasts {
 public:
  using Post = std::function<void(std::function<void()>)>;
  // `make_policy` and `continue_present` may be empty: no own policies, no forecasts at all. `post` runs work on the
  // core's thread.
  Forecasts(const Logic& logic, forecast::Continue continue_present, OwnPolicyMaker make_policy,
            std::function<Instant()> clock, Post post);
  ~Forecasts();
  Forecasts(const Forecasts&) = delete;
  Forecasts& operator=(const Forecasts&) = delete;

  const Outlook& outlook() const { return outlook_; }

  // ---- the core's thread ----
  // Begins with what was shown earlier.
  void start(History& history);
  void on_turn(Instant now);
  // When on_turn() wants to be called even if nothing happens.
  Instant next_wake() const;
  // Calls `then` when a forecast of the present state is there, or at `until`, on the core's thread.
  void when_fresh(Instant now, Instant until, std::function<void()> then);
  void at(Instant until, std::function<void()> then);  // calls it then, on the core's thread
  // Runs on the forecast's thread, in order; `work` may read what is known there.
  using Work = std::function<void(Forecasts&)>;
  void ask(Work work);
  // So many questions wait already that no other one is to be asked: each keeps a copy of the present.
  bool is_full() const { return questions_ >= questions_most; }
  Told tell_present(Instant now) { return teller_.tell(now); }  // the thread must learn() it
  const RecentJobs& recent() const { return recent_; }
  std::vector<store::EstimateRow> take_rows();  // to be written with the next commit

  // ---- the forecast's thread ----
  void learn(const Told& told);
  const KnownLengths& known() const { return known_; }
  // Widens or narrows its ranges as the record says.
  void correct(forecast::JobForecast& job, Instant now) const;
  const forecast::Continue& continue_present() const { return continue_; }
  // Makes policies like this one, as often as it is called. One from a user's source is made once and attached again.
  Result<std::function<std::unique_ptr<Policy>()>> maker_of(const PolicyChange& change);
  bool is_ending() const { return is_ending_; }
  Instant now() const { return clock_(); }
  void post(std::function<void()> work) { post_(std::move(work)); }

 private:
  static constexpr int questions_most = 16;
  struct Waiter {
    std::int64_t version;
    Instant until;
    std::function<void()> then;
  };
  void run();
  void make(const std::shared_ptr<Told>& told);
  void keep_record(const Told& told);
  void correct(forecast::Forecast& forecast);
  void serve(Instant now);
  bool is_fresh(std::int64_t version) const;

  const Logic& logic_;
  forecast::Continue continue_;
  OwnPolicyMaker make_policy_;
  std::function<Instant()> clock_;
  Post post_;
  Outlook outlook_;

  // The core's thread.
  Teller teller_;
  RecentJobs recent_;
  bool is_started_ = false;
  Instant next_at_{0};  // no earlier, unless somebody waits
  std::int64_t asked_version_ = -1;
  Instant asked_at_{0};
  std::vector<Waiter> waiters_;
  std::atomic<bool> is_busy_ = false, has_waiters_ = false, is_ending_ = false;
  std::atomic<std::int64_t> took_us_ = 0;
  std::atomic<int> questions_ = 0;

  // The forecast's thread.
  KnownLengths known_;
  forecast::Record record_;
  PolicyChange own_change_;
  std::shared_ptr<Policy> own_;  // made from `own_change_`

  std::mutex rows_mutex_;
  std::vector<store::EstimateRow> rows_;
  Inbox work_;
  std::thread thread_;
};

}  // namespace sl::controller
