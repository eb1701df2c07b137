import LockstepReactor
import LockstepScreens

extension ScreenText {
  static let saving = ScreenText(
    en: "Saving…",
    ja: "保存しています…",
    de: "Wird gespeichert…",
    fr: "Enregistrement…",
    es: "Guardando…"
  )
  static let notSaved = ScreenText(
    en: "The profile was not saved",
    ja: "プロフィールを保存できませんでした",
    de: "Das Profil wurde nicht gespeichert",
    fr: "Le profil n’a pas été enregistré",
    es: "El perfil no se ha guardado"
  )
  static let retry = ScreenText(
    en: "Try again",
    ja: "再試行",
    de: "Noch einmal versuchen",
    fr: "Réessayer",
    es: "Intentar de nuevo"
  )
  static let cancel = ScreenText(
    en: "Cancel",
    ja: "キャンセル",
    de: "Abbrechen",
    fr: "Annuler",
    es: "Cancelar"
  )
  static let noCompanyName = ScreenText(
    en: "Enter the company.",
    ja: "会社名を入力してください。",
    de: "Geben Sie die Firma ein.",
    fr: "Saisissez l’entreprise.",
    es: "Introduzca la empresa."
  )
  static let noPosition = ScreenText(
    en: "Enter the position.",
    ja: "役職を入力してください。",
    de: "Geben Sie die Position ein.",
    fr: "Saisissez le poste.",
    es: "Introduzca el cargo."
  )
  static let validCompanyName = ScreenText(
    en: "The text for the company is valid.",
    ja: "会社名の入力は有効です。",
    de: "Die Eingabe für die Firma ist gültig.",
    fr: "La saisie de l’entreprise est valide.",
    es: "El texto de la empresa es válido."
  )
  static let validPosition = ScreenText(
    en: "The text for the position is valid.",
    ja: "役職の入力は有効です。",
    de: "Die Eingabe für die Position ist gültig.",
    fr: "La saisie du poste est valide.",
    es: "El texto del cargo es válido."
  )
  static let somethingWrong = ScreenText(
    en: "Something went wrong.",
    ja: "問題が発生しました。",
    de: "Etwas ist schiefgegangen.",
    fr: "Un problème est survenu.",
    es: "Se ha producido un problema."
  )

  static func tooLong(_ count: Int) -> ScreenText {
    let most = Validator.longestProfileText
    return ScreenText(
      en: "It must have at most \(most) characters, and has \(count).",
      ja: "\(most)文字以内で入力してください（現在\(count)文字）。",
      de: "Höchstens \(most) Zeichen sind möglich, es sind \(count).",
      fr: "\(most) caractères au maximum, il y en a \(count).",
      es: "Como máximo \(most) caracteres; hay \(count)."
    )
  }
}

extension UpstreamError {
  /// The failure, in a sentence for users.
  func text(_ language: ScreenLanguage) -> String {
    let text =
      switch kind {
      case .unreachable: Self.unreachable
      case .timedOut: Self.slow
      case .refused where mayPass: Self.busy
      case .refused: Self.refused
      case .failed: Self.broken
      case .overloaded: Self.overloaded
      case .cancelled: Self.stopped
      }
    return text[language]
  }

  private static let unreachable = ScreenText(
    en: "The service that keeps profiles cannot be reached.",
    ja: "プロフィールのサービスに接続できません。",
    de: "Der Dienst für Profile ist nicht erreichbar.",
    fr: "Le service des profils est injoignable.",
    es: "No se puede contactar con el servicio de perfiles."
  )
  private static let slow = ScreenText(
    en: "The service that keeps profiles takes too long to respond.",
    ja: "プロフィールのサービスが応答しません。",
    de: "Der Dienst für Profile antwortet nicht rechtzeitig.",
    fr: "Le service des profils met trop de temps à répondre.",
    es: "El servicio de perfiles tarda demasiado en responder."
  )
  private static let busy = ScreenText(
    en: "The service that keeps profiles is busy.",
    ja: "プロフィールのサービスが混み合っています。",
    de: "Der Dienst für Profile ist ausgelastet.",
    fr: "Le service des profils est occupé.",
    es: "El servicio de perfiles está ocupado."
  )
  private static let refused = ScreenText(
    en: "The service that keeps profiles does not accept this profile.",
    ja: "プロフィールのサービスがこの内容を受け付けません。",
    de: "Der Dienst für Profile nimmt dieses Profil nicht an.",
    fr: "Le service des profils n’accepte pas ce profil.",
    es: "El servicio de perfiles no acepta este perfil."
  )
  private static let broken = ScreenText(
    en: "The service that keeps profiles has a problem.",
    ja: "プロフィールのサービスに問題が発生しています。",
    de: "Der Dienst für Profile hat ein Problem.",
    fr: "Le service des profils a un problème.",
    es: "El servicio de perfiles tiene un problema."
  )
  private static let overloaded = ScreenText(
    en: "Too many profiles are being saved at the moment.",
    ja: "現在、保存中のプロフィールが多すぎます。",
    de: "Gerade werden zu viele Profile gespeichert.",
    fr: "Trop de profils sont en cours d’enregistrement.",
    es: "Se están guardando demasiados perfiles en este momento."
  )
  private static let stopped = ScreenText(
    en: "Saving was stopped.",
    ja: "保存が中止されました。",
    de: "Das Speichern wurde abgebrochen.",
    fr: "L’enregistrement a été interrompu.",
    es: "Se ha interrumpido el guardado."
  )
}
