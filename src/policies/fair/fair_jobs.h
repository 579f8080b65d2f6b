// The jobs of max-min fairness: in classes of jobs that are alike, with the time that each is due on each type of GPU
// and how far it is behind that. The order in which they are served (policies.md, Gavel).
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/fair/max_min_fractions.h"
#include "policies/fair/served_jobs.h"
#include "policy/ordered_jobs.h"
#include "policy/placer.h"
#include "policy/policy.h"

namespace sl {

class FairJobs {
 public:
  static constexpr std::uint32_t any_type = std::numeric_limits<std::uint32_t>::max();

  // The order in which jobs are read: that of their classes in the program follows from it.
  struct SubmissionKey {
    Instant submitted;
    JobId id;
    static SubmissionKey of(const Job& job) { return {job.request.submitted, job.request.id}; }
    friend auto operator<=>(const SubmissionKey&, const SubmissionKey&) = default;
  };

  // What a job is due on one type of GPU.
  struct Entry {
    JobIndex job;
    std::uint32_t of_class = 0, type = 0;  // type: a column of the fractions, or any_type for jobs wider than each
    double x = 0, priority = 0, missed = 0;
    SubmissionKey key;

    friend bool operator<(const Entry& a, const Entry& b) {  // whose turn is earlier
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.missed != b.missed) return a.missed > b.missed;
      if (a.x != b.x) return a.x > b.x;
      return std::tie(a.key, a.type) < std::tie(b.key, b.type);
    }
  };

  void attach(const View& view);
  void notice(const View& view, NoticeKind kind, JobIndex job);
  // Before entries are asked for: takes in what comes without a notice, and works out what each job is due.
  void refresh(const View& view);
  void work_out_fractions();

  std::size_t types() const { return types_.size(); }
  GpuTypeIndex type_at(std::size_t column) const { return type_at_[column]; }
  // The column of a type; types() if no server that is up has it.
  std::size_t column_of(GpuTypeIndex type) const {
    const auto at = types_.find(type);
    return at == types_.end() ? types_.size() : at->second;
  }
  // Whether, if it does not fit, no other of its class does.
  static bool is_plain(const Job& job) { return job.request.demand.is_zero() && !is_frozen(job); }

  // visit(entry) for each type the job may use; for all of them together if it is wider than each.
  template <typename Visit>
  void for_each_entry(const View& view, JobIndex index, Visit visit) const {
    if (types_.empty() || !knows(index)) return;
    const std::size_t of_class = jobs_[index].of_class;
    const Job& job = view.job(index);
    const std::vector<double>& x = classes_[of_class].x;
    const double ran_s = job.run_at(view.now).to_seconds();
    if (types_.size() == 1) return visit(entry_of(index, 0, x.empty() ? 0 : x[0], ran_s, view.now));
    if (!fits_one_type(of_class)) return visit(entry_of(index, any_type, sum(x), ran_s, view.now));
    const std::vector<double> had_s = time_by_type(view, job, x);
    for (std::uint32_t j = 0; j < x.size(); ++j) {
      if (may_run_on(of_class, j)) visit(entry_of(index, j, x[j], had_s[j], view.now));
    }
  }

 private:
  using ClassKey =
      std::tuple<int, double, int, std::vector<GpuTypeIndex>, std::int64_t, bool, ServerChoice, std::vector<int>>;
  using Jobs = OrderedJobs<SubmissionKey>;

  // Jobs that are alike.
  struct Class {
    FairClass fair;
    std::vector<bool> may_use;       // by type
    Jobs jobs;                       // all of them
    Jobs fresh;                      // those that wait and have never run: whoever was submitted first goes first
    std::vector<ServedJobs> served;  // by type: those that wait and have run
    std::vector<double> x;           // by type: what each of them is due
  };
  enum class Place : std::uint8_t { nowhere, active, fresh, served, others };
  struct Known {  // of a job
    Place place = Place::nowhere;
    bool has_class = false;   // which depends on its request, and with several types on the speeds it reports
    std::uint32_t entry = 0;  // how often it has entered
    std::uint32_t of_class = 0;
    SubmissionKey key;
  };

