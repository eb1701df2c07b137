import LockstepScreens

/// The languages of the texts in the states of built-in screens.
enum ScreenLanguage: String, CaseIterable, Sendable {
  case en
  case ja
  case de
  case fr
  case es

  /// The best language for the user of a screen: English if none of the user's languages is here.
  init(of screen: ScreenContext) {
    self = Self(rawValue: screen.language(among: Self.allCases.map(\.rawValue))) ?? .en
  }
}

/// A text in all languages of the built-in screens.
struct ScreenText: Sendable {
  let en: String
  let ja: String
  let de: String
  let fr: String
  let es: String

  subscript(language: ScreenLanguage) -> String {
    switch language {
    case .en: en
    case .ja: ja
    case .de: de
    case .fr: fr
    case .es: es
    }
  }
}
