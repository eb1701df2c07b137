@testable import LockstepHTTP
import Testing

extension RequestParser {
  mutating func parse(_ bytes: [UInt8]) throws(Problem) -> Outcome {
    try bytes.withUnsafeBytes { bytes in Result { () throws(Problem) in try parse(bytes) } }.get()
  }
}

extension ChunkedDecoder {
  /// Decodes `bytes`, appends the data to `body`, and returns the number of consumed bytes.
  mutating func decode(_ bytes: [UInt8], into body: inout [UInt8]) throws(Problem) -> Int {
    var data: [UInt8] = []
    defer { body += data }
    return try bytes.withUnsafeBytes { bytes in
      Result { () throws(Problem) in try decode(bytes) { data += $0 } }
    }.get()
  }
}

/// The parser returned something else than the test expected.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

/// Parses a text that contains a complete head.
func head(_ text: String, limits: Limits = Limits()) throws -> RequestHead {
  try head(Array(text.utf8), limits: limits)
}

func head(_ bytes: [UInt8], limits: Limits = Limits()) throws -> RequestHead {
  var parser = RequestParser(limits: limits)
  guard case .head(let head, _) = try parser.parse(bytes) else { throw Unexpected(description: "no whole head") }
  return head
}

/// Parses the head of a request with these field lines and `Host`.
func head(_ line: String = "GET / HTTP/1.1", fields: [String]) throws -> RequestHead {
  try head(([line, "Host: h"] + fields).joined(separator: "\r\n") + "\r\n\r\n")
}

/// The problem that the parser reports for these bytes, or nil.
func refusal(of bytes: [UInt8], limits: Limits = Limits()) -> Problem? {
  var parser = RequestParser(limits: limits)
  do {
    _ = try parser.parse(bytes)
    return nil
  } catch {
    return error
  }
}

func refusal(of text: String, limits: Limits = Limits()) -> Problem? {
  refusal(of: Array(text.utf8), limits: limits)
}

/// A request that must be refused, and the expected problem.
struct Refusal: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let kind: ProblemKind
  /// A text that the detail must contain, so that the client's developer learns what to correct.
  let saying: String
  var testDescription: String { name }

  init(_ name: String, _ text: String, _ kind: ProblemKind = .malformedRequest, saying: String) {
    self.init(name, Array(text.utf8), kind, saying: saying)
  }

  init(_ name: String, _ bytes: [UInt8], _ kind: ProblemKind = .malformedRequest, saying: String) {
    self.name = name
    self.bytes = bytes
    self.kind = kind
    self.saying = saying
  }

  /// A `GET` with this line after `Host`.
  static func field(_ line: String, _ kind: ProblemKind = .malformedRequest, saying: String) -> Refusal {
    Refusal(line, "GET / HTTP/1.1\r\nHost: h\r\n\(line)\r\n\r\n", kind, saying: saying)
  }

  /// A request with this request line and a valid `Host`.
  static func line(_ line: String, _ kind: ProblemKind = .malformedRequest, saying: String) -> Refusal {
    Refusal(line, "\(line)\r\nHost: h\r\n\r\n", kind, saying: saying)
  }
}

/// Checks that the request is refused with the expected problem.
func expectRefusal(_ expected: Refusal, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let problem = try #require(refusal(of: expected.bytes), "taken", sourceLocation: sourceLocation)
  #expect(problem.kind == expected.kind, sourceLocation: sourceLocation)
  #expect(problem.detail.contains(expected.saying), "\(problem.detail)", sourceLocation: sourceLocation)
}
