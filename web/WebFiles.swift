/// A file of this folder, embedded in the program.
package struct WebFile: Sendable {
  /// The file's name, such as `lockstep.js`.
  package let name: String
  package let bytes: [UInt8]

  /// The JavaScript client, an ES module.
  package static let client = WebFile(name: "lockstep.js", bytes: PackageResources.lockstep_js)
  /// The types of the JavaScript client.
  package static let clientTypes = WebFile(name: "lockstep.d.ts", bytes: PackageResources.lockstep_d_ts)

  /// The files of the pages behind the links in mails, the page first.
  package static let account = [
    WebFile(name: "account.html", bytes: PackageResources.account_html),
    WebFile(name: "account.css", bytes: PackageResources.account_css),
    WebFile(name: "account.js", bytes: PackageResources.account_js),
    WebFile(name: "account-texts.js", bytes: PackageResources.account_texts_js),
  ]

  /// The files of the inspector, the page first.
  package static let inspector = [
    WebFile(name: "index.html", bytes: PackageResources.index_html),
    WebFile(name: "inspector.css", bytes: PackageResources.inspector_css),
    WebFile(name: "inspector.js", bytes: PackageResources.inspector_js),
    WebFile(name: "server.js", bytes: PackageResources.server_js),
    WebFile(name: "elements.js", bytes: PackageResources.elements_js),
    WebFile(name: "json.js", bytes: PackageResources.json_js),
    WebFile(name: "journal.js", bytes: PackageResources.journal_js),
    WebFile(name: "live.js", bytes: PackageResources.live_js),
    WebFile(name: "users.js", bytes: PackageResources.users_js),
    WebFile(name: "user.js", bytes: PackageResources.user_js),
    WebFile(name: "time.js", bytes: PackageResources.time_js),
    WebFile(name: "act.js", bytes: PackageResources.act_js),
    WebFile(name: "screens.js", bytes: PackageResources.screens_js),
    WebFile(name: "settings.js", bytes: PackageResources.settings_js),
    WebFile(name: "health.js", bytes: PackageResources.health_js),
  ]
}
