/// What an action causes: mutations at once, then perhaps more that take time, then perhaps an error.
///
/// The immediate part is reduced in the same step in which the action is handled and costs neither a
/// task nor, for a single mutation, an allocation. The part that takes time runs as a child task of
/// the host, is cancelled with it, and may be endless.
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

  /// A part that takes time: it hands over its mutations one by one.
  public typealias Operation = @Sendable (Emit<Mutation>) async throws -> Void

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

  /// The action is refused: an error event, and no mutation.
  @inlinable
  public static func failure(_ error: any Error) -> Effect {
    Effect(immediate: .none, rest: .failure(error))
  }

  /// Work that takes time. What it throws becomes an error event of the action.
  @inlinable
  public static func run(_ operation: @escaping Operation) -> Effect {
    Effect(immediate: .none, rest: .operation(operation))
  }

  /// The elements of an asynchronous sequence; its error becomes an error event of the action.
  @inlinable
  public static func stream<Elements: AsyncSequence & Sendable>(
    _ elements: Elements
  ) -> Effect where Elements.Element == Mutation {
    run { emit in
      for try await mutation in elements { try await emit(mutation) }
    }
  }

  /// One effect after another; the first that fails ends the whole.
  @inlinable
  public static func concat(_ effects: Effect...) -> Effect {
    effects.reduce(.none) { $0.followed(by: $1) }
  }

  /// All effects beside each other: the immediate parts in the order given, then the rest at the same
  /// time. The first that fails cancels the others; beside one that fails at once none is started.
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
  /// The mutations of an effect that takes no time, or the error in it; `nil` when a part takes time.
  ///
  /// This is how to take a step without a host: a server decides, commits, and then reduces.
  @inlinable
  public var immediateMutations: Result<[Mutation], any Error>? {
    switch rest {
    case .none: .success(immediate.mutations)
    case .failure(let error): .failure(error)
    case .operation: nil
    }
  }

  /// The parts of an effect, for who puts several together: what happens at once, ...
  @inlinable
  public var mutationsAtOnce: [Mutation] { immediate.mutations }

  /// ... the error that it ends with at once, if it does, ...
  @inlinable
  public var errorAtOnce: (any Error)? {
    if case .failure(let error) = rest { error } else { nil }
  }

  /// ... and what is left of it without what happens at once; nil where nothing is.
  @inlinable
  public var afterwards: Effect? {
    if case .none = rest { nil } else { Effect(immediate: .none, rest: rest) }
  }

  /// Runs the whole effect in the calling task, handing over each mutation in order, and throws its error.
  @inlinable
  public func perform(_ emit: Emit<Mutation>) async throws {
    for mutation in immediate.mutations { try await emit(mutation) }
    switch rest {
    case .none: break
    case .failure(let error): throw error
    case .operation(let operation): try await operation(emit)
    }
  }
}

/// Hands the mutations of an effect to whoever runs it.
public struct Emit<Mutation: Sendable>: Sendable {
  @usableFromInline let deliver: @Sendable (Mutation) async throws -> Void

  /// For running an effect without a host, as a test or a server does.
  @inlinable
  public init(_ deliver: @escaping @Sendable (Mutation) async throws -> Void) {
    self.deliver = deliver
  }

  /// Returns when the mutation was reduced, so a fast effect cannot run ahead of its reactor.
  ///
  /// Throws `CancellationError` when the effect was cancelled or the host closed; the mutation was
  /// not reduced then. Let the error through: it ends the effect quietly.
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