  void read_all(const View& view);
  void find_types(const View& view);
  void enter(const View& view, JobIndex index, bool waits);
  void enter_served(const View& view, JobIndex index, const Known& known);
  void leave(JobIndex index, bool stays_in_class = false);
  bool still_waits(const ServedJobs::Served& job) const {
    return jobs_[job.job].place == Place::served && jobs_[job.job].entry == job.entry;
  }
  bool knows(JobIndex job) const { return jobs_.contains(job) && jobs_[job].place != Place::nowhere; }
  Place place_of(const Job& job, std::size_t of_class, bool waits) const;
  std::uint32_t class_of(const View& view, const Job& job);
  FairClass make_class(const View& view, const Job& job, const std::vector<int>& speeds) const;
  bool is_full() const;
  bool may_run_on(std::size_t of_class, std::size_t type) const {
    const Class& all = classes_[of_class];
    return types_.size() == 1 || (gpus_by_type_[type] >= all.fair.gpus && all.may_use[type]);
  }
  bool fits_one_type(std::size_t of_class) const;
  Entry entry_of(JobIndex job, std::uint32_t type, double due, double had_s, Instant now) const;
  static Entry entry_of(const ServedJobs::Served& job, std::uint32_t of_class, std::uint32_t type, double due,
                        Instant now);
  std::vector<double> time_by_type(const View& view, const Job& job, const std::vector<double>& x) const;
  static double sum(const std::vector<double>& x);

  std::uint64_t generation_ = 0;  // of the free GPUs, so of the servers, as of the last reading
  GpuTypeColumns types_;
  std::vector<GpuTypeIndex> type_at_;  // by column
  std::vector<double> gpus_by_type_;
  std::deque<Class> classes_;
  std::map<ClassKey, std::uint32_t> class_at_;
  bool speeds_differ_ = false;   // those of some job do, so that it matters which jobs become classes
  std::vector<FairClass> fair_;  // of which the fractions were worked out last
  std::vector<std::vector<double>> fractions_;
  IndexedVector<JobIndex, Known> jobs_;
  std::vector<JobIndex> others_;  // that wait and are looked at one by one

 public:
  // Entries in order: of the jobs that wait, of most only as many as are looked at, and of active ones if asked for.
  class Line {
   public:
    Line(FairJobs& jobs, const View& view, bool waiting_only);
    bool done() const { return heap_.empty(); }
    const Entry& entry() const { return sources_[heap_.front().source].entry; }
    void next();
    // Jobs of this entry's class, on its type, are not visited any more, except those that are unlike others.
    void close();

   private:
    // Jobs of which none comes before `first`.
    struct Chunk {
      Entry first;
      ServedJobs::Chunk* jobs = nullptr;
      friend bool operator<(const Chunk& a, const Chunk& b) { return b.first < a.first; }
    };
    // Where an entry comes from.
    struct Origin {
      Jobs::Iterator fresh;     // its job among those of its class that have never run
      std::vector<Chunk> heap;  // not one job but those of these chunks, of which none comes before the entry
    };
    static constexpr std::uint32_t alone = 0, alike = 1;  // one job; if it does not fit, no other of its class does
    struct Source {
      Entry entry;
      std::uint32_t origin = alone;
    };
    struct Node {  // small, since many are moved
      double priority = 0;
      std::uint32_t source = 0;
    };
    auto later() const {
      return [this](const Node& a, const Node& b) {
        if (a.priority != b.priority) return a.priority < b.priority;
        return sources_[b.source].entry < sources_[a.source].entry;
      };
    }
    void put_class(std::uint32_t of_class);
    void add(const Entry& entry, std::uint32_t origin);  // to be made a heap
    void put(const Entry& entry, std::uint32_t origin);
    Source taken_out();
    Chunk chunk_of(std::uint32_t of_class, std::uint32_t type, ServedJobs::Chunk& jobs) const;
    void put_chunks(std::uint32_t origin);
    void settle();
    void open(const Source& source);

    FairJobs& jobs_;
    const View& view_;
    std::vector<Source> sources_;
    std::vector<Node> heap_;
    std::vector<Origin> origins_ = std::vector<Origin>(2);
    std::set<std::pair<std::uint32_t, std::uint32_t>> closed_;  // classes, on types
  };
};

}  // namespace sl
