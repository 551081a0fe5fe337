//===- Svg.h - rectangles, lines and text ---------------------------------===//
#ifndef ZERO_PLAN_SVG_H
#define ZERO_PLAN_SVG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <map>
#include <string>

namespace mlir::zero {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// A drawing. Coordinates are in pixels from the left upper corner.
class Svg {
public:
  /// One that is too thin to be pointed at has no `hover`, and shares an
  /// element with others of its style; one too thin to be seen is left out. A
  /// picture of a large model stays small.
  void rectangle(const Box &box, llvm::StringRef style,
                 const llvm::Twine &hover = "");
  void line(double x1, double y1, double x2, double y2, llvm::StringRef style);
  /// `anchor`: "start", "middle" or "end" of the text is at x.
  void text(double x, double y, const llvm::Twine &text,
            llvm::StringRef anchor = "start");
  /// The file, of this size; `styles` says what the style names mean, in CSS.
  std::string finish(double width, double height, llvm::StringRef styles);

private:
  /// Adds the thin rectangles since the last line or text.
  void flush();

  std::string body;
  std::map<std::string, std::string> thin; ///< by style, as data of a path
};

} // namespace mlir::zero

#endif // ZERO_PLAN_SVG_H
