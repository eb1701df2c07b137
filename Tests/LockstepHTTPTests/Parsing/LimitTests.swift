@testable import LockstepHTTP
import Testing

@Suite("Limits accept exactly their value and nothing above it", .timeLimit(.minutes(10)))
struct LimitTests {
  /// A request line with this number of bytes.
  private func requestLine(_ size: Int) -> String {
    "GET /\(String(repeating: "p", count: size - 14)) HTTP/1.1"
  }

  /// Field lines with this number of bytes, including their line ends.
  private func section(_ size: Int) -> String {
    let host = "Host: h\r\n"
    return host + "A: \(String(repeating: "v", count: size - host.utf8.count - 5))\r\n"
  }

  @Test("The default limits are those of the documentation")
  func defaults() {
    let limits = Limits()
    #expect(limits.requestLine == 8192)
    #expect(limits.headerSection == 32768)
    #expect(limits.headerFields == 100)
    #expect(limits.body == 1_048_576)
    #expect(limits.headTime == .seconds(10))
    #expect(limits.bodyGrace == .seconds(10))
    #expect(limits.bodyRate == 1024)
    #expect(limits.responseRate == 1024)
    #expect(limits.outputMemory == 268_435_456)
    #expect(limits.idleTime == .seconds(75))
    #expect(limits.connections == 10_000)
  }

  @Test("The request line may be exactly as long as its limit", arguments: [16, 100, 8192])
  func requestLine(limit: Int) throws {
    var limits = Limits()
    limits.requestLine = limit
    #expect(refusal(of: requestLine(limit) + "\r\nHost: h\r\n\r\n", limits: limits) == nil)
    #expect(refusal(of: requestLine(limit) + "\r", limits: limits) == nil)
    for tooLong in [requestLine(limit + 1) + "\r\nHost: h\r\n\r\n", requestLine(limit + 1) + "\r"] {
      let problem = try #require(refusal(of: tooLong, limits: limits))
      #expect(problem.kind == .uriTooLong)
      #expect(problem.detail.contains("\(limit) bytes"))
    }
  }

  @Test("Empty lines before a request line do not count towards its limit")
  func emptyLinesDontCount() throws {
    var limits = Limits()
    limits.requestLine = 20
    let before = String(repeating: "\r\n", count: 10)
    #expect(refusal(of: before + requestLine(20) + "\r\nHost: h\r\n\r\n", limits: limits) == nil)
    #expect(refusal(of: before + requestLine(21) + "\r\nHost: h\r\n\r\n", limits: limits)?.kind == .uriTooLong)
    let tooMany = try #require(refusal(of: before + "\r\n", limits: limits))
    #expect(tooMany.kind == .malformedRequest)
    #expect(tooMany.detail.contains("only empty lines"))
  }

  @Test("The header section may be exactly as long as its limit", arguments: [20, 100, 32768])
  func headerSection(limit: Int) throws {
    var limits = Limits()
    limits.headerSection = limit
    let line = "GET / HTTP/1.1\r\n"
    #expect(refusal(of: line + section(limit) + "\r\n", limits: limits) == nil)
    #expect(refusal(of: line + section(limit) + "\r", limits: limits) == nil)
    for excess in 1...4 {
      let problem = try #require(refusal(of: line + section(limit + excess) + "\r\n", limits: limits))
      #expect(problem.kind == .headersTooLarge)
      #expect(problem.detail.contains("\(limit) bytes"))
    }
  }

  @Test("A header section above the limit is refused before its end arrives")
  func endlessSection() {
    let endless = "GET / HTTP/1.1\r\nA: " + String(repeating: "v", count: 40_000)
    #expect(refusal(of: endless)?.kind == .headersTooLarge)
    #expect(refusal(of: "GET /" + String(repeating: "p", count: 9_000))?.kind == .uriTooLong)
  }

  @Test("The number of fields may be exactly the limit", arguments: [1, 3, 100])
  func fields(limit: Int) throws {
    var limits = Limits()
    limits.headerFields = limit
    let request = "GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "A: b\r\n", count: limit - 1)
    #expect(refusal(of: request + "\r\n", limits: limits) == nil)
    let problem = try #require(refusal(of: request + "A: b\r\n\r\n", limits: limits))
    #expect(problem.kind == .headersTooLarge)
    #expect(problem.detail.contains("\(limit) fields"))
  }

  @Test("Each request on a connection has the full limits")
  func startAgain() throws {
    var limits = Limits()
    limits.headerFields = 1
    limits.headerSection = 9
    var parser = RequestParser(limits: limits)
    for _ in 0..<5 {
      guard case .head = try parser.parse(Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)) else {
        throw Unexpected(description: "no head")
      }
    }
  }
}
