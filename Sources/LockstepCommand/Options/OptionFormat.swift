import LockstepAccounts
import LockstepMiddleware

/// Why a value is refused. The reason says which values are allowed.
struct OptionValueError: Error {
  let reason: String
}

/// How the values of an option are written: numbers, sizes, times, choices.
struct OptionFormat<Value: Sendable>: Sendable {
  let placeholder: String?
  /// The text of a default value; nil if the option's help describes the default.
  var text: @Sendable (Value) -> String? = { _ in nil }
  let read: @Sendable (String) throws(OptionValueError) -> Value

  /// The same format for a setting of another type.
  func map<Other>(
    text: @escaping @Sendable (Other) -> String? = { _ in nil },
    _ convert: @escaping @Sendable (Value) -> Other
  ) -> OptionFormat<Other> {
    OptionFormat<Other>(placeholder: placeholder, text: text) { [read] value throws(OptionValueError) in
      convert(try read(value))
    }
  }
}

extension OptionFormat {
  /// A format that refuses each value for which `read` returns nil, always with `reason`.
  init(
    _ placeholder: String?,
    text: @escaping @Sendable (Value) -> String? = { _ in nil },
    reason: String,
    read: @escaping @Sendable (String) -> Value?
  ) {
    self.init(placeholder: placeholder, text: text) { text throws(OptionValueError) in
      guard let value = read(text) else { throw OptionValueError(reason: reason) }
      return value
    }
  }
}

extension OptionFormat where Value == String {
  static func text(_ placeholder: String) -> OptionFormat {
    OptionFormat(placeholder, text: { $0.isEmpty ? nil : $0 }, reason: "it is empty") { $0.isEmpty ? nil : $0 }
  }

  /// A token that a header field can contain, because clients could send no other.
  static let token = OptionFormat("<token>", reason: "it must be visible ASCII characters without spaces") { value in
    !value.isEmpty && value.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? value : nil
  }
}

extension OptionFormat where Value == Bool {
  static let flag = OptionFormat(nil, reason: "it must be true or false") { value in
    switch value.lowercased() {
    case "true", "1", "yes", "on": true
    case "false", "0", "no", "off": false
    default: nil
    }
  }
}

extension OptionFormat where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  static var choice: OptionFormat {
    let choices = Value.allCases.map(\.rawValue)
    let reason = "it must be one of \(choices.joined(separator: ", "))"
    return OptionFormat(choices.joined(separator: "|"), text: \.rawValue, reason: reason) { Value(rawValue: $0) }
  }
}

