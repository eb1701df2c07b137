import Foundation

/// A folder for the store of a test, in memory where the system has such a place.
struct TemporaryFolder: Sendable {
  let path: String

  init() throws {
    let memory = "/dev/shm"
    let parent = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
    path = "\(parent)/lockstep-test-\(UUID().uuidString)"
    let owner = [FileAttributeKey.posixPermissions: 0o700]
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false, attributes: owner)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
