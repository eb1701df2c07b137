import Lockstep

/// The page that a reader has reached in each book. The furthest page of all devices wins.
struct ReadingProgress: Reactor {
  enum Action: Sendable {
    case reach(book: String, page: Int)
  }

  var initialState: MapState { MapState() }

  func mutate(_ action: Action, in pages: MapState) -> Effect<MapMutation> {
    switch action {
    case .reach(let book, let page):
      page > pages[book]?.json.intValue ?? 0 ? .of(.setting(book, to: JSON(page))) : .none
    }
  }

  static func reduce(_ pages: inout MapState, _ mutation: MapMutation) { pages.apply(mutation) }
}

extension UserModule {
  static let progress = UserModule.map(
    "progress",
    actions: [ActionCase("reach", .name("key"), .whole("value", 1...100_000)) { .reach(book: $0, page: $1) }],
    verbs: [.put: "reach"]
  ) { _ in ReadingProgress() }
}
