import LockstepJSON

/// Conditions on the elements of a list, and the order in which to show them.
///
/// A list has no index for them. Each evaluation reads the texts of all elements once.
package struct ElementQuery: Sendable {
  package static let maximumConditions = 16
  package static let maximumSortKeys = 8
  /// The most names in a path.
  package static let maximumNames = 16

  /// The conditions as the client sent them.
  package let conditionTexts: [String]
  /// The sort order as the client sent it. Nil for the list's own order.
  package let orderText: String?

  /// The number of paths by which the elements are sorted.
  package var keyCount: Int { order.count }

  let conditions: [ElementCondition]
  let order: [ElementSorter.Key]
  let finder: JSONPathFinder

  /// Reads conditions such as `data.done:eq:false`, and an order such as `-data.rating,title`.
  /// `members` are the members that elements of the list can have; nil if they can have any.
  package init(conditions texts: [String], order: String?, members: [String]?) throws(ElementQueryError) {
    guard texts.count <= Self.maximumConditions else {
      throw ElementQueryError(
        .condition,
        "may occur \(Self.maximumConditions) times, and occurs \(texts.count) times."
      )
    }
    var paths = QueryPaths(members)
    var conditions: [ElementCondition] = []
    for text in texts { conditions.append(try ElementCondition(text, &paths)) }
    conditionTexts = texts
    orderText = order
    self.conditions = conditions
    self.order = try order.map { order throws(ElementQueryError) in try Self.keys(order, &paths) } ?? []
    finder = JSONPathFinder(paths.paths)
  }

  private static func keys(_ text: String, _ paths: inout QueryPaths) throws(ElementQueryError)
    -> [ElementSorter.Key]
  {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= maximumSortKeys else {
      throw ElementQueryError(.order, "may have \(maximumSortKeys) paths, and has \(parts.count).")
    }
    var keys: [ElementSorter.Key] = []
    for part in parts {
      let isDescending = part.utf8.first == UInt8(ascii: "-")
      let path = try paths.index(of: isDescending ? part.dropFirst() : part, in: .order)
      keys.append(ElementSorter.Key(path: path, isDescending: isDescending))
    }
    return keys
  }
}

extension ElementQuery: Equatable {
  /// Two queries are equal if they have the same texts.
  package static func == (left: ElementQuery, right: ElementQuery) -> Bool {
    left.orderText?.exact == right.orderText?.exact
      && left.conditionTexts.map(\.exact) == right.conditionTexts.map(\.exact)
  }
}

/// A fault of a query.
package struct ElementQueryError: Error, Equatable {
  package enum Part: Sendable {
    case condition
    case order
  }

  package let part: Part
  /// A sentence without its subject, which is the part.
  package let fault: String

  init(_ part: Part, _ fault: String) {
    self.part = part
    self.fault = fault
  }

  /// A text of the client for a message, shortened.
  static func shown(_ text: some StringProtocol) -> String {
    let start = text.unicodeScalars.prefix(64)
    return "“\(String(String.UnicodeScalarView(start)))\(start.endIndex < text.endIndex ? "…" : "")”"
  }
}

/// The different paths of a query.
struct QueryPaths {
  private(set) var paths: [[String]] = []
  private let members: [String]?

  init(_ members: [String]?) {
    self.members = members
  }

  /// Reads names with dots between them. Returns the index of the path.
  mutating func index(of text: Substring, in part: ElementQueryError.Part) throws(ElementQueryError) -> Int {
    let names = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    let shown = ElementQueryError.shown(text)
    guard !names.contains("") else {
      throw ElementQueryError(
        part,
        "needs a path, which is names with dots between them, such as data.rating. \(shown) has an empty name."
      )
    }
    guard names.count <= ElementQuery.maximumNames else {
      throw ElementQueryError(
        part,
        "may have a path of \(ElementQuery.maximumNames) names, and \(shown) has \(names.count)."
      )
    }
    if let members, !members.contains(where: { $0.hasSameBytes(as: names[0]) }) {
      throw ElementQueryError(
        part,
        "has the path \(shown). The elements of this list have no such member. They have "
          + members.joined(separator: ", ") + "."
      )
    }
    if let known = paths.firstIndex(where: { $0.elementsEqual(names) { $0.hasSameBytes(as: $1) } }) { return known }
    paths.append(names)
    return paths.count - 1
  }
}
