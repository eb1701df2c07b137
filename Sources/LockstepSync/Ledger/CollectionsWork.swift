import LockstepCollections
import LockstepJSON
import LockstepStore

/// A change of the declared collections that an operator's command asks for: all of it is done, or nothing.
package enum CollectionsWork: Sendable {
  /// Declares collections, or replaces their declarations.
  case apply([DeclaredCollection])
  case delete(name: String, erasesData: Bool)
}

/// The outcome of such a change.
package enum CollectionsOutcome: Sendable, Equatable {
  case applied(CollectionsDifference)
  case deleted
  case refused(Reason, String)

  package enum Reason: String, Sendable {
    /// There is no such collection.
    case missing
    /// Users have data, or another command has changed the collection meanwhile.
    case conflict
    /// The store would have too many collections.
    case full
  }
}

/// The names of the declared collections that differ, and of those that do not.
package struct CollectionsDifference: Sendable, Equatable {
  package var created: [String] = []
  package var changed: [String] = []
  package var unchanged: [String] = []

  package init(_ declarations: [DeclaredCollection], before: ModuleSet) {
    for declaration in declarations {
      switch before.declared[declaration.name.exact] {
      case nil: created.append(declaration.name)
      case let present? where present.matches(declaration): unchanged.append(declaration.name)
      default: changed.append(declaration.name)
      }
    }
  }
}

extension DeclaredModule {
  /// Whether a declaration would change nothing.
  package func matches(_ other: DeclaredCollection) -> Bool {
    !isClosing && declaration.json.encoded() == other.json.encoded()
  }
}

// MARK: - Performing

extension DeclaredLedger {
  /// Changes the declared collections for an operator. With a key, work that has been done before is not
  /// done again, and has the same outcome. Throws errors of the store.
  package func perform(
    _ work: CollectionsWork,
    key: IdempotencyKey? = nil,
    erase: @escaping @Sendable (DeclaredCollection, UserID) async throws -> Void
  ) async throws -> CollectionsOutcome {
    let refusal = { @Sendable (error: any Error) in
      (error as? Refusal).map { StoredResponse(CollectionsOutcome($0)) }
    }
    do {
      let response: KeyedResponse
      switch work {
      case .apply(let declarations):
        let change = Change(
          declarations,
          key: key,
          response: { before, _ in
            StoredResponse(.applied(CollectionsDifference(declarations, before: before)))
          },
          refusal: refusal
        )
        response = try await declare(change)
      case .delete(let name, let erasesData):
        let hint = "To erase it together with the declaration, add --erase."
        var erasing: (@Sendable (UserID) async throws -> Void)?
        if erasesData {
          erasing = { [self] user in
            if let found = current.declared[name.exact] { try await erase(found.declaration, user) }
          }
        }
        response = try await delete(
          Deletion(of: name, key: key, hint: hint, erase: erasing, refusal: refusal),
          response: StoredResponse(.deleted)
        )
      }
      return CollectionsOutcome(response.response)
    } catch let refusal as Refusal {
      return CollectionsOutcome(refusal)
    }
  }
}

// MARK: - JSON

extension CollectionsWork {
  package var names: [String] {
    switch self {
    case .apply(let declarations): declarations.map(\.name)
    case .delete(let name, _): [name]
    }
  }

  package var json: JSON {
    switch self {
    case .apply(let declarations): ["apply": .array(declarations.map(\.json))]
    case .delete(let name, let erasesData): ["delete": .string(name), "erase": .bool(erasesData)]
    }
  }

  /// Nil if it cannot be read.
  package init?(_ json: JSON) {
    if let name = json["delete"]?.stringValue {
      self = .delete(name: name, erasesData: json["erase"]?.boolValue == true)
    } else if let declarations = try? json["apply"]?.arrayValue?.map({ try DeclaredCollection($0) }) {
      self = .apply(declarations)
    } else {
      return nil
    }
  }
}

extension CollectionsOutcome {
  package init(_ refusal: Refusal) {
    switch refusal {
    case .notFound(let detail): self = .refused(.missing, detail)
    case .conflict(let detail), .forbidden(let detail): self = .refused(.conflict, detail)
    case .quotaExceeded(let detail): self = .refused(.full, detail)
    case .invalid(let faults): self = .refused(.conflict, faults.map(\.detail).joined(separator: " "))
    }
  }

  package var json: JSON {
    switch self {
    case .applied(let difference): difference.json
    case .deleted: ["deleted": true]
    case .refused(let reason, let detail): ["refused": .string(reason.rawValue), "detail": .string(detail)]
    }
  }

  /// Nil if it cannot be read.
  package init?(_ json: JSON) {
    if let difference = CollectionsDifference(json) {
      self = .applied(difference)
    } else if json["deleted"] != nil {
      self = .deleted
    } else if let reason = json["refused"]?.stringValue.flatMap(Reason.init(rawValue:)) {
      self = .refused(reason, json["detail"]?.stringValue ?? "")
    } else {
      return nil
    }
  }

  /// Reads an outcome that was recorded for an idempotency key.
  fileprivate init(_ response: StoredResponse) {
    let json = JSON(trusting: response.body ?? [])
    self = CollectionsOutcome(json) ?? .refused(.conflict, "The outcome cannot be read.")
  }
}

extension StoredResponse {
  fileprivate init(_ outcome: CollectionsOutcome) {
    self.init(status: 200, fields: [], body: outcome.json.encoded())
  }
}

extension CollectionsDifference {
  fileprivate var json: JSON {
    let names = { (names: [String]) in JSON.array(names.map { .string($0) }) }
    return ["created": names(created), "changed": names(changed), "unchanged": names(unchanged)]
  }

  fileprivate init?(_ json: JSON) {
    let names = { (member: String) in json[member]?.arrayValue?.compactMap(\.stringValue) }
    guard let created = names("created"), let changed = names("changed"), let unchanged = names("unchanged") else {
      return nil
    }
    (self.created, self.changed, self.unchanged) = (created, changed, unchanged)
  }
}
