import Foundation

/// A folder for one test. It is removed with all its contents when the test has ended.
public final class TemporaryDirectory: Sendable {
  /// The path of the folder.
  public let path: String

  /// Makes the folder.
  public init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("lockstep-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    // A store that is closing makes and removes files. One that is made during the removal stops it.
    for _ in 0..<100 {
      try? FileManager.default.removeItem(atPath: path)
      guard FileManager.default.fileExists(atPath: path) else { return }
      usleep(10_000)
    }
  }

  /// The path of a file in the folder. The file need not exist.
  public func file(_ name: String) -> String { path + "/" + name }

  /// The file's bytes.
  public func contents(of name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: file(name))))
  }

  /// Writes or replaces the file.
  public func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
  }
}
