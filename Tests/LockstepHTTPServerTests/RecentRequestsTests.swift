import LockstepHTTP
import Testing

@testable import LockstepHTTPServer

@Suite("The recent requests of an event loop", .timeLimit(.minutes(10)))
struct RecentRequestsTests {
  private static func head(_ path: String) throws -> [UInt8] { Array("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n".utf8) }

  /// Looks a request up as a connection does. Returns it if it was known, or is now.
  @discardableResult
  private static func arrive(_ path: String, at requests: inout RecentRequests) throws -> RecentRequest? {
    try head(path).withUnsafeBytes { bytes in
      let (key, known) = requests.find(bytes)
      if let known { return known }
      var parser = RequestParser(limits: Limits())
      guard case .head(let head, _) = try parser.parse(bytes) else { return nil }
      return requests.add(head, key)
    }
  }

  private static func response(_ size: Int) -> ReusableResponse? {
    EncodedResponse(Response(status: .ok, body: .bytes([UInt8](repeating: 0x61, count: size))))
      .map { ReusableResponse(host: "h", response: $0, validity: PermanentValidity()) }
  }

  @Test("A request is kept when it arrives for the second time, and found from then on")
  func second() throws {
    var requests = RecentRequests(capacity: 100_000)
    #expect(try Self.arrive("/", at: &requests) == nil)
    #expect(requests.count == 0)
    let kept = try #require(try Self.arrive("/", at: &requests))
    #expect(try Self.arrive("/", at: &requests) === kept)
    #expect(try Self.arrive("/a", at: &requests) == nil)
    #expect(requests.count == 1)
  }

  @Test("Nearly all requests are kept if many arrive in turns")
  func turns() throws {
    var requests = RecentRequests(capacity: 32 * 1024 * 1024)
    for _ in 1...4 { for number in 0..<10_000 { try Self.arrive("/\(number)", at: &requests) } }
    #expect(requests.count > 9_900)
  }

  @Test("Requests that never repeat evict nothing")
  func scan() throws {
    var requests = RecentRequests(capacity: 100_000)
    for _ in 1...2 { try Self.arrive("/", at: &requests) }
    let bytes = requests.bytes
    for number in 0..<10_000 { try Self.arrive("/\(number)", at: &requests) }
    #expect(requests.count == 1 && requests.bytes == bytes)
    #expect(try Self.arrive("/", at: &requests) != nil)
  }

  @Test("The requests and their responses never take more than the capacity")
  func bound() throws {
    var requests = RecentRequests(capacity: 100_000)
    for number in 0..<2_000 {
      for _ in 1...3 {
        guard let request = try Self.arrive("/\(number % 500)", at: &requests) else { continue }
        if let response = Self.response(number % 4096) { _ = requests.keep(response, for: request) }
        #expect(requests.bytes <= 100_000)
      }
    }
    #expect(requests.count > 10)
  }

  @Test("Requests that are in use stay, and the others are evicted")
  func eviction() throws {
    var requests = RecentRequests(capacity: 100_000)
    let hot = (0..<10).map { "/hot/\($0)" }
    for path in hot + hot { try Self.arrive(path, at: &requests) }
    for number in 0..<1_000 {
      for _ in 1...2 { try Self.arrive("/\(number)", at: &requests) }
      for path in hot { #expect(try Self.arrive(path, at: &requests)?.head.path == path) }
    }
    #expect(requests.count < 100)
  }

  @Test("A response of an evicted request is not kept")
  func late() throws {
    var requests = RecentRequests(capacity: 9_000)
    try Self.arrive("/a", at: &requests)
    let evicted = try #require(try Self.arrive("/a", at: &requests))
    for number in 0..<100 { for _ in 1...2 { try Self.arrive("/\(number)", at: &requests) } }
    #expect(!requests.keep(try #require(Self.response(10)), for: evicted))
    #expect(evicted.response == nil)
    #expect(requests.bytes <= 9_000)
  }

  @Test("Without a capacity, nothing is kept")
  func none() throws {
    var requests = RecentRequests(capacity: 0)
    for _ in 1...4 { #expect(try Self.arrive("/", at: &requests) == nil) }
    #expect(requests.count == 0)
  }
}
