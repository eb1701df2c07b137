import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepModules
import LockstepSync

/// A request's query of the feed.
struct ChangesQuery: Sendable {
  let since: FeedPosition
  let filter: ChangesFeed.Filter
  let wait: WaitPreference?
  let isStream: Bool
  /// The key under which clients share a document. It is made once and used at each change.
  private let text: String

  init(since: FeedPosition, _ filter: ChangesFeed.Filter, _ wait: WaitPreference?, isStream: Bool) {
    self.since = since
    self.filter = filter
    self.wait = wait
    self.isStream = isStream
    let names = filter.names.map(\.description).joined(separator: ",")
    switch since {
    case .beginning: text = " \(names)"
    case .now: text = "now \(names)"
    case .cursor(_, let cursor): text = cursor + " " + names
    }
  }

  init(_ request: Request, _ waiting: LongPolling, modules: Set<String>) throws(Problem) {
    let query = try request.query
    let isStream = request.head.wantsEventStream
    let asked = try query.text("since")
    let lastEvent = isStream ? request.head[.lastEventID].flatMap { $0.isEmpty ? nil : $0 } : nil
    self.init(
      since: try FeedPosition(lastEvent ?? asked),
      try Self.filter(query.text("collections"), modules: modules),
      try waiting.preference(of: request, query),
      isStream: isStream
    )
  }

  /// The applied wait, or `nil` for a query that never waits.
  var appliedWait: WaitPreference? { if case .cursor = since { wait } else { nil } }

  func question(_ registered: RegisteredDefaults) -> ChangesFeed.Question {
    ChangesFeed.Question(registered: registered.revision, text: text)
  }

  /// The same query from `cursor` on. The client has `sent`, and nothing has changed for it in
  /// between.
  func following(_ cursor: Cursor, as sent: Cursor) -> ChangesQuery {
    ChangesQuery(since: .cursor(cursor, text: sent.text), filter, wait, isStream: isStream)
  }

  private static func filter(_ text: String?, modules: Set<String>) throws(Problem) -> ChangesFeed.Filter {
    guard let text else { return ChangesFeed.Filter(names: []) }
    var names: [CollectionName] = []
    for part in text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false) {
      let name = CollectionName(text: part)
      let isSuite = name.module == "defaults" && name.part.map { SuiteName.fault(of: $0) == nil } ?? true
      guard modules.contains(name.module), name.part == nil || (name.module == "defaults" && isSuite) else {
        throw Problem(
          .invalidParameter,
          detail: "There is no collection “\(part)”, only \(collections(of: modules))."
        )
      }
      names.append(name)
    }
    return ChangesFeed.Filter(names: names.sorted())
  }

  private static func collections(of modules: Set<String>) -> String {
    let names = modules.sorted().map { $0 == "defaults" ? "defaults/<suite>" : $0 }
    return names.joined(separator: ", ")
  }
}

/// Where the feed and the journal begin: the parameter `since`.
enum FeedPosition: Sendable {
  /// The longest text that is taken for a cursor.
  private static let maximumBytes = 256

  /// Without `since`: from the beginning.
  case beginning
  /// `now`: the present cursor and nothing else.
  case now
  /// After a cursor. `nil` if the text only looks like a cursor: the client is reset.
  case cursor(Cursor?, text: String)

  /// Reads `since`. Throws `invalid-parameter` if the text cannot be a cursor.
  init(_ since: String?) throws(Problem) {
    guard let since else {
      self = .beginning
      return
    }
    if since == "now" {
      self = .now
      return
    }
    guard (1...Self.maximumBytes).contains(since.utf8.count), since.utf8.allSatisfy(Self.isCursorByte) else {
      throw Problem(.invalidParameter, detail: "The parameter since must be a cursor from a response, or now.")
    }
    self = .cursor(Cursor(since), text: since)
  }

  private static func isCursorByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
  }
}
