import Glibc
import LockstepHTTP
import LockstepTemplates

/// The files of a new project.
struct ProjectTemplate {
  /// Where the project finds Lockstep's package.
  enum Source: Equatable {
    /// A folder, absolute or relative to the project's.
    case folder(String)
    /// A repository, and the identity that Swift's package manager gives its package.
    case repository(url: String, identity: String)
  }

  let name: String
  let source: Source

  /// The name and the dependency in the files of the template.
  private static let placeholder = "state-server"
  private static let dependency =
    #".package(name: "lockstep", path: Context.environment["LOCKSTEP_PACKAGE"] ?? "../..")"#

  var files: [(path: String, text: String)] {
    Templates.project.map { path, text in
      let text = contents(of: path, String(decoding: text, as: UTF8.self))
      return (path.replacing(Self.placeholder, with: name), text.replacing(Self.placeholder, with: name))
    }
  }

  private func contents(of path: String, _ text: String) -> String {
    switch (path, source) {
    case ("Package.swift", .folder(let folder)):
      let path = "path: Context.environment[\"LOCKSTEP_PACKAGE\"] ?? \(CodeText.literal(folder))"
      return text.replacing(Self.dependency, with: ".package(name: \"lockstep\", \(path))")
    case ("Package.swift", .repository(let url, let identity)):
      let package = ".package(url: \(CodeText.literal(url)), from: \"\(lockstepVersion)\")"
      return text.replacing(Self.dependency, with: package)
        .replacing("package: \"lockstep\"", with: "package: \(CodeText.literal(identity))")
    case ("Dockerfile", .folder(let folder)):
      return text.replacing("lockstep=../..", with: "lockstep=\(Self.shellWord(folder))")
    case ("Dockerfile", .repository):
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      let needless = ["lockstep=../..", "--from=lockstep", "LOCKSTEP_PACKAGE"]
      return lines.filter { line in !needless.contains { line.contains($0) } }.joined(separator: "\n")
        .replacing("FROM swift", with: "# docker build -t \(name) .\nFROM swift", maxReplacements: 1)
    default: return text
    }
  }

  /// A path in one line of a comment, as a word of a shell.
  private static func shellWord(_ path: String) -> String {
    let plain = path.utf8.allSatisfy { byte in
      "/._-".utf8.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
        || (0x61...0x7A).contains(byte)
    }
    return plain ? path : "'\(CodeText.comment(path).replacing("'", with: "'\\''"))'"
  }
}

extension ProjectTemplate.Source {
  /// A repository; nil if the text is not a URL.
  init?(url: String) {
    guard url.utf8.count <= 2_048, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }),
      let last = url.split(whereSeparator: { "/:".contains($0) }).last
    else { return nil }
    let identity = (last.hasSuffix(".git") ? last.dropLast(4) : last).lowercased()
    guard !identity.isEmpty else { return nil }
    self = .repository(url: url, identity: identity)
  }

  /// Whether the folder has a manifest that declares Lockstep.
  static func isPackage(_ folder: String) -> Bool {
    access("\(folder)/Package.swift", R_OK) == 0 && access("\(folder)/Sources/LockstepCommand", F_OK) == 0
  }

  /// The folder of the package in which this program was built: one of the folders that contain the program.
  static func ownPackage() -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0 else { return nil }
    var folder = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)[...]
    while let slash = folder.lastIndex(of: "/") {
      folder = folder[..<slash]
      if isPackage(String(folder)) { return String(folder) }
    }
    return nil
  }
}
