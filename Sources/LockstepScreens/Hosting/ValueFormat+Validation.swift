import LockstepCollections
import LockstepReactor

extension ValueFormat<ValidationResult> {
  package static var validation: ValueFormat {
    ValueFormat(
      .member("kind", .text(oneOf: ["ok", "empty", "validating", "failed"])) { validation in
        switch validation {
        case .ok: "ok"
        case .empty: "empty"
        case .validating: "validating"
        case .failed: "failed"
        }
      },
      .member("message", .text, \.message)
    )
  }
}
