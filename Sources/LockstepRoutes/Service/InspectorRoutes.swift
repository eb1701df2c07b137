import LockstepHTTP
import LockstepWebFiles

/// The inspector, a page in the browser for administrators, below `/inspector/`. Its files are no
/// secret: the page asks for a token, and shows nothing without one.
package enum InspectorRoutes {
  private static let folder = "/inspector/"

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
        let content = StaticFile(pageFile: file, at: path)
        return Route(.get, path, summary: "A file of the inspector.") { request in try content.respond(to: request) }
      }
  }

  /// Whether the path is that of a file of the inspector. `GET /` lists only the page.
  static func isFile(_ path: String) -> Bool { path.hasPrefix(folder) }
}