extension OptionFormat where Value == Int {
  static func integer(_ range: ClosedRange<Int>, _ placeholder: String = "<number>") -> OptionFormat {
    let reason = "it must be a whole number from \(range.lowerBound) to \(range.upperBound)"
    return OptionFormat(placeholder, text: { "\($0)" }, reason: reason) { value in
      plainNumber(value).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// A number of bytes, which the operator gives in MiB.
  static func mebibytes(_ range: ClosedRange<Int>) -> OptionFormat {
    integer(range).map(text: { "\($0 / 1_048_576)" }) { $0 * 1_048_576 }
  }

  /// Bytes: `65536`, `64KiB`, `1MiB`.
  static func size(_ range: ClosedRange<Int>) -> OptionFormat {
    let reason =
      "it must be a size such as 65536, 64KiB or 1MiB, from \(range.lowerBound) to \(range.upperBound) bytes"
    return OptionFormat("<size>", text: sizeText, reason: reason) { value in
      let (digits, unit) = parts(value)
      guard let number = plainNumber(digits), let factor = sizeUnits[unit.lowercased()],
        case let (size, overflows) = number.multipliedReportingOverflow(by: factor), !overflows, range.contains(size)
      else { return nil }
      return size
    }
  }
}

extension OptionFormat where Value == Int? {
  /// Bytes in a second; 0 sets no limit.
  static let copyRate = OptionFormat<Int>.size(0...largestSize).map(text: { sizeText($0 ?? 0) }) { $0 == 0 ? nil : $0 }
}

extension OptionFormat where Value == Duration {
  /// A time: `500ms`, `10s`, `2m`, `6h`. A number without a unit is in seconds.
  static func time(from least: Duration = .milliseconds(1)) -> OptionFormat {
    let examples = least < .seconds(1) ? "500ms, 10s or 2m" : "90s, 10m or 6h"
    let reason = "it must be a time such as \(examples), from \(timeText(least)) to 24h"
    return OptionFormat("<time>", text: timeText, reason: reason) { value in
      let (digits, unit) = parts(value)
      let milliseconds = ["": 1000, "s": 1000, "ms": 1, "m": 60_000, "h": 3_600_000]
      guard let number = plainNumber(digits), let factor = milliseconds[unit], (1...86_400_000).contains(number),
        number * factor <= 86_400_000, .milliseconds(number * factor) >= least
      else { return nil }
      return .milliseconds(number * factor)
    }
  }

  static func days(_ range: ClosedRange<Int>) -> OptionFormat {
    OptionFormat<Int>.integer(range, "<days>").map(text: { "\($0.components.seconds / 86_400)" }) {
      .seconds($0 * 86_400)
    }
  }
}

extension OptionFormat where Value == RateLimit {
  /// The requests in a time, and after a comma the requests at once: `100/10s`, `100/10s,20`.
  static let rate = OptionFormat(
    "<number>/<time>[,<burst>]",
    reason: "it must be a number and a time of whole seconds such as 100/10s, or 100/10s,20; numbers from 1 to 1000000"
  ) { value in
    let words = value.split(separator: ",", omittingEmptySubsequences: false)
    let parts = (words.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
    let most = 1...1_000_000
    guard parts.count == 2, words.count <= 2, let requests = plainNumber(parts[0]), most.contains(requests),
      let time = try? OptionFormat<Duration>.time().read(String(parts[1])), time.components.attoseconds == 0,
      let burst = words.count == 2 ? plainNumber(words[1]) : requests, most.contains(burst)
    else { return nil }
    return RateLimit(requests: requests, seconds: Int(time.components.seconds), burst: burst)
  }
}

extension OptionFormat where Value == [String] {
  /// Origins in the form that browsers send, separated by commas: a scheme and a host in lower
  /// case, without a path. An origin in any other form would never match.
  static let origins = OptionFormat(placeholder: "<origins>") { value throws(OptionValueError) in
    let origins = words(value).map { $0.lowercased() }
    for origin in origins where origin != "*" {
      let rest = origin.split(separator: "/", omittingEmptySubsequences: false)
      guard rest.count == 3, rest[0].count > 1, rest[0].hasSuffix(":"), rest[1].isEmpty, !rest[2].isEmpty,
        origin.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !origin.contains(where: { "?#@*".contains($0) })
      else {
        throw OptionValueError(
          reason: "“\(origin)” is not an origin; write it as browsers do, such as https://app.example, without a path"
        )
      }
    }
    return origins
  }
}

extension OptionFormat where Value == [IPNetwork] {
  static let networks = OptionFormat(placeholder: "<networks>") { value throws(OptionValueError) in
    try words(value).map { word throws(OptionValueError) in
      if let network = IPNetwork(word) { return network }
      throw OptionValueError(
        reason: "“\(word)” is not an address or network; write 127.0.0.1, ::1, 10.0.0.0/8 or fd00::/8, without a port"
      )
    }
  }
}

/// The largest size that an option takes: 1 TiB.
let largestSize = 1_099_511_627_776

private let sizeUnits = [
  "": 1, "b": 1, "k": 1024, "kib": 1024, "m": 1_048_576, "mib": 1_048_576, "g": 1_073_741_824, "gib": 1_073_741_824,
]

func sizeText(_ size: Int) -> String {
  if size > 0, size % 1_048_576 == 0 { return "\(size / 1_048_576)MiB" }
  if size > 0, size % 1024 == 0 { return "\(size / 1024)KiB" }
  return String(size)
}

private func timeText(_ time: Duration) -> String {
  let (seconds, attoseconds) = time.components
  if attoseconds == 0, seconds > 0, seconds % 3600 == 0 { return "\(seconds / 3600)h" }
  return attoseconds == 0 ? "\(seconds)s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
}

/// ASCII digits only: no sign and no spaces.
private func plainNumber(_ text: some StringProtocol) -> Int? {
  guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
  return Int(text)
}

private func parts(_ text: String) -> (digits: Substring, unit: String) {
  let digits = text.prefix { $0.isASCII && $0.isNumber }
  return (digits, String(text.dropFirst(digits.count)))
}

/// The words between commas, without the spaces around them.
private func words(_ text: String) -> [String] {
  text.split(separator: ",").map { String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
    .filter { !$0.isEmpty }
}
