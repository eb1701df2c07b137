import CLockstepCurl
import Glibc

/// libcurl cannot be loaded, or is incomplete.
package struct LibraryUnavailableError: Error, Equatable, CustomStringConvertible {
  package let file: String
  package let reason: String

  /// For example: `cannot use libcurl.so.4 (Debian's package libcurl4 or libcurl3-gnutls): … No
  /// such file or directory`.
  package var description: String { "cannot use \(file) (Debian's package libcurl4 or libcurl3-gnutls): \(reason)" }
}

/// The functions of libcurl, loaded at run time.
///
/// `@unchecked Sendable`: the function pointers are set once, in `init`. Many threads may call
/// libcurl as long as each has its own handles.
final class CurlLibrary: @unchecked Sendable {
  /// Valid as long as this object lives.
  let functions: UnsafeMutablePointer<lockstep_curl>
  let file: String

  /// Debian's builds with OpenSSL and with GnuTLS, which makes a smaller image. Both have the same
  /// functions.
  static let files = ["libcurl.so.4", "libcurl-gnutls.so.4"]

  /// Loads the first available file. If there is none, throws the error of the first one.
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
    throw unavailable ?? LibraryUnavailableError(file: "libcurl", reason: "no file is named")
  }

  deinit { free(functions) }

  /// The text up to the zero byte.
  static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
