/// Normalises an input, then checks the result.
public struct Validator<Input: Sendable>: Sendable {
  private let normaliseInput: @Sendable (Input) -> Input
  private let check: @Sendable (Input) -> ValidationResult

  /// Makes a validator. `normalise` must be idempotent, as trimming is.
  public init(
    normalise: @escaping @Sendable (Input) -> Input = { $0 },
    check: @escaping @Sendable (Input) -> ValidationResult
  ) {
    normaliseInput = normalise
    self.check = check
  }

  /// The normalised input, which is what to check, send and store.
  public func normalise(_ input: Input) -> Input {
    normaliseInput(input)
  }

  /// Checks the normalised input.
  public func validate(_ input: Input) -> ValidationResult {
    check(normaliseInput(input))
  }

  /// Normalises with both validators. If this one finds the result valid, `other` checks it too.
  public func and(_ other: Validator) -> Validator {
    Validator(normalise: { other.normalise(normalise($0)) }) { input in
      let first = check(input)
      return first.isValid ? other.check(input) : first
    }
  }
}

extension Validator where Input == String {
  /// Trims text and checks that its character count is in `length`. The result for empty text is
  /// `.empty` with the message `missing`, which asks for the text.
  public static func text(
    _ length: ClosedRange<Int>,
    missing: String,
    tooShort: String,
    tooLong: String
  ) -> Validator {
    Validator(normalise: { $0.trimmingWhitespace() }) { text in
      if text.isEmpty { return .empty(message: missing) }
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
  /// Validation that takes time: `meanwhile` at once, then the result of `check`.
  ///
  /// Give the action the policy ``EffectPolicy/latest(_:)``, so that the newest input wins. The
  /// `pause` before `check` lets the user finish typing. If `check` throws, the result is
  /// `unchecked`.
  public static func validating(
    _ meanwhile: ValidationResult = .validating,
    pause: Duration,
    clock: any Clock<Duration>,
    as mutation: @escaping @Sendable (ValidationResult) -> Mutation,
    unchecked: ValidationResult = .failed(message: "This could not be checked."),
    check: @escaping @Sendable () async throws -> ValidationResult
  ) -> Effect {
    .concat(
      .just(mutation(meanwhile)),
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

  /// Validation by a validator: its result at once, and if that is `validating`, the result of its
  /// later check. The other parameters are those of `validating(_:pause:clock:as:unchecked:check:)`.
  public static func validating<Input>(
    _ input: Input,
    by validator: AsyncValidator<Input>,
    pause: Duration,
    clock: any Clock<Duration>,
    as mutation: @escaping @Sendable (ValidationResult) -> Mutation,
    unchecked: ValidationResult = .failed(message: "This could not be checked.")
  ) -> Effect {
    let result = validator.validate(input)
    guard case .validating = result else { return .just(mutation(result)) }
    return .validating(result, pause: pause, clock: clock, as: mutation, unchecked: unchecked) {
      try await validator.validateCompletely(input)
    }
  }
}
