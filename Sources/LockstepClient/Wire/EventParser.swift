/// Reads a stream of events (`text/event-stream`).
struct EventParser: Sendable {
  /// The longest event. A longer one is an error of the server.
  static let longest = 64 << 20

  private var rest: [UInt8] = []
  private var data: [UInt8]?

  /// Returns the data of the events that a part of the stream completes. Throws if an event is too long.
  mutating func read(_ part: [UInt8]) throws -> [[UInt8]] {
    var events: [[UInt8]] = []
    var start = part.startIndex
    while let end = part[start...].firstIndex(of: UInt8(ascii: "\n")) {
      rest += part[start..<end]
      start = end + 1
      if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
      if rest.isEmpty, let complete = data {
        events.append(complete)
        data = nil
      } else if rest.starts(with: Array("data:".utf8)) {
        let value = rest.dropFirst(5)
        if data == nil { data = [] } else { data?.append(UInt8(ascii: "\n")) }
        data?.append(contentsOf: value.first == UInt8(ascii: " ") ? value.dropFirst() : value)
      }
      rest.removeAll(keepingCapacity: true)
    }
    rest += part[start...]
    if rest.count + (data?.count ?? 0) > Self.longest {
      throw ClientFailure(
        .longResponse,
        "The server is not a Lockstep server: an event has more than \(Self.longest) bytes."
      )
    }
    return events
  }
}
