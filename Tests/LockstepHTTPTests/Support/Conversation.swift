@testable import LockstepHTTP

/// Describes what a server reads from the bytes of a client, one line each: every head with all its
/// parts, every body, and the end. Two ways to split the same bytes must give the same description.
func conversation(_ pieces: [[UInt8]], limits: Limits = Limits(), takesEmptyLines: Bool = false) -> [String] {
  var conversation = Conversation(limits: limits, takesEmptyLines: takesEmptyLines)
  for piece in pieces { conversation.receive(piece) }
  return conversation.end()
}

/// Acts as a connection: it keeps the bytes that the parser has not consumed, and passes them on
/// with the next ones.
private struct Conversation {
  private enum Stage {
    case head
    case length(remaining: Int)
    case chunked(ChunkedDecoder)
    case over
  }

  private let limits: Limits
  private let takesEmptyLines: Bool
  private var parser: RequestParser
  private var stage = Stage.head
  private var pending: [UInt8] = []
  private var body: [UInt8] = []
  private var told: [String] = []

  init(limits: Limits, takesEmptyLines: Bool) {
    self.limits = limits
    self.takesEmptyLines = takesEmptyLines
    parser = RequestParser(limits: limits)
  }

  mutating func receive(_ piece: [UInt8]) {
    pending += piece
    do throws(Problem) {
      while try step() {}
    } catch {
      if !body.isEmpty { told.append("began a body: \(text(body))") }
      told.append("refused: \(error.kind.status.code) \(error.kind.slug): \(error.detail)")
      stage = .over
    }
  }

  /// Returns the description and the remaining bytes, because no byte may be lost or used twice.
  consuming func end() -> [String] {
    switch stage {
    case .over: break
    case .head: told.append("waits for a head with \(pending.count) bytes")
    case .length(let remaining): told.append("waits for \(remaining) more bytes after: \(text(body))")
    case .chunked: told.append("waits for more chunks after: \(text(body)), with \(pending.count) bytes")
    }
    return told
  }

  /// Consumes as many of the pending bytes as possible. Returns whether there may be more to
  /// consume.
  private mutating func step() throws(Problem) -> Bool {
    switch stage {
    case .over:
      return false
    case .head:
      guard case .head(let head, let consumed) = try parser.parse(pending) else {
        if takesEmptyLines { pending.removeFirst(parser.takeEmptyLines()) }
        return false
      }
      pending.removeFirst(consumed)
      told.append("\(consumed) bytes: \(describe(head))")
      begin(head.body)
      return true
    case .length(let remaining):
      let count = min(remaining, pending.count)
      body += pending.prefix(count)
      pending.removeFirst(count)
      stage = .length(remaining: remaining - count)
      guard count == remaining else { return false }
      endBody()
      return true
    case .chunked(var decoder):
      let used = try decoder.decode(pending, into: &body)
      pending.removeFirst(used)
      stage = .chunked(decoder)
      guard decoder.isDone else { return false }
      endBody()
      return true
    }
  }

  private mutating func begin(_ framing: RequestHead.Body) {
    body = []
    switch framing {
    case .none: stage = .head
    case .length(let length): stage = .length(remaining: length)
    case .chunked: stage = .chunked(ChunkedDecoder(limits: limits))
    }
  }

  private mutating func endBody() {
    told.append("body: \(text(body))")
    body = []
    stage = .head
  }
}

/// All parts of a head, in one line.
func describe(_ head: RequestHead) -> String {
  let fields = head.bytes.withUnsafeBytes { bytes in
    head.fieldPlaces.map { "\(text(bytes.slice($0.name)))=\(text(bytes.slice($0.value)))" }
  }
  return [
    head.method.name, "\(head.targetForm)", "path \(head.path)", "query \(head.query)",
    head.isVersion11 ? "1.1" : "1.0", "body \(head.body)", head.keepsAlive ? "keep" : "close",
    head.expectsContinue ? "expects" : "sends", fields.joined(separator: "; "),
  ].joined(separator: " | ")
}

/// Bytes as readable text for a failure. Every byte is one character.
func text(_ bytes: some Sequence<UInt8>) -> String {
  String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
