#include "controller/past_window.h"

#include <utility>

namespace sl::controller {

forecast::ShadowWindow::Replay WindowQuestion::replay(Forecasts& forecasts) const {
  for (const JobCopy& job : jobs) window->submitted(*job);
  for (const ToldEnd& end : told->ends) window->ended(end.id, ran_s(end));
  return window->replay(told->present, forecasts.known().facts_of(*told), forecasts.known().lengths());
}

void PastWindow::look() {
  if (!window_ || new_jobs_.size() > jobs_most_) return;
  for (JobCopy& job : arriving_.take(jobs_most_)) new_jobs_.push_back(std::move(job));
}

bool PastWindow::is_over(Instant now, const std::string& must_stay) const {
  return !window_ || must_stay_ != must_stay || usable_ != forecast::usable_gpus(logic_.core().servers()) ||
         now - window_->since() > most_ || jobs_ + new_jobs_.size() > jobs_most_;
}

std::shared_ptr<const WindowQuestion> PastWindow::ask(Instant now, const std::string& must_stay) {
  const bool begins = is_over(now, must_stay);
  if (!begins && teller_.version() == asked_version_) return nullptr;
  asked_version_ = teller_.version();
  auto told = std::make_shared<Told>(teller_.tell(now));
  if (!begins) {
    jobs_ += new_jobs_.size();
    return std::make_shared<const WindowQuestion>(
        WindowQuestion{std::move(told), std::exchange(new_jobs_, {}), window_, number_});
  }
  window_ = std::make_shared<forecast::ShadowWindow>(told->present);
  must_stay_ = must_stay;
  usable_ = forecast::usable_gpus(logic_.core().servers());
  ++number_;
  new_jobs_.clear();
  arriving_.skip();
  jobs_ = window_->jobs();
  return nullptr;
}

void PastWindow::forget() {
  window_.reset();
  new_jobs_.clear();
}

}  // namespace sl::controller
