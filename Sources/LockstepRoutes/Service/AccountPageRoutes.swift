import LockstepHTTP
import LockstepWebFiles

/// The pages behind the links in mails: one takes a new password, the other confirms an address. Both
/// are the same file, whose script looks at the path. The files are no secret; the token is in the
/// fragment of the link, which the browser does not send.
package enum AccountPageRoutes {
  private static let folder = "/account/"

  package static var routes: [Route] {
    WebFile.account.flatMap { file in
      let names = file.name == "account.html" ? ["reset", "confirm"] : [file.name]
      return names.map { name in
        let content = StaticFile(pageFile: file, at: folder + name)
        return Route(.get, content.path, summary: "A page for links in mails, or one of its files.") { request in
          try content.respond(to: request)
        }
      }
    }
  }

  /// Whether the path is that of a file of these pages. `GET /` lists none, because a page without a
  /// token is of no use.
  static func isFile(_ path: String) -> Bool { path.hasPrefix(folder) }
}
