/// What the parsers need of the limits, and no more: every connection keeps a copy.
struct ParserLimits: Sendable {
  let requestLine: Int
  let headerSection: Int
  let headerFields: Int
  let chunkLine: Int

  init(_ limits: Limits) {
    requestLine = limits.requestLine
    headerSection = limits.headerSection
    headerFields = limits.headerFields
    chunkLine = limits.chunkLine
  }
}
