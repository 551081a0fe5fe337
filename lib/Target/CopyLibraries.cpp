//===- CopyLibraries.cpp - libraries beside an executable -----------------===//

#include "CopyLibraries.h"

#include "RunProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <array>
#include <filesystem>

using namespace mlir;
using namespace mlir::zero;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// The C and C++ libraries, whose newest version on a machine serves all
/// programs, and the driver's, which fit its kernel module alone.
static constexpr std::array<StringRef, 11> kMachines = {
    "ld-linux",  "libc.",       "libm.",     "libdl.",
    "librt.",    "libpthread.", "libgcc_s",  "libcuda.so",
    "libstdc++", "libnvidia",   "linux-vdso"};

/// A file that loads libraries late, by names that begin so. The loader of a
/// library is one whose name begins so; "": the program itself.
struct LateLibraries {
  StringRef loader, loaded;
};
static constexpr std::array<LateLibraries, 4> kLate = {
    LateLibraries{"", "libcudnn.so."}, LateLibraries{"", "libnvrtc.so."},
    LateLibraries{"libcudnn.so.", "libcudnn_"},
    LateLibraries{"libnvrtc.so.", "libnvrtc-builtins.so."}};

static bool isOfMachine(StringRef name) {
  return llvm::any_of(kMachines,
                      [&](StringRef part) { return name.starts_with(part); });
}

SmallVector<std::string> mlir::zero::searchLibrariesIn(StringRef folder,
                                                       StringRef output) {
  namespace files = std::filesystem;
  // $ORIGIN is the folder that the loader sees, behind links and without "..".
  const auto resolve = [](const files::path &path) {
    std::error_code code;
    files::path resolved = files::weakly_canonical(path, code);
    return code ? path.lexically_normal() : resolved;
  };
  const files::path from = resolve(files::absolute(output.str()).parent_path());
  const files::path to = resolve(files::absolute(folder.str()));
  // RPATH, unlike RUNPATH, holds for what the libraries need as well.
  return {"-Wl,--disable-new-dtags",
          "-Wl,-rpath,$ORIGIN/" + to.lexically_relative(from).string()};
}

namespace {

/// What the ELF file of a program or of a library says about its loading.
struct Loading {
  /// The program that loads it; a library has none, and is loaded by that of
  /// this machine.
  std::string loader = "/lib64/ld-linux-x86-64.so.2";
  /// Where libraries are looked for first.
  SmallVector<std::string> folders;
};

/// The libraries of others than the machine that a program needs, by path.
class Libraries {
public:
  Libraries(StringRef program, std::string &error)
      : program(program), error(error) {}

  LogicalResult collect();
  llvm::StringSet<> paths;

private:
  LogicalResult add(StringRef library);
  LogicalResult addNeeded(StringRef file);
  LogicalResult addLate(const LateLibraries &late, StringRef folder);

  StringRef program;
  std::string &error;
  Loading loading;
  /// Folders, separated by colons: the program's own, but for those beside it.
  std::string searched;
};

} // namespace

static llvm::Expected<Loading> readLoading(StringRef bytes) {
  auto elf = llvm::object::ELF64LEFile::create(bytes);
  if (!elf)
    return elf.takeError();
  Loading loading;
  auto headers = elf->program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers)
    if (header.p_type == llvm::ELF::PT_INTERP)
      loading.loader =
          bytes.substr(header.p_offset, header.p_filesz).rtrim('\0').str();
  auto entries = elf->dynamicEntries();
  if (!entries)
    return entries.takeError();
  const uint8_t *strings = nullptr;
  for (const auto &entry : *entries)
    if (entry.d_tag == llvm::ELF::DT_STRTAB) {
      auto mapped = elf->toMappedAddr(entry.getPtr());
      if (!mapped)
        return mapped.takeError();
      strings = *mapped;
    }
  for (const auto &entry : *entries)
    if (strings && (entry.d_tag == llvm::ELF::DT_RPATH ||
                    entry.d_tag == llvm::ELF::DT_RUNPATH))
      for (StringRef folder : llvm::split(
               reinterpret_cast<const char *>(strings + entry.getVal()), ':'))
        loading.folders.push_back(folder.str());
  return loading;
}

