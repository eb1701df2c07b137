import LockstepJSON
import LockstepTime

extension ClientResponse {
  /// The problem document of the server; nil if the body is anything else. A proxy or a gateway in front of the server
  /// responds with documents of its own, which may be JSON or problem documents too.
  var problem: JSON? {
    guard let json = try? JSON(parsing: body), json["status"]?.intValue == status,
      json["type"]?.stringValue?.hasPrefix("/problems/") == true
    else { return nil }
    return json
  }

  /// The time after which the client may try again, at most a day; zero if the response does not say.
  var retryAfter: Duration {
    let seconds = self["Retry-After"].flatMap { Int64($0) } ?? 0
    return .seconds(min(max(seconds, 0), 86_400))
  }

  /// The number of transactions that the user's state includes.
  var revision: Int? {
    self["Revision"].flatMap { Int($0) }.flatMap { ChangesDocument.Position.isRevision($0) ? $0 : nil }
  }
}

extension Timestamp {
  func milliseconds(since other: Timestamp) -> Int64 { millisecondsSince1970 - other.millisecondsSince1970 }
}

extension Duration {
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}

extension String {
  /// The text as a part of a query.
  var percentEncoded: String {
    var encoded = ""
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
        UInt8(ascii: "~"),
        UInt8(ascii: "/"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = Array("0123456789ABCDEF".utf8)
        encoded += "%"
        encoded.unicodeScalars.append(Unicode.Scalar(digits[Int(byte >> 4)]))
        encoded.unicodeScalars.append(Unicode.Scalar(digits[Int(byte & 15)]))
      }
    }
    return encoded
  }
}
