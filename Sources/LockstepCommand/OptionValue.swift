import Lockstep
import LockstepAccounts
import LockstepMiddleware

/// Reads what people write as values: numbers, sizes, times, choices. Each refusal says what would be right.
enum OptionValue {
  static func integer(_ text: String, in range: ClosedRange<Int>) throws(Option.ValueError) -> Int {
    guard let number = plainNumber(text), range.contains(number) else {
      throw Option.ValueError(reason: "it must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Bytes: `65536`, `64KiB`, `1MiB`.
  static func size(_ text: String, in range: ClosedRange<Int>) throws(Option.ValueError) -> Int {
    let (digits, unit) = split(text)
    let factors = [
      "": 1, "b": 1, "k": 1024, "kib": 1024, "m": 1_048_576, "mib": 1_048_576, "g": 1_073_741_824,
      "gib": 1_073_741_824,
    ]
    guard let number = plainNumber(digits), let factor = factors[unit.lowercased()],
      case let (size, overflows) = number.multipliedReportingOverflow(by: factor), !overflows, range.contains(size)
    else {
      throw Option.ValueError(
        reason: "it must be a size such as 65536, 64KiB or 1MiB, from \(range.lowerBound) to \(range.upperBound) bytes"
      )
    }
    return size
  }

  /// A time: `10` and `10s` are seconds, `500ms` and `2m` what they say.
  static func time(_ text: String, from least: Duration = .milliseconds(1)) throws(Option.ValueError) -> Duration {
    let (digits, unit) = split(text)
    let milliseconds = ["": 1000, "s": 1000, "ms": 1, "m": 60_000, "h": 3_600_000]
    guard let number = plainNumber(digits), let factor = milliseconds[unit], (1...86_400_000).contains(number),
      number * factor <= 86_400_000, .milliseconds(number * factor) >= least
    else {
      let examples = least < .seconds(1) ? "500ms, 10s or 2m" : "90s, 10m or 6h"
      throw Option.ValueError(reason: "it must be a time such as \(examples), from \(self.text(time: least)) to 24h")
    }
    return .milliseconds(number * factor)
  }

  static func boolean(_ text: String) throws(Option.ValueError) -> Bool {
    switch text.lowercased() {
    case "true", "1", "yes", "on": return true
    case "false", "0", "no", "off": return false
    default: throw Option.ValueError(reason: "it must be true or false")
    }
  }

  static func choice<Choice: RawRepresentable & CaseIterable>(
    _ text: String
  ) throws(Option.ValueError) -> Choice where Choice.RawValue == String {
    guard let choice = Choice(rawValue: text) else {
      throw Option.ValueError(reason: "it must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  /// Origins as browsers send them: a scheme and a host in small letters, and nothing behind them. A capital is made
  /// small, since an origin that no browser sends would be allowed in vain; so is whatever else is refused here.
  static func origins(_ text: String) throws(Option.ValueError) -> [String] {
    let origins = text.split(separator: ",").map { $0.trimmingSpaces().lowercased() }.filter { !$0.isEmpty }
    for origin in origins where origin != "*" {
      let rest = origin.split(separator: "/", omittingEmptySubsequences: false)
      guard rest.count == 3, rest[0].count > 1, rest[0].hasSuffix(":"), rest[1].isEmpty, !rest[2].isEmpty,
        origin.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !origin.contains(where: { "?#@*".contains($0) })
      else {
        throw Option.ValueError(
          reason: "“\(origin)” is no origin; write it as browsers do, such as https://app.example, without a path"
        )
      }
    }
    return origins
  }

  /// Addresses and networks, separated by commas.
  static func networks(_ text: String) throws(Option.ValueError) -> [IPNetwork] {
    var networks: [IPNetwork] = []
    for word in text.split(separator: ",").map({ $0.trimmingSpaces() }) where !word.isEmpty {
      guard let network = IPNetwork(word) else {
        throw Option.ValueError(
          reason: "“\(word)” is no address or network; write 127.0.0.1, ::1, 10.0.0.0/8 or fd00::/8, without a port"
        )
      }
      networks.append(network)
    }
    return networks
  }

  /// A limit on how often: `100/10s`, and with how many at once `100/10s,20`.
  static func rate(_ text: String) throws(Option.ValueError) -> RateLimit {
    let words = text.split(separator: ",", omittingEmptySubsequences: false)
    let parts = (words.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
    let most = 1...1_000_000
    if parts.count == 2, words.count <= 2, let requests = plainNumber(parts[0]), most.contains(requests),
      let time = try? OptionValue.time(String(parts[1])), time.components.attoseconds == 0
    {
      let burst = words.count == 2 ? plainNumber(words[1]) : requests
      if let burst, most.contains(burst) {
        return RateLimit(requests: requests, seconds: Int(time.components.seconds), burst: burst)
      }
    }
    throw Option.ValueError(
      reason:
        "it must be a number and a time of whole seconds such as 100/10s, or 100/10s,20, the numbers from 1 to 1000000"
    )
  }

  static func text(size: Int) -> String {
    if size > 0, size % 1_048_576 == 0 { return "\(size / 1_048_576)MiB" }
    if size > 0, size % 1024 == 0 { return "\(size / 1024)KiB" }
    return String(size)
  }

  static func text(time: Duration) -> String {
    let (seconds, attoseconds) = time.components
    if attoseconds == 0, seconds > 0, seconds % 3600 == 0 { return "\(seconds / 3600)h" }
    return attoseconds == 0 ? "\(seconds)s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
  }

  static func text(days time: Duration) -> String { "\(time.components.seconds / 86_400)" }

  private static func plainNumber(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return Int(text)
  }

  private static func split(_ text: String) -> (digits: Substring, unit: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    return (digits, String(text.dropFirst(digits.count)))
  }
}

extension StringProtocol {
  fileprivate func trimmingSpaces() -> String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
