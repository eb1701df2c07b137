import LockstepCollections
import LockstepJSON
import LockstepReactor

/// The collections of a user that a screen follows, at one revision.
///
/// A class, because each waiting screen keeps several references in the frames of its tasks.
public final class UserSnapshot: Sendable, Equatable {
  let collections: [CollectionName: CollectionState]
  let registered: RegisteredDefaults
  let names: Set<CollectionName>

  package init(
    _ collections: [CollectionName: CollectionState],
    _ names: Set<CollectionName>,
    _ registered: RegisteredDefaults = RegisteredDefaults()
  ) {
    self.collections = collections.filter { names.contains($0.key) }
    self.names = names
    self.registered = registered
  }

  /// A list, such as `favorites`. A list that the user never changed is empty. The screen's
  /// declaration must follow it.
  public func list(_ collection: String) -> ListState {
    if case .list(let list)? = followed(collection) { list } else { ListState() }
  }

  /// The list of a module of your own, with its elements decoded. The screen's declaration must
  /// follow it.
  public func list<Module: ListModule>(_ module: Module.Type) -> List<Module.Element> {
    module.list(in: list(module.name))
  }

  /// A map, such as `profile`, or the values that the user has set in a suite, such as
  /// `defaults/standard`. The screen's declaration must follow it.
  public func map(_ collection: String) -> MapState {
    if case .map(let map)? = followed(collection) { map } else { MapState() }
  }

  /// The value of a user default: the user's own, else the registered one. The screen's declaration
  /// must follow the suite, such as `defaults/standard`.
  public func userDefault(_ key: String, in suite: String = "standard") -> JSON? {
    (map("defaults/\(suite)")[key] ?? registered.value(of: key, in: suite, at: registered.revision))?.json
  }

  /// The languages that the user prefers at present, as tags, the best first: see
  /// `ScreenContext.languages`. The screen must follow `defaults/standard`.
  public func languages(_ screen: ScreenContext) -> [String] { language.tags(screen.languages) }

  /// The user default `language`. The screen must follow `defaults/standard`.
  var language: UserLanguage {
    UserLanguage(
      own: map("defaults/standard")["language"]?.json.stringValue,
      registered: registered.value(of: "language", in: "standard", at: registered.revision)?.json.stringValue
    )
  }

  /// Equal if the collections are equal, and the registered defaults if the screen follows a suite.
  public static func == (left: UserSnapshot, right: UserSnapshot) -> Bool {
    if left === right { return true }
    return left.names == right.names && left.collections == right.collections
      && (!left.followsDefaults || left.registered.revision == right.registered.revision)
  }

  var followsDefaults: Bool { names.contains { $0.module == "defaults" } }

  /// The same state with fewer collections.
  func reduced(to names: Set<CollectionName>) -> UserSnapshot {
    names == self.names ? self : UserSnapshot(collections, names, registered)
  }

  private func followed(_ collection: String) -> CollectionState? {
    let name = CollectionName(text: collection)
    assert(names.contains(name), "The screen does not follow “\(name)”. Add it to `follows:` of its declaration.")
    return collections[name]
  }
}

/// The states of a screen's user since the screen was opened.
public struct UserSnapshots: AsyncSequence, Sendable {
  /// Reading cannot fail.
  public typealias Failure = Never

  private let followed: FollowedState

  init(_ followed: FollowedState) { self.followed = followed }

  /// A new reader.
  public func makeAsyncIterator() -> Iterator { Iterator(followed) }

  /// One reader, and the last state that it read.
  public struct Iterator: AsyncIteratorProtocol {
    // The subscription ends when it is released.
    private let followed: FollowedState
    private var values: LatestValues<UserSnapshot?>.Iterator
    private var last: UserSnapshot?

    init(_ followed: FollowedState) {
      self.followed = followed
      values = followed.published.values.makeAsyncIterator()
    }

    /// The next state that differs from the last one.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> UserSnapshot? {
      while let value = await values.next(isolation: actor) {
        if let new = accept(value) { return new }
      }
      return nil
    }

    private mutating func accept(_ value: UserSnapshot?) -> UserSnapshot? {
      guard let new = value?.reduced(to: followed.names), new != last else { return nil }
      last = new
      return new
    }
  }
}

extension UserSnapshots.Iterator: PolledIterator {
  package mutating func poll(_ signal: ChangeSignal) -> Polled<UserSnapshot> {
    while true {
      switch values.poll(signal) {
      case .element(let value): if let new = accept(value) { return .element(new) }
      case .waiting(let ticket): return .waiting(ticket)
      case .ended: return .ended
      }
    }
  }

  package func forget(_ ticket: Int) { values.forget(ticket) }
}

extension Flow {
  /// Adds the states of a screen's user. `convert` changes a state, or drops it with `nil`. The host
  /// reads the states without a task.
  public func merging(
    _ states: UserSnapshots,
    _ convert: @escaping @Sendable (UserSnapshot) -> Element?
  ) -> Flow {
    merging(polling: { states.makeAsyncIterator() }, convert)
  }
}

/// A user's state at one moment and all its later states, without a gap between them.
package struct FollowedState: Sendable {
  /// The states since the subscription, which began before `found` was read. So no commit between
  /// the two is missed.
  let published: PublishedStates
  let found: UserSnapshot
  let names: Set<CollectionName>

  var latest: UserSnapshot { published.value?.reduced(to: names) ?? found }
}
