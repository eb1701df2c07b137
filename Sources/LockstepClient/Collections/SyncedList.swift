import LockstepCollections
import LockstepJSON
import LockstepReactor
import Synchronization

/// A list of the user, such as the favorites, with typed elements.
///
/// Reads show the copy with the pending writes on top, and never wait.
public final class SyncedList<Element: Codable & Identifiable & Equatable & Sendable>: ShownView
where Element.ID == String {
  /// The name of the module.
  public let name: String
  private let client: any ActionWriter
  fileprivate let latest: Latest<ListVersion>
  fileprivate let decoder: ListDecoder<Element>
  /// The values of members that older elements may lack.
  private let defaults: JSONObject

  init(_ name: String, defaults: JSONObject, _ client: any ActionWriter, _ shown: Shown) {
    (self.name, self.client) = (name, client)
    self.defaults = defaults
    decoder = ListDecoder(defaults: defaults)
    latest = Latest(Self.version(of: shown, name))
  }

  private static func version(of shown: Shown, _ name: String) -> ListVersion {
    ListVersion(list: shown.state.list(CollectionName(name)), sequence: shown.sequence, origin: shown.origin)
  }

  /// The elements in their order.
  public var elements: [Element] { decoder.decode(latest.value).elements }

  /// How many elements the type `Element` cannot read. `elements` and `updates` leave them out.
  public var unreadableCount: Int { decoder.decode(latest.value).unreadableCount }

  /// The present list at once, then each change. A slow reader gets several changes as one update. `old` of an update
  /// is the list that the reader got before. So a view that applies each update always shows `old` when it applies
  /// the next one.
  public var updates: ListUpdates<Element> { ListUpdates(list: self) }

  /// Takes over what the client shows. The engine calls this in order.
  func show(_ shown: Shown) {
    if shown.sequence > latest.value.sequence { latest.publish(Self.version(of: shown, name)) }
  }

  // MARK: - Writing

  /// Adds an element at an index or at the end. If the list has an element with this id, replaces its content, and
  /// leaves it at its place.
  @discardableResult
  public func add(_ element: Element, at index: Int? = nil) async throws -> PendingWrite {
    try await client.write([addition(of: element, at: index)])
  }

  /// Replaces the content of an element, or adds the element if the list has none with its id.
  ///
  /// With `ifUnchanged`, the server refuses the write if another device has changed or removed the element since this
  /// device has seen it. With `resolve`, the app merges the two elements instead.
  @discardableResult
  public func replace(
    _ element: Element,
    ifUnchanged: Bool = false,
    resolve: ConflictResolver<Element>? = nil
  ) async throws -> PendingWrite {
    let condition = WriteCondition(
      ifUnchanged: ifUnchanged,
      mine: element,
      resolve: resolve,
      defaults: defaults
    ) { [self] merged in
      [try addition(of: merged, at: nil)]
    }
    return try await client.write([addition(of: element, at: nil)], condition: condition)
  }

  /// Changes members of an element, such as `["title": "Aurora"]`. The others stay. Null removes a member.
  @discardableResult
  public func update(_ id: Element.ID, with changes: some Encodable & Sendable) async throws -> PendingWrite {
    try await client.write([change(of: id, with: changes)])
  }

  /// Removes an element. With `ifUnchanged`, the server refuses the write if another device has changed the element
  /// since this device has seen it.
  @discardableResult
  public func remove(_ id: Element.ID, ifUnchanged: Bool = false) async throws -> PendingWrite {
    let condition = ifUnchanged ? WriteCondition() : nil
    return try await client.write([action("remove", ["id": .string(id)])], condition: condition)
  }

  /// Moves an element. `index` is its index after the move.
  @discardableResult
  public func move(_ id: Element.ID, to index: Int) async throws -> PendingWrite {
    try await client.write([moving(id, to: index)])
  }

  /// Removes the element if there is one with its id, and adds it otherwise.
  @discardableResult
  public func toggle(_ element: Element) async throws -> PendingWrite {
    try await client.write([toggling(element)])
  }

  /// Removes all elements.
  @discardableResult
  public func clear() async throws -> PendingWrite { try await client.write([action("clear", [:])]) }

  package func write(_ actions: [ClientAction]) async throws -> PendingWrite { try await client.write(actions) }

  func addition(of element: Element, at index: Int?) throws -> ClientAction {
    var payload = try ElementCoding.content(of: element)
    if let index { payload["index"] = JSON(decoder.decode(latest.value).serverIndex(index, of: element.id)) }
    return action("add", payload)
  }

  func change(of id: Element.ID, with changes: some Encodable) throws -> ClientAction {
    var payload = try ElementCoding.content(of: changes)
    payload["id"] = .string(id)
    return action("update", payload)
  }

  package func moving(_ id: Element.ID, to index: Int) -> ClientAction {
    let index = decoder.decode(latest.value).serverIndex(index, of: id)
    return action("move", ["id": .string(id), "index": JSON(index)])
  }

  func toggling(_ element: Element) throws -> ClientAction {
    action("toggle", try ElementCoding.content(of: element))
  }

  package func action(_ type: String, _ payload: JSONObject) -> ClientAction {
    ClientAction(module: name, type: type, payload: .object(payload))
  }
}

/// The change of a list for one reader.
public struct ListUpdate<Element: Identifiable & Equatable & Sendable>: Sendable where Element.ID: Sendable {
  /// The list that the reader got before; empty at first.
  public let old: [Element]
  /// The list now.
  public let new: [Element]
  /// The changes that lead from `old` to `new`, as a table view needs them.
  public let changeset: ListChangeset<Element>
  /// Where the last change comes from.
  public let origin: ChangeOrigin

  package init(old: [Element], new: [Element], changeset: ListChangeset<Element>, origin: ChangeOrigin) {
    (self.old, self.new, self.changeset, self.origin) = (old, new, changeset, origin)
  }
}

/// The changes of a list, for any number of readers.
public struct ListUpdates<Item: Codable & Identifiable & Equatable & Sendable>: AsyncSequence, Sendable
where Item.ID == String {
  /// Reading cannot fail.
  public typealias Failure = Never

  let list: SyncedList<Item>

  /// A reader of its own.
  public func makeAsyncIterator() -> Iterator {
    Iterator(list: list, versions: list.latest.values.makeAsyncIterator())
  }

  /// One reader, and the last list that it got.
  public struct Iterator: AsyncIteratorProtocol {
    /// Keeps the list alive: a released list gets no changes.
    let list: SyncedList<Item>
    var versions: LatestValues<ListVersion>.Iterator
    var seen: DecodedList<Item>?

    /// The next update; nil when the client has ended or the task was cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ListUpdate<Item>? {
      while let version = await versions.next(isolation: actor) {
        let (old, new) = (seen ?? DecodedList(), list.decoder.decode(version))
        let changeset = new.changeset(since: old)
        defer { seen = new }
        if seen != nil, changeset.isEmpty { continue }
        return ListUpdate(old: old.elements, new: new.elements, changeset: changeset, origin: new.origin)
      }
      return nil
    }
  }
}
