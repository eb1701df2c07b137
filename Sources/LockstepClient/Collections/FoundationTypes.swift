import Foundation
import LockstepJSON
import LockstepTime

extension ForeignTypes {
  /// The JSON forms of types of Foundation:
  ///
  /// - a `Date` is a time in RFC 3339 with milliseconds, as all times of the server are;
  /// - a `Decimal` is a string, such as `"12.5"`, because a JSON number would be rounded to a binary fraction;
  /// - a `URL` is a string, and a `Data` is a string in Base64.
  ///
  /// Earlier versions of the client wrote a `Date` as the seconds since 2001, and a `Decimal` as a number. The client
  /// still reads both.
  static let foundation = ForeignTypes(
    encode: { value in
      switch value {
      case let date as Date: .string(try text(of: date))
      case let number as Decimal: .string(try text(of: number))
      case let url as URL: .string(url.absoluteString)
      case let data as Data: .string(data.base64EncodedString())
      default: nil
      }
    },
    contains: { $0 == Date.self || $0 == Decimal.self || $0 == URL.self || $0 == Data.self },
    decode: { type, json in
      switch ObjectIdentifier(type) {
      case ObjectIdentifier(Date.self): date(json)
      case ObjectIdentifier(Decimal.self): decimal(json)
      case ObjectIdentifier(URL.self): json.stringValue.flatMap { URL(string: $0) }
      default: json.stringValue.flatMap { Data(base64Encoded: $0) }
      }
    }
  )

  private static func text(of date: Date) throws -> String {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    if let text = Int64(exactly: milliseconds).flatMap({ TimeText.text($0) }) { return text }
    throw EncodingError.invalidValue(date, .init(codingPath: [], debugDescription: "RFC 3339 has no such time."))
  }

  private static func date(_ json: JSON) -> Date? {
    if let text = json.stringValue {
      return TimeText.milliseconds(text).map { Date(timeIntervalSince1970: Double($0) / 1_000) }
    }
    return json.doubleValue.map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  private static func text(of number: Decimal) throws -> String {
    if number.isFinite { return number.description }
    throw EncodingError.invalidValue(number, .init(codingPath: [], debugDescription: "It is not a number."))
  }

  private static func decimal(_ json: JSON) -> Decimal? {
    switch json {
    case .string(let text):
      // `Decimal` reads the beginning of any text, and JSON may have spaces around a number.
      guard text.utf8.allSatisfy({ $0 > 0x20 }), (try? JSON(parsing: Array(text.utf8)))?.doubleValue != nil else {
        return nil
      }
      return Decimal(string: text, locale: nil)
    case .integer(let number): return Decimal(number)
    case .unsigned(let number): return Decimal(number)
    // The shortest text of the number, not the binary fraction.
    case .double(let number): return Decimal(string: "\(number)", locale: nil)
    default: return nil
    }
  }
}
