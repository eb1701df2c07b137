import LockstepComposition
import LockstepMail

/// The options for mails. A relay needs a sender and a public URL, and the others need a relay.
enum MailOptions {
  static let all: [Option] = [
    Option("--smtp", \.mail.relay, .relay, .mail, isSecret: true)
      .help(
        "The mail server that passes mails on, such as smtp://user:password@smtp.example.com:587 or smtps:// for a "
          + "connection that is encrypted from the beginning. It needs --mail-from and --public-url. Percent-encode special "
          + "characters of the user and the password. smtp:// requires STARTTLS, unless the host is a loopback address or the "
          + "URL ends with ?tls=none. Set the variable LOCKSTEP_SMTP if the URL has a password, because every user of this "
          + "machine can read arguments with ps. The option needs libcurl: see docs/mail.md. Default: none, no mails are sent."
      ),
    Option("--mail-from", \.mail.sender, .sender, .mail)
      .help(
        "With --smtp: the sender of mails, such as notes@example.com or Notes <notes@example.com>. Default: none."
      ),
    Option("--public-url", \.mail.publicURL, .publicURL, .mail)
      .help(
        "The address of this server for users' browsers, such as https://notes.example.com. The links in mails begin "
          + "with it. Only pages at this address, and of --cors-origin, may write. Default: none; pages at the host of the "
          + "request may write."
      ),
    Option("--mail-templates", \.mail.templates, .templates, .mail)
      .help(
        "With --smtp: a folder with texts of mails that replace the server's texts, such as password-reset.de.txt. The "
          + "server reads them when it starts. Default: none."
      ),
  ]

  /// The fault of options that do not fit together; nil if there is none.
  static func fault(_ mail: MailConfiguration) -> String? {
    if mail.relay != nil {
      if mail.sender == nil { return "--smtp needs --mail-from: the sender of mails, such as notes@example.com." }
      if mail.publicURL != nil { return nil }
      return "--smtp needs --public-url: the address of this server for users, such as https://notes.example.com."
    }
    let others = [("--mail-from", mail.sender != nil), ("--mail-templates", mail.templates != nil)]
    guard let option = others.first(where: \.1)?.0 else { return nil }
    return "\(option) needs --smtp: the mail server that passes mails on. Without one, the server sends no mails."
  }
}

extension OptionFormat {
  /// The format of a value whose initializer checks the text. `reason` completes a sentence.
  fileprivate static func checked<Fault: Error>(
    _ placeholder: String,
    by read: @escaping @Sendable (String) throws(Fault) -> Value,
    reason: @escaping @Sendable (Fault) -> String
  ) -> OptionFormat {
    OptionFormat(placeholder: placeholder) { text throws(OptionValueError) in
      do throws(Fault) { return try read(text) } catch { throw OptionValueError(reason: reason(error)) }
    }
  }
}

extension OptionFormat where Value == MailRelay {
  fileprivate static var relay: OptionFormat {
    checked("<URL>") { text throws(MailRelayError) in
      try MailRelay(text)
    } reason: {
      "it \($0.reason)"
    }
  }
}

extension OptionFormat where Value == MailSender {
  fileprivate static var sender: OptionFormat {
    checked("<sender>") { text throws(MailSenderError) in
      try MailSender(text)
    } reason: {
      "it \($0.reason)"
    }
  }
}

extension OptionFormat where Value == PublicURL {
  fileprivate static var publicURL: OptionFormat {
    checked("<URL>") { text throws(PublicURLError) in
      try PublicURL(text)
    } reason: {
      "it \($0.reason)"
    }
  }
}

extension OptionFormat where Value == MailTemplates {
  fileprivate static var templates: OptionFormat {
    checked("<folder>") { text throws(MailTemplateError) in
      try MailTemplates(folder: text)
    } reason: { error in
      let reason = "\(error)"
      return reason.hasSuffix(".") ? String(reason.dropLast()) : reason
    }
  }
}
