//===- Svg.cpp - rectangles, lines and text -------------------------------===//

#include "Svg.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir::zero;

namespace {

/// A coordinate, to a hundredth of a pixel and no longer than that needs.
std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2f", value);
  while (text.back() == '0')
    text.pop_back();
  if (text.back() == '.')
    text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string escape(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    result += c == '&'   ? "&amp;"
              : c == '<' ? "&lt;"
              : c == '>' ? "&gt;"
                         : std::string(1, c);
  return result;
}

} // namespace

/// In pixels: what is thinner cannot be pointed at, and cannot be seen.
static constexpr double kThin = 1.2, kInvisible = 0.02;

void Svg::flush() {
  for (const auto &[style, data] : thin)
    body += "<path class=\"" + style + "\" d=\"" + data + "\"/>\n";
  thin.clear();
}

void Svg::rectangle(const Box &box, llvm::StringRef style,
                    const llvm::Twine &hover) {
  const double least = std::min(box.width, box.height);
  if (least < kInvisible)
    return;
  if (least < kThin) {
    thin[style.str()] += "M" + number(box.x) + " " + number(box.y) + "h" +
                         number(box.width) + "v" + number(box.height) + "h" +
                         number(-box.width) + "z";
    return;
  }
  body += "<rect class=\"" + style.str() + "\" x=\"" + number(box.x) +
          "\" y=\"" + number(box.y) + "\" width=\"" + number(box.width) +
          "\" height=\"" + number(box.height) + "\"";
  std::string title = hover.str();
  body +=
      title.empty() ? "/>\n" : "><title>" + escape(title) + "</title></rect>\n";
}

void Svg::line(double x1, double y1, double x2, double y2,
               llvm::StringRef style) {
  flush();
  body += "<path class=\"" + style.str() + "\" d=\"M" + number(x1) + " " +
          number(y1) + "L" + number(x2) + " " + number(y2) + "\"/>\n";
}

void Svg::text(double x, double y, const llvm::Twine &text,
               llvm::StringRef anchor) {
  flush();
  body += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"";
  if (anchor != "start")
    body += " text-anchor=\"" + anchor.str() + "\"";
  body += ">" + escape(text.str()) + "</text>\n";
}

std::string Svg::finish(double width, double height, llvm::StringRef styles) {
  flush();
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) +
         "\" height=\"" + number(height) + "\" viewBox=\"0 0 " + number(width) +
         " " + number(height) + "\">\n<style>" + styles.str() +
         "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         body + "</svg>\n";
}
