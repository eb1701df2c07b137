import Glibc

/// The addresses of the public internet. Not among them are those that IANA's registries of
/// special-purpose addresses (RFC 6890) call not globally reachable, and multicast.
///
/// A network may give public addresses to machines that only it should reach, and may translate
/// IPv6 addresses of its own to private IPv4 addresses. Such addresses cannot be recognised.
package enum PublicAddresses {
  /// A network with the first bits of an address, and how many they are.
  private struct Network<Bits: FixedWidthInteger & Sendable>: Sendable {
    let bits: Bits
    let length: Int

    init(_ bits: Bits, _ length: Int) {
      self.bits = bits
      self.length = length
    }

    func contains(_ address: Bits) -> Bool { (address ^ bits) >> (Bits.bitWidth - length) == 0 }
  }

  private static let special4: [Network<UInt32>] = [
    Network(0x0000_0000, 8),  // 0.0.0.0/8: this host
    Network(0x0A00_0000, 8),  // 10.0.0.0/8: private
    Network(0x6440_0000, 10),  // 100.64.0.0/10: carrier-grade NAT
    Network(0x7F00_0000, 8),  // 127.0.0.0/8: loopback
    Network(0xA83F_8110, 32),  // 168.63.129.16: Azure's agent of virtual machines
    Network(0xA9FE_0000, 16),  // 169.254.0.0/16: link-local, and the metadata of cloud providers
    Network(0xAC10_0000, 12),  // 172.16.0.0/12: private
    Network(0xC000_0000, 24),  // 192.0.0.0/24: protocol assignments
    Network(0xC000_0200, 24),  // 192.0.2.0/24: documentation
    Network(0xC058_6300, 24),  // 192.88.99.0/24: relays of 6to4
    Network(0xC0A8_0000, 16),  // 192.168.0.0/16: private
    Network(0xC612_0000, 15),  // 198.18.0.0/15: benchmarks
    Network(0xC633_6400, 24),  // 198.51.100.0/24: documentation
    Network(0xCB00_7100, 24),  // 203.0.113.0/24: documentation
    Network(0xE000_0000, 3),  // 224.0.0.0/4: multicast; 240.0.0.0/4: reserved, and broadcast
  ]

  private static let global6 = Network<UInt128>(0x2000 << 112, 3)

  /// Those inside 2000::/3. All others, such as ::1, fc00::/7, fe80::/10 and ff00::/8, are outside.
  private static let special6: [Network<UInt128>] = [
    Network(0x2001_0000 << 96, 23),  // 2001::/23: protocol assignments, such as Teredo and ORCHID
    Network(0x2001_0DB8 << 96, 32),  // 2001:db8::/32: documentation
    Network(0x2002_0000 << 96, 16),  // 2002::/16: 6to4, which leads to an IPv4 address
    Network(0x3FFF_0000 << 96, 20),  // 3fff::/20: documentation
  ]

  /// 64:ff9b::/96. In a network with IPv6 only, every IPv4 host has such an address (NAT64).
  private static let translated = Network<UInt128>(0x0064_FF9B << 96, 96)

  package static func contain(ipv4 address: UInt32) -> Bool { !special4.contains { $0.contains(address) } }

  /// IPv4-mapped addresses, such as ::ffff:1.2.3.4, are not public.
  package static func contain(ipv6 address: UInt128) -> Bool {
    if translated.contains(address) { return contain(ipv4: UInt32(truncatingIfNeeded: address)) }
    return global6.contains(address) && !special6.contains { $0.contains(address) }
  }

  /// Whether a host of a URL is written as an address that is not public, such as 10.0.0.7, 127.1
  /// or ::1, or is a name of this machine. Other names are looked up when a request connects.
  package static func isExcluded(host: String) -> Bool {
    let name = host.lowercased()
    if ["localhost", "localhost."].contains(name) || name.hasSuffix(".localhost") { return true }
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &found) == 0, let found else { return false }
    defer { freeaddrinfo(found) }
    // A successful call fills in an address of the family that it names.
    return found.pointee.ai_addr.map { !contain($0) } ?? false
  }

  /// `address` must point to a whole address of its family. Families other than IPv4 and IPv6 have
  /// no public addresses.
  static func contain(_ address: UnsafePointer<sockaddr>) -> Bool {
    let bytes = UnsafeRawPointer(address)
    switch Int32(address.pointee.sa_family) {
    case AF_INET: return contain(ipv4: UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
    case AF_INET6:
      let number = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      return contain(ipv6: UInt128(bigEndian: unsafeBitCast(number, to: UInt128.self)))
    default: return false
    }
  }
}
