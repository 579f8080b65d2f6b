#include "cli/database.h"

#include <cstdio>

#include "cli/render.h"
#include "cli/surroundings.h"

namespace sl::cli {

void DatabaseCommands::add_to(CLI::App& app) {
  CLI::App* db = app.add_subcommand("db", "The database of a data folder: backup, check, restore.");
  db->require_subcommand(1);
  db->fallthrough();
  const auto add = [&](const char* verb, const char* summary, const char* examples) {
    CLI::App* added = command_(*db, verb, summary, examples, [this, verb] { return run(verb); });
    added->add_option("--data", options_.data,
                      "the data folder (default: SCHEDULEARN_DATA, ~/.local/share/schedulearn)");
    return added;
  };
  add("backup", "Write a copy of the database to a new file, while the controller runs or not.",
      "  schedulearn db backup schedulearn-monday.db\n  schedulearn db backup --data /var/lib/schedulearn "
      "/backup/today.db\n")
      ->add_option("file", options_.file, "the file to write; it must not exist")
      ->required();
  add("check", "Read every page of a database and say what is in it.",
      "  schedulearn db check\n  schedulearn db check schedulearn-monday.db\n")
      ->add_option("file", options_.file, "a copy (default: the database of the data folder)");
  CLI::App* restore =
      add("restore", "Put a copy in the place of the database, while no controller runs; the old one is kept.",
          "  schedulearn db restore --data /var/lib/schedulearn /backup/today.db\n");
  restore->add_option("file", options_.file, "a file that db backup wrote")->required();
  restore->add_option("--confirm", confirmed_, "the data folder, instead of typing it when asked");
}

int DatabaseCommands::run(const char* verb) {
  const Context context = context_();
  options_.verb = verb;
  if (options_.data.empty()) options_.data = own_data_directory();
  if (options_.verb == "restore") {
    const Status sure = confirm_by_name(context, "replace the database of " + options_.data, options_.data, confirmed_);
    if (!sure.ok()) return fail(sure.error());
  }
  const auto report = roles_.database(options_);
  if (!report.ok()) return fail(report.error());
  if (context.is_for_programs()) return context.print_for_programs(*report), 0;
  const auto count = [&](const char* key) { return static_cast<std::size_t>(number_at(*report, key)); };
  std::printf("%s%s is whole: %s, %s, %.1f MB, schema %zu.\n",
              options_.verb == "backup"    ? "Wrote a copy. "
              : options_.verb == "restore" ? "Restored. "
                                           : "",
              text_at(*report, "file").c_str(), plural(count("jobs"), "job").c_str(),
              plural(count("events"), "event").c_str(), number_at(*report, "bytes") * 1e-6, count("schema"));
  if (const std::string kept = text_at(*report, "kept"); !kept.empty())
    std::printf("The database that was there before is %s.\n\n  schedulearn controller run --data %s\n", kept.c_str(),
                options_.data.c_str());
  return 0;
}

}  // namespace sl::cli
