import Glibc

/// An IP address. An IPv4 address equals its mapped IPv6 form (`::ffff:192.0.2.1`).
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  let high, low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads an address without brackets or port; nil for any other text. A zone (`fe80::1%eth0`) is
  /// dropped, because it names an interface, not a client.
  public init?(_ text: some StringProtocol) {
    // No address is longer, even with a zone.
    guard text.utf8.count <= 64, !text.utf8.contains(0) else { return nil }
    let address = String(text.prefix { $0 != "%" })
    var bytes: (UInt64, UInt64) = (0, 0)
    if address.utf8.contains(UInt8(ascii: ":")) {
      guard inet_pton(AF_INET6, address, &bytes) == 1 else { return nil }
      self.init(high: UInt64(bigEndian: bytes.0), low: UInt64(bigEndian: bytes.1))
    } else {
      var short: UInt32 = 0
      guard address.utf8.count == text.utf8.count, inet_pton(AF_INET, address, &short) == 1 else { return nil }
      self.init(high: 0, low: Self.mapped | UInt64(UInt32(bigEndian: short)))
    }
  }

  private static let mapped: UInt64 = 0xFFFF_0000_0000

  var isVersion4: Bool { high == 0 && low >> 32 == 0xFFFF }

  /// Whether the address is of this machine alone: `127.0.0.0/8` or `::1`.
  package var isLoopback: Bool { isVersion4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

  /// The form of `inet_ntop`: `192.0.2.1`, `2001:db8::1`.
  public var description: String {
    if isVersion4 { return (0..<4).map { "\(low >> (24 - 8 * $0) & 0xFF)" }.joined(separator: ".") }
    var bytes = (high.bigEndian, low.bigEndian)
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count)) != nil else { return "::" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// All addresses with the same prefix: `10.0.0.0/8`, `fd00::/8`, or one address alone.
public struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
  private let start: IPAddress
  /// The number of bits in the prefix, from 0 to 128. An IPv4 prefix counts 96 bits more.
  private let length: Int

  /// Reads an address, or an address with `/` and the length of its prefix; nil for any other text.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, !first.contains("%"), let address = IPAddress(first) else { return nil }
    var length = 128
    if parts.count == 2 {
      let isShort = !first.contains(":")
      guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]),
        bits <= (isShort ? 32 : 128)
      else { return nil }
      length = isShort ? bits + 96 : bits
    }
    self.length = length
    start = Self.masked(address, length)
  }

  /// Whether the address is in the network.
  public func contains(_ address: IPAddress) -> Bool { Self.masked(address, length) == start }

  /// `10.0.0.0/8`, or an address without `/` if the network has only that address.
  public var description: String {
    if length == 128 { return "\(start)" }
    return start.isVersion4 && length >= 96 ? "\(start)/\(length - 96)" : "\(start)/\(length)"
  }

  private static func masked(_ address: IPAddress, _ length: Int) -> IPAddress {
    // A shift by 64 or more gives 0.
    IPAddress(high: address.high & ~(UInt64.max >> length), low: address.low & ~(UInt64.max >> max(0, length - 64)))
  }
}
