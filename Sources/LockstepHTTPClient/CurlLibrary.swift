import CLockstepCurl
import Glibc

package struct LibraryUnavailableError: Error, Equatable, CustomStringConvertible {
  package let file: String
  package let reason: String

  package var description: String { "cannot use \(file) (Debian's package libcurl4 or libcurl3-gnutls): \(reason)" }
}

/// The functions of libcurl, loaded at run time.
///
/// `@unchecked Sendable`: the pointers are set once. Many threads may call libcurl, each with its
/// own handles.
final class CurlLibrary: @unchecked Sendable {
  /// Valid as long as this object lives.
  let functions: UnsafeMutablePointer<lockstep_curl>
  let file: String

  /// Debian's builds with OpenSSL and with GnuTLS. With GnuTLS, a container image is smaller.
  static let files = ["libcurl.so.4", "libcurl-gnutls.so.4"]

  /// Loads the first available file. If none is available, throws the error of the first file.
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

  static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
