import LockstepCollections
import LockstepHTTP
import LockstepModules
import LockstepSync

/// What somebody asks of the changes feed.
struct ChangesQuery: Sendable {
  let since: FeedPosition
  let filter: ChangesFeed.Filter
  let wait: WaitPreference?
  let isStream: Bool
  /// The question's text: made once, and asked with at every change while somebody waits.
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

  /// How long it may be held; nil where it's answered at once whatever it would wait for.
  var appliedWait: WaitPreference? { if case .cursor = since { wait } else { nil } }

  /// The question, with what is registered.
  func question(_ registered: RegisteredDefaults) -> ChangesFeed.Question {
    ChangesFeed.Question(registered: registered.revision, text: text)
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

  /// What may be named, in words.
  private static func collections(of modules: Set<String>) -> String {
    let names = modules.sorted().map { $0 == "defaults" ? "defaults/<suite>" : $0 }
    return names.joined(separator: ", ")
  }
}
