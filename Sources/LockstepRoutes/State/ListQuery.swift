import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// The elements of a module's list that a request asks for: all, those whose ids have a prefix, or
/// a page of either.
struct ListQuery: Sendable, Equatable {
  let collection: CollectionName
  var prefix: String?
  var after: String?
  var limit: Int?
  /// The cursor of the past state that the client asked for, as sent. The link to the next page
  /// repeats it.
  var at: String?

  var isWhole: Bool { prefix == nil && after == nil && limit == nil }

  init(_ collection: CollectionName, _ query: QueryParameters) throws(Problem) {
    self.collection = collection
    prefix = try query.text("prefix")
    after = try query.text("after")
    limit = try query.integer("limit", in: 1...1_000_000)
    at = try query.text("at")
  }

  /// All elements.
  init(_ collection: CollectionName) {
    self.collection = collection
  }

  func representation(of view: StateView) throws(Problem) -> Representation {
    let list = view.state.list(collection)
    let (page, count, hasMore) = try page(of: list)
    var content: [UInt8] = []
    content.reserveCapacity(page.reduce(128) { $0 + $1.encoded.count + 1 })
    content.append(contentsOf: #""count":\#(count),"items":["#.utf8)
    for (index, item) in page.enumerated() {
      if index > 0 { content.append(UInt8(ascii: ",")) }
      content.append(contentsOf: item.encoded)
    }
    content.append(contentsOf: "]}".utf8)
    let cursor = view.cursor(list.revision, detail: isWhole ? nil : Digest.text(of: content))
    let next = hasMore ? page.last.map { "<\(link(after: $0.id.text, at: view.cursor))>; rel=\"next\"" } : nil
    return Representation(cursor: cursor, body: Array(#"{"cursor":"\#(cursor.text)","#.utf8) + content, link: next)
  }

  private func page(of list: ListState) throws(Problem) -> (items: ArraySlice<ListItem>, count: Int, hasMore: Bool) {
    let matching = prefix.map { prefix in list.items.filter { $0.id.hasPrefix(prefix) } } ?? list.items
    var rest = matching[...]
    if let after {
      guard let index = matching.firstIndex(where: { $0.id == ElementKey(after) }) else {
        throw Problem(.invalidParameter, detail: "There is nothing with the id “\(after)” to begin after.")
      }
      rest = matching[(index + 1)...]
    }
    guard let limit, rest.count > limit else { return (rest, matching.count, false) }
    return (rest.prefix(limit), matching.count, true)
  }

  /// Links to the next page of the list as it is now. So a change between two pages neither repeats
  /// an element nor leaves one out.
  private func link(after id: String, at cursor: Cursor) -> String {
    var parameters = ["limit=\(limit ?? 0)", "after=\(PercentEncoding.text(id))"]
    if let prefix { parameters.append("prefix=\(PercentEncoding.text(prefix))") }
    parameters.append("at=\(at ?? cursor.text)")
    return "/v1/\(collection)?" + parameters.joined(separator: "&")
  }
}
