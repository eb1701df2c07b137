#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The network of a client, as rate limits count it: an IPv4 address, or the first 64 bits of an
/// IPv6 address. A client that has one IPv6 address normally has all 2^64 with the same first 64
/// bits.
public struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
  /// For example `192.0.2.1` or `2001:db8:0:0::/64`.
  public let description: String

  /// The network of an address without a port. An IPv4-mapped IPv6 address counts as IPv4. For any
  /// other text, such as a socket's path, the description is its first 64 bytes.
  public init(host: String) {
    // The zone, after `%`, names an interface of this machine, not the client.
    let address = host.prefix { $0 != "%" }
    var bytes = [UInt8](repeating: 0, count: 16)
    guard inet_pton(AF_INET6, String(address), &bytes) == 1 else {
      description = String(decoding: host.utf8.prefix(64), as: UTF8.self)
      return
    }
    if bytes[..<12].elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) {
      description = bytes[12...].map { "\($0)" }.joined(separator: ".")
    } else {
      let groups = stride(from: 0, to: 8, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
      description = groups.joined(separator: ":") + "::/64"
    }
  }
}
