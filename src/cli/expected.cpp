#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {

int show_estimates(const Context& context) {
  const Result<json::value> record = context.get("/api/v1/estimates");
  if (!record.ok()) return fail(record.error());
  if (context.as_json) {
    context.print_json(*record);
    return 0;
  }
  Table table({"POLICY", "OF", "AHEAD", "RANGES", "HELD", "EARLIER", "LATER", "WIDTH"}, {3, 4, 5, 6, 7});
  double ranges = 0, held = 0;
  for (const json::value& rate : value_at(*record, "items").as_array()) {
    ranges += number_at(rate, "ranges"), held += number_at(rate, "held");
    table.add({text_at(rate, "policy"), text_at(rate, "target"), text_at(rate, "horizon"),
               fmt::format("{}", number_at(rate, "ranges")), fmt::format("{:.0f} %", number_at(rate, "held_pct")),
               fmt::format("{}", number_at(rate, "early")), fmt::format("{}", number_at(rate, "late")),
               duration_text(number_at(rate, "width_s"))});
  }
  if (table.empty()) {
    say_none(context,
             fmt::format("No range has been judged yet: that takes jobs whose expected time is over ({} are open).",
                         number_at(*record, "open")));
    return 0;
  }
  std::fputs(table.text(context).c_str(), stdout);
  if (context.plain) return 0;
  std::printf("%.0f of %.0f ranges held, %.0f %%; 80 %% should. %.0f are open.\n", held, ranges, 100 * held / ranges,
              number_at(*record, "open"));
  for (const json::value& by : value_at(*record, "corrections").as_array())
    std::printf("  %s: below the middle times %.2f, above it times %.2f, by the latest %.0f\n",
                text_at(by, "of").c_str(), number_at(by, "low"), number_at(by, "high"), number_at(by, "ranges"));
  return 0;
}

}  // namespace sl::cli
