/// A validator whose check may take time, for example because it asks another service.
///
/// A first check takes no time. Only if its result is `validating`, the validator needs the later check.
/// Pass validators to a reactor in its initializer, so that a test can replace them:
///
///     let free = AsyncValidator(username) { name in
///       try await service.isFree(name) ? .ok(message: "Username available") : .failed(message: "…")
///     }
public struct AsyncValidator<Input: Sendable>: Sendable {
  private let immediate: Validator<Input>
  private let later: @Sendable (Input) async throws -> ValidationResult

  /// Makes a validator. `later` gets the normalised inputs for which `immediate` gives `validating`.
  public init(_ immediate: Validator<Input>, later: @escaping @Sendable (Input) async throws -> ValidationResult) {
    (self.immediate, self.later) = (immediate, later)
  }

  /// A validator that never needs time. `immediate` must not give `validating`.
  public init(_ immediate: Validator<Input>) {
    self.init(immediate) { immediate.validate($0) }
  }

  /// The normalised input, which is what to check, send and store.
  public func normalise(_ input: Input) -> Input { immediate.normalise(input) }

  /// The result of the checks that take no time. `validating` means: call `validateCompletely`.
  public func validate(_ input: Input) -> ValidationResult { immediate.validate(input) }

  /// The result of all checks.
  public func validateCompletely(_ input: Input) async throws -> ValidationResult {
    let result = validate(input)
    guard case .validating = result else { return result }
    return try await later(normalise(input))
  }
}
