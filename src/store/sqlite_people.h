// People in SQLite, for this folder only.
#pragma once

#include "store/people_rows.h"
#include "store/sqlite.h"

namespace sl::store {

class WritePeople {
 public:
  explicit WritePeople(soci::session& sql);
  void run(const People& people);

 private:
  Write user_, token_, announcement_;
};

People select_people(soci::session& sql);  // without what has been removed
void forget_removed_people(soci::session& sql);

}  // namespace sl::store
