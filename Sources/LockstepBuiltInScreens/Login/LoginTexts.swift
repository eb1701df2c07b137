extension ScreenText {
  static let loggingIn = ScreenText(
    en: "Logging in…",
    ja: "ログインしています…",
    de: "Anmeldung läuft…",
    fr: "Connexion en cours…",
    es: "Iniciando sesión…"
  )
  static let invalidAddress = ScreenText(
    en: "This is not an e-mail address. It must look like name@example.com.",
    ja: "メールアドレスの形式が正しくありません。例：name@example.com",
    de: "Das ist keine E-Mail-Adresse. Sie sieht so aus: name@example.com.",
    fr: "Ce n’est pas une adresse e-mail. Elle ressemble à nom@example.com.",
    es: "No es una dirección de correo. Debe ser como nombre@example.com."
  )

  static let validAddress = ScreenText(
    en: "This is an e-mail address.",
    ja: "メールアドレスの形式です。",
    de: "Das ist eine E-Mail-Adresse.",
    fr: "C’est une adresse e-mail.",
    es: "Es una dirección de correo."
  )
  static let noAddress = ScreenText(
    en: "Enter the e-mail address.",
    ja: "メールアドレスを入力してください。",
    de: "Geben Sie die E-Mail-Adresse ein.",
    fr: "Saisissez l’adresse e-mail.",
    es: "Introduzca la dirección de correo."
  )
  static let noPassword = ScreenText(
    en: "Enter the password.",
    ja: "パスワードを入力してください。",
    de: "Geben Sie das Passwort ein.",
    fr: "Saisissez le mot de passe.",
    es: "Introduzca la contraseña."
  )
  static let validPassword = ScreenText(
    en: "The length of the password is valid.",
    ja: "パスワードの長さは有効です。",
    de: "Die Länge des Passworts ist gültig.",
    fr: "La longueur du mot de passe est valide.",
    es: "La longitud de la contraseña es válida."
  )
  static let checkingPassword = ScreenText(
    en: "Checking the length of the password…",
    ja: "パスワードの長さを確認しています…",
    de: "Die Länge des Passworts wird geprüft…",
    fr: "Vérification de la longueur du mot de passe…",
    es: "Comprobando la longitud de la contraseña…"
  )

  static func shortPassword(_ characters: Int) -> ScreenText {
    ScreenText(
      en: "A password has at least \(characters) characters.",
      ja: "パスワードは\(characters)文字以上です。",
      de: "Ein Passwort hat mindestens \(characters) Zeichen.",
      fr: "Un mot de passe a au moins \(characters) caractères.",
      es: "Una contraseña tiene al menos \(characters) caracteres."
    )
  }

  static func longPassword(_ bytes: Int) -> ScreenText {
    ScreenText(
      en: "The password is longer than \(bytes) bytes.",
      ja: "パスワードが\(bytes)バイトを超えています。",
      de: "Das Passwort ist länger als \(bytes) Bytes.",
      fr: "Le mot de passe dépasse \(bytes) octets.",
      es: "La contraseña supera los \(bytes) bytes."
    )
  }
}

extension LogInError {
  /// Why a login failed, in a sentence for the user.
  func loginText(_ language: ScreenLanguage) -> String {
    let text =
      switch self {
      case .wrongCredentials: Self.wrong
      case .disabled: Self.disabledAccount
      case .tooManyAttempts(let seconds): Self.tooMany(seconds)
      case .overloaded: Self.busy
      case .refused, .unavailable: Self.impossible
      }
    return text[language]
  }

  private static let wrong = ScreenText(
    en: "The e-mail address or the password is wrong.",
    ja: "メールアドレスまたはパスワードが正しくありません。",
    de: "Die E-Mail-Adresse oder das Passwort ist falsch.",
    fr: "L’adresse e-mail ou le mot de passe est incorrect.",
    es: "La dirección de correo o la contraseña no es correcta."
  )
  private static let disabledAccount = ScreenText(
    en: "The account is disabled. Ask the server's operator.",
    ja: "このアカウントは無効です。サーバーの運営者にお問い合わせください。",
    de: "Das Konto ist gesperrt. Wenden Sie sich an den Betreiber des Servers.",
    fr: "Le compte est désactivé. Adressez-vous à l’exploitant du serveur.",
    es: "La cuenta está desactivada. Consulte al operador del servidor."
  )
  private static let busy = ScreenText(
    en: "The server has too much work. Try again in a moment.",
    ja: "サーバーが混み合っています。しばらくしてからもう一度お試しください。",
    de: "Der Server ist überlastet. Versuchen Sie es gleich noch einmal.",
    fr: "Le serveur est surchargé. Réessayez dans un instant.",
    es: "El servidor está sobrecargado. Inténtelo de nuevo en un momento."
  )
  private static let impossible = ScreenText(
    en: "Logging in is not possible at the moment. Try again.",
    ja: "現在、ログインできません。もう一度お試しください。",
    de: "Die Anmeldung ist gerade nicht möglich. Versuchen Sie es noch einmal.",
    fr: "La connexion n’est pas possible pour le moment. Réessayez.",
    es: "No se puede iniciar sesión en este momento. Inténtelo de nuevo."
  )

  private static func tooMany(_ seconds: Int) -> ScreenText {
    ScreenText(
      en: "Too many attempts. Try again in \(seconds) seconds.",
      ja: "試行回数が多すぎます。\(seconds)秒後にもう一度お試しください。",
      de: "Zu viele Versuche. Versuchen Sie es in \(seconds) Sekunden noch einmal.",
      fr: "Trop de tentatives. Réessayez dans \(seconds) secondes.",
      es: "Demasiados intentos. Inténtelo de nuevo dentro de \(seconds) segundos."
    )
  }
}
