import Lockstep

/// The page that a reader has reached in each book. The furthest page of all devices wins.
struct ReadingProgress: ModuleReactor {
  enum Action: Sendable {
    case reach(book: String, page: Int)
  }

  func mutate(_ action: Action, in pages: MapState) throws(Refusal) -> [MapMutation] {
    switch action {
    case .reach(let book, let page):
      page > pages[book]?.json.intValue ?? 0 ? [.setting(book, to: JSON(page))] : []
    }
  }
}

extension UserModule {
  static let progress = UserModule.map(
    "progress",
    actions: [ActionCase("reach", .name("key"), .whole("value", 1...100_000)) { .reach(book: $0, page: $1) }],
    verbs: [.put: "reach"]
  ) { _ in ReadingProgress() }
}
