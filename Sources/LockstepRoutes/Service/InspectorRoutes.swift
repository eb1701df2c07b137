import LockstepHTTP
import LockstepWebFiles

/// The inspector, a page in the browser for administrators, below `/inspector/`. Its files are no
/// secret: the page asks for a token, and shows nothing without one.
package enum InspectorRoutes {
  private static let folder = "/inspector/"

  /// The browser loads nothing for the page from elsewhere, runs no script of the document itself,
  /// and shows the page in no frame. Code cannot turn text into markup, because there is no
  /// trusted type. Other sites cannot load the files or reach the page's window.
  private static let fields = HeaderFields([
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

  package static var routes: [Route] {
    let redirect = Response(
      status: .permanentRedirect,
      fields: HeaderFields([.location: folder, .cacheControl: "no-cache"])
    )
    let page = Route(.get, String(folder.dropLast()), summary: "The inspector, a page for administrators.") { _ in
      .response(redirect)
    }
    return [page]
      + WebFile.inspector.map { file in
        let path = folder + (file.name == "index.html" ? "" : file.name)
        let content = StaticFile(path, file.bytes, contentType: contentType(of: file.name), fields: fields)
        return Route(.get, path, summary: "A file of the inspector.") { request in try content.respond(to: request) }
      }
  }

  /// Whether the path is that of a file of the inspector. `GET /` lists only the page.
  static func isFile(_ path: String) -> Bool { path.hasPrefix(folder) }

  private static func contentType(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    default: "text/html; charset=utf-8"
    }
  }
}
