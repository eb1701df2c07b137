import CCurl
import Glibc

/// libcurl isn't there, or isn't as it's needed.
public struct LibraryUnavailable: Error, Equatable, CustomStringConvertible {
  /// The file that was looked for.
  public let file: String
  /// Why it can't be used.
  public let reason: String

  /// For example: `cannot use libcurl.so.4 (Debian's package libcurl4): … No such file or directory`.
  public var description: String { "cannot use \(file) (Debian's package libcurl4): \(reason)" }
}

/// libcurl, loaded.
///
/// `@unchecked Sendable`: the functions it points to are written once, before anybody else has it, and those of libcurl
/// may be called by many threads as long as each has handles of its own.
final class CurlLibrary: @unchecked Sendable {
  /// Valid as long as this object lives.
  let functions: UnsafeMutablePointer<lockstep_curl>

  init(file: String = "libcurl.so.4") throws(LibraryUnavailable) {
    var reason = [CChar](repeating: 0, count: 512)
    guard let functions = lockstep_curl_load(file, &reason, reason.count) else {
      throw LibraryUnavailable(file: file, reason: Self.text(reason))
    }
    self.functions = functions
  }

  deinit {
    free(functions)
  }

  /// What C wrote, up to its zero byte.
  static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
