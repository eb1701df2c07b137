import LockstepReactor
import LockstepScreens

extension Validator<String> {
  /// A text of the profile: trimmed, not empty, and not too long.
  static func profileText(
    _ missing: ScreenText,
    _ valid: ScreenText,
    _ language: ScreenLanguage
  ) -> Validator {
    Validator(normalise: { $0.trimmingWhitespace() }) { text in
      switch Validator.profileText.validate(text) {
      case .empty: .empty(message: missing[language])
      case .failed: .failed(message: ScreenText.tooLong(text.unicodeScalars.count)[language])
      case .ok: .ok(message: valid[language])
      case let result: result
      }
    }
  }
}
