/// The consequences of an action: mutations at once, then optionally work or an error.
///
/// The host reduces the immediate mutations while it handles the action. That needs no task and,
/// for a single mutation, no allocation. Work that takes time runs as a child task of the host and
/// may never end. Closing the host cancels the task.
public struct Effect<Mutation: Sendable>: Sendable {
  @usableFromInline
  enum Immediate: Sendable {
    case none
    case one(Mutation)
    case many([Mutation])
  }

  @usableFromInline
  enum Rest: Sendable {
    case none
    case failure(any Error)
    case operation(Operation)
  }

  /// Work that takes time. It emits its mutations one by one.
  public typealias Operation = @Sendable (Emitter<Mutation>) async throws -> Void

  @usableFromInline let immediate: Immediate
  @usableFromInline let rest: Rest

  @inlinable
  init(immediate: Immediate, rest: Rest) {
    self.immediate = immediate
    self.rest = rest
  }

  /// Nothing happens.
  @inlinable
  public static var none: Effect { Effect(immediate: .none, rest: .none) }

  /// One mutation, at once.
  @inlinable
  public static func just(_ mutation: Mutation) -> Effect {
    Effect(immediate: .one(mutation), rest: .none)
  }

  /// Mutations in this order, at once.
  @inlinable
  public static func of(_ mutations: Mutation...) -> Effect {
    Effect(immediate: .many(mutations), rest: .none)
  }

  /// Mutations in this order, at once.
  @inlinable
  public static func of(contentsOf mutations: [Mutation]) -> Effect {
    Effect(immediate: .many(mutations), rest: .none)
  }

  /// Refuses the action: an error and no mutation.
  @inlinable
  public static func failure(_ error: any Error) -> Effect {
    Effect(immediate: .none, rest: .failure(error))
  }

  /// Work that takes time. If it throws, the host reports the error.
  @inlinable
  public static func run(_ operation: @escaping Operation) -> Effect {
    Effect(immediate: .none, rest: .operation(operation))
  }

  /// Emits an asynchronous sequence. If the sequence throws, the host reports the error.
  @inlinable
  public static func stream<Elements: AsyncSequence & Sendable>(
    _ elements: Elements
  ) -> Effect where Elements.Element == Mutation {
    run { emit in
      for try await mutation in elements { try await emit(mutation) }
    }
  }

  /// Runs one effect after another. If one fails, the later ones do not run.
  @inlinable
  public static func concat(_ effects: Effect...) -> Effect {
    effects.reduce(.none) { $0.followed(by: $1) }
  }

  /// Runs all effects: their immediate mutations in the order given, then their work concurrently.
  ///
  /// Work that fails cancels the other work. If an effect fails at once, no work is started.
  @inlinable
  public static func merge(_ effects: Effect...) -> Effect {
    let immediate = effects.reduce(Immediate.none) { $0.followed(by: $1.immediate) }
    var operations: [Operation] = []
    for effect in effects {
      switch effect.rest {
      case .none: break
      case .failure: return Effect(immediate: immediate, rest: effect.rest)
      case .operation(let operation): operations.append(operation)
      }
    }
    if operations.isEmpty { return Effect(immediate: immediate, rest: .none) }
    return Effect(
      immediate: immediate,
      rest: .operation { [operations] emit in
        try await withThrowingDiscardingTaskGroup { group in
          for operation in operations { group.addTask { try await operation(emit) } }
        }
      }
    )
  }

  @inlinable
  func followed(by next: Effect) -> Effect {
    switch rest {
    case .none:
      return Effect(immediate: immediate.followed(by: next.immediate), rest: next.rest)
    case .failure:
      return self
    case .operation(let operation):
      return Effect(
        immediate: immediate,
        rest: .operation { emit in
          try await operation(emit)
          try await next.perform(emit)
        }
      )
    }
  }
}

extension Effect {
  /// The mutations of an effect without work, or the error of the effect. `nil` if it has work.
  ///
  /// Use it without a host: a server can commit the mutations before it reduces them.
  @inlinable
  public var immediateMutations: Result<[Mutation], any Error>? {
    switch rest {
    case .none: .success(immediate.mutations)
    case .failure(let error): .failure(error)
    case .operation: nil
    }
  }

  /// Runs the whole effect in the calling task: emits its mutations in order and throws its error.
  @inlinable
  public func perform(_ emit: Emitter<Mutation>) async throws {
    for mutation in immediate.mutations { try await emit(mutation) }
    switch rest {
    case .none: break
    case .failure(let error): throw error
    case .operation(let operation): try await operation(emit)
    }
  }
}

/// Passes the mutations of an effect to the host, or to the caller of ``Effect/perform(_:)``.
public struct Emitter<Mutation: Sendable>: Sendable {
  @usableFromInline let deliver: @Sendable (Mutation) async throws -> Void

  /// Makes an emitter for an effect that runs without a host, as in a test or a server.
  @inlinable
  public init(_ deliver: @escaping @Sendable (Mutation) async throws -> Void) {
    self.deliver = deliver
  }

  /// Returns after the mutation is reduced, so a fast effect cannot run ahead of its reactor.
  ///
  /// Throws `CancellationError` if the effect was cancelled or the host closed. The mutation is
  /// then not reduced. Let the error end the effect: the host does not report it.
  @inlinable
  public func callAsFunction(_ mutation: Mutation) async throws {
    try await deliver(mutation)
  }
}

extension Effect.Immediate {
  @inlinable
  var mutations: [Mutation] {
    switch self {
    case .none: []
    case .one(let mutation): [mutation]
    case .many(let mutations): mutations
    }
  }

  @inlinable
  func followed(by next: Self) -> Self {
    switch (self, next) {
    case (.none, let other), (let other, .none): other
    default: .many(mutations + next.mutations)
    }
  }
}
