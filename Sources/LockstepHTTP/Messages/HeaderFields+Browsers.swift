extension HeaderFields {
  /// What keeps a browser from making more of an answer than it is: it guesses no other type, so that a text from outside in a
  /// problem's `detail` never becomes a page or a script; it loads nothing and shows it in nobody's frame; and a link in it tells
  /// nobody where it was found.
  ///
  /// Every answer with a body that can be had without a token carries it, all problems among them; without a body there is nothing to
  /// make more of. What needs a token doesn't: no link, frame or
  /// tag of a page sends `Authorization`, only a script that reads the answer as text, and users' states are what is asked for a
  /// hundred thousand times a second.
  public static let forBrowsers: HeaderFields = {
    var fields = HeaderFields()
    fields.append(.xContentTypeOptions, "nosniff")
    fields.append(.contentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
    fields.append(.referrerPolicy, "no-referrer")
    return fields
  }()
}
