#include "reproduce/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv.h"
#include "base/text.h"
#include "plot/render.h"
#include "plot/text.h"
#include "reproduce/charts.h"
#include "trace/text_file.h"

namespace sl::reproduce {
namespace {

constexpr const char* program = "schedulearn " SCHEDULEARN_VERSION;

// Both with the number of digits at which half the interval has two.
std::string interval_text(double mean, double half) {
  const int digits = std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 6);
  return with_commas(mean, digits) + " ± " + with_commas(half, digits);
}

std::string with_unit(const std::string& number, const std::string& unit) {
  return unit.empty() ? number : number + " " + unit;
}

const char* name_of(Basis basis) {
  switch (basis) {
    case Basis::predicted:
      return "predicted";
    case Basis::fitted:
      return "fitted";
    case Basis::input:
      return "input";
    case Basis::constant:
      return "constant";
  }
  return "";
}

const char* words_for(Basis basis) {
  return basis == Basis::fitted ? "fitted to it" : basis == Basis::input ? "is an input" : "a constant, not a result";
}

// A row of a table; its last column has no limit and is wrapped.
std::string row(const std::string& a, const std::string& b, const std::string& c) {
  const auto padded = [](const std::string& text, std::size_t width) {
    std::size_t shown = 0;
    for (const char c2 : text) shown += (static_cast<unsigned char>(c2) & 0xC0) != 0x80;
    return text + std::string(width > shown ? width - shown : 0, ' ');
  };
  return "  " + padded(a, 54) + "  " + padded(b, 22) + "  " + c + "\n";
}

std::string figures_csv(const Done& done) {
  std::string text = "key,quantity,unit,published,basis,mean,low,high,seeds,why_different\n";
  for (const Measure& m : done.experiment->measures) {
    const Estimate e = done.findings.of(m.key);
    text += fmt::format("{},{},{},{},{},{:.9g},{:.9g},{:.9g},{},{}\n", m.key, csv_field(m.quantity), m.unit,
                        m.published ? fmt::format("{:.9g}", *m.published) : csv_field(m.published_text),
                        name_of(m.basis), e.mean, e.low, e.high, e.count, csv_field(m.why));
  }
  return text;
}

std::string samples_csv(const Done& done) {
  std::string text = "key,number,value\n";
  for (const auto& [key, values] : done.findings.samples()) {
    for (std::size_t i = 0; i < values.size(); ++i) text += fmt::format("{},{},{:.9g}\n", key, i + 1, values[i]);
  }
  return text;
}

}  // namespace

MeasureText text_of(const Measure& measure, const Findings& findings) {
  const Estimate e = findings.of(measure.key);
  const double half = e.high - e.mean;
  const std::string ours = half > 1e-9 ? interval_text(e.mean, half) : number_text(e.mean);
  std::string published = measure.published ? with_unit(number_text(*measure.published), measure.unit)
                                            : (measure.published_text.empty() ? "–" : measure.published_text);
  std::string why = measure.why;
  if (measure.basis != Basis::predicted) why = std::string(words_for(measure.basis)) + (why.empty() ? "" : ": " + why);
  return {measure.quantity, std::move(published), with_unit(ours, measure.unit), std::move(why)};
}

std::vector<ClaimText> claims_of(const Done& done) {
  std::vector<ClaimText> texts;
  for (const Claim& claim : done.experiment->claims) {
    const bool holds = claim.holds(done.findings);
    ClaimText text{claim.sentence, holds ? Verdict::holds : Verdict::does_not_hold, holds ? "" : claim.otherwise,
                   !holds || claim.otherwise.empty()};
    if (claim.width) text.sentence += " (" + claim.width(done.findings) + ")";
    if (holds && !claim.one_sided.empty()) text.verdict = Verdict::not_refuted, text.why = claim.one_sided;
    if (!text.is_expected) text.why = "unexpected: it was known not to, since " + claim.otherwise;
    texts.push_back(std::move(text));
  }
  return texts;
}

const char* name_of(Verdict verdict) {
  constexpr const char* names[] = {"holds", "does not hold", "not refuted"};
  return names[static_cast<int>(verdict)];
}

const char* sign_of(Verdict verdict) {
  constexpr const char* signs[] = {"✓", "✗", "~"};
  return signs[static_cast<int>(verdict)];
}

