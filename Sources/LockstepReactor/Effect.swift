/// The consequences of an action: mutations at once, then optionally work or an error.
///
/// The host reduces the immediate part while it handles the action. That needs no task and, for a
/// single mutation, no allocation. Work that takes time runs as a child task of the host. The task
/// is cancelled with the host and may be endless.
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

  /// The elements of an asynchronous sequence. If it throws, the host reports the error.
  @inlinable
  public static func stream<Elements: AsyncSequence & Sendable>(
    _ elements: Elements
  ) -> Effect where Elements.Element == Mutation {
    run { emit in
      for try await mutation in elements { try await emit(mutation) }
    }
  }

  /// One effect after another. The first that fails ends the sequence.
  @inlinable
  public static func concat(_ effects: Effect...) -> Effect {
    effects.reduce(.none) { $0.followed(by: $1) }
  }

  /// All effects together: the immediate parts in the order given, then the rest concurrently.
  ///
  /// The first effect that fails cancels the others. If one fails at once, no work is started.
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
  /// The mutations of an effect that takes no time, or its error. `nil` if a part takes time.
  ///
  /// Use it to handle an action without a host: a server decides, commits, and then reduces.
  @inlinable
  public var immediateMutations: Result<[Mutation], any Error>? {
    switch rest {
    case .none: .success(immediate.mutations)
    case .failure(let error): .failure(error)
    case .operation: nil
    }
  }

  /// Runs the whole effect in the calling task: emits each mutation in order, and throws its error.
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

  /// Returns when the mutation was reduced, so a fast effect cannot run ahead of its reactor.
  ///
  /// Throws `CancellationError` if the effect was cancelled or the host closed. The mutation was
  /// then not reduced. Do not catch the error, because it ends the effect without a failure.
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
