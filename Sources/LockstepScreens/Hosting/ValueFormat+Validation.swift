import LockstepCollections
import LockstepReactor

extension ValueFormat<ValidationResult> {
  /// The judgement on an input.
  package static var validation: ValueFormat {
    ValueFormat(
      .member("kind", .text(oneOf: ["ok", "empty", "validating", "failed"]), \.kind),
      .member("message", .text, \.message)
    )
  }
}

extension ValidationResult {
  fileprivate var kind: String {
    switch self {
    case .ok: "ok"
    case .empty: "empty"
    case .validating: "validating"
    case .failed: "failed"
    }
  }
}
