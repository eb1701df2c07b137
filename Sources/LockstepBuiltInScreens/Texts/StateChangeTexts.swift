import LockstepCollections
import LockstepScreens

extension StateChangeError {
  /// A sentence for users. The sentences of modules' refusals are in English, so other languages have
  /// a general one.
  func text(_ language: ScreenLanguage) -> String {
    switch self {
    case .refused where language == .en: message
    case .refused(.quotaExceeded): ScreenText.noRoom[language]
    case .refused: ScreenText.refused[language]
    case .sessionEnded: ScreenText.sessionEnded[language]
    case .unavailable: ScreenText.unavailable[language]
    }
  }
}

extension ScreenText {
  fileprivate static let noRoom = ScreenText(
    en: "There is no more room.",
    ja: "空き容量がありません。",
    de: "Es ist kein Platz mehr.",
    fr: "Il n’y a plus de place.",
    es: "Ya no queda espacio."
  )
  fileprivate static let refused = ScreenText(
    en: "The change is not possible.",
    ja: "変更できません。",
    de: "Die Änderung ist nicht möglich.",
    fr: "La modification n’est pas possible.",
    es: "El cambio no es posible."
  )
  fileprivate static let sessionEnded = ScreenText(
    en: "The session has ended. Log in again.",
    ja: "セッションが終了しました。もう一度ログインしてください。",
    de: "Die Sitzung ist beendet. Melden Sie sich wieder an.",
    fr: "La session est terminée. Reconnectez-vous.",
    es: "La sesión ha terminado. Vuelva a iniciar sesión."
  )
  fileprivate static let unavailable = ScreenText(
    en: "The change cannot be saved at the moment. Try again.",
    ja: "現在、変更を保存できません。もう一度お試しください。",
    de: "Die Änderung kann gerade nicht gespeichert werden. Versuchen Sie es noch einmal.",
    fr: "La modification ne peut pas être enregistrée pour le moment. Réessayez.",
    es: "El cambio no se puede guardar en este momento. Inténtelo de nuevo."
  )
}
