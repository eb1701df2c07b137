extension RequestHead {
  /// Whether the client would take server-sent events, and as gladly as JSON (RFC 9110, 12.5.1). It must name them: who takes
  /// anything at all isn't made to read a stream.
  public var wantsEventStream: Bool {
    guard has(.accept) else { return false }
    var (events, json) = (0, 0)
    for element in list(.accept) {
      let parts = element.split(separator: ";").map { $0.trimmingSpaces().lowercased() }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Weight.thousandths($0[...]) } ?? Weight.full
      switch parts.first {
      case "text/event-stream": events = max(events, weight)
      case "application/json": json = max(json, weight)
      default: break
      }
    }
    return events > 0 && events >= json
  }
}
