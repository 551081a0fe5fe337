//===- Svg.h - rectangles, lines and text ---------------------------------===//
#ifndef ZERO_PLAN_SVG_H
#define ZERO_PLAN_SVG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace mlir::zero {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// A drawing. Coordinates are in pixels from the left upper corner.
class Svg {
public:
  void rectangle(const Box &box, llvm::StringRef style,
                 const llvm::Twine &hover = "");
  void line(double x1, double y1, double x2, double y2, llvm::StringRef style);
  /// `anchor`: "start", "middle" or "end" of the text is at x.
  void text(double x, double y, const llvm::Twine &text,
            llvm::StringRef anchor = "start");
  /// The file, of this size; `styles` says what the style names mean, in CSS.
  std::string finish(double width, double height, llvm::StringRef styles) const;

private:
  std::string body;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_SVG_H
