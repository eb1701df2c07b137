import LockstepReactor
import LockstepStore

/// A link to a screen: a client opens it with `POST` to its address. A coordinator may link to any
/// screen.
package struct ScreenLink: Presentable, Equatable {
  let name: String
  let arguments: [String: String]

  init(_ name: String, _ arguments: [String: String] = [:]) {
    self.name = name
    self.arguments = arguments
  }

  package var href: String {
    let query = arguments.sorted { $0.key < $1.key }.map { "\(Self.encoded($0.key))=\(Self.encoded($0.value))" }
    let path = "/v1/reactors/\(name)"
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  /// On a server, a link is presented as its address.
  package func present() -> String { href }

  /// Percent-encodes all bytes but the unreserved ones of RFC 3986.
  private static func encoded(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.append(byte)
      default: encoded += "%\(hexadecimal([byte]).uppercased())".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
