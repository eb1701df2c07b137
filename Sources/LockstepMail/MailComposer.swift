import LockstepTime

/// Makes the server's mails.
package struct MailComposer: Sendable {
  private let templates: MailTemplates
  package let sender: MailSender
  package let publicURL: PublicURL

  package init(templates: MailTemplates, sender: MailSender, publicURL: PublicURL) {
    self.templates = templates
    self.sender = sender
    self.publicURL = publicURL
  }

  /// A mail, ready for `MailClient.send`.
  ///
  /// `languages` are the user's, the preferred one first, such as `RequestHead.preferredLanguages`.
  /// `token` is empty for a mail without a link. `id` is different for each mail: letters and
  /// digits.
  package func mail(
    _ kind: MailKind,
    to recipient: String,
    in languages: [String],
    token: String,
    validFor lifetime: Duration,
    at time: Timestamp,
    id: String
  ) -> [UInt8] {
    let (language, texts) = templates.texts(of: kind, in: languages)
    let value = { (placeholder: MailPlaceholder) -> String in
      switch placeholder {
      case .link: kind == .passwordReset ? publicURL.resetLink(token) : publicURL.confirmLink(token)
      case .email: recipient
      case .minutes: String(lifetime.components.seconds / 60)
      case .server: publicURL.server
      }
    }
    let subject = texts.subject.filled(value)
    let message = MailMessage(
      sender: sender,
      recipient: recipient,
      subject: subject,
      text: texts.text.filled(value),
      html: texts.html?.filled { MailEncoding.html(value($0)) } ?? Self.page(texts.text, subject, language, value),
      language: language,
      time: time,
      id: id
    )
    return message.encoded()
  }

  /// The text as HTML: a paragraph for each block of lines, and the link as a link.
  private static func page(
    _ text: MailTemplate,
    _ subject: String,
    _ language: String,
    _ value: (MailPlaceholder) -> String
  ) -> String {
    let content = text.filled(MailEncoding.html) { placeholder in
      let text = MailEncoding.html(value(placeholder))
      return placeholder == .link ? "<a href=\"\(text)\">\(text)</a>" : text
    }
    let lines = content.split(separator: "\n", omittingEmptySubsequences: false)
    let paragraphs = lines.split { $0.isEmpty }.map { "<p>\($0.joined(separator: "<br>\n"))</p>" }
    return """
      <!doctype html>
      <html lang="\(language)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">
      <title>\(MailEncoding.html(subject))</title>
      </head>
      <body style="font: 16px/1.5 sans-serif; max-width: 36em; margin: 1em auto; padding: 0 1em; overflow-wrap: anywhere">
      \(paragraphs.joined(separator: "\n"))
      </body>
      </html>

      """
  }
}
