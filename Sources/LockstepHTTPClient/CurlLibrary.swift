import CLockstepCurl
import Glibc

/// libcurl isn't there, or isn't as it's needed.
public struct LibraryUnavailableError: Error, Equatable, CustomStringConvertible {
  /// The file that was looked for.
  public let file: String
  /// Why it can't be used.
  public let reason: String

  /// For example: `cannot use libcurl.so.4 (Debian's package libcurl4 or libcurl3-gnutls): … No such file or directory`.
  public var description: String { "cannot use \(file) (Debian's package libcurl4 or libcurl3-gnutls): \(reason)" }
}

/// libcurl, loaded.
///
/// `@unchecked Sendable`: the functions it points to are written once, before anybody else has it, and those of libcurl
/// may be called by many threads as long as each has handles of its own.
final class CurlLibrary: @unchecked Sendable {
  /// Valid as long as this object lives.
  let functions: UnsafeMutablePointer<lockstep_curl>
  /// The file that it was loaded from.
  let file: String

  /// As Debian calls it with OpenSSL and with GnuTLS, which an image is smaller with. Both have the same functions.
  static let files = ["libcurl.so.4", "libcurl-gnutls.so.4"]

  /// Loads the first of these files that is there. Throws what is wrong with the first of all where none is.
  init(files: [String] = CurlLibrary.files) throws(LibraryUnavailableError) {
    var unavailable: LibraryUnavailableError?
    for file in files {
      var reason = [CChar](repeating: 0, count: 512)
      if let functions = lockstep_curl_load(file, &reason, reason.count) {
        self.functions = functions
        self.file = file
        return
      }
      unavailable = unavailable ?? LibraryUnavailableError(file: file, reason: Self.text(reason))
    }
    throw unavailable ?? LibraryUnavailableError(file: "libcurl", reason: "no file of it is named")
  }

  deinit {
    free(functions)
  }

  /// What C wrote, up to its zero byte.
  static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
