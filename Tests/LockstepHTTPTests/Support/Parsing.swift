@testable import LockstepHTTP
import Testing

extension RequestParser {
  mutating func parse(_ bytes: [UInt8]) throws(Problem) -> Outcome {
    try bytes.withUnsafeBytes { bytes in Result { () throws(Problem) in try parse(bytes) } }.get()
  }
}

extension ChunkedDecoder {
  /// Decodes what is in `bytes`, appends the data to `body`, and gives how many bytes are used up.
  mutating func decode(_ bytes: [UInt8], into body: inout [UInt8]) throws(Problem) -> Int {
    var data: [UInt8] = []
    defer { body += data }
    return try bytes.withUnsafeBytes { bytes in
      Result { () throws(Problem) in try decode(bytes) { data += $0 } }
    }.get()
  }
}

/// Why a text was expected to be one thing and is another.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

/// The head of a text that holds a whole one.
func head(_ text: String, limits: Limits = Limits()) throws -> RequestHead {
  try head(Array(text.utf8), limits: limits)
}

func head(_ bytes: [UInt8], limits: Limits = Limits()) throws -> RequestHead {
  var parser = RequestParser(limits: limits)
  guard case .head(let head, _) = try parser.parse(bytes) else { throw Unexpected(description: "no whole head") }
  return head
}

/// The head of a request with these field lines beside `Host`.
func head(_ line: String = "GET / HTTP/1.1", fields: [String]) throws -> RequestHead {
  try head(([line, "Host: h"] + fields).joined(separator: "\r\n") + "\r\n\r\n")
}

/// The problem that the parser has with some bytes, or nil when it has none.
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

/// A request that has to be refused, and how.
struct Refusal: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let kind: ProblemKind
  /// What the detail must say, so that whoever reads it knows what to mend.
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

  /// A `GET` with this line behind its `Host`.
  static func field(_ line: String, _ kind: ProblemKind = .malformedRequest, saying: String) -> Refusal {
    Refusal(line, "GET / HTTP/1.1\r\nHost: h\r\n\(line)\r\n\r\n", kind, saying: saying)
  }

  /// A request with this line before a good `Host`.
  static func line(_ line: String, _ kind: ProblemKind = .malformedRequest, saying: String) -> Refusal {
    Refusal(line, "\(line)\r\nHost: h\r\n\r\n", kind, saying: saying)
  }
}

/// Expects that the request is refused as it should be.
func expectRefusal(_ expected: Refusal, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let problem = try #require(refusal(of: expected.bytes), "taken", sourceLocation: sourceLocation)
  #expect(problem.kind == expected.kind, sourceLocation: sourceLocation)
  #expect(problem.detail.contains(expected.saying), "\(problem.detail)", sourceLocation: sourceLocation)
}
