import LockstepJSON

/// A condition on one value of an element, such as `data.rating:ge:4`.
struct ElementCondition: Sendable {
  /// The index of the path in the query.
  let path: Int
  let comparison: JSONCondition

  /// Reads `<path>:<operator>:<value>`.
  init(_ text: String, _ paths: inout QueryPaths) throws(ElementQueryError) {
    let shown = ElementQueryError.shown(text)
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard parts.count == 3 else {
      throw ElementQueryError(
        .condition,
        "must be <path>:<operator>:<value>, such as data.done:eq:false, and is \(shown)."
      )
    }
    guard let operation = JSONCondition.Operator(rawValue: String(parts[1])) else {
      let names = JSONCondition.Operator.allCases.map(\.rawValue).joined(separator: ", ")
      throw ElementQueryError(
        .condition,
        "has no valid operator in \(shown). It must be <path>:<operator>:<value>, such as data.done:eq:false, with one "
          + "of the operators \(names)."
      )
    }
    path = try paths.index(of: parts[0], in: .condition)
    guard let comparison = JSONCondition(operation, String(parts[2])) else {
      throw ElementQueryError(
        .condition,
        "needs a JSON array after the operator in, such as data.color:in:[\"red\",\"blue\"], and is \(shown)."
      )
    }
    self.comparison = comparison
  }
}