namespace {

// "does not hold: why"
std::string verdict_text(const ClaimText& claim) {
  return name_of(claim.verdict) + (claim.why.empty() ? std::string() : ": " + claim.why);
}

}  // namespace

std::string table(const Done& done) {
  const Experiment& e = *done.experiment;
  std::string text = e.title + "\n" + e.source + "\n\n" + row("", "PUBLISHED", "OURS (95 % INTERVAL)");
  for (const Measure& measure : e.measures) {
    const MeasureText shown = text_of(measure, done.findings);
    text += row(shown.quantity, shown.published, shown.ours);
    if (!shown.why.empty()) text += "      " + shown.why + "\n";
  }
  text += "\n";
  for (const ClaimText& claim : claims_of(done)) {
    const bool is_plain = claim.verdict == Verdict::holds && claim.why.empty();
    text += fmt::format("  {} {}{}\n", sign_of(claim.verdict), claim.sentence,
                        is_plain ? "" : "\n      " + verdict_text(claim));
  }
  for (const Choice& choice : e.choices) text += "  chosen: " + choice.what + "; " + choice.why + "\n";
  for (const std::string& remark : done.findings.remarks) text += "  note: " + remark + "\n";
  return text;
}

boost::json::object to_document(const Done& done) {
  namespace json = boost::json;
  json::array measures, claims, choices;
  for (const Measure& m : done.experiment->measures) {
    const Estimate e = done.findings.of(m.key);
    json::value published = nullptr;
    if (m.published) published = *m.published;
    measures.push_back({{"key", m.key},
                        {"quantity", m.quantity},
                        {"unit", m.unit},
                        {"published", published},
                        {"published_text", m.published_text},
                        {"basis", name_of(m.basis)},
                        {"mean", e.mean},
                        {"low", e.low},
                        {"high", e.high},
                        {"values", e.count},
                        {"why_different", m.why}});
  }
  for (const ClaimText& claim : claims_of(done))
    claims.push_back({{"claim", claim.sentence},
                      {"holds", claim.verdict == Verdict::holds},
                      {"verdict", name_of(claim.verdict)},
                      {"why", claim.why}});
  for (const Choice& choice : done.experiment->choices)
    choices.push_back({{"choice", choice.what}, {"why", choice.why}});
  return {{"experiment", done.experiment->name},
          {"title", done.experiment->title},
          {"source", done.experiment->source},
          {"seeds", done.seeds},
          {"measures", measures},
          {"choices", choices},
          {"claims", claims}};
}

Status write_folder(const Done& done, const std::string& folder, const std::string& command) {
  std::vector<std::pair<std::string, std::string>> files = {{"figures.csv", figures_csv(done)},
                                                            {"samples.csv", samples_csv(done)}};
  const plot::Rendering rendering{160, plot::Theme::automatic};
  for (const Chart& chart : done.findings.charts) {
    plot::Figure figure = chart.figure;
    figure.version = program;
    figure.command = command;
    figure.caption += " Made by: " + command;
    files.emplace_back(chart.file + ".svg", plot::render(figure, rendering));
    files.emplace_back(chart.file + ".csv", plot::figure_csv(figure, rendering));
  }
  for (const auto& [name, text] : files) {
    if (Status written = trace::write_text(folder + "/" + name, text); !written.ok()) return written;
  }
  return {};
}

std::string markdown(const std::vector<Done>& all) {
  std::string text =
      "| experiment | quantity | published | ours (95 % interval) | why different |\n|---|---|---|---|---|\n";
  for (const Done& done : all) {
    for (const Measure& measure : done.experiment->measures) {
      const MeasureText shown = text_of(measure, done.findings);
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", done.experiment->name, shown.quantity, shown.published,
                          shown.ours, shown.why);
    }
  }
  text += "\n| experiment | claim | verdict |\n|---|---|---|\n";
  for (const Done& done : all) {
    for (const ClaimText& claim : claims_of(done))
      text += fmt::format("| `{}` | {} | {} |\n", done.experiment->name, claim.sentence, verdict_text(claim));
  }
  text += "\n| experiment | chosen or fitted | why |\n|---|---|---|\n";
  for (const Done& done : all) {
    for (const Choice& choice : done.experiment->choices)
      text += fmt::format("| `{}` | {} | {} |\n", done.experiment->name, choice.what, choice.why);
  }
  return text;
}

}  // namespace sl::reproduce
