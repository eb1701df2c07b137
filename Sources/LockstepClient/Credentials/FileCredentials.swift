import Foundation

/// Keeps the token in a file that only the present user of the system can read. On Apple systems, use
/// `KeychainCredentials` instead.
public final class FileCredentials: ClientCredentials {
  private let path: String

  /// Credentials in the file at this path. Its folder must exist.
  public init(_ path: String) { self.path = path }

  /// The token; nil if there is no file.
  public func token() throws -> String? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    return text.isEmpty ? nil : text
  }

  /// Replaces the file as a whole; removes it if the token is nil.
  public func save(_ token: String?) throws {
    guard let token else {
      if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
      return
    }
    // The file gets its rights before it gets the token.
    let new = "\(path)-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: new) }
    guard FileManager.default.createFile(atPath: new, contents: nil, attributes: [.posixPermissions: 0o600]) else {
      throw ClientFailure(.credentials, "The file \(new) cannot be created.")
    }
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: new))
    try file.write(contentsOf: Data(token.utf8))
    try file.synchronize()
    try file.close()
    guard rename(new, path) == 0 else { throw ClientFailure(.credentials, "The file \(path) cannot be replaced.") }
  }
}
