#include "cli/explaining.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/suggest.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/render.h"
#include "wire/error_codes.h"

namespace sl::cli {

void Explaining::add() {
  command_(root_, "version", "Print the version.", "  schedulearn version\n", [this] {
    const Context context = context_();
    if (context.as_json) return context.print_json(json::object{{"version", version_}}), 0;
    std::printf("schedulearn %s\n", version_);
    return 0;
  });
  command_(root_, "help", "Show help; with error CODE: what an error means and what to do about it.",
           "  schedulearn help\n  schedulearn help submit\n  schedulearn help error gpus-unsatisfiable\n"
           "  schedulearn help error\n",
           [this] { return explain(); })
      ->add_option("command", words_, "the command to explain, or error and the code of one");
  CLI::App* man = command_(root_, "man", "Print the manual page of a command, or write those of all.",
                           "  schedulearn man submit | man -l -\n  schedulearn man --out ~/.local/share/man/man1\n",
                           [this] { return print_pages(); });
  man->add_option("command", words_, "the command to explain (default: schedulearn itself)");
  man->add_option("--out", out_, "write the pages of all commands into this folder");
  command_(root_, "completion", "Print what a shell needs to complete our commands.",
           "  source <(schedulearn completion bash)\n"
           "  schedulearn completion bash > ~/.local/share/bash-completion/completions/schedulearn\n"
           "  schedulearn completion zsh > ~/.zfunc/_schedulearn\n"
           "  schedulearn completion fish > ~/.config/fish/completions/schedulearn.fish\n",
           [this] {
             std::fputs(completion_script(words_.front()), stdout);
             return 0;
           })
      ->add_option("shell", words_, "bash, zsh or fish")
      ->required()
      ->expected(1)
      ->check(one_of({"bash", "zsh", "fish"}));
}

Result<const CLI::App*> Explaining::named() const {
  const CLI::App* of = &root_;
  for (const std::string& word : words_) {
    const CLI::App* inner = find_command(*of, word);
    if (!inner) return unknown_command(root_, *of, word);
    of = inner;
  }
  return of;
}

int Explaining::explain() const {
  if (!words_.empty() && words_.front() == "error") return explain_error();
  if (words_.empty()) return std::fputs(usage_, stdout), 0;
  const auto of = named();
  if (!of.ok()) return fail(of.error());
  std::string name = root_.get_name();
  for (std::size_t i = 0; i + 1 < words_.size(); ++i) name += " " + words_[i];
  std::fputs((*of)->help(name).c_str(), stdout);
  return 0;
}

int Explaining::explain_error() const {
  const Context context = context_();
  json::array items;
  Table table({"CODE", "MEANS", "WHAT TO DO"});
  for (const wire::ErrorCode& each : wire::error_codes()) {
    if (words_.size() > 1 && each.code != words_[1]) continue;
    const std::string code(each.code), meaning(each.meaning), remedy(each.remedy);
    items.push_back(json::object{{"code", code}, {"meaning", meaning}, {"remedy", remedy}});
    table.add({code, meaning, remedy});
  }
  if (items.empty()) {
    std::vector<std::string_view> known;
    for (const wire::ErrorCode& each : wire::error_codes()) known.push_back(each.code);
    Error unknown = not_found("unknown-error-code", "there is no error code " + words_[1]);
    if (const auto near = did_you_mean(words_[1], known)) unknown.hints.push_back("did you mean " + *near + "?");
    unknown.hints.emplace_back("schedulearn help error");
    return fail(unknown);
  }
  if (context.as_json) {
    context.print_json(list_of(std::move(items)));
  } else if (words_.size() > 1 && !context.plain) {
    std::printf("%s\n\n  What it means  %s\n  What to do     %s\n", text_at(items.front(), "code").c_str(),
                text_at(items.front(), "meaning").c_str(), text_at(items.front(), "remedy").c_str());
  } else {
    std::fputs(table.text(context).c_str(), stdout);
  }
  return 0;
}

int Explaining::print_pages() const {
  if (out_.empty()) {
    const auto of = named();
    if (!of.ok()) return fail(of.error());
    std::fputs(man_page(root_, **of, *help_, version_).c_str(), stdout);
    return 0;
  }
  std::error_code failed;
  std::filesystem::create_directories(out_, failed);
  const auto pages = man_pages(root_, *help_, version_);
  for (const auto& [name, text] : pages) {
    std::ofstream file(out_ + "/" + name);
    file << text;
    if (!file.flush()) return fail(denied("not-writable", "cannot write " + out_ + "/" + name));
  }
  std::printf("Wrote %zu pages to %s.\n", pages.size(), out_.c_str());
  return 0;
}

}  // namespace sl::cli
