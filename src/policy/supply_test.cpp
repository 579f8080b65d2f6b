#include "policy/supply.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

namespace sl {
namespace {

struct Taken {
  KindSet kinds;
  int gpus;
};

// Whether each can have its GPUs: one by one, each moving others on where it must (augmenting paths over kinds).
bool all_get_theirs(const std::vector<int>& there_are, const std::vector<Taken>& taken) {
  std::vector<int> free = there_are;
  std::vector<std::vector<int>> has(taken.size(), std::vector<int>(there_are.size(), 0));  // by job and kind
  const auto find = [&](auto&& self, std::size_t job, KindSet& seen) -> bool {
    for (std::size_t kind = 0; kind < there_are.size(); ++kind) {
      if ((taken[job].kinds >> kind & 1) == 0 || (seen >> kind & 1) != 0) continue;
      seen |= KindSet{1} << kind;
      if (free[kind] > 0) return --free[kind], ++has[job][kind], true;
      for (std::size_t other = 0; other < taken.size(); ++other) {
        if (has[other][kind] > 0 && self(self, other, seen)) return --has[other][kind], ++has[job][kind], true;
      }
    }
    return false;
  };
  for (std::size_t job = 0; job < taken.size(); ++job) {
    for (int gpu = 0; gpu < taken[job].gpus; ++gpu) {
      KindSet seen = 0;
      if (!find(find, job, seen)) return false;
    }
  }
  return true;
}

Share waiting(KindSet kinds) {
  Share share;
  share.may_use = kinds;
  return share;
}

RC_GTEST_PROP(Supply, what_is_left_can_be_had_and_not_one_more, ()) {
  const int kinds = *rc::gen::inRange(1, 7);
  std::vector<int> there_are;
  Supply supply(kinds, {});
  for (int kind = 0; kind < kinds; ++kind) {
    there_are.push_back(*rc::gen::inRange(0, 6));
    supply.add(KindSet{1} << kind, there_are.back());
  }
  std::vector<Taken> taken;
  for (int n = *rc::gen::inRange(0, 8); n > 0; --n) {
    Share share = waiting(*rc::gen::inRange<KindSet>(1, KindSet{1} << kinds));
    const int left = supply.left_for(share);
    taken.push_back({share.may_use, left + 1});
    RC_ASSERT(!all_get_theirs(there_are, taken));
    taken.back().gpus = *rc::gen::inRange(0, left + 1);
    supply.give(share, taken.back().gpus);
    RC_ASSERT(all_get_theirs(there_are, taken));
  }
}

// Ten kinds: more than all sets of them are looked at.
TEST(Supply, of_many_kinds_the_sets_that_jobs_may_use_are_looked_at) {
  const KindSet pair = 0b11, all = (KindSet{1} << 10) - 1;
  Supply supply(10, {pair, all});
  for (int kind = 0; kind < 10; ++kind) supply.add(KindSet{1} << kind, 4);
  Share both = waiting(pair), one = waiting(0b1), any = waiting(all);
  supply.give(both, 6);
  EXPECT_EQ(supply.left_for(one), 2);
  supply.give(one, 2);
  EXPECT_EQ(supply.left_for(both), 0);
  EXPECT_EQ(supply.left_for(any), 32);
  EXPECT_EQ(supply.total(), 32);
}

}  // namespace
}  // namespace sl
