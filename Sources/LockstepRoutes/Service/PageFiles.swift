import LockstepHTTP
import LockstepWebFiles

extension StaticFile {
  /// The browser loads nothing for the page from elsewhere, runs no script of the document itself,
  /// and shows the page in no frame. Code cannot turn text into markup, because there is no
  /// trusted type. Other sites cannot load the files or reach the page's window.
  private static let pageFields = HeaderFields([
    .xContentTypeOptions: "nosniff",
    .contentSecurityPolicy: """
    default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'
    """,
    .crossOriginOpenerPolicy: "same-origin",
    .crossOriginResourcePolicy: "same-origin",
    .referrerPolicy: "no-referrer",
  ])

  /// A file of one of the server's pages.
  init(pageFile file: WebFile, at path: String) {
    let type =
      switch file.name.split(separator: ".").last {
      case "css": "text/css; charset=utf-8"
      case "js": "text/javascript; charset=utf-8"
      default: "text/html; charset=utf-8"
      }
    self.init(path, file.bytes, contentType: type, fields: Self.pageFields)
  }
}