/// Adds the library, those that it needs and those that it loads late.
LogicalResult Libraries::add(StringRef library) {
  if (!paths.insert(library).second)
    return success();
  for (const LateLibraries &late : kLate)
    if (!late.loader.empty() &&
        path::filename(library).starts_with(late.loader) &&
        failed(addLate(late, path::parent_path(library))))
      return failure();
  return addNeeded(library);
}

LogicalResult Libraries::addLate(const LateLibraries &late, StringRef folder) {
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; it != end && !code;
       it.increment(code)) {
    StringRef name = path::filename(it->path());
    // Names without a version are for who links.
    if (name.starts_with(late.loaded) && name.contains(".so.") &&
        failed(add(it->path())))
      return failure();
  }
  return success();
}

LogicalResult Libraries::addNeeded(StringRef file) {
  // The loader looks for a name without a folder among libraries.
  SmallString<256> whole(file);
  fs::make_absolute(whole);
  std::string listing;
  // Copies of an earlier time are not what is looked for. To glibc's loader the
  // name of what it lists is empty.
  const std::string inhibited = ":" + std::string(whole);
  if (failed(
          runProgram({loading.loader, "--inhibit-rpath", inhibited,
                      "--library-path", searched, "--list", std::string(whole)},
                     listing))) {
    error = "'" + loading.loader + "' cannot list the libraries of '" +
            file.str() + "': " + listing;
    return failure();
  }
  SmallVector<StringRef> lines;
  StringRef(listing).split(lines, '\n');
  for (StringRef line : lines) {
    auto [name, found] = line.trim().split(" => ");
    if (found.empty() || isOfMachine(name))
      continue;
    if (!found.starts_with("/")) {
      error = "cannot copy the libraries of '" + program.str() + "': '" +
              name.str() + "' is not found; install the package that has it";
      return failure();
    }
    if (failed(add(found.rsplit(" (").first)))
      return failure();
  }
  return success();
}

LogicalResult Libraries::collect() {
  auto file = llvm::MemoryBuffer::getFile(program);
  if (!file) {
    error = "cannot read '" + program.str() + "': " + file.getError().message();
    return failure();
  }
  llvm::Expected<Loading> read = readLoading((*file)->getBuffer());
  if (!read) {
    error = "cannot read '" + program.str() +
            "': " + llvm::toString(read.takeError());
    return failure();
  }
  loading = *read;
  llvm::erase_if(loading.folders, [](StringRef folder) {
    return folder.starts_with("$ORIGIN");
  });
  searched = llvm::join(loading.folders, ":");
  if (std::optional<std::string> given =
          llvm::sys::Process::GetEnv("LD_LIBRARY_PATH"))
    searched += (searched.empty() ? "" : ":") + *given;
  for (const LateLibraries &late : kLate)
    for (const std::string &folder : loading.folders)
      if (late.loader.empty() && failed(addLate(late, folder)))
        return failure();
  return addNeeded(program);
}

/// Copies `library` as a whole or not at all; a link as what it points to.
static LogicalResult copyTo(StringRef folder, StringRef library,
                            std::string &error) {
  SmallString<256> target(folder);
  path::append(target, path::filename(library));
  if (fs::equivalent(library, target))
    return success();
  const std::string partial = (target + ".partial").str();
  llvm::FileRemover remover(partial);
  std::error_code code = fs::copy_file(library, partial);
  if (!code)
    code = fs::rename(partial, target);
  if (!code) {
    remover.releaseFile();
    return success();
  }
  error = "cannot copy '" + library.str() + "' to '" + folder.str() +
          "': " + code.message();
  return failure();
}

LogicalResult mlir::zero::copyLibraries(StringRef output, StringRef folder,
                                        std::string &error) {
  Libraries libraries(output, error);
  if (failed(libraries.collect()))
    return failure();
  std::error_code code =
      fs::create_directories(folder, /*IgnoreExisting=*/true, fs::all_all);
  if (!code && !fs::is_directory(folder))
    code = std::make_error_code(std::errc::not_a_directory);
  if (code) {
    error = "cannot make the folder '" + folder.str() +
            "' for libraries: " + code.message();
    return failure();
  }
  for (StringRef library : libraries.paths.keys())
    if (failed(copyTo(folder, library, error)))
      return failure();
  return success();
}
