import LockstepHTTP

/// Takes the body of the current request out of the input.
struct BodyReader {
  private enum Coding {
    case length(remaining: Int)
    case chunked(ChunkedDecoder)
  }

  private var coding: Coding
  /// How many bytes of the body have arrived, after chunked decoding.
  private(set) var received = 0
  var awaitsContinue: Bool
  /// Whether the end of the body, and with it the start of the next request, cannot be found.
  var isBroken = false

  init(_ head: RequestHead, limits: Limits) {
    awaitsContinue = head.expectsContinue
    switch head.body {
    case .none: coding = .length(remaining: 0)
    case .length(let length): coding = .length(remaining: length)
    case .chunked: coding = .chunked(ChunkedDecoder(limits: limits))
    }
  }

  var isDone: Bool {
    switch coding {
    case .length(let remaining): remaining == 0
    case .chunked(let decoder): decoder.isDone
    }
  }

  /// `received` plus the bytes of the current chunk that have not arrived.
  var announced: Int {
    switch coding {
    case .length: received
    case .chunked(let decoder): decoder.announced
    }
  }

  /// The number of bytes that are known to follow: 0 for a chunked body.
  var knownRemainder: Int {
    if case .length(let remaining) = coding { remaining } else { 0 }
  }

  /// Whether the server can discard the rest of the body, up to `bound`, and read the next request.
  func canBeSkipped(within bound: Int) -> Bool {
    // A client that waits for `100 Continue` may send its next request instead of the body.
    !isBroken && (isDone || (!awaitsContinue && knownRemainder <= bound))
  }

  mutating func take(from input: inout InputBuffer, sink: (UnsafeRawBufferPointer) -> Void) throws(Problem) {
    switch coding {
    case .length(let remaining):
      let count = min(remaining, input.count)
      input.withBytes { sink($0.slice(0..<count)) }
      input.removeFirst(count)
      received += count
      coding = .length(remaining: remaining - count)
    case .chunked(var decoder):
      let used = try input.withBytes { bytes throws(Problem) in try decoder.decode(bytes, sink: sink) }
      input.removeFirst(used)
      received = decoder.decoded
      coding = .chunked(decoder)
    }
  }
}

/// Decides at each deadline whether a body makes progress: it was never silent for `bodyGrace`, and
/// enough bytes have arrived since the last check. Earlier bytes do not count.
struct BodyRateCheck {
  private let bounds: ConnectionBounds
  /// The time and the count of bytes at the last check.
  private var start: Int64
  private var startCount: Int
  private var lastArrival: Int64

  init(now: Int64, count: Int, bounds: ConnectionBounds) {
    self.bounds = bounds
    start = now
    startCount = count
    lastArrival = now
  }

  mutating func bytesArrived(_ now: Int64) { lastArrival = now }

  var deadline: Int64 { min(start, lastArrival) + bounds.bodyGrace }

  /// `count`: how many bytes of the body have arrived.
  mutating func passes(_ count: Int, now: Int64) -> Bool {
    guard now < lastArrival + bounds.bodyGrace else { return false }
    guard now >= start + bounds.bodyGrace else { return true }
    guard count - startCount >= bounds.leastBody else { return false }
    start = now
    startCount = count
    return true
  }
}
