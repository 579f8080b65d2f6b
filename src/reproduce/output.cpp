#include "reproduce/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/csv.h"
#include "plot/render.h"
#include "plot/text.h"
#include "sim/trace_file.h"

namespace sl::reproduce {
namespace {

constexpr double chart_width_mm = 160;
constexpr const char* program = "schedulearn " SCHEDULEARN_VERSION;

std::string number_text(double value) {
  if (std::abs(value) < 1e-9) return "0";
  return std::abs(value) >= 1000 ? plot::with_commas(value, 0) : fmt::format("{:.4g}", value);
}

// Both with as many digits as half the interval has two of.
std::string interval_text(double mean, double half) {
  const int digits = std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 6);
  return plot::with_commas(mean, digits) + " ± " + plot::with_commas(half, digits);
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
  }
  return "";
}

// Lines of a table whose last column is as long as it likes, wrapped.
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
    const plot::Estimate e = done.findings.of(m.key);
    text += fmt::format("{},{},{},{},{},{:.9g},{:.9g},{:.9g},{},{}\n", m.key, plot::csv_field(m.quantity), m.unit,
                        m.published ? fmt::format("{:.9g}", *m.published) : plot::csv_field(m.published_text),
                        name_of(m.basis), e.mean, e.low, e.high, e.count, plot::csv_field(m.why));
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
  const plot::Estimate e = findings.of(measure.key);
  const double half = e.high - e.mean;
  const std::string ours = half > 1e-9 ? interval_text(e.mean, half) : number_text(e.mean);
  std::string published = measure.published ? with_unit(number_text(*measure.published), measure.unit)
                                            : (measure.published_text.empty() ? "–" : measure.published_text);
  std::string why = measure.why;
  if (measure.basis != Basis::predicted)
    why = std::string(measure.basis == Basis::fitted ? "fitted to it" : "goes in") + (why.empty() ? "" : ": " + why);
  return {measure.quantity, std::move(published), with_unit(ours, measure.unit), std::move(why)};
}

std::vector<ClaimText> claims_of(const Done& done) {
  std::vector<ClaimText> texts;
  for (const Claim& claim : done.experiment->claims) {
    const bool holds = claim.holds(done.findings);
    texts.push_back({claim.sentence, holds ? "holds" : "does not hold", holds ? "" : claim.otherwise, holds});
  }
  return texts;
}

std::string table(const Done& done) {
  const Experiment& e = *done.experiment;
  std::string text = e.title + "\n" + e.source + "\n\n" + row("", "PUBLISHED", "OURS (95 % INTERVAL)");
  for (const Measure& measure : e.measures) {
    const MeasureText shown = text_of(measure, done.findings);
    text += row(shown.quantity, shown.published, shown.ours);
    if (!shown.why.empty()) text += "      " + shown.why + "\n";
  }
  text += "\n";
  for (const ClaimText& claim : claims_of(done))
    text += fmt::format("  {} {}{}\n", claim.holds ? "✓" : "✗", claim.sentence,
                        claim.holds ? "" : ": does not hold" + (claim.why.empty() ? "" : "; " + claim.why));
  for (const std::string& remark : done.findings.remarks) text += "  note: " + remark + "\n";
  return text;
}

boost::json::object to_document(const Done& done) {
  namespace json = boost::json;
  json::array measures, claims;
  for (const Measure& m : done.experiment->measures) {
    const plot::Estimate e = done.findings.of(m.key);
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
    claims.push_back({{"claim", claim.sentence}, {"holds", claim.holds}, {"why", claim.why}});
  return {{"experiment", done.experiment->name},
          {"title", done.experiment->title},
          {"source", done.experiment->source},
          {"seeds", done.seeds},
          {"measures", measures},
          {"claims", claims}};
}

Status write_folder(const Done& done, const std::string& folder, const std::string& command) {
  std::vector<std::pair<std::string, std::string>> files = {{"figures.csv", figures_csv(done)},
                                                            {"samples.csv", samples_csv(done)}};
  const plot::Rendering rendering{chart_width_mm, plot::Theme::automatic};
  for (const Chart& chart : done.findings.charts) {
    plot::Figure figure = chart.figure;
    figure.version = program;
    figure.command = command;
    files.emplace_back(chart.file + ".svg", plot::render(figure, rendering));
    files.emplace_back(chart.file + ".csv", plot::figure_csv(figure, rendering));
  }
  for (const auto& [name, text] : files) {
    if (Status written = sim::write_text(folder + "/" + name, text); !written.ok()) return written;
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
      text += fmt::format("| `{}` | {} | {}{} |\n", done.experiment->name, claim.sentence, claim.verdict,
                          claim.why.empty() ? "" : ": " + claim.why);
  }
  return text;
}

}  // namespace sl::reproduce
