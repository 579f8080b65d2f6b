// Applies the retention rule to the database: every few seconds it determines which jobs have to go and has them
// removed a few at a time, so that no commit takes long. Lives on the core's thread.
#pragma once

#include "controller/history.h"
#include "controller/logic.h"
#include "wire/retention.h"

namespace sl::controller {

class Retention {
 public:
  Retention(wire::RetentionRule rule, Logic& logic, History& history, std::function<Instant()> clock)
      : rule_(rule), logic_(logic), history_(history), clock_(std::move(clock)) {}

  void on_turn();  // at least once a second
  const wire::RetentionRule& rule() const { return rule_; }
  std::optional<std::int64_t> bytes_used() const { return bytes_used_; }  // of the database, at the last look

  struct Look {
    std::int64_t bytes_used = 0;
    store::Removal removal;
  };
  // What has to be removed now, or part of it if it is much; `ended`: how many jobs could be removed; any number
  // if no limit needs it.
  static Result<Look> look(const wire::RetentionRule& rule, store::Reader& reader, Instant now, std::int64_t ended);

 private:
  void on_look(const Result<Look>& look);

  wire::RetentionRule rule_;
  Logic& logic_;
  History& history_;
  std::function<Instant()> clock_;
  bool is_looking_ = false;
  Instant next_look_;
  std::optional<std::int64_t> bytes_used_;
};

}  // namespace sl::controller
