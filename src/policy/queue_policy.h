// The base of policies with one waiting order: the lines, built by attach() and updated by notice(). Such a policy
// defines the key of a waiting job and how many GPUs it would get, and decides by walking the lines.
#pragma once

#include "policy/policy.h"
#include "policy/waiting_lines.h"

namespace sl {

template <typename Key>
class QueuePolicy : public Policy {
 public:
  void attach(const Snapshot& snapshot) override {
    lines_.clear();
    for (const JobIndex job : snapshot.waiting) enter(snapshot, job);
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    if (kind == NoticeKind::waiting) enter(snapshot, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) lines_.erase(job);
  }

  int gpus_least(const Job& job) const override { return gpus_of(job); }

  std::vector<JobIndex> queue_order(const View&) const override {
    std::vector<JobIndex> order;
    order.reserve(lines_.size());
    for (Walk walk(lines_); !walk.done(); walk.next()) order.push_back(walk.job());
    return order;
  }

 protected:
  using Walk = typename WaitingLines<Key>::Walk;

  virtual Key key_of(const Snapshot& snapshot, const Job& job) = 0;
  virtual int gpus_of(const Job& job) const { return job.request.gpus; }
  virtual Spread spread_of(const Job&) const { return Spread::few; }
  // Whether each shape of job has its own line, which a pass can close. Policies that never do need only one.
  virtual bool has_line_per_shape() const { return true; }

  // For keys that depend on estimates: moves every waiting job to where it belongs now.
  void rekey_all(const Snapshot& snapshot) {
    lines_.rekey_all([&](JobIndex job) { return key_of(snapshot, snapshot.job(job)); });
  }
  // Only these waiting jobs have moved.
  void rekey(const Snapshot& snapshot, const std::vector<JobIndex>& jobs) {
    if (!jobs.empty()) lines_.rekey(jobs, [&](JobIndex job) { return key_of(snapshot, snapshot.job(job)); });
  }

  WaitingLines<Key> lines_;

 private:
  void enter(const Snapshot& snapshot, JobIndex job) {
    const Job& entered = snapshot.job(job);
    if (!has_line_per_shape()) return lines_.insert_into(0, job, key_of(snapshot, entered));
    lines_.insert(job, entered, gpus_of(entered), key_of(snapshot, entered), spread_of(entered));
  }
};

// A queue ordered by priority and arrival.
class ArrivalPolicy : public QueuePolicy<ArrivalKey> {
 protected:
  ArrivalKey key_of(const Snapshot&, const Job& job) override { return ArrivalKey::of(job); }
};

}  // namespace sl
