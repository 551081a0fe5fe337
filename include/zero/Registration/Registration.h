//===- Registration.h - everything that zero's tools know -----------------===//
#ifndef ZERO_REGISTRATION_REGISTRATION_H
#define ZERO_REGISTRATION_REGISTRATION_H

namespace mlir {
class DialectRegistry;
namespace zero {

/// The dialects that zero reads and writes, with the external models that give
/// upstream operations gradients and kernels, and launches blocks of rows.
void registerDialects(DialectRegistry &registry);

/// zero's passes and pipelines, and upstream's general transformations.
void registerPasses();

} // namespace zero
} // namespace mlir

#endif // ZERO_REGISTRATION_REGISTRATION_H
