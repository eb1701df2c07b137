/// How an input is made comparable, and judged: normalise first, then check what remains.
public struct Validator<Input: Sendable>: Sendable {
  private let normaliseInput: @Sendable (Input) -> Input
  private let check: @Sendable (Input) -> ValidationResult

  /// A rule. `normalise` must give the same for what it has given (trimming twice is trimming once).
  public init(
    normalise: @escaping @Sendable (Input) -> Input = { $0 },
    check: @escaping @Sendable (Input) -> ValidationResult
  ) {
    normaliseInput = normalise
    self.check = check
  }

  /// The form of the input that is checked, sent and stored.
  public func normalise(_ input: Input) -> Input {
    normaliseInput(input)
  }

  /// The judgement on the normalised input.
  public func validate(_ input: Input) -> ValidationResult {
    check(normaliseInput(input))
  }

  /// Both rules: this one's judgement unless it is valid, then the other's.
  public func and(_ other: Validator) -> Validator {
    Validator(normalise: { other.normalise(normalise($0)) }) { input in
      let first = check(input)
      return first.isValid ? other.check(input) : first
    }
  }
}

extension Validator where Input == String {
  /// Text without white space around it, of `length` characters.
  public static func text(_ length: ClosedRange<Int>, tooShort: String, tooLong: String) -> Validator {
    Validator(normalise: { $0.trimmingWhitespace() }) { text in
      if text.isEmpty { return .empty }
      if text.count < length.lowerBound { return .failed(message: tooShort) }
      return text.count > length.upperBound ? .failed(message: tooLong) : .ok
    }
  }
}

extension StringProtocol {
  /// The text without white space and line breaks at its ends.
  public func trimmingWhitespace() -> String {
    let start = drop(while: \.isWhitespace)
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...end])
  }
}

extension Effect {
  /// Validation that takes time: `validating` at once, and the judgement when it is there.
  ///
  /// Give the action the policy ``EffectPolicy/latest(_:)``: then the newest input wins, and the
  /// judgement on an older one is never reduced. `pause` lets a person finish typing first. When the
  /// check throws, the judgement is `unchecked`, and the error is reported as that of the action.
  public static func validating(
    pause: Duration,
    clock: any Clock<Duration>,
    as mutation: @escaping @Sendable (ValidationResult) -> Mutation,
    unchecked: ValidationResult = .failed(message: "This could not be checked."),
    check: @escaping @Sendable () async throws -> ValidationResult
  ) -> Effect {
    .concat(
      .just(mutation(.validating)),
      .run { emit in
        try await clock.sleep(for: pause)
        let judgement: ValidationResult
        do {
          judgement = try await check()
        } catch {
          if !Task.isCancelled { try await emit(mutation(unchecked)) }
          throw error
        }
        try await emit(mutation(judgement))
      }
    )
  }
}
