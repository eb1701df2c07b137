import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// The elements of a module's list that a request asks for.
///
/// `prefix` selects elements by their ids. `elementQuery` selects them by their values and sorts them.
/// `after` and `limit` select a page of the result.
struct ListQuery: Sendable {
  /// The most bytes of all parameters `where` and `sort` in the link to the next page. So the link is
  /// no longer than the longest request line.
  static let longestQuery = 6 * 1024

  let collection: CollectionName
  var prefix: String?
  /// The parameters `where` and `sort`. Nil if the request has neither.
  var elementQuery: ElementQuery?
  var after: String?
  var limit: Int?
  /// The parameter `at` as the client sent it: the cursor of a past state. The link to the next
  /// page repeats it.
  var at: String?

  var isWhole: Bool { prefix == nil && after == nil && limit == nil && elementQuery == nil }

  /// Reads the parameters. `members` are the members that the list's elements can have; nil if they
  /// can have any.
  init(_ collection: CollectionName, _ query: QueryParameters, members: [String]?) throws(Problem) {
    self.collection = collection
    prefix = try query.text("prefix")
    after = try query.text("after")
    limit = try query.integer("limit", in: 1...1_000_000)
    at = try query.text("at")
    elementQuery = try Self.elementQuery(query, members)
  }

  init(_ collection: CollectionName) {
    self.collection = collection
  }

  private static func elementQuery(_ query: QueryParameters, _ members: [String]?) throws(Problem) -> ElementQuery? {
    let (conditions, order) = (query.texts("where"), try query.text("sort"))
    guard !conditions.isEmpty || order != nil else { return nil }
    let elements: ElementQuery
    do throws(ElementQueryError) {
      elements = try ElementQuery(conditions: conditions, order: order, members: members)
    } catch {
      let name = error.part == .condition ? "where" : "sort"
      throw Problem(.invalidParameter, detail: "The parameter “\(name)” \(error.fault)")
    }
    let length = elements.parameters.joined(separator: "&").utf8.count
    guard length <= longestQuery else {
      throw Problem(
        .invalidParameter,
        detail:
          "The parameters “where” and “sort” may have \(longestQuery) bytes together in percent-encoding, and have "
          + "\(length). Use fewer or shorter conditions."
      )
    }
    return elements
  }

  /// The list's path below `/v1`, with all parameters percent-encoded.
  var path: String {
    var parameters: [String] = []
    if let limit { parameters.append("limit=\(limit)") }
    if let after { parameters.append("after=\(PercentEncoding.text(after))") }
    if let prefix { parameters.append("prefix=\(PercentEncoding.text(prefix))") }
    if let elementQuery { parameters += elementQuery.parameters }
    if let at { parameters.append("at=\(at)") }
    return "\(collection)?" + parameters.joined(separator: "&")
  }

  /// The cost of encoding the elements, in the unit of `BackgroundEncoder.Weight`.
  func weight(of list: ListState) -> Int {
    // The body shares the texts of a whole list.
    if isWhole { return 0 }
    var compared = 0
    if prefix != nil { compared += list.count * BackgroundEncoder.Weight.comparedElement }
    if let elementQuery { compared += elementQuery.weight(of: list) }
    guard let limit, limit < list.count else { return list.bytes + compared }
    return list.bytes / list.count * limit + compared
  }

  func representation(of view: StateView) throws(Problem) -> Representation {
    let list = view.state.list(collection)
    if isWhole, list.length <= Representation.longestArray {
      let cursor = view.cursor(list.revision)
      var body = Array(#"{"cursor":"\#(cursor.text)","count":\#(list.count),"items":["#.utf8)
      body.reserveCapacity(body.count + list.length + 2)
      list.appendText(to: &body)
      body.append(contentsOf: "]}".utf8)
      return Representation(cursor: cursor, body: body)
    }
    let page = try page(of: list)
    let content = [[UInt8]](#""count":\#(page.count),"items":["#, page.texts, "]}")
    let cursor = view.cursor(list.revision, detail: isWhole ? nil : Digest.text(of: content))
    let next = page.lastBeforeMore.map { "<\(link(after: $0.id.text, at: view.cursor))>; rel=\"next\"" }
    return Representation(cursor: cursor, rest: content, link: next)
  }

  /// The texts of the page's elements, the number of elements that the request selects, and the
  /// page's last element if more of them follow.
  private func page(of list: ListState) throws(Problem) -> (texts: [[UInt8]], count: Int, lastBeforeMore: ListItem?) {
    guard prefix != nil || elementQuery != nil else {
      let range = try range(in: list.items) { list.index(of: $0) }
      let texts = isWhole ? CollectionState.list(list).texts : list.texts(in: range)
      return (
        texts, list.count, range.isEmpty || range.upperBound == list.count ? nil : list.items[range.upperBound - 1]
      )
    }
    let matching = matching(in: list)
    let range = try range(in: matching) { after in
      list[after].flatMap { item in matching.firstIndex { $0.isIdentical(to: item) } }
    }
    let next = range.isEmpty || range.upperBound == matching.count ? nil : matching[range.upperBound - 1]
    return (Self.texts(of: matching[range]), matching.count, next)
  }

  /// The texts of elements with commas between them, in pieces that the body sends one by one.
  private static func texts(of items: ArraySlice<ListItem>) -> [[UInt8]] {
    var (texts, text): ([[UInt8]], [UInt8]) = ([], [])
    for item in items {
      if text.count > Representation.longestArray {
        texts.append(text)
        text.removeAll(keepingCapacity: true)
      }
      if !text.isEmpty { text.append(UInt8(ascii: ",")) }
      text.append(contentsOf: item.text)
    }
    return text.isEmpty ? texts : texts + [text]
  }

  private func matching(in list: ListState) -> [ListItem] {
    if let elementQuery { return list.items(withPrefix: prefix, matching: elementQuery) }
    return list.items(withPrefix: prefix ?? "")
  }

  /// The page, which begins after the element that the parameter `after` names.
  private func range(
    in items: some RandomAccessCollection<ListItem>,
    _ index: (String) -> Int?
  ) throws(Problem) -> Range<Int> {
    var start = 0
    if let after {
      guard let index = index(after) else {
        let selected = elementQuery == nil ? "" : " among those that “where” selects"
        let advice = elementQuery == nil ? "" : " To read pages of one state, follow the field Link of the page before."
        throw Problem(
          .invalidParameter,
          detail: "There is no element with the id “\(after)”\(selected) to start after.\(advice)"
        )
      }
      start = index + 1
    }
    return start..<min(items.count, start + (limit ?? items.count))
  }

  /// The link contains the cursor of this page's state. So if the list changes between two
  /// requests, the next page repeats no element and leaves none out.
  private func link(after id: String, at cursor: Cursor) -> String {
    var next = self
    (next.after, next.at) = (id, at ?? cursor.text)
    return "/v1/\(next.path)"
  }
}

extension ElementQuery {
  /// The cost of an evaluation, in the unit of `BackgroundEncoder.Weight`.
  fileprivate func weight(of list: ListState) -> Int {
    typealias Weight = BackgroundEncoder.Weight
    let compared = Weight.queriedElement + conditionTexts.count * Weight.condition + keyCount * Weight.sortedElement
    return list.bytes / Weight.queriedBytes + list.count * compared
  }

  /// The parameters `where` and `sort`, percent-encoded.
  fileprivate var parameters: [String] {
    conditionTexts.map { "where=\(PercentEncoding.text($0))" }
      + (orderText.map { ["sort=\(PercentEncoding.text($0))"] } ?? [])
  }
}
