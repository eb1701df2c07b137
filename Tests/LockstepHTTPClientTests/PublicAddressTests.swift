import Glibc
import LockstepTestSupport
import Testing

@testable import LockstepHTTPClient

@Suite("Public addresses", .timeLimit(.minutes(10)))
struct PublicAddressTests {
  /// Whether the address, as text, is public.
  private func isPublic(_ text: String) throws -> Bool {
    var (four, six) = (sockaddr_in(), sockaddr_in6())
    if inet_pton(AF_INET, text, &four.sin_addr) == 1 {
      four.sin_family = sa_family_t(AF_INET)
      return withUnsafePointer(to: &four) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { PublicAddresses.contain($0) }
      }
    }
    try #require(inet_pton(AF_INET6, text, &six.sin6_addr) == 1, "\(text)")
    six.sin6_family = sa_family_t(AF_INET6)
    return withUnsafePointer(to: &six) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { PublicAddresses.contain($0) }
    }
  }

  @Test(
    "The first and the last address of a special network are not public; their neighbours are",
    arguments: [
      // Each row: before the network, its first and its last address, after it. `-` where a neighbour
      // is special too.
      ["-", "0.0.0.0", "0.255.255.255", "1.0.0.0"], ["9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
      ["100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"],
      ["126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"],
      ["168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"],
      ["169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"],
      ["172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"],
      ["191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
      ["192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
      ["192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"],
      ["192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"],
      ["198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"],
      ["198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"],
      ["203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"],
      ["223.255.255.255", "224.0.0.0", "255.255.255.255", "-"],
      ["-", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
      ["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
      ["2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
      ["2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
      ["3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
      ["3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "-"],
    ]
  )
  func edges(row: [String]) throws {
    for (place, address) in row.enumerated() where address != "-" {
      #expect(try isPublic(address) == [0, 3].contains(place), "\(address)")
    }
  }

  @Test(
    "Loopback, private, local and embedding forms of IPv6 are not public",
    arguments: [
      "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "fe80::1", "fec0::1", "fc00::1",
      "fd00:ec2::254", "ff02::1", "100::1", "5f00::1", "64:ff9b::127.0.0.1", "64:ff9b::10.1.2.3",
      "64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8", "64:ff9b:0:1::8.8.8.8", "2001:0:7f00:1::", "2002:7f00:1::",
      "2002:808:808::1",
    ]
  )
  func special(address: String) throws {
    #expect(try !isPublic(address))
  }

  @Test(
    "Public addresses are public, also behind NAT64",
    arguments: ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "64:ff9b::8.8.8.8"]
  )
  func ordinary(address: String) throws {
    #expect(try isPublic(address))
  }

  @Test("No address of another family is public")
  func families() {
    var address = sockaddr()
    address.sa_family = sa_family_t(AF_UNIX)
    #expect(!PublicAddresses.contain(&address))
  }
}
