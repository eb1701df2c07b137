import LockstepHTTP

/// How far the body of the present request has come, whoever takes it: a handler, or nobody.
struct BodyProgress {
  private enum Coding {
    case length(remaining: Int)
    case chunked(ChunkedDecoder)
  }

  private var coding: Coding
  /// How many bytes of the body came so far, without the chunked coding.
  private(set) var received = 0
  /// The client sends it only after a 100, which it hasn't got.
  var awaitsContinue: Bool
  /// It could not be read to its end; where the next request begins is unknown.
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

  /// How much of it there is at least, by what came and what a chunk's size says is still to come.
  var announced: Int {
    switch coding {
    case .length: received
    case .chunked(let decoder): decoder.announced
    }
  }

  /// How much is still to come at least: nothing is known of a chunked body.
  var knownRemainder: Int {
    if case .length(let remaining) = coding { remaining } else { 0 }
  }

  /// Whether the next request can be found behind what is left, of which no more than `bound` is
  /// known to come.
  func canBeSkipped(within bound: Int) -> Bool {
    // A client that got no 100 may never send the body, and what comes next could be either.
    !isBroken && (isDone || (!awaitsContinue && knownRemainder <= bound))
  }

  /// Takes what there is of the body from the input.
  mutating func take(from input: inout InputBuffer, sink: (UnsafeRawBufferPointer) -> Void) throws(Problem) {
    switch coding {
    case .length(let remaining):
      let count = min(remaining, input.count)
      input.withBytes { sink(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
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
