/// A request method. Names are case-sensitive (RFC 9110, 9.1).
public enum Method: Sendable, Hashable {
  case get
  case head
  case post
  case put
  case patch
  case delete
  case options
  /// A method that no route can have, with its name.
  case other(String)

  /// The methods that a route can have, in the order of `Allow`.
  static let known: [Method] = [.get, .head, .post, .put, .patch, .delete, .options]

  /// An index for tables: the position in `known`, or `known.count` for any other method.
  var ordinal: Int {
    switch self {
    case .get: 0
    case .head: 1
    case .post: 2
    case .put: 3
    case .patch: 4
    case .delete: 5
    case .options: 6
    case .other: 7
    }
  }

  /// The name in logs. The name of another method may be anything that a client has sent, such as a token.
  package var loggedName: String { if case .other = self { "-" } else { name } }

  /// The name on the wire.
  public var name: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .patch: "PATCH"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .other(let name): name
    }
  }

  init(_ bytes: UnsafeRawBufferPointer) {
    switch bytes.count {
    case 3 where bytes.equals("GET"): self = .get
    case 3 where bytes.equals("PUT"): self = .put
    case 4 where bytes.equals("HEAD"): self = .head
    case 4 where bytes.equals("POST"): self = .post
    case 5 where bytes.equals("PATCH"): self = .patch
    case 6 where bytes.equals("DELETE"): self = .delete
    case 7 where bytes.equals("OPTIONS"): self = .options
    default: self = .other(String(decoding: bytes, as: UTF8.self))
    }
  }
}
